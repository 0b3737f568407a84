"""ARCHIVE.jsonl: read whatever the host's version writes, and turned into facts that can be stored."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.host_files import eviction_archive
from hermes_memory_store.store import Store


def archived(home: Path, *lines: object) -> None:
    """Write an archive as a host does."""
    folder = home / "memories"
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / eviction_archive.FILE_NAME).write_text(text, encoding="utf-8")


def test_lines_of_several_versions_are_understood_newest_first(tmp_path: Path) -> None:
    archived(
        tmp_path,
        {"content": "C[db.id]: UUID mndtry", "target": "memory", "archived_at": "2026-03-01T10:00:00Z"},
        {"entry": "likes short answers", "file": "USER.md", "timestamp": 1_773_756_000},
        "not json",
        '"just a string"',
        {"nothing": 1},
        {"content": "C[db.id]: UUID mndtry", "target": "memory"},
        "",
    )
    found = eviction_archive.load_evicted_entries(tmp_path)
    assert [(one.text, one.kind) for one in found] == [
        ("just a string", ""),
        ("likes short answers", "user"),
        ("C[db.id]: UUID mndtry", "memory"),
    ]
    assert found[1].at.startswith("2026-03-17")


def test_a_profile_without_an_archive_has_no_entries(tmp_path: Path) -> None:
    assert eviction_archive.load_evicted_entries(tmp_path) == []
    assert eviction_archive.find_archive_file(tmp_path) is None


def test_what_is_rescued_can_be_stored(tmp_path: Path) -> None:
    archived(tmp_path, {"content": "D[cache]: redis\nV[port]: 6379"}, {"content": "long " * 300, "target": "user"})
    with Store.open(tmp_path / "m.db") as store:
        for entry in eviction_archive.load_evicted_entries(tmp_path):
            for said in entry.lines(400):
                store.facts.write("t", said)
        found = store.search.find("t", "redis").facts
        assert [fact.target for fact in found] == ["cache"]
        assert len(store.search.find("t", "target:user.evicted").facts) == 4


@given(
    st.lists(
        st.one_of(
            st.text(), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps)
        )
    )
)
def test_no_line_is_a_reason_to_fail(lines: list[str]) -> None:
    for one in eviction_archive.parse_archive_lines(lines):
        assert one.text
