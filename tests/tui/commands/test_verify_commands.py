"""`cite` and `verify`: a person says what a fact rests on, and CI is told when it no longer stands."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hermes_memory_store.files.export_import import import_file
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.maintenance.verify_commands import find_stranger, run_cited
from tests.bridge.running import Shim, bridge, data
from tests.store.test_citations import BODY, git
from tests.tui.commands.conftest import Ask, Tell


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "db.py").write_text(BODY)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    monkeypatch.chdir(folder / "src")
    return folder


@pytest.fixture
def uid(shop: Path, tell: Tell) -> str:
    return str(tell("write", "V[db.port]: 5432")["uid"])


def test_a_fact_cites_and_is_verified(ask: Ask, tell: Tell, uid: str, shop: Path) -> None:
    assert "cites src/db.py:4-6  (undo: " in ask("cite", uid, "db.py:4-6").out
    assert ask("verify").out.endswith("1 true\n")
    assert "cite       V[db.port]  cites: src/db.py:4-6\n" in ask("log").out
    (shop / "src" / "db.py").write_text("# new\n" + BODY)
    moved = ask("verify")
    assert (moved.code, "[src/db.py:4-6, now src/db.py:5]" in moved.out) == (0, True)
    (shop / "src" / "db.py").write_text(BODY.replace("5432", "5433"))
    changed = ask("verify")
    assert (changed.code, changed.out.startswith("contradicted V[db.port]: 5432  [src/db.py:4-6]")) == (1, True)
    document = json.loads(ask("verify", "--json").out)
    assert document["counts"]["contradicted"] == 1
    assert "(says 5432, the file says 5433)" in changed.out
    assert document["facts"][0]["cites"][0]["state"] == "changed"
    assert ask("cite", uid, "--remove", "src/db.py:4-6").code == 0
    assert ask("verify").out == "1 not cited\n"


def test_a_commit_may_be_cited_by_name(ask: Ask, tell: Tell, uid: str, shop: Path) -> None:
    commit = git(shop, "rev-parse", "HEAD")
    for name in ("HEAD", "main"):
        assert [cited["commit"] for cited in tell("cite", uid, "--commit", name)["cites"]] == [commit]
        ask("undo")
    assert "is no commit that can be cited" in ask("cite", uid, "--commit", "no-branch").err
    assert "db.py has 10 lines, none of number 90" in ask("cite", uid, "db.py:90").err


def test_commands_run_only_when_they_are_asked_for(ask: Ask, uid: str, shop: Path) -> None:
    trace = shop / "trace"
    assert ask("cite", uid, "--command", f"touch {trace}; echo 3 issues", "--output", "^0 issues").code == 0
    assert "unknown" in ask("verify").out
    assert "unknown" in ask("verify", "--run").out  # nobody is there to be asked
    assert not trace.exists()
    refuted = ask("verify", "--run", "--yes", "--junit", str(shop / "out.xml"))
    assert (refuted.code, "nothing printed fits '^0 issues'" in refuted.out) == (1, True)
    assert trace.exists()
    trace.unlink()
    file = shop / "facts.jsonl"
    ask("export", "--format", "jsonl", str(file))
    with Store.open(shop / "other.db") as other:
        import_file(other, file, theme="ops")
        stranger = find_stranger(other, uid)
        assert "create" in stranger
        (check,) = other.citations.verify("ops", find_repository(str(shop)), other.facts.get(uid).origin.project)
    refused = run_cited(check.checks[0], str(shop), stranger, yes=True)
    assert (refused.state, "a person is asked first" in refused.note) == ("unknown", True)
    assert not trace.exists()
    suite = ElementTree.parse(shop / "out.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("1", "1")


def test_facts_of_other_folders_are_left_out_here(
    ask: Ask, uid: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("cite", uid, "db.py:4")
    (shop / "docs").mkdir()
    monkeypatch.chdir(shop / "docs")
    assert ask("verify", "--here").out == "no facts\n"
    assert ask("verify").out.endswith("1 true\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "name what the fact cites"),
        (("db.py:4", "--remove", "all"), "name what the fact cites"),
        (("../../x:1",), "not in the repository"),
        (("db.py",), "names no lines"),
        (("--command", "x", "--output", "("), "is no pattern"),
    ],
)
def test_what_cannot_be_cited_is_an_error(ask: Ask, uid: str, words: tuple[str, ...], problem: str) -> None:
    refused = ask("cite", uid, *words)
    assert (refused.code, problem in refused.err) == (1, True)


def test_an_agent_cites_with_the_write_and_a_wrong_place_loses_nothing(ask: Ask, shop: Path, db: Path) -> None:
    with bridge(db), Shim(db, cwd=shop) as shim:
        shim.open()
        answer = shim.call("memory_write", content="V[db.port]: 5432", cites=["src/db.py:4-6", "gone.py:1"])
        text = answer["result"]["content"][0]["text"]
        assert "cites: src/db.py:4-6" in text
        assert "cites: not gone.py:1; gone.py cannot be cited: there is no such file" in text
        assert data(answer)["status"] == "created"
        found = shim.call("memory_search", query="port")
        assert "| V[db.port]: 5432 (cites src/db.py:4-6)" in found["result"]["content"][0]["text"]
        assert data(found)["facts"][0]["cites"] == ["src/db.py:4-6"]
        assert "5432 (cites src/db.py:4-6)" in str(shim.call("memory_reflect", topic="port")["result"]["content"])
        (shop / "src" / "db.py").write_text(BODY.replace("5432", "5433"))
        changed = shim.call("memory_search", query="port")["result"]["content"][0]["text"]
        assert "V[db.port]: 5432 (cited lines changed since " in changed
    assert ask("verify").code == 1


def test_what_is_tidied_is_one_change_that_one_undo_takes_back(ask: Ask, tell: Tell, uid: str, shop: Path) -> None:
    short = str(tell("write", "D[cache]: redis")["uid"])
    whole = str(tell("write", "D[caching]: redis 7")["uid"])

    shown = ask("tidy").out

    assert (
        f"merge    {short[-8:]}  D[cache]: redis, because D[caching]: redis 7 says all of it, and more, saves " in shown
    )
    assert "V[db.port]: 5432, because src/db.py:5 says so: " in shown
    document = tell("tidy")
    assert [(step["action"], step["fact"]["uid"], step["value"]) for step in document["proposals"]] == [
        ("merge", short, whole),
        ("cite", uid, f"{shop}/src/db.py:5"),
    ]
    assert document["changes"] == []
    assert tell("fact", short)["tier"] == "hot", "nothing is done without a word"
    assert [step["action"] for step in tell("tidy", "--except", uid)["proposals"]] == ["merge"]
    assert tell("tidy", "--only", "cool", "--apply") == {"proposals": [], "changes": []}

    (first, *_) = tell("tidy", "--apply")["changes"]

    assert (tell("fact", short)["tier"], tell("verify")["counts"]["true"]) == ("superseded", 1)
    assert ask("tidy").out == "nothing to tidy\n"
    assert ask("undo", "--change", str(first)).code == 0
    assert (tell("fact", short)["tier"], tell("verify")["counts"]["true"]) == ("hot", 0)
