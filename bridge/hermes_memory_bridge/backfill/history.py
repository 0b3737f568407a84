"""What of the sessions on disk may come in, and how it does: each message once, however often a backfill runs or is killed.

A message has a uid that its host, session, speaker and words give it. What the journal knows under that uid was here once: it is
there, or was erased and does not come back, unless a backfill was taken back and a person asks for another. An action comes in
where a person said yes to actions; its uid comes from its host, session and call.
"""

from __future__ import annotations

import hashlib
import os
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from hermes_memory_bridge.backfill.disk_sessions import NO_END, DiskSession, SkippedFile
from hermes_memory_bridge.backfill.git_commits import GIT, read_commits
from hermes_memory_bridge.backfill.session_forms import read_session
from hermes_memory_bridge.backfill.tool_calls import SessionCalls
from hermes_memory_bridge.hook_service.transcripts.transcript_file import TranscriptMessage
from hermes_memory_bridge.hook_service.turn_capture import split_message, to_actions, to_spoken_text
from hermes_memory_bridge.tools.acknowledgements import explain_skipped_message
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.conversations.turn_rows import PortableTurn
from hermes_memory_store.frozen import dataclass as frozen_dataclass
from hermes_memory_store.hosts.capture_switch import load_capture_switch, may_capture
from hermes_memory_store.hosts.host_data import list_client_names
from hermes_memory_store.hosts.host_sessions import HostSession, HostTurns, digest_message
from hermes_memory_store.intake.detector import Passage, TextKind, find_masked_spans, find_suspicion
from hermes_memory_store.intake.intake import TURN_TARGET
from hermes_memory_store.items.action_rows import (
    Action,
    find_known_actions,
    keep_actions,
    list_heard_actions,
    mask_action,
)
from hermes_memory_store.model import PERSON, Actor, Millis, Origin, Session, Uid, Way
from hermes_memory_store.places.project_sighting import ProjectSighting, read_project
from hermes_memory_store.store import Store
from hermes_memory_store.uids import format_uid
from hermes_memory_themes.theme_identity import DEFAULT

MOST_SAMPLED = 1_000
"""Messages, the newest, that a plan runs through the content checks: all of them would take as long as bringing them in."""

GROWING_MS, LONGEST_ANSWER_MS = 10_000, 600_000
"""How lately a host wrote to a file whose last answer may still grow, and how lately that answer began."""

LATE_MS = 2_000
"""How long after a hook a host may note in its record when the call was."""

MOST_CAPTURED = 100_000
"""Messages of one session, the newest, that are compared with those on disk."""


@frozen_dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions and messages a person asks for."""

    folder: str = ""
    """Sessions of this folder's project alone."""
    project: str = ""
    """Those of the project that is called so."""
    since: int = 0
    """Messages since then, UTC milliseconds."""


@dataclass(slots=True)
class HistoryPlan:
    """What a backfill would do."""

    sessions: list[DiskSession] = field(default_factory=list)
    groups: dict[tuple[str, str], ProjectHistory] = field(default_factory=dict)
    """By host and project."""
    skipped: list[SkippedFile] = field(default_factory=list)
    messages: int = 0
    actions: int = 0
    known: int = 0
    """Sessions that bring nothing new."""
    sampled: int = 0
    masked: int = 0
    held: int = 0
    """Of the sampled ones: with a secret, and kept from agents."""
    seconds: float = 0.0


@dataclass(slots=True)
class ProjectHistory:
    sessions: int = 0
    messages: int = 0
    size: int = 0
    first_at: int = NO_END
    last_at: int = 0


@dataclass(slots=True)
class HistoryReport:
    sessions: int = 0
    messages: int = 0
    actions: int = 0
    refused: int = 0
    """Messages that a theme does not take."""
    proposed: int = 0
    """Facts that wait for a person."""
    themes: set[str] = field(default_factory=set)


class History:
    """The sessions on disk that a person wants, beside the store they come into."""

    def __init__(
        self,
        store: Store,
        wanted: Wanted,
        sessions: Iterable[DiskSession],
        *,
        is_asked_for: bool = True,
        reads_actions: bool | None = None,
    ) -> None:
        """:param sessions: those changed last first
        :param is_asked_for: whether what was taken back may come again
        :param reads_actions: whether a plan counts actions; as the person answered unless given. That alone decides what is kept
        """
        self._store = store
        self._wanted = wanted
        self._sessions = [*sessions]
        self._switch = load_capture_switch(store.path)
        self._seen: dict[str, ProjectSighting] = {}
        self._may_keep = cache(lambda folder: may_capture(str(store.path), "", folder).allowed)
        self._reads_actions = self._switch.actions is True if reads_actions is None else reads_actions
        self._is_asked_for = is_asked_for
        self._taken_back = store.turns.find_taken_back() if is_asked_for else set()

    def plan(self) -> HistoryPlan:
        """Read everything, and store nothing."""
        plan, begin = HistoryPlan(), time.process_time()
        checks_s = 0.0
        for disk, project in self._choose(plan.skipped):
            group = plan.groups.setdefault((disk.host, project), ProjectHistory())
            count, actions = 0, 0
            for message in self.read_new(disk, plan.skipped):
                group.first_at, group.last_at = min(group.first_at, message.at), max(group.last_at, message.at)
                if isinstance(message, Action):
                    actions += 1
                    continue
                count += 1
                group.size += 0 if disk.size else len(message.text)
                if plan.sampled < MOST_SAMPLED:
                    started = time.process_time()
                    self._sample(plan, message.text)
                    checks_s += time.process_time() - started
            if count or actions:
                plan.sessions.append(disk)
                plan.actions += actions
                group.sessions += 1
                group.messages += count
                group.size += disk.size
                plan.messages += count
            else:
                plan.known += 1
        plan.groups = {key: group for key, group in plan.groups.items() if group.sessions}
        reading_s = time.process_time() - begin - checks_s
        plan.seconds = reading_s + 1.5 * checks_s * plan.messages / max(1, plan.sampled)
        return plan

    def bring(self, plan: HistoryPlan, progress: Callable[[int, int], None] | None = None) -> HistoryReport:
        """Bring in the messages and actions of a plan's sessions that were never here.

        :param progress: called with the sessions that are done, and all
        """
        report, run = HistoryReport(), self._store.turns.find_next_run()
        for number, disk in enumerate(plan.sessions, 1):
            before = report.messages + report.actions
            if disk.host == GIT:
                self._store.place_themes.theme_of(self._sight(disk.folder))  # commits are known by it
            for piece in in_chunks(self.read_new(disk, [])):  # other writers wait for one
                self.bring_messages(disk, piece, report, run)
            report.sessions += report.messages + report.actions > before
            if progress is not None:
                progress(number, len(plan.sessions))
        return report

    def _choose(self, skipped: list[SkippedFile]) -> Iterator[tuple[DiskSession, str]]:
        """Yield the sessions that are wanted and may be kept, with the names of their projects."""
        here = self._sight(self._wanted.folder) if self._wanted.folder else None
        refused: set[tuple[str, str]] = set()
        for disk in self._sessions:
            if disk.changed_at < self._wanted.since:
                continue
            seen = self._sight(disk.folder) if disk.folder else None
            project = "" if seen is None else seen.label
            if here is not None and (seen is None or not is_same_project(here, seen)):
                continue
            if self._wanted.project and self._wanted.project not in (project, seen and self._store.projects.find(seen)):
                continue
            ruling = may_capture(str(self._store.path), "", disk.folder)
            if ruling.allowed:
                yield disk, project
            elif (disk.host, disk.folder) not in refused:
                refused.add((disk.host, disk.folder))
                skipped.append(
                    SkippedFile(disk.host, disk.folder or disk.path, f"its sessions: capture is {ruling.why}")
                )

    def list_projects(self) -> set[str]:
        """Return the names of the projects of all sessions on disk, as the store and their folders have them."""
        seen = [self._sight(folder) for folder in {disk.folder for disk in self._sessions if disk.folder}]
        return {name for one in seen for name in (one.label, self._store.projects.find(one)) if name}

    def _sight(self, folder: str) -> ProjectSighting:
        if folder not in self._seen:
            self._seen[folder] = read_project(folder)
        return self._seen[folder]

    def read_new(self, disk: DiskSession, skipped: list[SkippedFile]) -> list[SaidMessage | Action]:
        """Return what was said and done in a session, may be kept and was never here."""
        seen = self._sight(disk.folder) if disk.folder else None
        theme = self._store.place_themes.find_known(seen)
        policy = self._store.policies.for_theme(theme or DEFAULT)
        calls = SessionCalls(disk.host) if self._reads_actions and policy.turns != "none" else None
        refused: list[int] = []
        messages = list(self._drop_refused(disk, self._read(disk, skipped, theme, calls), refused))
        journaled = self._store.turns.find_journaled([message.uid for message in messages]) - self._taken_back
        messages = [message for message in messages if message.uid not in journaled]
        captured = self._list_captured(disk) if messages else set()
        host_session = self._store.host_sessions.find(disk.host, disk.name)
        is_needed = messages or calls is not None
        erased_at = (
            self._store.turns.find_erasure((host_session and host_session.session) or disk.name) if is_needed else 0
        )
        messages = [message for message in messages if (message.role, message.text) not in captured]
        done: list[SaidMessage | Action] = [*messages]
        done += self._find_new_actions(disk, calls, refused) if calls is not None else []
        return [one for one in done if one.at > erased_at]

    def _find_new_actions(self, disk: DiskSession, calls: SessionCalls, switches: list[int]) -> list[Action]:
        """Return what was done, may be kept and was never here. :param switches: times, as `_drop_refused` notes them"""
        actions: dict[bytes, Action] = {}
        now, root = self._store.clock(), self._sight(disk.folder).root if disk.folder else ""
        for call, outcome in calls.list_calls():
            at = Millis(min(call.at or disk.changed_at, now))
            if at < self._wanted.since or self._switch.was_stopped(at) or bisect_right(switches, at) % 2:
                continue
            call.folder, call.at = os.path.join(disk.folder, call.folder), at
            made = to_actions(disk.host, disk.name, call, outcome, root, self._may_keep)
            actions |= {action.uid: action for action in made}
        known = find_known_actions(self._store.db, [*actions], again=self._is_asked_for)
        known |= self._find_heard_actions(disk, actions)
        return [action for uid, action in actions.items() if uid not in known]

    def _find_heard_actions(self, disk: DiskSession, actions: dict[bytes, Action]) -> set[bytes]:
        """Return which actions hooks brought that were told no id of the call: the last one like it that had begun by then."""
        host_session, heard = self._store.host_sessions.find(disk.host, disk.name), set[bytes]()
        if host_session is None or host_session.theme is None or host_session.session is None:
            return heard
        session = self._store.sessions.find_named(host_session.theme, host_session.session)
        for brought in list_heard_actions(self._store.db, session) if session is not None else ():
            if brought.uid in actions:
                continue
            like = [
                action
                for action in actions.values()
                if action.uid not in heard and (action.kind, action.at < brought.at + LATE_MS) == (brought.kind, True)
                if mask_action(action).what == brought.what
            ]
            heard |= {max(like, key=lambda action: action.at).uid} if like else set()
        return heard

    def _drop_refused(
        self, disk: DiskSession, messages: Iterable[SaidMessage], switches: list[int]
    ) -> Iterator[SaidMessage]:
        """Yield messages without the prompts that hooks heard and might not keep, and what was answered to them.

        :param switches: is given the times at which such a time began and ended, in turn
        """
        host_session, is_refused = self._store.host_sessions.find(disk.host, disk.name), False
        turns = HostTurns(self._store.db)
        for message in messages:
            if host_session is not None and message.role == "user":
                was_refused, is_refused = is_refused, turns.is_refused(host_session, message.role, at=message.at)
                switches += [message.at] if is_refused is not was_refused else []
            if not is_refused:
                yield message

    def _list_captured(self, disk: DiskSession) -> set[tuple[str, str]]:
        """Return what a tool or a memory provider brought of a session; of what hooks heard, `HostTurns` knows more."""
        if self._store.host_sessions.find(disk.host, disk.name) is not None:
            return set()
        return {
            (turn.role, turn.content.strip())
            for theme in self._store.names.all_themes()
            if self._store.sessions.find_named(theme, disk.name) is not None
            for turn in self._store.turns.list(theme, session=disk.name, limit=MOST_CAPTURED)
            if turn.origin.way is not Way.HISTORY
        }

    def _read(
        self, disk: DiskSession, skipped: list[SkippedFile], theme: str | None, calls: SessionCalls | None
    ) -> Iterator[SaidMessage]:
        """Yield what was said in a session and may be kept, in order; what cannot be read ends it, and is noted."""
        occurrences: Counter[bytes] = Counter()
        now, policy = self._store.clock(), self._store.policies.for_theme(theme or DEFAULT)
        messages: list[TranscriptMessage] = []
        try:
            of_disk = read_session(disk.host, disk.path, disk.name, calls) if disk.host != GIT else read_commits(disk)
            messages.extend(of_disk)
            changed_at = os.stat(disk.path).st_mtime_ns // 1_000_000 if disk.size else disk.changed_at
            is_growing = abs(now - changed_at) < GROWING_MS and messages and not messages[-1].is_ended
            if is_growing and now - (messages[-1].at or now) < LONGEST_ANSWER_MS:
                skipped.append(SkippedFile(disk.host, disk.path, "its last answer may grow; run this again later"))
                del messages[-1]
        except OSError as error:
            version = f" (written by version {disk.version})" if disk.version else ""
            skipped.append(SkippedFile(disk.host, disk.path, f"{error.strerror or error}{version}"))
        for message in messages:
            spoken = self._to_said(disk, message, now, occurrences)
            if spoken is not None and explain_skipped_message(spoken.text, policy) is None:
                uid = hashlib.blake2b(f"{GIT}\0{theme}\0{message.name}".encode(), digest_size=16).digest()
                yield replace(spoken, uid=uid) if disk.host == GIT else spoken  # a clone has the same commits

    def _to_said(
        self, disk: DiskSession, message: TranscriptMessage, now: int, occurrences: Counter[bytes]
    ) -> SaidMessage | None:
        text = to_spoken_text(message.text)
        if not text or message.agent:
            return None
        at = min(message.at or disk.changed_at, now)
        key = digest_message(f"{message.role} {text}")
        occurrences[key] += 1
        if at < self._wanted.since or self._switch.was_stopped(at):
            return None
        named = "\0".join((disk.host, disk.name, message.role, str(occurrences[key])))
        uid = hashlib.blake2b(named.encode(errors="replace") + key, digest_size=16).digest()
        return SaidMessage(uid, message.role, text, at, occurrences[key])

    def _sample(self, plan: HistoryPlan, text: str) -> None:
        passage = Passage(TextKind.TURN, text, TURN_TARGET)
        plan.sampled += 1
        plan.masked += bool(find_masked_spans(passage))
        plan.held += find_suspicion(passage) is not None

    def bring_messages(
        self, disk: DiskSession, done: Sequence[SaidMessage | Action], report: HistoryReport, run: int
    ) -> None:
        """Bring in messages of one session, in one transaction, then its actions."""
        store = self._store
        messages = [one for one in done if isinstance(one, SaidMessage)]
        is_wanted = load_capture_switch(store.path).actions is True
        actions = [one for one in done if isinstance(one, Action) and is_wanted]
        if not messages and not actions:
            return
        host_session = store.host_sessions.find(disk.host, disk.name)
        origin = Origin(way=Way.HISTORY, client=list_client_names(disk.host)[0], client_version=disk.version or None)
        seen = self._sight(disk.folder) if disk.folder else None
        if host_session is not None and host_session.theme is not None:
            theme = host_session.theme
        else:
            theme = store.place_themes.theme_of(seen)
        if seen is not None:
            # Where the branch stands now says nothing of then.
            origin = replace(store.projects.place(origin, seen), branch=disk.branch or None, commit=None)
        with store.journal.join_changes(), store.attribute(origin):
            session = self._take_session(disk, host_session, theme, origin.project, done[0].at)
            uids = [format_uid(message.uid) for message in messages]
            present = {turn.uid for turn in store.turns.by_uids(uids)}  # somebody else may backfill, too
            new = [message for message, uid in zip(messages, uids, strict=True) if uid not in present]
            turns = [turn for message in new for turn in self._to_turns(message, host_session)]
            actor = PERSON if self._is_asked_for else Actor("session", session.name)
            brought = store.turns.bring(theme, turns, session=session, origin=origin, run=run, actor=actor)
        report.actions += keep_actions(store.db, session, disk.host, actions, run, store.clock())
        report.messages += brought
        report.themes.add(theme)
        report.refused += len(turns) - brought

    def _to_turns(self, message: SaidMessage, host_session: HostSession | None) -> Iterator[PortableTurn]:
        """Yield the parts of a message, unless a hook brought it. Within a write."""
        turns, row = HostTurns(self._store.db), None
        if host_session is not None:
            if turns.is_known(host_session, message.role, message.text, message.occurrence, at=message.at):
                return
            row = turns.note_read(host_session, message.role, message.text, at=message.at)
        for number, part in enumerate(split_message(message.text)):
            uid = message.uid if not number else hashlib.blake2b(message.uid + bytes([number]), digest_size=16).digest()
            if row is not None:
                turns.note_captured(row, Uid(format_uid(uid)))
            yield PortableTurn(uid, None, message.role, part, message.at)

    def _take_session(
        self, disk: DiskSession, host_session: HostSession | None, theme: str, project: str | None, at: int
    ) -> Session:
        """Return the session of ours for one on disk: the one its hooks opened, else one that has ended. Within a write."""
        sessions = self._store.sessions
        name = disk.name if host_session is None or host_session.session is None else host_session.session
        session = sessions.find_named(theme, name)
        if session is None:
            client, version = list_client_names(disk.host)[0], disk.version or None
            session = sessions.open(theme, name, client=client, client_version=version, project=project, started_at=at)
            sessions.close(session)
        return session


@dataclass(frozen=True, slots=True)
class SaidMessage:
    uid: bytes
    role: str
    text: str
    at: int
    """UTC milliseconds."""
    occurrence: int
    """The how manieth of its words in its session, from 1."""


def is_same_project(one: ProjectSighting, other: ProjectSighting) -> bool:
    return one.root == other.root or (one.remote is not None and one.remote == other.remote)
