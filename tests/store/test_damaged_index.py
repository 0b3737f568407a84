"""A damaged full-text index stands in nobody's way: facts are written and found without it, and it can be made anew."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.database.index_health import FACTS, INDEXES, TURNS, is_index_usable
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store

THEME = "default"

NUMBER = 500

Harm = Callable[[Path, str], None]
"""Does something to one of the indexes of a store."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with facts and turns on several pages of both indexes."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with Store.open(path) as store:
        lines = [
            (f"V[t{n}.part]: word{n % 97} common deployment unique{n}x {n * 7919}", "rollout") for n in range(NUMBER)
        ]
        store.facts.write_many(THEME, lines, actor=PERSON)
        store.facts.write(THEME, "D[café]: Déploiement à Zürich, blue green")
        store.facts.write(THEME, "C[db.id]: UUID mandatory for every table")
        for n in range(300):
            store.turns.add(THEME, "user", f"turn {n}: we said something{n} about rockets{n % 50} " + "padding " * 40)
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of it to be damaged."""
    made = tmp_path / "memory.db"
    shutil.copy(sound, made)
    return made


def pages_of(path: Path, table: str) -> list[int]:
    """The pages of a table, its root first."""
    with closing(sqlite3.connect(path)) as conn:
        return [page for (page,) in conn.execute("SELECT pageno FROM dbstat WHERE name = ? ORDER BY path", (table,))]


def overwrite(path: Path, page: int, offset: int = 0, count: int = 4096) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096 + offset)
        file.write(random.Random(page).randbytes(count))


def every_page(part: str, offset: int = 0, count: int = 4096) -> Harm:
    """Random bytes in every page of a table of the index."""

    def harm(path: Path, index: str) -> None:
        for page in pages_of(path, f"{index}_{part}"):
            overwrite(path, page, offset, count)

    return harm


def root_page(part: str) -> Harm:
    return lambda path, index: overwrite(path, pages_of(path, f"{index}_{part}")[0])


def run_sql(statement: str) -> Harm:
    def harm(path: Path, index: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            conn.execute("PRAGMA writable_schema = ON")
            conn.execute(statement.format(index))

    return harm


HARM = {
    "data, every page": every_page("data"),
    "data, root": root_page("data"),
    "data, middles": every_page(
        "data", 2000, 1500
    ),  # in what the pages say, not in how SQLite finds its way among them
    "idx, root": root_page("idx"),
    "config, root": root_page("config"),
    "data dropped": run_sql("DROP TABLE {}_data"),
    "idx dropped": run_sql("DROP TABLE {}_idx"),
    "config dropped": run_sql("DROP TABLE {}_config"),
    "blobs cut": run_sql("UPDATE {}_data SET block = substr(block, 1, 3)"),
    "blobs emptied": run_sql("UPDATE {}_data SET block = x''"),
    "blobs random": run_sql("UPDATE {}_data SET block = randomblob(length(block))"),
    "structure gone": run_sql("DELETE FROM {}_data WHERE id = 10"),
    "averages gone": run_sql("DELETE FROM {}_data WHERE id = 1"),
    "segments gone": run_sql("DELETE FROM {}_data WHERE id > 10"),
    "version of tomorrow": run_sql("UPDATE {}_config SET v = 99 WHERE k = 'version'"),
    "table gone from the schema": run_sql("DELETE FROM sqlite_master WHERE name = '{}'"),
}


def found(store: Store, line: str) -> list[str]:
    return [fact.target for fact in store.search.find(THEME, line).facts]


def failing(path: Path) -> set[str]:
    with Store.open(path) as store:
        return {check.name for check in examine_store(store) if not check.ok}


@pytest.mark.parametrize("name", HARM)
def test_facts_are_written_and_found_without_their_index(name: str, path: Path) -> None:
    HARM[name](path, FACTS)

    with Store.open(path) as store:
        for n in range(30):
            store.facts.write(THEME, f"V[fresh{n}]: zebra number{n}")
        store.facts.write(THEME, "V[fresh1]: giraffe")
        store.facts.archive([store.search.find(THEME, "number2").facts[0].uid])
        answers = [found(store, line) for line in ("giraffe", "zebra number7", "unique77x", "uuid mandatory")]

    assert answers[0] == ["fresh1"]
    assert answers[1][0] == "fresh7"
    if name not in (
        "segments gone",
        "averages gone",
    ):  # FTS5 takes such an index for one that says less: the doctor tells
        assert answers[2] == ["t77.part"]
        assert answers[3][0] == "db.id"


@pytest.mark.parametrize("name", HARM)
def test_turns_are_captured_and_found_without_their_index(name: str, path: Path) -> None:
    HARM[name](path, TURNS)

    with Store.open(path) as store:
        for n in range(30):
            store.turns.add(THEME, "user", f"fresh turn about zebras {n}")
        hits = store.turns.search(THEME, "zebras 7")

    assert hits[0].turn.content == "fresh turn about zebras 7"


@pytest.mark.parametrize(
    ("name", "harmed"),
    [*((name, [FACTS, TURNS]) for name in HARM), *(("data, middles", [index]) for index in (FACTS, TURNS))],
)
def test_the_doctor_names_the_damage_and_makes_the_indexes_anew(name: str, harmed: list[str], path: Path) -> None:
    for index in harmed:
        HARM[name](path, index)

    if name != "averages gone":  # nothing here asks for averages
        assert {{FACTS: "full-text", TURNS: "turns"}[index] for index in harmed} <= failing(path)
    with Store.open(path) as store:
        store.facts.write(THEME, "V[fresh]: zebra")
        store.turns.add(THEME, "user", "fresh turn about zebras")
        checks = {check.name: check for check in examine_store(store, repair=True)}
    assert all(check.ok for check in checks.values()), checks
    assert failing(path) == set()
    with Store.open(path) as store:
        answer = store.search.find(THEME, "zebra")
        assert ([fact.target for fact in answer.facts], answer.note) == (["fresh"], None)
        assert found(store, "unique77x") == ["t77.part"]
        assert store.turns.search(THEME, "zebras")[0].turn.content == "fresh turn about zebras"
        assert "rockets7" in store.turns.search(THEME, "rockets7")[0].turn.content
        assert store.turns.note() is None
        store.facts.write(THEME, "V[after]: quagga")
        assert found(store, "quagga") == ["after"]
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = {name for (name,) in conn.execute("SELECT name FROM sqlite_master")}
    assert "set_aside_indexes" not in names


@pytest.mark.parametrize("trigger", ["facts_refaceted", "facts_unfaceted"])
def test_an_index_without_a_trigger_is_not_believed(trigger: str, path: Path) -> None:
    run_sql(f"DROP TRIGGER {trigger}")(path, FACTS)

    with Store.open(path) as store:
        uid = store.search.find(THEME, "unique5x").facts[0].uid
        store.facts.archive([uid])
        assert found(store, "unique5x") == []
        assert found(store, "unique5x tier:archived") == ["t5.part"]
        assert store.search.find(THEME, "unique5x tier:all").note is not None
    assert failing(path) == {"full-text"}


def test_an_answer_without_the_index_says_so(path: Path) -> None:
    HARM["data, root"](path, FACTS)

    with Store.open(path) as store:
        assert "run doctor --repair" in (store.search.find(THEME, "common").note or "")
        assert store.search.find(THEME, "type:value").note is None


@pytest.mark.parametrize(
    "line",
    [
        "unique77x", "deploiement", "DÉPLOIEMENT zurich", '"blue green"', "deploy unique3x", "common -deployment", "uniq",
        "what is mandatory for the tables?", "common type:constraint", "common scope:rollout", "target:t9", "cafe",
        '"green blue"', "nothing-like-it", "unique77x unique78x", "-common", "db uuid",
    ],
)  # fmt: skip
def test_reading_the_facts_finds_what_the_index_finds(line: str, sound: Path, path: Path) -> None:
    run_sql("DROP TRIGGER facts_refaceted")(path, FACTS)

    with Store.open(sound, read_only=True) as whole, Store.open(path, read_only=True) as damaged:
        by_index, by_reading = (one.search.find(THEME, line, limit=10) for one in (whole, damaged))

    assert {fact.target for fact in by_reading.facts[:1]} == {fact.target for fact in by_index.facts[:1]} or (
        len(by_index.facts) == 10 and len(by_reading.facts) == 10
    )
    assert bool(by_reading.facts) == bool(by_index.facts)


def test_a_store_open_for_reading_only_is_searched_all_the_same(path: Path) -> None:
    HARM["data, root"](path, FACTS)
    before = path.read_bytes()

    with Store.open(path, read_only=True) as store:
        assert found(store, "unique77x") == ["t77.part"]
    assert path.read_bytes() == before


def test_other_processes_follow_when_an_index_is_set_aside_and_made_anew(path: Path) -> None:
    with Store.open(path) as one, Store.open(path) as other:
        assert found(other, "unique77x") == ["t77.part"]
        with other.db.write_transaction() as conn:
            conn.execute("UPDATE facts_text_data SET block = x'00' WHERE id >= 10")
        one.facts.write(THEME, "V[a]: okapi")
        other.facts.write(THEME, "V[b]: okapi")
        assert set(found(one, "okapi")) == set(found(other, "okapi")) == {"a", "b"}
        assert all(check.ok for check in examine_store(one, repair=True))
        assert is_index_usable(other.db.conn, FACTS)
        other.facts.write(THEME, "V[c]: okapi")
        assert set(found(one, "okapi")) == {"a", "b", "c"}


def test_a_repair_beside_a_process_that_writes_loses_nothing(path: Path) -> None:
    HARM["data, middles"](path, FACTS)
    stopped, written = threading.Event(), []

    def write() -> None:
        with Store.open(path) as store:
            while not stopped.is_set():
                written.append(store.facts.write(THEME, f"V[w{len(written)}]: lemur").fact.uid)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with Store.open(path) as store:
            examine_store(store, repair=True)
    finally:
        stopped.set()
        writer.join()
    with Store.open(path) as store:
        assert len(store.facts.by_uids(written)) == len(written)
        assert all(check.ok for check in examine_store(store, repair=True))
        assert store.search.find(THEME, "lemur", limit=1000).total == len(written)


REPAIR = (
    "import sys; from hermes_memory_store.store import Store;"
    "from hermes_memory_store.diagnostics.doctor import examine_store;"
)


@pytest.mark.crash
@pytest.mark.parametrize("after_s", [0.05, 0.2, 0.35, 0.5, 0.7])
@pytest.mark.parametrize(("name", "harmed"), [("blobs random", [FACTS]), ("data, every page", [FACTS, TURNS])])
def test_a_repair_that_is_killed_leaves_all_or_nothing(
    name: str, harmed: list[str], after_s: float, path: Path
) -> None:
    for index in harmed:
        HARM[name](path, index)
    code = REPAIR + "store = Store.open(sys.argv[1]); print('begun', flush=True); examine_store(store, repair=True)"

    repairing = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert repairing.stdout is not None
    repairing.stdout.readline()
    try:
        repairing.wait(after_s)
    except subprocess.TimeoutExpired:
        repairing.send_signal(signal.SIGKILL)
        repairing.wait()
    repairing.stdout.close()

    with Store.open(path) as store:
        store.facts.write(THEME, "V[after]: quagga")
        assert found(store, "quagga") == ["after"]
        assert all(check.ok for check in examine_store(store, repair=True))
        assert found(store, "unique77x") == ["t77.part"]
    assert failing(path) == set()


@pytest.mark.crash
def test_a_repair_that_is_killed_before_the_old_pages_are_given_up_can_be_made_again(path: Path) -> None:
    for index in (FACTS, TURNS):
        HARM["data, every page"](path, index)
    code = (
        "import os, signal; from hermes_memory_store.items import fulltext;"
        "fulltext.vacuum_store = lambda db: os.kill(os.getpid(), signal.SIGKILL);"
    )
    code = REPAIR + code + "examine_store(Store.open(sys.argv[1]), repair=True)"

    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)

    assert done.returncode == -signal.SIGKILL
    with Store.open(path) as store:
        assert found(store, "unique77x") == ["t77.part"]
        assert all(check.ok for check in examine_store(store, repair=True))
    assert failing(path) == set()


def test_a_purge_says_that_a_damaged_index_may_still_hold_the_words(path: Path) -> None:
    HARM["blobs random"](path, FACTS)
    with Store.open(path) as store:
        uid = store.facts.write(THEME, "V[secret]: hunterpassword").fact.uid
        _, unreached = store.purge.erase([uid])
        assert any("doctor --repair" in one for one in unreached)
        examine_store(store, repair=True)
        assert found(store, "hunterpassword") == []
    assert b"hunterpassword" not in path.read_bytes()


def test_facts_of_a_damaged_page_come_back_from_the_journal(path: Path) -> None:
    with Store.open(path) as store:
        before = store.db.rows("SELECT * FROM facts ORDER BY id")
    with closing(sqlite3.connect(path)) as conn:
        facts = [
            page for (page,) in conn.execute("SELECT pageno FROM dbstat WHERE name = 'facts' AND pagetype = 'leaf'")
        ]
    overwrite(path, facts[len(facts) // 2])

    with Store.open(path) as store:
        checks = {check.name: check for check in examine_store(store, repair=True)}
        assert "in rows of facts" in checks["database"].detail
        assert [check for check in checks.values() if not check.ok] == []
        assert store.db.rows("SELECT * FROM facts ORDER BY id") == before
        assert is_index_usable(store.db.conn, FACTS)


@pytest.mark.parametrize("name", [FACTS, TURNS])
def test_the_parts_of_an_index_are_those_that_the_schema_makes(sound: Path, name: str) -> None:
    created = "sql LIKE 'CREATE VIRTUAL TABLE%' OR type = 'trigger' AND tbl_name IN ('facts', 'turns')"
    with Store.open(sound) as store:
        rows = store.db.rows(f"SELECT name, type FROM sqlite_master WHERE ({created}) AND sql LIKE ?", (f"%{name}%",))
    index = INDEXES[name]
    assert {(table, "table") for table in index.tables} | {(one, "trigger") for one in index.triggers} == set(rows)
    assert len(index.statements) == len(rows)
