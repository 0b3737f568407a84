"""Events that wait on disk for a bridge: whole or not there, bounded, overwritten, reached by every purge."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.bridge.running import until


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def texts(path: str) -> list[str]:
    return [(waiting_records.read_record(one) or {})["text"] for one in waiting_records.list_waiting(path)]


def leave(path: str, text: str, **said: Any) -> bool:
    return waiting_records.append(path, {"host": "codex", "event": "prompt", "text": text, **said})


def test_records_wait_in_the_order_in_which_they_came(path: str) -> None:
    assert all(leave(path, f"text {number}") for number in range(20))
    assert texts(path) == [f"text {number}" for number in range(20)]


def test_nobody_else_may_read_them(path: str) -> None:
    before = os.umask(0)
    try:
        leave(path, "x")
    finally:
        os.umask(before)
    folder = Path(waiting_records.to_waiting_folder(path))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()] == [0o600]


def test_a_folder_that_others_may_read_is_closed_to_them(path: str) -> None:
    folder = Path(waiting_records.to_waiting_folder(path))
    folder.mkdir(mode=0o755)
    leave(path, "x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_folder_takes_no_record(path: str, tmp_path: Path, kind: str) -> None:
    folder = Path(waiting_records.to_waiting_folder(path))
    (tmp_path / "elsewhere").mkdir()
    folder.touch() if kind == "file" else folder.symlink_to(tmp_path / "elsewhere")
    assert leave(path, "x") is False
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_together_they_stay_within_eight_mebibytes(path: str) -> None:
    taken = [leave(path, "x" * 1_000_000) for _ in range(12)]
    assert taken == [True] * 8 + [False] * 4
    folder = Path(waiting_records.to_waiting_folder(path))
    assert sum(file.stat().st_size for file in folder.iterdir()) <= waiting_records.MOST_BYTES
    waiting_records.erase(waiting_records.list_waiting(path)[0])
    assert leave(path, "x" * 1_000_000)


def test_many_at_once_stay_within_the_limit(path: str) -> None:
    threads = [threading.Thread(target=leave, args=(path, "x" * 900_000)) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder = Path(waiting_records.to_waiting_folder(path))
    assert sum(file.stat().st_size for file in folder.iterdir()) <= waiting_records.MOST_BYTES
    assert all(len(text) == 900_000 for text in texts(path))


def test_what_waited_for_more_than_seven_days_is_erased(path: str) -> None:
    leave(path, "old")
    leave(path, "new")
    [old, _] = waiting_records.list_waiting(path)
    age_s = 7 * DAY_MS / 1000 + 60
    found = os.stat(old)
    os.utime(old, (found.st_atime - age_s, found.st_mtime - age_s))
    assert texts(path) == ["new"]
    assert not Path(old).exists()


def test_an_erased_record_is_overwritten_first(path: str, tmp_path: Path) -> None:
    leave(path, "the secret")
    [record] = waiting_records.list_waiting(path)
    os.link(record, tmp_path / "same file")
    size = os.path.getsize(record)
    assert waiting_records.erase(record)
    assert (tmp_path / "same file").read_bytes() == bytes(size)
    assert waiting_records.erase(record), "it is gone"


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_record_is_read_as_none_and_leaves_with_a_purge(path: str, said: bytes) -> None:
    leave(path, "x")
    [record] = waiting_records.list_waiting(path)
    Path(record).write_bytes(said)
    assert waiting_records.read_record(record) is None
    assert waiting_records.erase_containing(path, ["nothing of it"]) == 1


def test_a_pipe_in_the_folder_holds_nobody_up(path: str) -> None:
    leave(path, "x")
    pipe = os.path.join(waiting_records.to_waiting_folder(path), "0-pipe.json")
    os.mkfifo(pipe)
    assert waiting_records.read_record(pipe) is None
    assert waiting_records.erase(pipe)
    assert texts(path) == ["x"]


def test_a_link_in_the_folder_is_never_followed(path: str, tmp_path: Path) -> None:
    leave(path, "x")
    target = tmp_path / "target"
    target.write_text('{"text": "mine"}')
    link = Path(waiting_records.to_waiting_folder(path)) / "0-link.json"
    link.symlink_to(target)
    assert waiting_records.read_record(str(link)) is None
    assert waiting_records.erase(str(link))
    assert target.read_text() == '{"text": "mine"}'


@given(st.lists(st.text(max_size=40), max_size=6), st.text(min_size=1, max_size=6))
def test_a_purge_reaches_exactly_what_holds_the_text(
    tmp_path_factory: pytest.TempPathFactory, said: list[str], wanted: str
) -> None:
    path = str(tmp_path_factory.mktemp("waiting") / "memory.db")
    for text in said:
        assert leave(path, text)
    waiting_records.erase_containing(path, [wanted])
    folded = waiting_records.fold_case_and_spaces(wanted)
    own = ("codex", "prompt")
    left = [
        text for text in said
        if not folded or not any(folded in waiting_records.fold_case_and_spaces(one) for one in (text, *own))
    ]  # fmt: skip
    assert texts(path) == left


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_record_is_read_as_it_was_left(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = str(tmp_path_factory.mktemp("waiting") / "memory.db")
    assert waiting_records.append(path, {"value": value})
    [record] = waiting_records.list_waiting(path)
    assert waiting_records.read_record(record) == {"value": value}


WRITER = """
import sys
from hermes_memory_store.hosts import waiting_records
for number in range(100_000):
    if waiting_records.append(sys.argv[1], {"text": f"text {number}", "filler": "x" * 500}):
        print(number, flush=True)
"""


@pytest.mark.crash
def test_a_kill_loses_nothing_that_was_acknowledged(path: str) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
        writer.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().splitlines()]
    found = texts(path)
    assert found[: len(acknowledged)] == [f"text {number}" for number in acknowledged]
    assert len(found) - len(acknowledged) <= 1, "one may have been left and not been acknowledged"


DRAINER = """
import sqlite3, sys
from hermes_memory_store.hosts import waiting_records
kept = sqlite3.connect(sys.argv[2], isolation_level=None)
kept.execute("CREATE TABLE IF NOT EXISTS kept (text TEXT PRIMARY KEY)")
print("up", flush=True)
for path in waiting_records.list_waiting(sys.argv[1]):
    record = waiting_records.read_record(path)
    if record is not None:  # else its drainer died while it overwrote it
        kept.execute("INSERT OR IGNORE INTO kept VALUES (?)", (record["text"],))
    print("kept", flush=True)
    waiting_records.erase(path)
"""


@pytest.mark.crash
def test_kills_between_commit_and_erasure_lose_and_double_nothing(path: str, tmp_path: Path) -> None:
    for number in range(60):
        leave(path, f"text {number}")
    kept = tmp_path / "kept.db"

    def drain(steps: int) -> None:
        command = [sys.executable, "-c", DRAINER, path, str(kept)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as drainer:
            assert drainer.stdout is not None
            for _ in range(steps + 1):
                drainer.stdout.readline()
            drainer.send_signal(signal.SIGKILL)

    for steps in (0, 1, 7, 3, 11):
        drain(steps)
    subprocess.run([sys.executable, "-c", DRAINER, path, str(kept)], check=True, capture_output=True)
    import sqlite3

    with sqlite3.connect(kept) as conn:
        found = {text for (text,) in conn.execute("SELECT text FROM kept")}
    conn.close()
    assert found == {f"text {number}" for number in range(60)}
    assert waiting_records.list_waiting(path) == []


def test_a_writer_that_died_leaves_nothing_behind_for_long(path: str) -> None:
    leave(path, "x")
    folder = Path(waiting_records.to_waiting_folder(path))
    part = folder / f"1-dead.json{waiting_records.UNFINISHED}"
    part.write_bytes(b'{"text": "half')
    assert texts(path) == ["x"]
    assert part.exists(), "its writer may be alive"
    os.utime(part, (0, 0))
    assert texts(path) == ["x"]
    until(lambda: not part.exists(), "the end of the part")


@pytest.fixture
def store(path: str) -> Any:
    with Store.open(Path(path)) as opened:
        yield opened


@pytest.mark.parametrize("form", ["fact", "uid", "scope", "theme", "soft"])
def test_a_purge_reaches_what_waits(store: Store, path: str, form: str) -> None:
    fact = store.facts.write("default", "V[pool]: the pool has 20 seats", scope="db").fact
    leave(path, "So THE POOL has\n20 seats?")
    leave(path, "another matter")
    if form == "fact":
        store.purge.execute_facts(fact.uid)
    elif form == "uid":
        store.purge.erase(fact.uid)
    elif form == "scope":
        store.purge.execute("default", scope="db")
    elif form == "theme":
        store.facts.archive([fact.uid])
        store.purge.execute("default")
    else:
        from hermes_memory_store.model import Actor, Tier

        store.purge.soft_delete("default", tiers=frozenset(Tier), actor=Actor("session", "agent"))
        store.clock = lambda: 0  # type: ignore[assignment, return-value]
        store.purge.erase_soft_deleted("default", -DAY_MS)
    assert texts(path) == ["another matter"]


def test_a_purge_reaches_a_secret_that_the_store_has_masked(store: Store, path: str) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 11 + "-AAAAAA"
    fact = store.facts.write("default", f"D[deploy]: log in to the deploy box with {secret}").fact
    assert secret not in fact.content
    leave(path, f"log in to the deploy box with {secret}")
    leave(path, "log in to the deploy box by hand")
    store.purge.execute_facts(fact.uid)
    assert texts(path) == ["log in to the deploy box by hand"]


def test_a_purge_of_conversations_reaches_what_waits_to_become_one(store: Store, path: str) -> None:
    store.turns.add("default", "user", "kept already")
    now = store.clock()
    leave(path, "said", at=now - 1_000, theme="")
    leave(path, "another theme's", at=now - 1_000, theme="ops")
    leave(path, "", at=now - 1_000, theme="", event="start")
    store.turns.purge("default", older_than_ms=60_000)
    assert texts(path) == ["said", "another theme's", ""]
    store.turns.purge("default")
    assert texts(path) == ["another theme's", ""]


def test_a_purge_of_conversations_leaves_what_waits_for_the_themes_of_other_places(
    store: Store, path: str, tmp_path: Path
) -> None:
    for name in ("shop", "bank", "fresh"):
        folder = tmp_path / name
        folder.mkdir()
        if name != "fresh":
            store.turns.add(store.place_themes.theme_of(read_project(folder)), "user", "kept already")
        leave(path, f"in {name}", at=store.clock(), theme="", folder=str(folder))
    leave(path, "in no place", at=store.clock(), theme="", folder="")
    leave(path, "named", at=store.clock(), theme="Shop", folder=str(tmp_path / "bank"))
    store.turns.purge("shop")
    assert texts(path) == ["in bank", "in fresh", "in no place"]
    store.turns.add("default", "user", "kept already")
    store.turns.purge("default")
    assert texts(path) == ["in bank", "in fresh"]
