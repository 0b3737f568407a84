"""Which calls a guard is about, and which it is not."""

from __future__ import annotations

import json
import stat
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import ArgumentError, FactConflict
from hermes_memory_store.files.export_import import export_jsonl, import_file
from hermes_memory_store.hosts.guards import (
    Guard,
    find_asking,
    find_fitting,
    find_pattern_kind,
    load_guards,
    to_guards_path,
)
from hermes_memory_store.model import Uid
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock
from tests.store.team import THEME, Member, Server

CASES: dict[str, list[list[str]]] = tomllib.loads((Path(__file__).parent / "guard_cases.toml").read_text())


def asks(case: list[str], folder: str) -> bool:
    pattern, act, subject = case
    guard = Guard("0190", find_pattern_kind(pattern), pattern, "ask")
    return find_fitting([guard], act, subject, folder) == [guard]


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> str:
    """A folder below the top of a repository, as the cases name it."""
    subprocess.run(["git", "init", "-q", tmp_path / "p"], check=True)
    (tmp_path / "p" / "app").mkdir()
    return str(tmp_path / "p" / "app")


@pytest.mark.parametrize("half", CASES)
def test_a_guard_is_about_what_fits_and_nothing_that_looks_alike(half: str, folder: str) -> None:
    top = str(Path(folder).parent)
    cases = [[part.replace("/p/", f"{top}/") if part.count("/p/") else part for part in case] for case in CASES[half]]
    assert len(cases) == 40
    wrong = [case for case in cases if asks(case, folder) is not half.endswith("fit")]
    assert wrong == []


class GuardedStore(NamedTuple):
    store: Store
    uid: str
    copy: Path


@pytest.fixture(name="guarded")
def fixture_guarded(tmp_path: Path) -> Iterator[GuardedStore]:
    """A store with a fact that has two guards."""
    with Store.open(tmp_path / "memory.db") as store:
        uid = store.facts.write("default", "C[release]: the changelog comes first").fact.uid
        store.guards.add(uid, "git push*")
        store.guards.add(uid, "migrations/*", answer="deny")
        yield GuardedStore(store, uid, Path(to_guards_path(store.path)))


def lines(guarded: GuardedStore) -> list[str]:
    return [guard.line for guard in load_guards(guarded.store.path)]


def test_a_change_of_guards_is_undone_like_any_other_and_the_copy_follows(guarded: GuardedStore) -> None:
    store, both = guarded.store, ["ask run git push*", "deny edit migrations/*"]
    assert lines(guarded) == both
    assert stat.S_IMODE(guarded.copy.stat().st_mode) == 0o600
    store.undo.last()
    assert lines(guarded) == both[:1]
    store.undo.redo()
    assert lines(guarded) == both
    assert store.undo.preview(lambda: store.undo.last()).seqs
    assert lines(guarded) == both, "what is only previewed changes nothing"
    store.guards.remove(guarded.uid, "git push*")
    assert lines(guarded) == both[1:]
    store.guards.remove(guarded.uid)
    assert not guarded.copy.exists()
    assert all(check.ok for check in examine_store(store))


def test_a_guard_asks_until_its_fact_is_replaced_and_says_why_then(guarded: GuardedStore) -> None:
    store, guards = guarded.store, load_guards(guarded.store.path)
    folder = str(guarded.copy.parent)
    assert {fact for _, fact in find_asking(str(store.path), guards, folder)} == {
        "C[release]: the changelog comes first"
    }
    new = store.facts.write("default", "C[release]: whenever it is ready").fact.uid
    assert find_asking(str(store.path), guards, folder) == []
    assert {fault for _, _, fault in store.guards.list()} == {f"its fact is superseded by {new}"}
    store.undo.last()
    assert len(find_asking(str(store.path), guards, folder)) == 2
    store.facts.write("default", "C[release]: never")
    with pytest.raises(FactConflict):
        store.guards.add(guarded.uid, "git tag*")


def test_a_purge_leaves_nothing_of_a_guard_but_that_there_was_one(guarded: GuardedStore) -> None:
    store = guarded.store
    store.purge.execute_facts(guarded.uid)
    assert b"git push" not in b"".join(file.read_bytes() for file in guarded.copy.parent.iterdir())
    [(guard, fact, fault)] = store.guards.list()
    assert (guard.uid, fact, fault) == (guarded.uid, None, "its fact was purged")
    assert load_guards(store.path) == []
    store.guards.remove(guarded.uid)
    assert not guarded.copy.exists()


def test_a_store_that_cannot_be_read_says_nothing_of_guards_which_hold_then(guarded: GuardedStore) -> None:
    asking = find_asking(str(guarded.copy.parent / "gone.db"), load_guards(guarded.store.path), "/")
    assert [fact for _, fact in asking] == ["", ""]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[]", b'{"guards": [1]}', b'{"guards": {"a": 1}}', b"[" * 9_999]
)
def test_a_damaged_copy_asks_nothing_and_the_next_write_mends_it(guarded: GuardedStore, content: bytes) -> None:
    guarded.copy.write_bytes(content)
    assert load_guards(guarded.store.path) == []
    with Store.open(guarded.store.path) as again:
        again.facts.write("default", "V[port]: 5432")
    assert len(lines(guarded)) == 2


@pytest.mark.parametrize("pattern", ["", " ", "*", "**/*", "a\x07b", "x" * 201])
def test_what_is_no_pattern_is_refused(guarded: GuardedStore, pattern: str) -> None:
    with pytest.raises(ArgumentError):
        guarded.store.guards.add(guarded.uid, pattern)


def test_a_guard_of_a_project_is_heeded_in_that_project_alone(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("shop", "garden")]
    for folder in folders:
        subprocess.run(["git", "init", "-q", folder], check=True)
    with Store.open(tmp_path / "memory.db") as store:
        store.place_themes.adopt()
        theme = store.place_themes.theme_of(read_project(str(folders[0])))
        uid = store.facts.write(theme, "C[release]: the changelog comes first").fact.uid
        store.guards.add(uid, "git push*")
        guards = load_guards(store.path)
        assert [len(find_asking(str(store.path), guards, str(folder))) for folder in folders] == [1, 0]


def test_neither_an_export_nor_an_import_nor_a_team_carries_a_guard(guarded: GuardedStore, tmp_path: Path) -> None:
    exported = [json.loads(line) for line in export_jsonl(guarded.store, "default")]
    assert "git push" not in json.dumps(exported)
    exported[-1] |= {"guards": "deny run *", "target": "hostile", "uid": "01a1fc12-f375-7001-98d2-1607a8a2ab97"}
    (tmp_path / "hostile.jsonl").write_text("".join(json.dumps(line) + "\n" for line in exported))
    with Store.open(tmp_path / "other.db") as other:
        import_file(other, tmp_path / "hostile.jsonl", theme="default")
        assert other.guards.list() == []
        assert not Path(to_guards_path(other.path)).exists()


def test_a_team_sends_no_guard_and_takes_none(tmp_path: Path) -> None:
    server, clock = Server(), HandClock()
    policies = Policies.load(tmp_path / "memory-themes.toml")
    ana, ben = (Member(tmp_path / f"{name}.db", clock, policies) for name in ("ana", "ben"))
    for member in (ana, ben):
        member.store.sync.track(THEME)
    uid = ana.store.facts.write(THEME, "C[release]: the changelog comes first").fact.uid
    ana.store.guards.add(uid, "git push*")
    ana.exchange(server)
    seq, row = server.rows[Uid(uid)]
    assert "guards" not in row.attrs
    server.rows[Uid(uid)] = seq, replace(row, attrs=row.attrs | {"guards": "deny run git*"})
    ben.exchange(server)
    assert ben.store.facts.get(uid).guards is None
    assert not Path(to_guards_path(ben.path)).exists()
