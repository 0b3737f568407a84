"""`watch` says what *Now* shows, and follows it; `stats` counts what is there; `status --why` says why a fact is given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hermes_memory_store.clock import system_clock
from hermes_memory_store.context.fence import MARK
from hermes_memory_store.model import Millis
from hermes_memory_store.notation.token_count import count_tokens, estimate_from_pieces
from hermes_memory_store.store import Store
from tests.processes import PATIENCE_S
from tests.tui.commands.conftest import COMMAND, Ask, Tell


def write(path: Path) -> None:
    with Store.open(path) as store:
        who = store.sessions.open("shop", "a1", client="claude-code")
        store.facts.write("shop", "C[db.id]: UUID", session=who)
        store.facts.write("shop", "V[port]: 8443", session=who)
        store.facts.write("ops", "D[on.call]: weekly")
        store.search.find("shop", "port", session=who)
        store.reads.flush()


def test_watch_says_who_is_not_heard(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db, clock=lambda: Millis(system_clock() - 540_000)) as store:
        for number in range(3):
            store.sessions.open("shop", f"s{number}", client="codex")
    write(db)
    said = ask("watch", "--once").out
    assert said.startswith("1 agent at work, 3 stale. ")
    assert said.count("\nstale ") == 3
    assert ask("watch", "--once", "--plain").out.startswith("1 agent at work, 3 stale. ")
    document = tell("watch", "--once")
    assert (document["at_work"], document["stale"], document["agents"][0]["status"]) == (1, 3, "open")


def test_watch_follows_a_lease_that_passes(db: Path) -> None:
    with Store.open(db) as store:
        store.sessions.open("shop", "a1", client="codex", lease_ms=1_500)
    args = [*COMMAND, "watch", "--plain", "--db", str(db)]
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        if lines[0].startswith("1 agent at work"):  # unless the lease passed while it began
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert lines[-1].startswith("no agent at work, 1 stale. ")


def test_watch_follows_other_processes_until_it_is_interrupted(db: Path) -> None:
    write(db)
    args = [*COMMAND, "watch", "--json", "--db", str(db)]
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        with Store.open(db) as store:
            store.facts.write("ops", "V[late]: 1")
        event = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert (event["verb"], event["text"], event["theme"]) == ("wrote", "V[late]: 1", "ops")


def test_an_empty_store_has_nothing_to_count(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db):
        pass
    assert tell("stats")["themes"] == []
    assert ask("watch", "--once").out.strip() == "no agent at work. nothing waits."


def test_what_is_given_depends_on_the_working_folder_and_says_why(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_MEMORY_THEME", "ops")
    for scope in ("billing", "mobile"):
        for number in range(12):
            ask("write", f"D[{scope}.part{number}]: the decision about part number {number} of it", "--scope", scope)
    folder = home / "services" / "billing"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    told = tell("status", "--why")
    given = [one for one in told["why"] if one["given"]]
    assert [one["uid"] for one in given] == told["told"]
    assert {one["notation"][2:9] for one in given} == {"billing"}
    assert all(one["parts"]["scope"] > 1 for one in given)
    assert sum(one["tokens"] for one in given) == told["fact_tokens"] <= 180
    assert "left out: D[billing.part" in ask("status", "--why").out
    assert "of a scope near where the session works" in ask("status", "--why").out
    assert "why" not in tell("status")
    monkeypatch.chdir(home)
    assert "mobile" in tell("status", "--why")["why"][0]["notation"]


def test_tokens_are_estimated_unless_they_are_to_be_counted(tell: Tell) -> None:
    content = "invoices are rounded half up to two decimals, and never before the tax is added"
    for number in range(3):
        tell("write", f"D[billing.part{number}]: {content}, part {number}")

    estimate, count = tell("status", "--why"), tell("status", "--why", "--exact")

    lines = [f"\n{MARK}D[billing.part{number}]: {content}, part {number}" for number in range(3)]
    assert estimate.keys() == count.keys()
    assert estimate["fact_tokens"] == sum(map(estimate_from_pieces, lines))
    assert count["fact_tokens"] == sum(map(count_tokens, lines))
    assert all(shown["fact_tokens"] == sum(one["tokens"] for one in shown["why"]) for shown in (estimate, count))
