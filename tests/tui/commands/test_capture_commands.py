"""`capture`, `pause` and `resume` say and show whether what is said is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.hosts.capture_switch import may_capture
from tests.tui.commands.conftest import Ask, Tell


@pytest.fixture(autouse=True)
def working_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (home / "work").mkdir()
    monkeypatch.chdir(home / "work")
    return home / "work"


def is_allowed(db: Path, host: str = "", folder: str = "") -> bool:
    return may_capture(str(db), host, folder).allowed


def test_capture_is_switched_before_there_is_a_store(ask: Ask, db: Path) -> None:
    assert ask("capture", "off").out.startswith("capture is off everywhere\n")
    assert not is_allowed(db)
    assert ask("capture", "on").out.startswith("capture is on here\n")
    assert is_allowed(db)
    assert not db.exists()


def test_a_host_is_allowed(ask: Ask, db: Path) -> None:
    assert "allow one with: hermes-memory-tui capture on --host NAME" in ask("capture", "status").out
    assert "hosts whose hooks may capture messages: codex\n" in ask("capture", "on", "--host", "codex").out
    assert is_allowed(db, "codex")
    ask("capture", "off", "--host", "codex")
    assert not is_allowed(db, "codex")
    assert is_allowed(db)


def test_hearing_tools_is_switched_and_shown_beside_it(ask: Ask, tell: Tell, db: Path) -> None:
    shown = ask("capture", "on", "--host", "codex", "--tools").out
    assert "what tools and pages return: codex\nto tell your words from theirs, the bridge keeps salted hashes" in shown
    assert may_capture(str(db), "codex", "", of_tools=True).allowed
    assert not is_allowed(db, "codex")
    assert tell("capture", "off", "--host", "codex", "--tools")["tools"] == {"codex": False}
    ask("pause")
    assert "return: no host\nwhile capture is stopped, nothing new is hashed" in ask("capture", "status").out


def test_here_is_this_folder_and_below(ask: Ask, tell: Tell, db: Path, working_folder: Path) -> None:
    assert tell("capture", "off", "--here")["folders"] == [str(working_folder)]
    assert not is_allowed(db, "", str(working_folder / "deep"))
    assert is_allowed(db, "", str(working_folder.parent))
    assert tell("capture", "on", "--here")["stopped"] is None


def test_a_pause_says_until_when(tell: Tell, ask: Ask) -> None:
    paused = tell("pause", "30m")
    assert paused["paused"] is True
    assert paused["paused_until"] is not None
    assert paused["stopped"].startswith("capture is paused until ")
    assert ask("resume").out.startswith("capture is on here\n")
    assert tell("pause")["paused_until"] is None
    assert tell("capture", "on")["paused"] is False


def test_status_shows_that_capture_is_stopped(tell: Tell, ask: Ask) -> None:
    tell("write", "D[auth]: JWT")
    assert tell("status")["capture_stopped"] is None
    assert "capture" not in ask("status").out
    ask("pause")
    assert tell("status")["capture_stopped"] == "capture is paused until resumed"
    assert "capture is paused until resumed; `hermes-memory-tui capture status` says more" in ask("status").out
    assert tell("at", "1s", "status")["capture_stopped"] is None, "the past is not the present"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("capture", "on", "--host", "netscape"), "'netscape' is no host with hooks; choose from claude-code, "),
        (("capture", "status", "--host", "codex"), "`capture status` shows all hosts"),
        (("capture", "off", "--here", "--host", "codex"), "two questions"),
        (("capture", "off", "--tools"), "--tools goes with"),
        (("pause", "3x"), "is not an age"),
        (("pause", "9999999d"), "is not an age"),
    ],
)
def test_a_mistake_changes_nothing_and_names_the_way_out(
    ask: Ask, db: Path, arguments: tuple[str, ...], said: str
) -> None:
    answer = ask(*arguments)
    assert answer.code == 1
    assert said in answer.err
    assert not db.with_name("memory.db.capture.json").exists()


def test_a_file_that_cannot_be_written_is_named(ask: Ask, db: Path) -> None:
    db.with_name("memory.db.capture.json").mkdir()
    answer = ask("capture", "off")
    assert answer.code == 1
    assert "memory.db.capture.json cannot be written" in answer.err
