"""Everything that gives facts within a budget asks one rule what fits: another rule in `context/packing.py` changes all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_bridge.connect.provider_install import load_provider_files
from hermes_memory_bridge.hook_service.prompt_matching import make_prompt_giving
from hermes_memory_bridge.hook_service.window_texts import make_compaction_giving, make_start_giving
from hermes_memory_bridge.provider.prefetch import choose_lines
from hermes_memory_bridge.wire.instructions import read_facts
from hermes_memory_store.context import packing
from hermes_memory_store.context.given import StartSituation
from hermes_memory_store.context.hot_context import read_hot_context
from hermes_memory_store.store import Store

LINES = ("D[cache]: redis for sessions", "C[db.id]: UUID mndtry")

QUESTION = "which cache do sessions use?"


def find_without_bridge(store: Store) -> list[str]:
    context = read_hot_context(str(store.path), "", environ={"HERMES_HOME": str(store.path.parent)})
    return [] if context is None else context.text_lines


def find_instructions(store: Store) -> list[str]:
    facts = read_facts(str(store.path), "", environ={"HERMES_HOME": str(store.path.parent)})
    return [] if facts is None else facts.text_lines


def find_after_compaction(store: Store) -> tuple[str, ...]:
    return make_compaction_giving(store, "default", store.context.present_situation(), [], 0).lines


FACES: dict[str, Callable[[Store], object]] = {
    "status": lambda store: store.context.status("default", record=False).facts,
    "start hook": lambda store: make_start_giving(store, "default", store.context.present_situation()).lines,
    "compaction hook": find_after_compaction,
    "prompt hook": lambda store: make_prompt_giving(store, "default", QUESTION, {}, 100).lines,
    "session start": lambda store: store.session_start.give(StartSituation("default"), 100).items,
    "recall": lambda store: store.recall.give(["default"], QUESTION, 100).items,
    "instructions": find_instructions,
    "read without a bridge": find_without_bridge,
    "provider": lambda _: choose_lines(
        [{"line": line, "tokens": 9} for line in LINES], lambda line: True, lambda line: True
    ),
}


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_each_face_gives_what_the_rule_lets_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, face: Callable[[Store], list[str]]
) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        for line in LINES:
            store.facts.write("default", line)
        assert face(store)
        monkeypatch.setattr(packing.Budget, "take", lambda self, cost, is_of_person=False: False)
        assert not face(store)


def test_the_installed_provider_has_the_rule_itself() -> None:
    assert load_provider_files()["packing.py"] == Path(packing.__file__).read_bytes()


def test_the_former_name_of_the_context_warns(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store, pytest.warns(DeprecationWarning, match=r"Store\.context"):
        assert store.injection is store.context
