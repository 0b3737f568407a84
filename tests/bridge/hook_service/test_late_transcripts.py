"""What stands in a transcript when hooks are gone, or only then: it is kept once, and nothing of it that was not to be kept."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.hosts.capture_settings import pause_capture, resume_capture
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, send_event, to_event
from tests.bridge.running import bridge, until

QUESTION, ANSWER = ("user", "Why does it blink?"), ("assistant", "Because ships fear granite.")


def said(db: Path) -> list[tuple[str, str]]:
    with Store.open(db, read_only=True) as store:
        return [(turn.role, turn.content) for turn in store.turns.list("default")]


def wait_for(db: Path, *wanted: tuple[str, str]) -> None:
    until(lambda: sorted(said(db)) == sorted(wanted), lambda: f"{wanted}, not {said(db)}")


def leave_waiting(db: Path, event: dict[str, Any]) -> None:
    """Leave an event on disk, as a hook does that finds no bridge."""
    event = dict(event)
    waiting_records.append(str(db), to_event(event.pop("event"), **event))


@pytest.fixture
def allowed(db: Path) -> Path:
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
    allow_capture(db, "copilot")
    return db


class Talk:
    """A session of Copilot CLI: its events, and its file, which is written when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "events.jsonl"
        self.path.write_text("")
        self.began = time.time() - 60

    def event(self, name: str, second: float, text: str = "", *, capture: bool = True, **more: Any) -> dict[str, Any]:
        at = round((self.began + second) * 1000)
        return {
            "host": "copilot",
            "event": name,
            "text": text,
            "at": at,
            "capture": capture,
            "transcript": str(self.path),
            **more,
        }

    def tell(self, places: BridgePaths, name: str, second: float, text: str = "", **more: Any) -> None:
        event = self.event(name, second, text, **more)
        send_event(places, event.pop("event"), **event)

    def write(self, message: tuple[str, str], second: float) -> None:
        stamp = datetime.fromtimestamp(self.began + second, UTC).isoformat()
        line = {"type": f"{message[0]}.message", "data": {"content": message[1]}, "timestamp": stamp}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


def test_a_resume_reads_first_what_stood_unread_when_the_session_ended(allowed: Path, talk: Talk) -> None:
    for event in (talk.event("start", 0), talk.event("prompt", 1, QUESTION[1]), talk.event("end", 3)):
        leave_waiting(allowed, event)
    talk.write(QUESTION, 1)
    talk.write(ANSWER, 2)
    talk.write(("user", "said without hooks"), 4)
    leave_waiting(allowed, talk.event("start", 5, source="resume"))
    with bridge(allowed) as places:
        wait_for(allowed, QUESTION, ANSWER)
        talk.tell(places, "prompt", 6, "Who painted it?")
        talk.write(("user", "Who painted it?"), 6)
        talk.write(("assistant", "A keeper."), 7)
        talk.tell(places, "turn", 8)
        wait_for(allowed, QUESTION, ANSWER, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_a_prompt_that_is_heard_before_its_resume_opens_no_gap(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "end", 3)
        talk.write(("user", "said without hooks"), 4)
        talk.write(("assistant", "answered without hooks"), 5)
        talk.tell(places, "prompt", 6, "Who painted it?")
        talk.tell(places, "start", 6.01, source="resume")
        talk.write(("assistant", "A keeper."), 7)
        talk.tell(places, "end", 8)
        wait_for(allowed, QUESTION, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_what_was_said_before_a_pause_is_read_after_it_and_the_pause_is_not(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "turn", 3)
        talk.tell(places, "prompt", 5, "paused words", capture=False)
        talk.tell(places, "turn", 7, capture=False)
        talk.write(ANSWER, 2)
        talk.write(("user", "paused words"), 5)
        talk.write(("assistant", "paused answer"), 6)
        talk.tell(places, "prompt", 8, "Who painted it?")
        talk.write(("assistant", "A keeper."), 9)
        talk.tell(places, "turn", 10)
        wait_for(allowed, QUESTION, ANSWER, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_a_pause_that_still_waits_on_disk_is_not_read_before_it_is_known(allowed: Path, talk: Talk) -> None:
    leave_waiting(allowed, talk.event("prompt", 1, QUESTION[1]))
    leave_waiting(allowed, talk.event("turn", 3))
    for number in range(200):  # so that there is time to read the transcript in between
        leave_waiting(allowed, talk.event("start", 4, session=f"other-{number}", transcript=""))
    leave_waiting(allowed, talk.event("prompt", 5, "paused words", capture=False))
    leave_waiting(allowed, talk.event("end", 7, capture=False))
    talk.write(ANSWER, 2)
    talk.write(("user", "paused words"), 5)
    talk.write(("assistant", "paused answer"), 6)
    with bridge(allowed):
        wait_for(allowed, QUESTION, ANSWER)
        until(lambda: not waiting_records.list_waiting(str(allowed)), "the end of what waited")
    assert sorted(said(allowed)) == sorted((QUESTION, ANSWER))


@pytest.mark.parametrize("heard", [6, 20])
def test_a_pause_that_came_late_onto_the_disk_holds(allowed: Path, talk: Talk, heard: int) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "turn", heard)
        leave_waiting(allowed, talk.event("prompt", 4, "paused words", capture=False))
        talk.write(("user", "paused words"), 4)
        talk.write(("assistant", "paused answer"), 5)
        talk.tell(places, "prompt", 30, "Who painted it?")
        talk.write(("assistant", "A keeper."), 31)
        talk.tell(places, "end", 32)
        wait_for(allowed, QUESTION, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_a_pause_of_which_no_event_tells_holds(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        for begin, end in ((3, 4), (5, 7)):
            pause_capture(allowed, now=round((talk.began + begin) * 1000))
            resume_capture(allowed, now=round((talk.began + end) * 1000))
        talk.write(ANSWER, 2)
        talk.write(("user", "paused words"), 3)
        talk.write(("assistant", "paused answer"), 6)
        talk.write(("assistant", "A keeper."), 7)
        talk.tell(places, "end", 8)
        wait_for(allowed, QUESTION, ANSWER, ("assistant", "A keeper."))


def test_a_pause_that_comes_onto_the_disk_twice_ends_no_later_time(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "prompt", 4, "paused words", capture=False)
        talk.tell(places, "prompt", 7, "Who painted it?")
        leave_waiting(allowed, talk.event("prompt", 4, capture=False))
        talk.write(("assistant", "A keeper."), 8)
        talk.tell(places, "end", 9)
        wait_for(allowed, QUESTION, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_a_prompt_that_came_late_onto_the_disk_does_not_reopen_its_session(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "start", 0)
        talk.tell(places, "end", 3)
        leave_waiting(allowed, talk.event("prompt", 1, QUESTION[1]))
        talk.write(ANSWER, 2)
        talk.write(("user", "said without hooks"), 5)
        talk.tell(places, "prompt", 6, "Who painted it?", session="s2", transcript="")
        wait_for(allowed, QUESTION, ANSWER, ("user", "Who painted it?"))


def test_what_a_host_writes_after_the_end_is_read_without_another_event(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "end", 3)
        talk.write(ANSWER, 2)
        wait_for(allowed, QUESTION, ANSWER)


def test_what_was_written_while_no_bridge_ran_is_read_when_one_starts(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "end", 3)
    talk.write(ANSWER, 2)
    talk.write(("user", "said without hooks"), 4)
    with bridge(allowed):
        wait_for(allowed, QUESTION, ANSWER)


def test_what_is_read_before_its_events_are_heard_is_kept_once_they_are(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "start", 0)
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "end", 3)
        talk.write(QUESTION, 1)
        talk.write(ANSWER, 2)
        talk.write(("user", "Who painted it?"), 5)
        talk.write(("assistant", "A keeper."), 6)
        wait_for(allowed, QUESTION, ANSWER)
    with bridge(allowed) as places:
        talk.tell(places, "start", 4, source="resume")
        talk.tell(places, "prompt", 5, "Who painted it?")
        talk.tell(places, "end", 7)
        wait_for(allowed, QUESTION, ANSWER, ("user", "Who painted it?"), ("assistant", "A keeper."))


def test_another_session_of_the_host_has_a_late_transcript_read(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        talk.tell(places, "turn", 3)
    with bridge(allowed) as places:
        talk.write(ANSWER, 2)
        talk.tell(places, "prompt", 6, "Who painted it?", session="s2", transcript="")
        wait_for(allowed, QUESTION, ANSWER, ("user", "Who painted it?"))


def test_a_message_that_was_erased_does_not_come_back_from_the_transcript(allowed: Path, talk: Talk) -> None:
    with bridge(allowed) as places:
        talk.tell(places, "prompt", 1, QUESTION[1])
        wait_for(allowed, QUESTION)
    with Store.open(allowed) as store:
        store.turns.purge("default")
    with bridge(allowed) as places:
        talk.write(QUESTION, 1.1)
        talk.write(ANSWER, 4)
        talk.tell(places, "end", 5)
        wait_for(allowed, ANSWER)
