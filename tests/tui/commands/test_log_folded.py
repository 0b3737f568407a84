"""`log --fold`: one line for each change, however many rows it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_store.store import Store

from .conftest import Ask


@pytest.fixture
def busy(home: Path, db: Path, ask: Ask) -> Path:
    """A scope of ten facts that was closed, an import of 12 and an undo of two changes."""
    (home / "notes.txt").write_text("".join(f"V[n{number}]: {number}\n" for number in range(12)), encoding="utf-8")
    with Store.open(db) as store:
        for number in range(10):
            store.facts.write("default", f"V[p{number}]: {number}", scope="payments")
        store.scopes.close("default", "payments")
        store.scopes.rename("default", "payments", "billing")
    assert ask("import", "notes.txt").code == 0
    assert ask("undo", "--last", "2").code == 0
    return db


def test_each_change_is_one_line_in_words(ask: Ask, busy: Path) -> None:
    lines = ask("log", "--fold").out.splitlines()

    said = [line[29:].split(maxsplit=1)[1] for line in lines]
    assert said[0] == "create     V[p0]: 0  (payments) · 1 scope opened"
    assert said[10] == "close      payments: 10 facts cooled"
    assert "label: payments → billing" in said[11]
    assert said[12] == "import     12 facts from notes.txt"
    assert said[13].startswith("undo of 2  ")
    assert len(lines) == 14


def test_the_documents_hold_the_numbers_that_undo_takes(ask: Ask, busy: Path) -> None:
    documents = [json.loads(line) for line in ask("log", "--fold", "--json").out.splitlines()]

    close = documents[10]
    assert close["parts"] == [
        {"entity": "scope", "op": "close", "rows": 1},
        {"entity": "fact", "op": "cool", "rows": 10},
    ]
    assert close["last"] - close["first"] == 10
    assert len(documents[-1]["changes"]) == 2
    assert ask("log", "--fold", "--since", str(documents[-2]["last"])).out.count("\n") == 1
