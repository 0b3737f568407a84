"""The command line when a full-text index is damaged."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.tui.commands.conftest import Ask


def harm(path: Path, index: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(f"UPDATE {index}_data SET block = randomblob(length(block))")


def test_facts_are_written_found_and_the_index_repaired(ask: Ask, db: Path) -> None:
    ask("write", "V[a]: zebra")
    harm(db, "facts_text")

    written = ask("write", "V[b]: zebra", "--json")
    found = ask("search", "zebra", "--json")
    shown = ask("search", "zebra")
    ill, mended, well = (ask("doctor", *words, "--json") for words in ((), ("--repair",), ()))

    assert json.loads(written.out)["status"] == "created"
    assert (json.loads(found.out)["total"], "doctor --repair" in json.loads(found.out)["note"]) == (2, True)
    assert shown.err.startswith("note: the full-text index of facts is damaged")
    checks = {check["name"]: check for check in json.loads(ill.out)["checks"]}
    assert (ill.code, checks["full-text"]["ok"]) == (1, False)
    assert "doctor --repair" in checks["full-text"]["detail"]
    assert (mended.code, well.code) == (0, 0)
    assert set(json.loads(ask("search", "zebra", "--json").out)) == {"facts", "total", "more", "ranked_by"}
