"""The daemon's `hook` command: answer an event of a host, then record it.

What is given is chosen by one read, before anything of the event is captured. The answer is sent at once; what it gave counts as
given only once it reached the hook's socket, for a hook that has stopped waiting gives nothing to its host. A message that
is to be kept, or a pause, lies in the folder of waiting records before its prompt is answered, so that no end of this process
loses it.
Events that take no answer are answered once they are committed. One session's events are answered and recorded in the order in
which they came, however long that takes: a hook that has stopped waiting leaves its event on disk.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_bridge.hook_program.hook_event import ACTS, HookEvent, parse_hook_event
from hermes_memory_bridge.hook_program.tool_acts import ToolCall
from hermes_memory_bridge.hook_service.event_giving import choose_givings
from hermes_memory_bridge.hook_service.event_record import record_actions, record_event
from hermes_memory_bridge.hook_service.giving import Giving, format_givings_notice, join_givings
from hermes_memory_bridge.hook_service.hook_moment import HookMoment, measure_file, to_event_time, to_session_name
from hermes_memory_bridge.hook_service.hook_sessions import RENEWAL_S, HookSessions, renew_living
from hermes_memory_bridge.hook_service.host_processes import find_host_process
from hermes_memory_bridge.hook_service.moments.moment_giving import choose_moment, record_moment
from hermes_memory_bridge.hook_service.prompt_matching import find_message_facts
from hermes_memory_bridge.hook_service.session_turns import SessionTurn, SessionTurns
from hermes_memory_bridge.hook_service.transcripts.transcript_filling import TranscriptFilling
from hermes_memory_bridge.hook_service.turn_capture import to_actions, to_spoken_text
from hermes_memory_bridge.hook_service.waiting_events import WaitingEvents
from hermes_memory_bridge.runtime.followed_answer import FollowedAnswer
from hermes_memory_bridge.runtime.place_resolution import find_sighting_theme
from hermes_memory_bridge.runtime.project_reader import run_in_daemon_thread
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import parse_folder
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.intake.intake import to_masked_name
from hermes_memory_store.items.action_rows import Action
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.own_lines import find_own_lines
from hermes_memory_store.store import Store
from hermes_memory_themes import ThemeName, resolve_theme
from hermes_memory_themes.theme_identity import DEFAULT

log = logging.getLogger(__name__)

MOST_HEARD = 1 << 16
"""Characters of what a tool returned that are digested."""

LOOK_S = 10.0
"""How long a file is waited for that may lie on a mount that never answers."""

QUICK = frozenset({"start", "prompt"})
"""Events whose answer a person waits for; the others are answered when they are on the disk."""


class HookService:
    def __init__(self, worker: StoreWorker, connections: Callable[[], Iterable[Connection]]) -> None:
        """:param connections: returns the MCP connections of the bridge"""
        self.worker = worker
        self.sessions = HookSessions(connections)
        self.turns = SessionTurns()
        self.waiting = WaitingEvents(str(worker.path), self.record_waiting)
        self.transcripts = TranscriptFilling(worker, self.turns, self.waiting)
        self._is_warm = False
        self._looking = asyncio.Lock()

    async def answer(self, arguments: Any) -> dict[str, Any]:
        """Answer one event.

        :raises ArgumentError: it is none
        :raises ThemeError: it names a theme that cannot be one
        """
        event = parse_event(arguments)
        if event.event == "guard":
            await self.record_waiting(event.to_wire())
            return to_answer("")
        process = find_host_process(event.pids)
        name = to_session_name(event, process)
        turn = self.turns.find(event.host, name)
        if event.event == "tool":
            earlier = [*turn.acts]
            act = self.worker.run_in_background(self.keep_act(event))
            turn.acts.add(act)
            act.add_done_callback(turn.acts.discard)
            if event.failed and earlier:  # what cleared it may be among them
                await asyncio.wait(earlier, timeout=LOOK_S)
        if event.event == "tool" and event.capture:
            turn.record = self.worker.run_in_background(self._note_tool_words(event, turn.record))
        if event.event == "tool" and event.act in ("run", "edit"):
            async with turn.lock:  # what was given before counts, and not what is given after it
                turn.record = self.worker.run_in_background(self._count_uses(event, name, turn.record))
        if event.event == "tool" and (event.is_silent or event.act not in ACTS):
            return to_answer("")
        await turn.lock.acquire()
        try:
            moment = await self.to_moment(event, process)
            if event.event == "tool":
                return await self._answer_tool(moment, turn)
            note_person_words(self.worker, moment)
            self.waiting.wake()
            if event.event in QUICK:
                return await self._answer_then_record(moment, turn)
            record = turn.record = self.worker.run_in_background(self._record_then_answer(moment, turn.record))
        except BaseException:
            turn.lock.release()
            raise
        turn.lock.release()
        await asyncio.wait([record])  # whoever stops waiting does not stop it
        answer: dict[str, Any] = record.result()
        return answer

    async def _answer_then_record(self, moment: HookMoment, turn: SessionTurn) -> FollowedAnswer:
        """Answer an event. The session's next one is answered once it is known whether this answer arrived."""
        if moment.event.event == "start":  # what a hook gave by itself before there was a bridge waits on disk
            await self.waiting.settle()
        if moment.name:  # where nobody can tell windows apart, nothing counts as given
            moment = replace(moment, pending=tuple(turn.pending))
        givings = await self.worker.read(lambda store: choose_givings(store, self.sessions, moment))
        spooled = await self._spool(moment, turn)

        def follow(delivered: bool) -> None:
            delivered_givings = givings if delivered else []
            turn.pending += delivered_givings
            turn.record = self.worker.run_in_background(
                self._finish(moment, delivered_givings, spooled, turn, turn.record)
            )
            turn.lock.release()

        notice = "" if moment.event.agent else format_givings_notice(givings)
        return FollowedAnswer(to_answer(join_givings(givings), notice), follow)

    async def _answer_tool(self, moment: HookMoment, turn: SessionTurn) -> dict[str, Any]:
        """Answer after a tool; only what was given is recorded. Two hooks of one call are given it once."""
        moment = replace(moment, pending=tuple(turn.pending))
        is_own = "hermes-memory" in moment.event.tool.replace("_", "-")
        is_known = bool(moment.name) and not is_own  # where nobody can tell windows apart, nothing could count as given
        givings = (
            await self.worker.read(lambda store: choose_moment(store, moment, turn.given_lines)) if is_known else []
        )
        if not givings:
            turn.lock.release()
            return to_answer("")

        async def record(before: asyncio.Task[Any] | None) -> None:
            await self._settle(before)
            await self.worker.write(lambda store: record_moment(store, self.sessions, moment, givings))
            turn.pending = [giving for giving in turn.pending if not any(giving is given for given in givings)]

        def follow(delivered: bool) -> None:
            if delivered:
                turn.pending += givings
                turn.given_lines.update(line for giving in givings for line in giving.lines[len(giving.facts) :])
                turn.record = self.worker.run_in_background(record(turn.record))
            turn.lock.release()

        return FollowedAnswer(to_answer(join_givings(givings)), follow)

    async def _count_uses(self, event: HookEvent, name: str, before: asyncio.Task[Any] | None) -> None:
        """Count which facts an act uses, and which it contradicts, of those that its session was given before it."""
        await self._settle(before)

        def note(store: Store) -> None:
            host_session = store.host_sessions.find(event.host, name)
            if host_session is not None and host_session.session is not None and host_session.theme is not None:
                session = store.sessions.get(host_session.theme, host_session.session)
                store.fact_uses.note_act(session, event.act, event.subject, event.call)

        if name:
            await self.worker.read(note)

    async def _note_tool_words(self, event: HookEvent, before: asyncio.Task[Any] | None) -> None:
        await asyncio.wait([self.worker.run_in_background(self.note_tool_words(event)), *filter(None, [before])])

    async def _record_then_answer(self, moment: HookMoment, before: asyncio.Task[Any] | None) -> dict[str, Any]:
        await self._settle(before)
        givings = await self.worker.read(lambda store: choose_givings(store, self.sessions, moment))
        await self._record(moment, givings)
        return to_answer(join_givings(givings))

    async def note_tool_words(self, event: HookEvent) -> None:
        """Note in memory what a tool returned, then which lines are the person's own where it read them in a file of his.

        Nothing of our own tools, whose facts have origins of their own.
        """
        folder = parse_folder(event.folder) or ""
        if not event.capture or not may_capture(str(self.worker.path), event.host, folder, of_tools=True).allowed:
            return
        if "hermes-memory" in event.tool.replace("_", "-"):
            return
        text, place = to_spoken_text(event.text)[:MOST_HEARD], format_tool_source(event)
        digests = self.worker.word_digests.open(event.host, event.session)
        digests.note_heard(text, f"{place}, {time.strftime('%H:%M', time.localtime(event.at / 1000))}", event.call)
        if not folder or not event.page or "://" in event.page:
            return
        async with self._looking:  # one file after the other
            if (seen := await self.worker.projects.read(folder)) is None:
                return
            is_trusted = await self.worker.read(lambda store: store.projects.is_trusted(seen))
            file = os.path.join(folder, event.page)
            look = run_in_daemon_thread(lambda: find_own_lines(seen, file, text, is_trusted=is_trusted))
            await asyncio.wait([look], timeout=LOOK_S)
        if look.done():
            digests.note_said(look.result(), place)

    async def keep_act(self, event: HookEvent, *, is_waiting: bool = False) -> None:
        """Keep what a tool did, where the person said yes to that; of a subagent's as of its messages.

        :param is_waiting: whether it waited on disk, with what is brought in in its turn
        """
        folder, path = parse_folder(event.folder) or "", str(self.worker.path)
        if not event.act or not event.session or not may_capture(path, "", folder, of_actions=True).allowed:
            return
        moment = await self.to_moment(event, find_host_process(event.pids))
        root = "" if moment.seen is None else moment.seen.root
        subjects = [event.subject] if event.act == "run" else event.subject.split("\n")
        is_kept = load_host(event.host)["actions"]["tools"].get(event.tool, ("",))[0] != "list"
        begin = moment.at - (event.duration or 0)
        where = os.path.join(folder, event.place)
        call = ToolCall(event.call_id, event.act if is_kept else "", list(filter(None, subjects)), where, begin)
        outcome = event.exit, event.duration, (event.error or "failed") if event.failed else None

        def find_actions() -> list[Action]:
            def may_keep(place: str) -> bool:
                return may_capture(path, "", place, of_actions=True).allowed

            return [*to_actions(event.host, event.session, call, outcome, root, may_keep)]

        look = run_in_daemon_thread(find_actions)
        await asyncio.wait([look], timeout=LOOK_S)
        if not is_waiting:
            await self.turns.settle(event.host, moment.name)
            await self.waiting.settle()
        if look.done() and look.result():
            await self.worker.write(lambda store: record_actions(store, self.sessions, moment, look.result()))

    async def keep(self) -> None:
        """Bring in what waits, and renew the leases of sessions whose host lives; run until cancelled."""
        self.waiting.wake()
        self._fill_once_settled(self.transcripts.fill_quiet)
        while True:
            await asyncio.sleep(RENEWAL_S)
            self.waiting.wake()
            try:
                await self.worker.write(renew_living)
            except StoreError as error:
                log.error("leases of hosts' sessions could not be renewed, which is tried again: %s", error.message)

    async def record_waiting(self, record: dict[str, Any]) -> None:
        """Record an event that waited on disk; return once it is committed. One that cannot be an event is dropped."""
        try:
            event = parse_event(record)
            moment = replace(await self.to_moment(event, find_host_process(event.pids)), transcript_size=0)
        except (StoreError, ValueError) as error:
            log.warning("a record of a hook is dropped: %s", error)
            return
        if event.event == "tool":
            await self.keep_act(event, is_waiting=True)
            return
        giving_record = event.given

        def find_givings(store: Store) -> list[Giving]:
            if not giving_record:
                return []
            facts = tuple(store.facts.by_uids(giving_record["uids"]).values())
            is_guard = event.event == "guard"  # what the person is asked about is no text of the model
            return [Giving(giving_record["kind"], facts, () if is_guard else tuple(fact.notation for fact in facts))]

        await self.worker.write(lambda store: record_event(store, self.sessions, moment, find_givings(store)))
        if moment.may_capture:
            self.transcripts.note_waited(moment)
            self._fill_once_settled(self.transcripts.fill_waited)

    async def to_moment(self, event: HookEvent, process: int | None) -> HookMoment:
        """Return an event with what the machine tells about it, and its theme.

        :param process: the process of its host
        :raises ThemeError: it names a theme that cannot be one
        """
        folder = parse_folder(event.folder)
        seen = None if folder is None else await self.worker.projects.read(folder)
        allowed = event.capture and may_capture(str(self.worker.path), event.host, folder or "").allowed
        at = to_event_time(event, self.worker.store.clock())
        size = measure_file(event.transcript) if event.transcript else 0
        if event.event == "prompt":  # what the host wrote into it, or in the person's name, is no message of his
            event.text = to_spoken_text(event.text)
        theme = await self.find_theme(event, seen)
        return HookMoment(event, to_session_name(event, process), at, theme, seen, process, allowed, size)

    async def find_theme(self, event: HookEvent, seen: ProjectSighting | None) -> ThemeName:
        """Return the theme of an event: the one that the command names, else that of its folder.

        While a new project cannot be written down, a session there reads what `default` has for every place.

        :raises ThemeError: the command names none that can be one
        """
        if event.theme:
            return resolve_theme(flag=event.theme, environ={})
        try:
            return await find_sighting_theme(self.worker, seen)
        except StoreError as error:
            log.warning("the theme of a folder could not be written down, so default is used: %s", error.message)
            return DEFAULT

    async def _finish(
        self,
        moment: HookMoment,
        givings: Sequence[Giving],
        spooled: str | None,
        turn: SessionTurn,
        before: asyncio.Task[Any] | None,
    ) -> None:
        try:
            await self._settle(before)
            await self._record(moment, givings)
        finally:
            turn.pending = [giving for giving in turn.pending if not any(giving is finished for finished in givings)]
        if spooled is not None:
            await self.waiting.remove(spooled)
        if not self._is_warm:  # the first prompt follows the first start, and has less time
            self._is_warm = True
            await self.worker.read(lambda store: find_message_facts(store, moment.theme, "the words of a prompt"))

    async def _settle(self, before: asyncio.Task[Any] | None) -> None:
        """Wait until what was before an event is recorded: its session's events, and what waited on disk."""
        if before is not None:
            await asyncio.wait([before])
        await self.waiting.settle()

    async def _record(self, moment: HookMoment, givings: Sequence[Giving]) -> None:
        await self.worker.write(lambda store: record_event(store, self.sessions, moment, givings))
        self.worker.projects.notice(moment.seen)
        self.worker.branches.notice(moment.seen)
        if moment.may_capture:
            self._fill_once_settled(lambda: self.transcripts.fill_after(moment))

    def _fill_once_settled(self, fill: Callable[[], Awaitable[None]]) -> None:
        """Read transcripts in the background once no event waits on disk: one that does may tell of a pause."""

        async def fill_then() -> None:
            if await self.waiting.settle():
                await fill()

        self.worker.run_in_background(fill_then())

    async def _spool(self, moment: HookMoment, turn: SessionTurn) -> str | None:
        """Lay a message that is to be kept onto the disk, or that nothing may be kept any more.

        Returns the name by which the record is removed.
        """
        if moment.may_capture:
            is_wanted = moment.event.event == "prompt"
        else:
            host_session = await self.worker.read(lambda s: s.host_sessions.find(moment.event.host, moment.name))
            is_wanted = turn.is_recording or (host_session is not None and host_session.capture_from is not None)
        if not is_wanted:
            return None
        name = uuid.uuid4().hex
        record = {**moment.event.to_wire(), "at": moment.at, "capture": moment.may_capture, "spooled": name}
        if not moment.may_capture:
            record["text"] = ""
        return name if await self.waiting.add(name, record) else None


def format_tool_source(event: HookEvent) -> str:
    """Format where a tool's words come from: `read on https://…`, without query and password, `read in FILE`, or `tool Bash`."""
    if "://" not in event.page:
        return f"read in {to_masked_name(event.page)}" if event.page else f"tool {to_masked_name(event.tool)}"
    scheme, _, rest = event.page.partition("://")
    place, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return "read on " + to_masked_name(f"{scheme}://{place.rpartition('@')[2]}{slash}{path}")


def note_person_words(worker: StoreWorker, moment: HookMoment) -> None:
    """Note in memory what the person says, which needs no permission to be kept; the end of a session forgets what was heard."""
    event = moment.event
    if event.event == "end" and not event.agent:
        worker.word_digests.forget(event.host, event.session)
    if event.event != "prompt" or event.agent:
        return
    if may_capture(str(worker.path), "", parse_folder(event.folder) or "").allowed:
        digests = worker.word_digests.open(event.host, event.session)
        digests.theme = moment.theme
        digests.note_said(to_spoken_text(event.text))


def parse_event(arguments: Any) -> HookEvent:
    """Parse an event. :raises ArgumentError: it is none"""
    if not isinstance(arguments, dict):
        raise ArgumentError(f"an event is an object, not {type(arguments).__name__}", str(arguments)[:60])
    try:
        return parse_hook_event(arguments)
    except ValueError as error:
        raise ArgumentError(str(error), None) from error


def to_answer(text: str, notice: str = "") -> dict[str, Any]:
    return {"hermes-memory": 1, "text": text, "tokens": estimate_tokens(text), **({"notice": notice} if notice else {})}
