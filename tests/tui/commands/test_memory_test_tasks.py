"""What `test` does beside running tests: `--bisect`, `--learn`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hermes_memory_store.memory_tests.case_file import parse_cases
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store
from tests.tui.commands.conftest import COMMAND, Ask

TESTS = """\
[[test]]
name = "sign in"
ask = "which auth method"
given = ["D[auth.method]: session cookies"]

[[test]]
name = "port"
ask = "database port"
given = ["5432"]
"""

BEGUN = 1_790_000_000_000


@pytest.fixture
def file(home: Path, db: Path) -> Path:
    """A memory of two hours in which the fifth change, made by a session, breaks the first of two tests."""
    now = [Millis(BEGUN)]
    with Store.open(db, clock=lambda: now[0]) as store:
        session = store.sessions.open("default", "agent", client="claude-code")
        for line in (
            "D[auth.method]: session cookies",
            "V[db.port]: 5432",
            "V[shelf.load]: 12 books",
            "D[auth.method]: SAML",
            "V[shelf.width]: 80 cm",
        ):
            now[0] = Millis(now[0] + 1_800_000)
            store.facts.write("default", line, session=session)
    path = home / "memory-tests.toml"
    path.write_text(TESTS, encoding="utf-8")
    return path


def without_uids(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", text)


def test_the_change_that_broke_a_test_is_named(file: Path, ask: Ask) -> None:
    said = ask("test", "--bisect", "sign in")
    assert said.code == 1
    first, *rows, since = without_uids(said.out).splitlines()
    assert re.fullmatch(r"sign in was broken by change \d+, 2026-09-21T16:13:20.000Z:", first)
    assert any("claude-code" in row and "D[auth.method]: SAML" in row for row in rows), rows
    assert since == "since then: not given: D[auth.method]: session cookies (it is superseded by UID)"
    number = int(first.split("change ")[1].split(",")[0])
    assert said.err.endswith(f"undo it with: hermes-memory-tui undo --change {number}\n")
    document = ask("test", "--bisect", "sign in", "--json").document
    assert document["broken_by"]["change"] == number
    assert {row["op"] for row in document["broken_by"]["rows"]} == {"supersede", "create"}
    assert ask("undo", "--change", str(number)).code == 0
    said = ask("test", "--bisect", "sign in")
    assert (said.code, said.out) == (0, "sign in passes: nothing broke it\n")


def test_a_good_moment_can_be_named(file: Path, ask: Ask) -> None:
    assert ask("test", "--bisect", "sign in", "--good", "2026-09-21T16:00Z").code == 1
    said = ask("test", "--bisect", "sign in", "--good", "2026-01-01")
    assert (said.code, said.out) == (1, "")
    assert said.err == ("error: 'sign in' did not pass at 2026-01-01T00:00:00.000Z either; name an earlier --good\n")


def test_a_test_that_is_not_there_is_named(file: Path, ask: Ask) -> None:
    said = ask("test", "--bisect", "sing in")
    assert said.code == 1
    assert "no test of" in said.err
    assert "did you mean 'sign in'?" in said.err


def test_proposals_are_a_file_that_can_be_appended(home: Path, db: Path, ask: Ask) -> None:
    ask("write", "D[auth.method]: session cookies", "--scope", "login")
    assert ask("search", "auth method").code == 0
    ask("write", "D[auth.method]: SAML", "--scope", "login")
    uid = ask("search", "saml", "--json").document["facts"][0]["uid"]
    assert ask("pin", uid).code == 0
    said = ask("test", "--learn")
    assert said.code == 0, said.err
    assert "# replaced after it was given; passes now\n[[test]]\n" in said.out
    assert said.err == f"2 tests proposed; add what you want to {home / 'memory-tests.toml'}\n"
    (home / "memory-tests.toml").write_text(said.out, encoding="utf-8")
    assert len(parse_cases(said.out)) == 2
    assert ask("test").code == 0
    said = ask("test", "--learn", "--json")
    assert said.document == {"proposed": []}


def test_two_tasks_at_once_are_refused(file: Path, ask: Ask) -> None:
    said = ask("test", "--bisect", "port", "--learn")
    assert said.code == 2
    assert "--bisect and --learn do different things; choose one" in said.err
    assert ask("test", "--good", "2d").code == 2


def test_a_past_memory_can_be_tested(file: Path, ask: Ask) -> None:
    assert ask("at", "2026-09-21T16:00Z", "test").code == 0
    assert ask("at", "2026-09-21T16:30Z", "test").code == 1


def test_a_broken_memory_is_explained_by_a_process_of_its_own(file: Path, db: Path, home: Path) -> None:
    found = subprocess.run(
        [*COMMAND, "--db", str(db), "test", "--bisect", "sign in"], cwd=home, capture_output=True, text=True
    )
    assert found.returncode == 1, found.stderr
    assert "was broken by change" in found.stdout
