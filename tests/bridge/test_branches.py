"""Facts of unmerged branches, as agents in real repositories are given them by a real bridge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.files.repository_facts import RepositoryFacts
from hermes_memory_store.model import Change
from hermes_memory_store.places.citations import parse_citations
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, bridge, data, text, until
from tests.store.test_projects import git


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a commit on `main`; `pay`, with one of its own, is checked out."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "a.txt", "one\n")
    git(folder, "switch", "-q", "-c", "pay")
    commit(folder, "pay.txt", "pay\n")
    return folder


def lines(answer: dict[str, Any], part: str) -> list[str]:
    """Return the lines of an answer that hold a text, without the mark of the fence."""
    return [line.removeprefix("| ") for line in text(answer).splitlines() if part in line]


def merges(db: Path) -> list[Change]:
    with Store.open(db, read_only=True) as store:
        return store.journal.changes(ops=["branch_merged"])


def write_on_both(shim: Shim, shop: Path) -> None:
    """Write facts on `pay`, then others on `main`, which is checked out then."""
    shim.open("claude-code")
    shim.call("memory_write", content="D[db]: sqlite for payments")
    shim.call("memory_write", content="C[keys]: never in payments")
    git(shop, "switch", "-q", "main")
    shim.call("memory_write", content="V[port]: 8080 for payments")


def test_an_unmerged_fact_is_labelled_and_behind_others_until_its_branch_is_merged(served: Path, shop: Path) -> None:
    with Shim(served, cwd=shop) as shim:
        write_on_both(shim, shop)
        until(lambda: "(branch pay)" in text(shim.call("memory_status")), "the watch")
        block = text(shim.call("memory_status"))
        assert block.index("C[keys]: never in payments (branch pay)") > 0
        assert block.index("V[port]: 8080 for payments\n") < block.index("D[db]: sqlite for payments (branch pay)")
        found = shim.call("memory_search", query="payments")
        assert lines(found, "sqlite") == ["D[db]: sqlite for payments (branch pay)"]
        assert [one["branch"] for one in found["result"]["structuredContent"]["facts"] if "branch" in one] == [
            {"name": "pay", "state": "unmerged"}
        ] * 2
        assert text(found).index("8080") < text(found).index("sqlite")
        assert "(branch pay)" in text(shim.call("memory_reflect", topic="payments"))
        assert merges(served) == []
        git(shop, "merge", "-q", "--no-ff", "--no-edit", "pay")
        until(lambda: "(branch" not in text(shim.call("memory_status")), "the watch")
        assert "(branch" not in text(shim.call("memory_search", query="payments"))
        (change,) = merges(served)
        assert change.entity == "branch"
        assert change.after is not None
        assert (change.after["project"], change.after["branch"], change.after["into"]) == ("shop", "pay", "main")
        assert (change.after["target_commit"], change.after["way"]) == (git(shop, "rev-parse", "main"), "merge")
        shim.call("memory_search", query="payments")
        assert len(merges(served)) == 1
    with Store.open(served) as store:
        assert store.journal.verify().ok


def test_a_merge_is_noticed_while_no_agent_says_anything(served: Path, shop: Path) -> None:
    with Shim(served, cwd=shop) as shim:
        write_on_both(shim, shop)
        until(lambda: "(branch pay)" in text(shim.call("memory_status")), "the watch")
        git(shop, "merge", "-q", "--squash", "pay")
        git(shop, "commit", "-q", "-m", "squashed")
        git(shop, "branch", "-q", "-D", "pay")
        until(lambda: merges(served) != [], "the watch")
        (change,) = merges(served)
        assert (change.after or {})["way"] == "squash"
        assert "(branch" not in text(shim.call("memory_status"))


def test_on_its_own_branch_and_on_one_that_has_it_a_fact_is_as_ever(served: Path, shop: Path) -> None:
    with Shim(served, cwd=shop) as shim:
        write_on_both(shim, shop)
        git(shop, "switch", "-q", "pay")
        assert "(branch" not in text(shim.call("memory_status")), "facts of the default branch are never marked"
        git(shop, "switch", "-q", "-c", "stacked")
        commit(shop, "s.txt", "stacked\n")
        assert "(branch pay?)" in text(shim.call("memory_status")), "not known yet"
        until(lambda: "(branch" not in text(shim.call("memory_status")), "the watch")
        git(shop, "switch", "-q", "-c", "beside", "main")
        commit(shop, "b.txt", "beside\n")
        until(lambda: "(branch pay)" in text(shim.call("memory_status")), "the watch")


def test_a_theme_that_holds_back_says_how_many_and_shows_them_when_asked(db: Path, shop: Path) -> None:
    (db.parent / "memory-themes.toml").write_text('[defaults]\nbranches = "hold"\n', encoding="utf-8")
    with bridge(db), Shim(db, cwd=shop) as shim:
        write_on_both(shim, shop)
        until(lambda: "held back" in text(shim.call("memory_status")), "the watch")
        block = shim.call("memory_status")
        assert "D[db]" not in text(block)
        assert "(+1 of unmerged branches held back: memory_search branch:NAME)" in text(block)
        assert "C[keys]: never in payments (branch pay)" in text(block), "a constraint is never held back"
        found = shim.call("memory_search", query="payments")
        assert "sqlite" not in text(found)
        assert text(found).endswith("(1 fact of unmerged branches held back; to see them search with branch:pay)")
        assert lines(shim.call("memory_search", query="payments branch:pay"), "sqlite") == [
            "D[db]: sqlite for payments (branch pay)"
        ]
        for tool, said in (("recall_memory", {"query": "payments"}), ("memory_reflect", {"topic": "payments"})):
            answer = shim.call(tool, **said)
            assert "sqlite" not in text(answer)
            assert "held" in answer["result"]["structuredContent"]


def test_a_theme_that_leaves_branches_alone(db: Path, shop: Path) -> None:
    (db.parent / "memory-themes.toml").write_text('[defaults]\nbranches = "off"\n', encoding="utf-8")
    with bridge(db), Shim(db, cwd=shop) as shim:
        write_on_both(shim, shop)
        block = text(shim.call("memory_status"))
        assert "(branch" not in block
        assert block.index("D[db]") < block.index("V[port]")


def test_facts_of_a_repository_are_given_from_the_yes_on_and_marked_on_their_branch(served: Path, shop: Path) -> None:
    uid, pay = "01a22aa8-0199-7001-84bb-000000000001", "01a22aa8-0199-7001-84bb-000000000002"
    (shop / ".memory/facts").mkdir(parents=True)
    commit(shop, f".memory/facts/{pay}.txt", f"D[till]: Stripe alone\nid: {pay}\n")
    git(shop, "switch", "-q", "main")
    (shop / ".memory/facts").mkdir(parents=True, exist_ok=True)
    commit(shop, f".memory/facts/{uid}.txt", f"D[queue]: Redis streams\nid: {uid}\n")
    git(shop, "switch", "-q", "pay")

    def find_waiting() -> list[str]:
        with Store.open(served, read_only=True) as store:
            return sorted(row.fact.notation for row in store.facts.quarantine_queue())

    with Shim(served, cwd=shop) as shim:
        shim.open("claude-code")
        shim.call("memory_write", content="V[port]: 8080")
        until(lambda: find_waiting() == ["D[queue]: Redis streams", "D[till]: Stripe alone"], "the proposals")
        assert "Redis" not in text(shim.call("memory_status"))
        with Store.open(served) as store:
            RepositoryFacts(store, read_project(shop)).keep_answer(True)
        commit(shop, "more.txt", "more\n")
        until(lambda: "D[queue]: Redis streams" in text(shim.call("memory_status")), "the facts")
        assert "Stripe alone\n" in text(shim.call("memory_status")), "on its own branch it has no mark"
        git(shop, "switch", "-q", "main")
        until(lambda: "D[till]: Stripe alone (branch pay)" in text(shim.call("memory_status")), "the watch")
        assert "Redis streams\n" in text(shim.call("memory_status"))


BODY = "def connect(host):\n    port = 5432\n    return host, port\n"


def cited(db: Path, uid: str) -> list[str]:
    with Store.open(db, read_only=True) as store:
        return [citation.label for citation in parse_citations(store.facts.get(uid).cites)]


def rename(folder: Path, name: str, new: str, above: str = "") -> None:
    text = (folder / name).read_text(encoding="utf-8")
    git(folder, "rm", "-q", name)
    commit(folder, new, above + text)


def wait_for(shim: Shim, db: Path, uid: str, *places: str) -> None:
    """Wait until a fact cites these, which the bridge looks at when an agent says something."""
    shim.call("memory_status")
    until(lambda: cited(db, uid) == [*places], "the watch")


def test_lines_that_a_commit_moved_are_cited_where_they_are(served: Path, shop: Path) -> None:
    git(shop, "switch", "-q", "main")
    commit(shop, "db.py", BODY)
    commit(shop, "copy.py", "# the same\n" + BODY)
    with Shim(served, cwd=shop) as shim:
        shim.open("claude-code")
        uid = data(shim.call("memory_write", content="V[db.port]: 5432", cites=["db.py:1-3"]))["uid"]
        lost = data(shim.call("memory_write", content="D[a]: one", cites=["a.txt:1", "https://a.example/b"]))["uid"]
        rename(shop, "a.txt", "b.txt", "not it\n")
        wait_for(shim, served, lost, "b.txt:2", "https://a.example/b")
        rename(shop, "db.py", "store.py", "# new\n")
        until(lambda: cited(served, uid) == ["store.py:2-4"], "the watch, while no agent says anything")
        change = follows(served)[-1]
        assert (change.op, change.uid, str(change.actor)) == ("cite", uid, "bridge")
        assert "cited lines" not in text(shim.call("memory_search", query="port"))
        with Store.open(served) as store:
            store.undo.changes([change.seq])
            assert store.journal.verify().ok
        other = data(shim.call("memory_write", content="V[db.host]: host", cites=["store.py:2"]))["uid"]
        rename(shop, "store.py", "base.py")
        wait_for(shim, served, other, "base.py:2")
        assert cited(served, uid) == ["db.py:1-3"], "what a person took back is not done again"


def test_what_is_not_committed_or_only_on_a_branch_moves_no_citation(served: Path, shop: Path) -> None:
    git(shop, "switch", "-q", "main")
    commit(shop, "db.py", BODY)
    commit(shop, "old.py", BODY.replace("connect", "close"))
    with Shim(served, cwd=shop) as shim:
        shim.open("claude-code")
        uid = data(shim.call("memory_write", content="V[db.port]: 5432", cites=["db.py:1-3"]))["uid"]
        last = data(shim.call("memory_write", content="D[db.close]: by host", cites=["old.py:1-3"]))["uid"]
        git(shop, "mv", "db.py", "store.py")
        git(shop, "commit", "-q", "--allow-empty", "--only", "-m", "without it")
        shim.call("memory_status")
        git(shop, "mv", "store.py", "db.py")
        git(shop, "switch", "-q", "-c", "aside")
        rename(shop, "db.py", "store.py")
        own = data(shim.call("memory_write", content="V[db.name]: x", cites=["store.py:1-3"]))["uid"]
        rename(shop, "store.py", "base.py")
        wait_for(shim, served, own, "base.py:1-3")
        git(shop, "switch", "-q", "main")
        rename(shop, "old.py", "new.py")
        wait_for(shim, served, last, "new.py:1-3")
        assert (cited(served, uid), cited(served, own)) == (["db.py:1-3"], ["base.py:1-3"])
        git(shop, "merge", "-q", "--no-edit", "aside")
        wait_for(shim, served, uid, "base.py:1-3")


def follows(db: Path) -> list[Change]:
    with Store.open(db, read_only=True) as store:
        return [change for change in store.journal.changes(ops=["cite"]) if change.actor.kind == "bridge"]
