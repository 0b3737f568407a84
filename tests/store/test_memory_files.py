"""MEMORY.md and USER.md as a hermes-agent host reads, locks, limits and replaces them."""

from __future__ import annotations

import fcntl
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.host_files.memory_files import MemoryFileKind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "memories"
    folder.mkdir()
    return folder / "MEMORY.md"


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", []),
        ("  \n\n", []),
        ("one", ["one"]),
        ("one\n§\ntwo\n", ["one", "two"]),
        ("one\n§\n\n§\ntwo", ["one", "two"]),
        ("two lines\nof one\n§\nnext", ["two lines\nof one", "next"]),
        ("costs 5 § of law\n§\n§ 12 BGB", ["costs 5 § of law", "§ 12 BGB"]),
        ("§\nkeep me\n§\nand me", ["§\nkeep me", "and me"]),
        ("same\n§\nother\n§\nsame", ["same", "other"]),
    ],
)
def test_entries_are_split_as_the_host_splits_them(text: str, entries: list[str]) -> None:
    assert memory_files.parse_entries(text) == entries


@given(st.lists(st.text(alphabet="ab §\n", min_size=1).map(str.strip).filter(bool), unique=True))
@example(["a\n§ \n§\na"])
def test_what_was_parsed_is_parsed_the_same_after_writing_it_unless_a_lone_mark_ends_an_entry(texts: list[str]) -> None:
    entries = memory_files.parse_entries(memory_files.join_entries(texts))

    lone = any("§" in (entry.split("\n")[0], entry.split("\n")[-1]) for entry in entries)
    assert memory_files.is_round_trip_stable(entries) or lone


def test_characters_are_counted_with_what_stands_between_entries() -> None:
    assert memory_files.count_entry_chars(["abc", "é§"]) == 8


@pytest.mark.parametrize(
    ("config", "memory", "user"),
    [
        ("", 2200, 1375),
        ("memory:\n  memory_char_limit: 3000\n  user_char_limit: 2000\n", 3000, 2000),
        ("memory:\n  provider: x # memory_char_limit: 9\n  user_char_limit: 2000 # more\n", 2200, 2000),
        ("memory:\n    'memory_char_limit': \"3_000\"\n", 3000, 1375),
        ("memory: {provider: x, memory_char_limit: 3000, user_char_limit: 10}\n", 3000, 10),
        ("model:\n  memory_char_limit: 9\nmemory:\n  nested:\n    memory_char_limit: 8\n", 2200, 1375),
        ("memory_char_limit: 9\nmemory:\n  x_memory_char_limit: 8\nother: 1\n", 2200, 1375),
        ("memory:\n  memory_char_limit: lots\n  user_char_limit: 0\n", 2200, 1375),
        ("memory:\n  memory_char_limit: -5\n  user_char_limit: 12.5\n", 2200, 1375),
        ("memory:\n\n  # a comment\n  memory_char_limit: 3000\n\nother:\n  user_char_limit: 7\n", 3000, 1375),
        ("\x00\xff: [", 2200, 1375),
    ],
)
def test_limits_come_from_the_hosts_configuration(tmp_path: Path, config: str, memory: int, user: int) -> None:
    (tmp_path / "config.yaml").write_bytes(config.encode("latin-1"))

    limits = {file.kind: file.limit for file in memory_files.find_memory_files(tmp_path)}

    assert limits == {MemoryFileKind.MEMORY: memory, MemoryFileKind.USER: user}


def test_pressure_of_a_profile_without_files_is_nil_and_creates_nothing(tmp_path: Path) -> None:
    assert [(one.file.kind, one.pct, one.entries, one.tokens) for one in memory_files.file_pressures(tmp_path)] == [
        (MemoryFileKind.MEMORY, 0.0, 0, 0),
        (MemoryFileKind.USER, 0.0, 0, 0),
    ]
    assert not list(tmp_path.iterdir())


def test_pressure_says_percent_entries_and_tokens(file: Path) -> None:
    file.write_text("x" * 548 + "\n§\n" + "y" * 549, encoding="utf-8")

    memory = memory_files.file_pressures(file.parent.parent)[0]

    assert (memory.used, memory.pct, memory.entries) == (1100, 50.0, 2)
    assert memory.tokens > 100


def test_a_file_that_is_not_utf8_is_named_with_byte_and_line(file: Path) -> None:
    file.write_bytes(b"fine\nnot \xff fine")

    with pytest.raises(
        errors.ImportFileError, match=r"MEMORY\.md is not UTF-8: byte 0xff in line 2; nothing was touched"
    ):
        memory_files.read_memory_text(file)


def test_a_replaced_file_is_private_and_leaves_nothing_beside_it(file: Path) -> None:
    file.write_text("before", encoding="utf-8")
    file.chmod(0o644)

    memory_files.replace_memory_file(file, b"after", expected=b"before")

    assert file.read_text(encoding="utf-8") == "after"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["MEMORY.md"]


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.md"
    real.write_text("before", encoding="utf-8")
    file.symlink_to(real)

    memory_files.replace_memory_file(file, b"after", expected=b"before")

    assert file.is_symlink()
    assert real.read_text(encoding="utf-8") == "after"


def test_a_file_that_changed_without_a_lock_is_not_replaced(file: Path) -> None:
    file.write_text("changed by an editor", encoding="utf-8")

    with pytest.raises(errors.Conflict, match="changed by a program without a lock"):
        memory_files.replace_memory_file(file, b"after", expected=b"before")

    assert [path.read_text(encoding="utf-8") for path in file.parent.iterdir()] == ["changed by an editor"]


def test_the_lock_is_free_again_afterwards(file: Path) -> None:
    with memory_files.host_file_lock(file):
        pass

    with open(file.with_suffix(".md.lock"), "a+") as host:
        fcntl.flock(host, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(errors.FileError, match=r"MEMORY\.md\.lock cannot be written"),
        memory_files.host_file_lock(tmp_path / "missing" / "MEMORY.md"),
    ):
        pass


def test_home_is_the_hosts_own(tmp_path: Path) -> None:
    assert memory_files.hermes_home({"HERMES_HOME": str(tmp_path)}) == tmp_path
    assert memory_files.hermes_home({"HERMES_HOME": " ", "HOME": str(tmp_path)}) == tmp_path / ".hermes"


@pytest.mark.parametrize(
    ("sticky", "home"),
    [("work\n", "profiles/work"), ("default", "."), ("gone", "."), ("", "."), ("../../etc", "."), ("\x00", ".")],
)
def test_without_a_variable_the_profile_the_host_was_told_to_use_is_meant(
    tmp_path: Path, sticky: str, home: str
) -> None:
    (tmp_path / ".hermes" / "profiles" / "work").mkdir(parents=True)
    (tmp_path / ".hermes" / "active_profile").write_text(sticky, encoding="utf-8")

    assert memory_files.hermes_home({"HOME": str(tmp_path)}) == tmp_path / ".hermes" / home
