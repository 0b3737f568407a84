"""The documents of the command line: keys that scripts stand on, asked for by real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ran:
    """One finished call."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """What `--json` printed about an error."""
        error = json.loads(self.err)["error"]
        assert set(error) == {"code", "message", "value"}
        return error  # type: ignore[no-any-return]


Run = Callable[..., Ran]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def run(db: Path, tmp_path: Path) -> Run:
    """`run("write", "C[a]: b", "--json")`; bytes are handed over as they are."""

    def call(*args: str | bytes, stdin: str = "", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_memory_tui", *args],
            input=stdin.encode(),
            capture_output=True,
            cwd=tmp_path,  # the home folder, which belongs to no project
            env=os.environ
            | {"HERMES_MEMORY_DB": str(db), "HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), **environment},
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.out + ran.err
        return ran

    return call


FACT_KEYS = {
    "uid", "theme", "scope", "type", "target", "content", "tier", "pinned", "created_at", "updated_at", "notation",
}  # fmt: skip
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_write_says_what_it_did(run: Run) -> None:
    first = run("write", "D[auth]: JWT 7j", "--scope", "login", "--json").document
    again = run("--json", "write", "D[auth]: JWT 7j", "--scope", "login").document
    other = run("write", "D[auth]: cookies", "--scope", "login", "--json").document

    assert {"uid", "status", "superseded", "theme", "scope", "gauge"} <= set(first)
    assert UID.fullmatch(first["uid"])
    assert (first["status"], first["theme"], first["scope"]) == ("created", "default", "login")
    assert (again["status"], again["uid"]) == ("deduplicated", first["uid"])
    assert other["superseded"] == [first["uid"]]
    assert {"used", "budget", "pct", "tokens", "level"} <= set(first["gauge"])


def test_search_and_facts_list_facts(run: Run) -> None:
    run("write", "C[db.id]: UUID mndtry", "--scope", "schema")
    run("write", "V[port]: 5433")

    found = run("search", "mandatory uuid", "--json").document
    listed = run("facts", "type:value", "--json").document

    assert found["total"] == 1
    (fact,) = found["facts"]
    assert set(fact) >= FACT_KEYS
    assert (fact["type"], fact["tier"], fact["scope"]) == ("constraint", "hot", "schema")
    assert TIME.fullmatch(fact["created_at"])
    assert [one["notation"] for one in listed["facts"]] == ["V[port]: 5433"]


def test_a_fact_is_edited_and_the_edit_undone_by_prefix(run: Run) -> None:
    uid = run("write", "V[srv]: one", "--json").document["uid"]

    edited = run("edit", uid[:18], "two", "--json").document
    assert edited["changed"] == [uid]
    assert run("fact", uid, "--json").document["content"] == "two"
    undone = run("undo", "--change", str(edited["changes"][0]), "--json").document
    assert undone["undone"] == edited["changes"]
    assert run("fact", uid, "--json").document["content"] == "one"
    assert run("redo", "--json").document["undone"] == undone["changes"]

    changes = run("history", uid, "--json").document["changes"]
    assert [change["op"] for change in changes] == ["create", "edit", "undo", "undo"]
    assert {"seq", "at", "actor", "op", "before", "after"} <= set(changes[0])


def test_pin_archive_and_restore(run: Run) -> None:
    uid = run("write", "V[srv]: one", "--json").document["uid"]

    for command, tier, pinned in (("pin", "hot", True), ("archive", "archived", False), ("restore", "hot", False)):
        assert run(command, uid, "--json").document["changed"] == [uid]
        fact = run("fact", uid, "--json").document
        assert (fact["tier"], fact["pinned"]) == (tier, pinned)


def test_undo_takes_back_several_and_a_sessions(run: Run) -> None:
    for n in range(3):
        run("write", f"V[n{n}]: {n}")
    assert len(run("undo", "--last", "2", "--json").document["undone"]) == 2
    assert run("facts", "--json").document["total"] == 1
    assert run("undo", "--session", "nobody", "--json").error["code"] == "session.unknown"


def test_status_tells_what_an_agent_is_told(run: Run) -> None:
    run("write", "C[law]: never drop a table")
    status = run("status", "--json").document
    assert {"theme", "gauge", "text", "tokens", "facts", "left_out"} <= set(status)
    assert "C[law]: never drop a table" in status["text"]


def test_scopes_close_reopen_and_rename(run: Run) -> None:
    run("write", "D[a]: b", "--scope", "login")
    assert run("scope", "close", "login", "--json").document["status"] == "closed"
    assert run("scope", "reopen", "login", "--json").document["status"] == "open"
    assert run("scope", "rename", "login", "sign-in", "--json").document["label"] == "sign-in"
    (scope,) = run("scopes", "--json").document["scopes"]
    assert {"theme", "label", "status", "opened_at", "closed_at", "closed_by", "facts"} <= set(scope)
    assert scope["facts"]["hot"] == 1


def test_purge_counts_by_tier_and_erases_only_when_told(run: Run) -> None:
    run("write", "D[a]: old", "--scope", "s")
    run("write", "D[a]: secret", "--scope", "s")

    dry = run("purge", "--scope", "s", "--dry-run", "--json").document
    assert (dry["purged"]["hot"], dry["purged"]["superseded"], dry["dry_run"]) == (1, 1, True)
    refused = run("purge", "--scope", "s", "--json")
    assert (refused.code, refused.error["value"]) == (1, 2)
    assert run("facts", "tier:all", "--json").document["total"] == 2

    assert run("purge", "--scope", "s", "--yes", "--json").document["purged"]["hot"] == 1
    assert run("facts", "tier:all", "--json").document["total"] == 0
    assert "secret" not in run("log", "--json").out
    assert run("doctor", "--json").document["ok"] is True


def test_what_was_purged_is_nowhere_in_the_file(run: Run, db: Path) -> None:
    run("write", "V[key]: xylophone-sesame-4711", "--scope", "s")
    run("write", "V[other]: stays")
    run("purge", "--scope", "s", "--yes")

    left = b"".join(file.read_bytes() for file in db.parent.glob("memory.db*"))
    assert b"xylophone" not in left
    assert b"sesame" not in left


def test_export_and_import_bring_the_same_facts(run: Run, tmp_path: Path) -> None:
    run("write", "D[a]: b", "--scope", "login")
    run("write", "V[p]: 1")
    file = tmp_path / "out.spec"
    assert run("export", str(file), "--json").document == {"exported": 2}

    other = str(tmp_path / "other.db")
    first = run("import", str(file), "--db", other, "--json").document
    again = run("import", str(file), "--db", other, "--json").document

    assert (first["created"], first["deduplicated"], first["errors"]) == (2, 0, [])
    assert (again["created"], again["deduplicated"]) == (0, 2)
    assert run("export", "--db", other).out == run("export").out


def test_a_bad_line_of_an_import_is_named_and_the_others_go_in(run: Run) -> None:
    report = run("import", "-", "--json", stdin="D[a]: b\nnonsense\nV[c]: d\n").document
    assert report["created"] == 2
    assert report["errors"][0]["line"] == 2


def test_the_log_replays_into_an_empty_store(run: Run, tmp_path: Path) -> None:
    run("write", "D[a]: b", "--scope", "login")
    run("write", "D[a]: c", "--scope", "login")
    log = run("log", "--json").out
    other = str(tmp_path / "other.db")

    assert run("replay", "-", "--db", other, "--json", stdin=log).document["applied"] == len(log.splitlines())
    assert run("log", "--json", "--db", other).out == log


def test_the_past_can_be_asked(run: Run) -> None:
    run("write", "D[a]: before")
    then = run("history", run("facts", "--json").document["facts"][0]["uid"], "--json").document["changes"][0]["at"]
    run("write", "D[a]: after")

    past = run("at", then, "facts", "--json").document
    assert [fact["content"] for fact in past["facts"]] == ["before"]
    assert run("at", "10d", "facts", "--json").document["total"] == 0
    assert run("at", "1d", "write", "D[x]: y").code == 2


def test_doctor_backup_and_sessions(run: Run, tmp_path: Path) -> None:
    run("write", "D[a]: b")
    backup = run("backup", str(tmp_path / "b.db"), "--json").document
    assert backup["facts"] == 1
    assert run("doctor", "--json").document["ok"] is True
    assert run("sessions", "--json").document == {"sessions": []}
    run("write", "D[a]: later")
    assert run("backup", "--restore", str(tmp_path / "b.db"), "--json").document["facts"] == 1
    assert run("fact", run("facts", "--json").document["facts"][0]["uid"], "--json").document["content"] == "b"


def test_optimize_shows_both_files(run: Run) -> None:
    report = run("optimize", "--dry-run", "--json").document
    assert {"before", "after", "diff", "migrated"} <= set(report["memory"])
    assert set(report["memory"]) == set(report["user"])


def test_themes_do_not_see_each_other(run: Run) -> None:
    run("write", "D[a]: of alpha", "--theme", "alpha")
    run("write", "D[a]: of beta", HERMES_MEMORY_THEME="beta")
    assert [f["content"] for f in run("facts", "--theme", "alpha", "--json").document["facts"]] == ["of alpha"]
    assert run("search", "alpha", "--theme", "beta", "--json").document["total"] == 0
    assert {theme["name"] for theme in run("themes", "--json").document["themes"]} == {"alpha", "beta"}


def test_facts_come_from_standard_input_too(run: Run) -> None:
    written = run("write", "-", "--json", stdin="D[a]: b\nV[c]: d\n").document["written"]
    assert [one["notation"] for one in written] == ["D[a]: b", "V[c]: d"]
