"""Data files: sections of rows, fragments that rows are made from, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.data_files import read_sections


def data_file(folder: Path, text: str) -> Path:
    file = folder / "words.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_rows_are_read_by_section_with_their_fragments(tmp_path: Path) -> None:
    file = data_file(
        tmp_path,
        "# of two languages\n[fragments]\nNOT\t(?<!not )\nDONE\t<<NOT>>done\n\n"
        "[claims]\nplain\t<<DONE>> {0,2}#\n[words]\n[a] b\n",
    )

    assert read_sections(file, {"claims": 2, "words": 0}) == {
        "fragments": [("NOT", "(?<!not )"), ("DONE", "(?<!not )done")],
        "claims": [("plain", "(?<!not )done {0,2}#")],
        "words": [("[a] b",)],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", "words.txt, line 1: a row before the first known section"),
        ("[claims]\na\n", "words.txt, line 2: 1 columns where claims has 2"),
        ("[claims]\na\t<<NOT>>\n", "words.txt, line 2: no fragment is named NOT"),
        ("[claims]\n[claims]\n", "words.txt, line 2: the section claims stands there before"),
        ("", "words.txt: no section claims"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message + "$"):
        read_sections(data_file(tmp_path, text), {"claims": 2})
