"""A file is replaced whole or not at all."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_store.system.filesystem import atomic_write


def test_content_takes_the_name_when_the_block_ends_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    with atomic_write(file, encoding="utf-8") as out:
        out.write("new ✓")
        assert not file.exists()
    assert file.read_text(encoding="utf-8") == "new ✓"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_an_error_in_the_block_or_in_the_confirmation_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_bytes(b"old")

    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_and(refuse, file)
    with pytest.raises(ValueError, match="no"), atomic_write(file, confirm=refuse) as out:
        out.write(b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_and_the_file_behind_it_is_replaced_with_the_mode_given(tmp_path: Path) -> None:
    file, link = tmp_path / "settings", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    with atomic_write(link, mode=0o644, durable=False) as out:
        out.write(b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    with pytest.raises(FileExistsError):
        write_and(lambda: file.write_bytes(b"other"), file, overwrite=False)
    assert file.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [file]


def write_and(act: Callable[[], object], file: Path, *, overwrite: bool = True) -> None:
    """Write a file, and do something before it is complete."""
    with atomic_write(file, overwrite=overwrite) as out:
        out.write(b"new")
        act()
