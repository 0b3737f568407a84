"""Where the tests of a memory stand: in the working folder's repository, or beside the store."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store.memory_tests.case_file import FILE_NAME
from hermes_memory_tui.model.working_folder import see_working_folder


def case_file_places(store_path: Path) -> list[Path]:
    """Return the folders where the file is looked for: the root of the working folder's project first."""
    seen = see_working_folder()
    return list(dict.fromkeys(([] if seen is None else [Path(seen.root)]) + [store_path.absolute().parent]))


def find_case_file(store_path: Path) -> Path | None:
    return next((file for place in case_file_places(store_path) if (file := place / FILE_NAME).is_file()), None)
