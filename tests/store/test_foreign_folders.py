"""Only a folder of basic-memory is taken for one, and whatever is passed over in it is said."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.files.importers import detect_format, import_foreign_memory
from hermes_memory_store.files.importers.basic_memory import find_note_files, parse_relation
from hermes_memory_store.model import FactFilter, Tier, Way
from hermes_memory_store.store import Store

NOTE = "---\ntitle: {0}\ntype: note\npermalink: {0}\n---\n- [decision] {0} is decided\n"
README = "# {0}\n\n- [link](https://example.com)\n- Install it #fast\n"
PAGE = "---\nlayout: post\ntitle: {0}\npermalink: /{0}\n---\n- [note] {0} is a page\n"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def write_notes(folder: Path, text: str, count: int, prefix: str = "note") -> Path:
    """Write some files of one form."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{prefix}{number}.md").write_text(text.format(f"{prefix}{number}"))
    return folder


def contents(store: Store) -> set[str]:
    wanted = FactFilter(theme="default", tiers=frozenset(Tier))
    return {fact.content for fact in store.facts.by_ids(store.facts.ids(wanted))}


@pytest.mark.parametrize(("notes", "others", "taken"), [(3, 0, True), (3, 3, True), (3, 4, False), (0, 3, False)])
def test_most_notes_say_what_a_folder_is(tmp_path: Path, notes: int, others: int, taken: bool) -> None:
    folder = write_notes(tmp_path / "f", NOTE, notes)
    write_notes(folder, README, others, "readme")
    if taken:
        assert detect_format(folder) == "basic-memory"
        return
    with pytest.raises(errors.ImportFileError, match=rf"{notes} of {notes + others} notes .* name it with"):
        detect_format(folder)


def test_pages_of_a_site_are_no_notes(store: Store, tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "site", PAGE, 5)
    with pytest.raises(errors.ImportFileError, match="0 of 5"):
        import_foreign_memory(store, folder, theme="default")
    assert store.names.all_themes() == []
    assert import_foreign_memory(store, folder, theme="default", kind="basic-memory").created == 5
    assert detect_format(folder / "note0.md") is None


@pytest.mark.parametrize("inside", ["node_modules/pkg", ".git/notes", "vendor/lib", "x/site-packages/y"])
def test_folders_of_other_peoples_code_are_never_taken(store: Store, tmp_path: Path, inside: str) -> None:
    folder = write_notes(tmp_path / "p", NOTE, 2)
    write_notes(folder / inside, NOTE, 30, "foreign")
    with pytest.raises(errors.ImportFileError, match="it lies in"):
        detect_format(folder / inside)
    report = import_foreign_memory(store, folder, theme="default")
    assert contents(store) == {"note0 is decided", "note1 is decided"}
    passed_over = [one.place.file for one in report.skips]
    assert len(passed_over) == (0 if inside.startswith(".") else 1), "hidden folders are no part of a project"


def test_a_fact_says_which_note_it_came_from(store: Store, tmp_path: Path) -> None:
    folder = write_notes(
        tmp_path / "f", "---\ntitle: {0}\npermalink: {0}\n---\n\n- [a] {0} says a\n- [b] {0} says b\n", 2
    )
    import_foreign_memory(store, folder, theme="default")
    facts = store.facts.by_ids(store.facts.ids(FactFilter(theme="default")))
    assert {(fact.content, fact.origin.way, fact.origin.file, fact.origin.line) for fact in facts} == {
        (f"note{number} says {said}", Way.IMPORT, str(folder / f"note{number}.md"), line)
        for number in range(2)
        for said, line in (("a", 6), ("b", 7))
    }
    single = tmp_path / "single.json"
    single.write_text('[\n{"id": "1", "memory": "alone"}\n]')
    import_foreign_memory(store, single, theme="default", kind="mem0")
    (alone,) = [
        fact for fact in store.facts.by_ids(store.facts.ids(FactFilter(theme="default"))) if fact.content == "alone"
    ]
    assert (alone.origin.file, alone.origin.line) == (str(single), 2)


def test_an_empty_folder_says_why_it_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(errors.ImportFileError, match="without notes"):
        detect_format(tmp_path)


def test_a_project_says_itself_what_it_is(tmp_path: Path) -> None:
    inside = write_notes(tmp_path / "a", README, 3)
    (inside / ".basic-memory").mkdir()
    assert detect_format(inside) == "basic-memory"
    for number, said in enumerate(({"main": str(tmp_path / "b0")}, {"main": {"path": str(tmp_path / "b1")}})):
        named = write_notes(tmp_path / f"b{number}", README, 3)
        config = tmp_path / "home" / ".basic-memory" / "config.json"
        config.parent.mkdir(exist_ok=True)
        config.write_text(json.dumps({"projects": said}))
        assert detect_format(named) == "basic-memory"
    for broken in ("[]", '{"projects": [1]}', '{"projects": {"a": 5}}', "\0"):
        config.write_text(broken)
        with pytest.raises(errors.ImportFileError, match="0 of 3"):
            detect_format(named)


def test_links_in_a_circle_and_odd_files_are_passed_over_and_named(store: Store, tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "f", NOTE, 2)
    (folder / "inner").mkdir()
    (folder / "inner" / "round").symlink_to(folder, target_is_directory=True)
    (folder / "copy.md").symlink_to(folder / "note0.md")
    (folder / "gone.md").symlink_to(folder / "nothing")
    os.mkfifo(folder / "pipe.md")
    (folder / "latin.md").write_bytes("---\ntitle: é\n---\n".encode("latin-1"))
    report = import_foreign_memory(store, folder, theme="default")
    assert contents(store) == {"note0 is decided", "note1 is decided"}
    assert {one.place.file: one.why for one in report.skips} == {
        "copy.md": "it is a symbolic link",
        "gone.md": "it is a symbolic link",
        "inner/round": "it is a symbolic link",
        "pipe.md": "it is no regular file",
    }
    assert [one.place.file for one in report.errors] == ["latin.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read_is_named(store: Store, tmp_path: Path) -> None:
    folder = write_notes(tmp_path / "f", NOTE, 1)
    (folder / "closed").mkdir(mode=0)
    report = import_foreign_memory(store, folder, theme="default")
    assert [one.place.file for one in report.skips] == ["closed"]


@pytest.mark.long
def test_a_folder_of_a_hundred_thousand_files_is_judged_at_once(tmp_path: Path) -> None:
    for number in range(100):
        write_notes(tmp_path / f"d{number}", README, 1_000, "readme")
    began = time.process_time()
    with pytest.raises(errors.ImportFileError, match="0 of 400"):
        detect_format(tmp_path)
    assert time.process_time() - began < 2
    assert sum(1 for _ in find_note_files(tmp_path)) == 100_000


@pytest.mark.parametrize(
    ("said", "relation"),
    [
        ("relates_to [[Other]]", ("relates_to", "Other", "")),
        ("depends on [[Other note]] (since May)", ("depends on", "Other note", "(since May)")),
        ('"contrasts with" [[Other]]', ("contrasts with", "Other", "")),
        ("'is part of' [[Other]]", ("is part of", "Other", "")),
        ("doesn't replace [[Other]]", ("doesn't replace", "Other", "")),
        ("hängt ab von [[Ä]]", ("hängt ab von", "Ä", "")),
        ("依赖 于 [[数据库]]", ("依赖 于", "数据库", "")),
        ("[[Other]]", ("links_to", "Other", "")),
        ("see how [[Prose]] reads", None),
        ("of more words than any type of a relation has [[Prose]]", None),
        ("uses [[One]] and [[Two]]", None),
        ("[x] done with [[Other]]", None),
        ('"" [[Other]]', None),
        ("uses [[]]", None),
        ("uses [[Other", None),
        ("uses [[a [b] c]]", None),
    ],
)
def test_relations_of_one_or_more_words(said: str, relation: tuple[str, str, str] | None) -> None:
    assert parse_relation(said) == relation


@given(st.text(alphabet="ab []()'\"", max_size=30))
def test_any_item_is_a_relation_or_none(said: str) -> None:
    found = parse_relation(said)
    if found is not None:
        verb, other, context = found
        assert verb.strip()
        assert other.strip()
        assert not set("[]") & set(verb + other)
        assert not context or context[0] + context[-1] == "()"
