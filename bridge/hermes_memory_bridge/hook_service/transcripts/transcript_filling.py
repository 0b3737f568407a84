"""Filling in from a transcript what hooks did not bring: in the background, a piece at a time, each message once.

Only what was said while capture was allowed is read: the time of each message decides. No pause of the person's is read, whether
or not an event was heard in it. Nothing is read before all events are recorded that wait on disk or were heard: one may tell
of a folder that was switched off, or of the session's end. A host may write its file late, even after it has told the session's
end, and end the bridge with itself. So a transcript is looked at again for some seconds, at the next event of any
session of its host, and when a bridge starts.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from hermes_memory_bridge.hook_service.hook_moment import HookMoment, measure_file
from hermes_memory_bridge.hook_service.host_habits import LATE_TRANSCRIPTS
from hermes_memory_bridge.hook_service.host_processes import is_process_alive
from hermes_memory_bridge.hook_service.session_turns import SessionTurns
from hermes_memory_bridge.hook_service.transcripts.readable_times import UNREAD, find_horizon, may_read
from hermes_memory_bridge.hook_service.transcripts.transcript_file import TranscriptPiece, read_transcript
from hermes_memory_bridge.hook_service.turn_capture import capture_message, captures_subagents
from hermes_memory_bridge.hook_service.waiting_events import WaitingEvents
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import StoreError
from hermes_memory_store.hosts.capture_switch import CaptureSwitch, load_capture_switch, may_capture
from hermes_memory_store.hosts.host_data import list_client_names
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import Origin, Way
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

FILLING_EVENTS = frozenset({"compacting", "compacted", "turn", "end"})

MOST_PIECES = 64
"""Pieces that one event brings in: 64 MiB; the rest comes with the next event."""

SECOND_LOOKS_S = (0.25, 0.75, 2.0, 4.0, 8.0)
"""How long after each other the size of a file is looked at once its session has ended: 15 s in all."""

OLDEST_MS = 7 * DAY_MS
"""How long ago a session may have been heard for its transcript to be looked at again."""


class TranscriptFilling:
    def __init__(self, worker: StoreWorker, turns: SessionTurns, waiting: WaitingEvents) -> None:
        self._worker = worker
        self._turns = turns
        self._waiting = waiting
        self._lock = asyncio.Lock()
        self._followed: set[tuple[str, str]] = set()
        self._waited: dict[tuple[str, str], bool] = {}
        self._sought: set[str | None] = set()

    async def fill_after(self, moment: HookMoment) -> None:
        """Bring in what an event tells to be there: of its own session, and of others of its host that were read too early."""
        event = moment.event
        if tells_of_transcript(moment):
            await self.fill(event.host, moment.name)
        await self.fill_quiet(event.host)
        if event.event == "end" or (event.event == "turn" and event.host in LATE_TRANSCRIPTS):
            await self._follow(event.host, moment.name)

    def note_waited(self, moment: HookMoment) -> None:
        """Note an event that waited on disk, for `fill_waited`: the last of each session says whether its file is read."""
        self._waited[moment.event.host, moment.name] = tells_of_transcript(moment)

    async def fill_waited(self) -> None:
        """Bring in what the events that waited on disk tell to be there, once all of them are recorded."""
        waited, self._waited = self._waited, {}
        for (host, name), is_told in waited.items():
            if is_told:
                await self.fill(host, name)
        for host in sorted({host for host, _ in waited}):
            await self.fill_quiet(host)

    async def fill_quiet(self, host: str | None = None) -> None:
        """Bring in what came into the transcripts of sessions after they were read last. :param host: None for all hosts"""
        if host in self._sought:
            return  # somebody is about to
        self._sought.add(host)
        try:
            async with self._lock:
                self._sought.discard(host)
                since = self._worker.store.clock() - OLDEST_MS
                sessions = await self._worker.read(lambda store: store.host_sessions.list_readable(since, host))
                grown = await asyncio.to_thread(
                    lambda: [session for session in sessions if is_quiet(session) and is_grown(session)]
                )
        finally:
            self._sought.discard(host)
        for session in grown:
            await self.fill(session.host, session.name)

    async def fill(self, host: str, name: str) -> None:
        async with self._lock:
            for _ in range(MOST_PIECES):
                if not await self._fill_piece(host, name):
                    return

    async def _follow(self, host: str, name: str) -> None:
        host_session = await self._worker.read(lambda store: store.host_sessions.find(host, name))
        if host_session is None or host_session.transcript is None or (host, name) in self._followed:
            return
        self._followed.add((host, name))
        try:
            size = measure_file(host_session.transcript)
            for pause_s in SECOND_LOOKS_S:
                await asyncio.sleep(pause_s)
                before, size = size, measure_file(host_session.transcript)
                if size != before:
                    await self.fill(host, name)
        finally:
            self._followed.discard((host, name))

    async def _fill_piece(self, host: str, name: str) -> bool:
        """Bring in one piece; return whether there may be more."""
        if not await self._settle(host, name):
            return False
        host_session = await self._worker.read(lambda store: store.host_sessions.find(host, name))
        if host_session is None or host_session.transcript is None or host_session.transcript_offset == UNREAD:
            return False
        path, offset, folder = host_session.transcript, host_session.transcript_offset, host_session.folder or ""
        try:
            piece = await asyncio.to_thread(read_transcript, path, host, offset, find_horizon(host_session))
        except (OSError, ValueError) as error:
            log.info("the transcript of a session of %s is not read: %s", host, error)
            return False
        if piece.offset == offset or not may_capture(str(self._worker.path), host, folder).allowed:
            return False
        if not await self._settle(
            host, name
        ):  # a pause came onto the disk before what was said in it came into the file
            return False
        seen = await self._worker.projects.read(folder) if folder else None
        try:
            is_recorded = await self._worker.write(
                lambda store: (
                    not self._turns.is_busy(host, name)
                    and record_piece(store, host_session, piece, seen, load_capture_switch(self._worker.path))
                )
            )
        except StoreError as error:
            log.warning("a transcript of %s is read again later: %s", host, error.message)
            return False
        return not (is_recorded and piece.is_last)

    async def _settle(self, host: str, name: str) -> bool:
        """Wait until all that was heard of a session is recorded, and what waits on disk; return whether it is."""
        await self._turns.settle(host, name)
        await self._waiting.settle()
        self._waiting.wake()  # for what came while the rest was brought in
        return await self._waiting.settle()


def tells_of_transcript(moment: HookMoment) -> bool:
    """Check whether an event tells that its session's transcript holds whole messages."""
    event = moment.event
    return event.event in FILLING_EVENTS or (event.event == "start" and event.source != "compact")


def is_quiet(host_session: HostSession) -> bool:
    """Check whether a session's model is not in the midst of a message: it has said so, or its host's process is gone."""
    return host_session.heard_event in ("turn", "end") or (
        host_session.pid is not None and not is_process_alive(host_session.pid)
    )


def is_grown(host_session: HostSession) -> bool:
    size = 0 if host_session.transcript is None else measure_file(host_session.transcript)
    return size not in (0, host_session.transcript_offset)


def record_piece(
    store: Store, read: HostSession, piece: TranscriptPiece, seen: ProjectSighting | None, switch: CaptureSwitch
) -> bool:
    """Capture the messages of a piece that are not known, and note how far the transcript was read. Within a write.

    Returns False where an event that came meanwhile says otherwise what may be kept, so that the piece must be read again.

    :param read: the session as it was when the piece was read
    """
    host_session = store.host_sessions.find(read.host, read.name)
    if host_session is None or host_session.session is None or host_session.theme is None:
        return True
    if (host_session.transcript, host_session.transcript_offset) != (read.transcript, read.transcript_offset):
        return False
    if find_horizon(host_session) < find_horizon(read):
        return False  # the session has ended since
    session = store.sessions.get(host_session.theme, host_session.session)
    origin = Origin(
        way=Way.HOOK, client=list_client_names(host_session.host)[0], client_version=host_session.host_version
    )
    origin = origin if seen is None else replace(store.projects.place(origin, seen), commit=None)
    with store.attribute(origin):
        for message in piece.messages:
            at, role, text = message.at, message.role, message.text
            if at is None or not may_read(host_session, at) or switch.was_stopped(at):
                continue
            if not message.agent or captures_subagents(store, session):
                capture_message(store, host_session, session, role, text, at=at, origin=origin, is_read=True)
        store.host_sessions.note(
            host_session.host, host_session.name, host_session.heard_event,
            heard_at=host_session.heard_at, transcript_offset=piece.offset,
        )  # fmt: skip
    return True
