"""What hosts show whole: no text is above their limits, whatever budget the policy names."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from hermes_memory_bridge.hook_service.window_texts import make_start_giving
from hermes_memory_store.context.hot_context import read_hot_context
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.hook_service.hook_line import send_event
from tests.bridge.running import bridge

MOST_CHARS, MOST_TOKENS = 9_999, 2_500
FACTS = 120

PHRASES = {
    "long words": "reconciliation characteristically acknowledges heterogeneous infrastructure ",
    "short words": "a service keeps its ledger in cents and never in floats; ",
    "wide signs": "每个服务的账本都以分为单位保存，从不使用浮点数。",
}


def open_store(db: Path) -> Store:
    return Store.open(db, policies=Policies(db.parent / "memory-themes.toml"))


def fill(db: Path, phrase: str) -> None:
    (db.parent / "memory-themes.toml").write_text("[defaults]\ninjection_tokens = 20000\nhot_chars = 1000000\n")
    with open_store(db) as store:
        for number in range(FACTS):
            store.facts.write("default", f"C[service.n{number}]: " + (f"{number} {phrase}" * 30)[:380])


def check_size(text: str) -> None:
    assert len(text) <= MOST_CHARS
    assert len(text.encode("utf-16-le")) <= 2 * MOST_CHARS
    assert len(text.encode()) / 4 <= MOST_TOKENS
    assert count_tokens(text) <= MOST_TOKENS


def count_all(text: str) -> int:
    """Count the facts that a text gives, and those that its last line says it left out."""
    left_out = re.findall(r"\(\+(\d+) more: memory_search\)$", text)
    return len(re.findall(r"C\[service\.n\d+\]", text)) + int(left_out[0] if left_out else 0)


@pytest.mark.parametrize("phrase", PHRASES.values(), ids=PHRASES)
def test_no_event_gives_more_than_hosts_show_and_what_is_left_out_is_counted(db: Path, phrase: str) -> None:
    fill(db, phrase)
    with bridge(db) as places:
        started = send_event(places, "start", source="startup")
        prompted = send_event(places, "prompt", session="s2", text="how does service.n119 keep its ledger?", turn="1")
        compacted = send_event(places, "start", source="compact")
        with open_store(db) as store:
            for number in range(FACTS):
                store.facts.write("default", f"C[service.n{number}]: " + (f"{number} now {phrase}" * 30)[:380])
        resumed = send_event(places, "start", source="resume")
    for text in (started, prompted, compacted, resumed):
        check_size(text)
    for text in (started, compacted):
        assert count_all(text) == FACTS
    assert len(started) > MOST_CHARS / 5


@pytest.mark.parametrize("phrase", PHRASES.values(), ids=PHRASES)
def test_what_is_read_without_a_bridge_and_the_status_block_are_as_short(db: Path, phrase: str) -> None:
    fill(db, phrase)
    quick = read_hot_context(str(db), "", environ={"HERMES_HOME": str(db.parent)})
    assert quick is not None
    check_size(quick.text)
    assert count_all(quick.text) == FACTS
    with open_store(db) as store:
        block = store.context.status("default")
        started = make_start_giving(store, "default", Situation(round(time.time() * 1000)))
    check_size(block.text)
    assert len(block.facts) + block.left_out == FACTS == len(started.facts) + started.left_out
    assert f"(+{block.left_out} more: memory_search)" in block.text
