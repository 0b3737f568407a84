"""What the inspector remembers between runs: private, whole, bounded, and never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_memory_tui.system import inspector_state
from hermes_memory_tui.system.inspector_state import InspectorState


def test_what_is_kept_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    state = InspectorState(path)
    state.add_line("type:value")
    state.save_view("limits", "type:constraint limit")
    state.set_order("target", False)
    state.set_draft("/m.db", "new", "D[x]: y")
    again = InspectorState(path)
    assert (again.lines, again.views) == (["type:value"], {"limits": "type:constraint limit"})
    assert again.order == ("target", False)
    assert again.drafts("/m.db") == {"new": "D[x]: y"}
    assert again.drafts("/other.db") == {}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["state.json"]


def test_the_same_line_again_is_the_newest_and_old_ones_go(tmp_path: Path) -> None:
    state = InspectorState(tmp_path / "s.json")
    for number in range(inspector_state.MAX_LINES + 5):
        state.add_line(f"line {number}")
    state.add_line("line 100")
    lines = InspectorState(tmp_path / "s.json").lines
    assert len(lines) == inspector_state.MAX_LINES
    assert lines[-1] == "line 100"
    assert lines.count("line 100") == 1
    assert "line 0" not in lines


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b"\xff\x00", b'{"lines": 3, "views": [1], "order": "x"}', b"[" * 9999]
)
def test_a_broken_file_counts_as_empty_and_is_replaced(tmp_path: Path, said: bytes) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(said)
    state = InspectorState(path)
    assert (state.lines, state.views, state.order, state.drafts("x")) == ([], {}, None, {})
    state.save_view("a", "b")
    assert InspectorState(path).views == {"a": "b"}


def test_nothing_is_written_when_reading_only(tmp_path: Path) -> None:
    state = InspectorState(tmp_path / "s.json", read_only=True)
    state.add_line("x")
    state.save_view("a", "b")
    assert list(tmp_path.iterdir()) == []
    assert state.lines == ["x"]
    assert "read-only" in state.trouble


def test_what_cannot_be_written_is_said_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    state = InspectorState(tmp_path / "file" / "s.json")
    state.save_view("a", "b")
    assert "cannot write" in state.trouble
    assert state.views == {"a": "b"}


def test_another_inspector_and_a_newer_version_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"of a newer version": 1}))
    one, other = InspectorState(path), InspectorState(path)
    one.save_view("a", "1")
    other.save_view("b", "2")
    assert InspectorState(path).views == {"a": "1", "b": "2"}
    assert json.loads(path.read_text())["of a newer version"] == 1
    other.remove_view("a")
    assert InspectorState(path).views == {"b": "2"}


def test_a_draft_that_was_saved_is_forgotten(tmp_path: Path) -> None:
    state = InspectorState(tmp_path / "s.json")
    state.set_draft("m", "new", "x")
    state.set_draft("m", "new", None)
    assert InspectorState(tmp_path / "s.json").drafts("m") == {}
