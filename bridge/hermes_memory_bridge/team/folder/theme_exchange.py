"""The exchange of one theme through a shared folder: read what others wrote, write what is new here, erase what was purged.

It may be interrupted anywhere: what was written and not acknowledged is written once more, what was read and not noted
is read once more, and neither changes anything.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from hermes_memory_bridge.team.database.team_states import TeamState
from hermes_memory_bridge.team.folder.folder_state import OwnSegment, ThemeState
from hermes_memory_bridge.team.folder.segment import (
    Segment,
    SegmentError,
    SegmentIncomplete,
    SegmentName,
    ThemeKey,
    decrypt_payload,
    open_segment,
    read_header,
    seal_segment,
    without_purged,
)
from hermes_memory_bridge.team.folder.segment_rows import newest_rows, newest_turns, split_segment
from hermes_memory_bridge.team.folder.shared_folder import FileStamp, SharedFolder, ThemeFolder
from hermes_memory_bridge.team.sync_outcome import ProgressCallback, ThemeSyncCount, in_pages, take_bytes
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.model import Uid
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PURGED, PullCursor

log = logging.getLogger(__name__)

SEGMENT_ROWS = 2_000

SEGMENT_BYTES = 4 << 20
"""Bytes of contents in a segment, before compression."""

TURN_ROWS = 500

READ_BYTES = 32 << 20
"""Bytes of files that are read before their rows are applied."""

LEAST_PAGE, MOST_PAGE = 100, 4_000

WRITE_LOCK_S = 0.15
"""How long taking rows in may keep local writers waiting; pages grow and shrink to keep to it."""

SMALL_BYTES, MOST_SMALL = 128 << 10, 32
"""So many segments of this machine that are smaller than that are merged into one, if their rows are few, too."""

MISSED_S = 60.0
"""How long a segment of this machine has to be missing before all is written again: a carrier removes before it adds."""

LEFT_TO_WRITERS_MS = 600_000
"""How long others have to take out of their segments what was purged on this machine or a third."""

MOST_LOGGED = 100
"""Files that cannot be taken in and are named in the log; `sync status` counts the rest."""

FEW = 20
"""Purged uids that are looked for in a text; for more of them the rows are compared."""


@dataclass(frozen=True, slots=True)
class FolderProblem:
    """A file that could not be taken in."""

    file: str
    why: str
    is_missed: bool = False
    """Whether rows may be missing here for it."""


@dataclass(slots=True)
class ThemeExchange:
    store: Store
    theme: str
    key: ThemeKey
    state: ThemeState
    author: str
    """What this machine is called."""
    on_progress: ProgressCallback
    count: ThemeSyncCount = field(default_factory=ThemeSyncCount)
    problems: dict[str, tuple[FileStamp, FolderProblem]] = field(default_factory=dict)
    _files: ThemeFolder = field(init=False)
    _page: int = LEAST_PAGE
    _seen: tuple[dict[str, FileStamp], int] | None = None
    """What was listed, and the store's version, when nothing was left to do."""
    _missed: dict[str, float] = field(default_factory=dict)
    """Since when segments of this machine are missing."""
    _verified: dict[str, FileStamp] = field(default_factory=dict)
    """Segments of this machine that were found to be as they were written."""
    _looked_again: bool = False
    _swept: bool = False
    _talks: bool = False
    """Whether captured turns are shared, or were once."""

    @property
    def machine(self) -> str:
        """Return this machine's tag in names of files."""
        return self.key.machine_tag(bytes.fromhex(self.state.machine))

    def sync(self, folder: SharedFolder, *, at_once: bool = False) -> None:
        """Sync until nothing is left.

        :param at_once: a person asked: nothing is waited for
        :raises TeamError: the folder cannot be used now
        """
        self._files = folder.of_theme(self.key.tag)
        listed, version = self._files.list(), self.store.data_version()
        is_waiting = bool(self._missed or self.state.purged_elsewhere)
        if (listed, version) == self._seen and not at_once and not is_waiting:
            return
        self._seen = None
        self._adopt(folder.name)
        self._talks = bool(self.store.shared_turns.themes([self.theme]))
        self._read(listed)
        self._look_for_missed(folder, listed, at_once=at_once)
        self._offer_everything()
        self._remove_gone(listed)
        self._write()
        self._erase(at_once=at_once)
        self._merge_small()
        self._seen = self._files.list(), version

    def read_all(self) -> Iterable[Segment]:
        """Return every segment that can be read, one after another."""
        for name in sorted(self._files.list()):
            try:
                yield open_segment(self.key, self.theme, self._files.read(name))[1]
            except SegmentError:
                continue

    # What is known of the folder.

    def _adopt(self, folder: str) -> None:
        """Begin anew where this is another folder than the store was exchanged with, or the store is older than the notes."""
        cursor, token = self.store.sync.inbox.cursor(self.theme), Uid(str(uuid.uuid5(uuid.UUID(folder), self.key.tag)))
        if self.state.folder == folder:
            if cursor.mark_token == token and self.state.seq <= cursor.seq:
                return
            self.store.sync.renew_node()
            for own in self.state.own.values():
                own.is_read = False
            log.warning("this memory is older than what it wrote into the shared folder: all is read again")
        else:
            self.state = ThemeState(
                self.state.file, folder=folder, offers=self.store.sync.outbox.was_offered(self.theme)
            )
        self._read_from_start(token)

    def _offer_everything(self) -> None:
        """Write all that this machine knows, once it knows what is there: nothing says any more what it wrote before.

        Also what others have written: of a file that is there now, its writer may be about to remove it.
        """
        if self.state.offers:
            self._write_held()
            cursor = self.store.sync.inbox.cursor(self.theme)
            count = self.store.sync.outbox.mark_all_unsent(self.theme)
            self.store.sync.inbox.apply(self.theme, [], cursor=cursor)
            log.info("all of theme %s is written into this folder: %d rows", self.theme, count)
            self.state.offers = False
            self.state.save()

    def _read_from_start(self, token: Uid) -> None:
        """Forget what was read."""
        self.state.read.clear()
        self.state.seq = 0
        self.state.save()
        self.store.sync.inbox.apply(self.theme, [], cursor=PullCursor(0, 0, token))

    def _look_for_missed(self, folder: SharedFolder, listed: Mapping[str, FileStamp], *, at_once: bool) -> None:
        """Offer everything again when segments of this machine are gone or damaged for good.

        Somebody put an older copy of the folder in its place, wiped it, or changed files in it.
        """
        missing = self._find_missing(listed)
        now = time.monotonic()
        self._missed = {name: self._missed.get(name, now) for name in missing}
        if not missing or (not at_once and now - min(self._missed.values()) < MISSED_S):
            return
        folder.verify()  # once more: it may have been taken away meanwhile
        self._missed.clear()
        for name in missing:
            del self.state.own[name]
            self.state.gone[name] = None  # one that comes back is of no use any more
        self.state.offers = True
        self.state.save()
        log.warning("%d segments of this machine are gone from the shared folder: all is written again", len(missing))

    def _find_missing(self, listed: Mapping[str, FileStamp]) -> set[str]:
        """Return the segments of this machine that are not in the folder as it wrote them."""
        own, missing = self.state.own, set()
        for name in list(own):
            stamp = listed.get(name)
            if stamp is None and not own[name].is_written:
                del own[name]
            elif stamp is None:
                missing.add(name)
            elif self._verified.get(name) != stamp:
                try:
                    payload, _ = decrypt_payload(self.key, self._files.read(name))
                    if str(payload) != name:
                        raise SegmentError(f"it is a copy of {payload}, and takes the place of what this machine wrote")
                    self._verified[name] = stamp
                    own[name].is_written = True
                except SegmentError as error:
                    self._note_problem(name, stamp, str(error))
                    missing.add(name)
        self._verified = {name: stamp for name, stamp in self._verified.items() if name in own}
        return missing

    def _remove_gone(self, listed: Mapping[str, FileStamp]) -> None:
        """Remove segments whose removal was cut off, or that a carrier brought back."""
        for name in self.state.gone.keys() & listed.keys():
            self._files.remove(name)
        if not self._swept:
            self._files.sweep(self.machine)
            self._swept = True

    # Reading.

    def _read(self, listed: Mapping[str, FileStamp]) -> None:
        """Take in what was not read yet."""
        self.problems = {name: problem for name, problem in self.problems.items() if listed.get(name) == problem[0]}
        known_names = self._find_known() | self.problems.keys()
        self._note_turns_wanted()
        batch: dict[str, Segment] = {}
        size = 0
        for name in sorted(listed.keys() - known_names):
            found = self._open(name, listed[name])
            if found is None:
                continue
            identity, segment = found
            batch[identity] = segment
            size += listed[name][0]
            if size > READ_BYTES:
                self._take_in(batch)
                batch, size = {}, 0
        self._take_in(batch)
        if self.theme not in self.store.sync.inbox.fetched_themes() and not self._is_missing_rows():
            self.store.sync.inbox.note_fetched(self.theme)
        self._look_again()

    def _open(self, name: str, stamp: FileStamp) -> tuple[str, Segment] | None:
        """Return a segment under the name that it says it has; None where there is nothing to take in."""
        try:
            data = self._files.read(name)
            header, segment = open_segment(self.key, self.theme, data)
        except SegmentError as error:
            is_missed = isinstance(error, SegmentIncomplete) or self._is_of_theme(name)
            self._note_problem(name, stamp, str(error), is_missed=is_missed)
            return None
        identity = str(header)
        if identity != name:
            self._note_problem(name, stamp, f"it is a copy of {identity}, or was renamed; what it holds is taken in")
        if self._is_known(identity):
            self._note_purged_again([segment])
            return None
        if header.machine == self.machine and identity not in self.state.own:
            self._part_from_copy()
        return identity, segment

    def _find_known(self) -> set[str]:
        """Return the names of segments that hold nothing new."""
        return self.state.read | {name for name, own in self.state.own.items() if own.is_read} | self.state.gone.keys()

    def _is_known(self, name: str) -> bool:
        state = self.state
        return name in state.read or name in state.gone or (name in state.own and state.own[name].is_read)

    def _is_of_theme(self, name: str) -> bool:
        """Check whether a file that cannot be read seems to be a segment of this theme."""
        try:
            return read_header(self._files.read(name))[1] == self.key.tag
        except SegmentError:
            return False

    def _part_from_copy(self) -> None:
        """Go on under another name: a copy of this memory writes into the folder, too, or notes of this one were lost."""
        self.store.sync.renew_node()
        self.state.machine = uuid.uuid4().hex
        self.state.save()
        log.warning("another copy of this memory writes into the shared folder; this one goes on under a new name")

    def _note_problem(self, name: str, stamp: FileStamp, reason: str, *, is_missed: bool = False) -> None:
        entry = stamp, FolderProblem(name, reason, is_missed)
        if self.problems.get(name) == entry:
            return
        self.problems[name] = entry
        if len(self.problems) <= MOST_LOGGED:
            log.warning("shared folder, %s: %s", to_printable(name)[:200], reason)

    def _is_missing_rows(self) -> bool:
        return any(problem.is_missed for _, problem in self.problems.values())

    def _take_in(self, batch: Mapping[str, Segment]) -> None:
        """Apply what segments hold that replaces nothing which was read."""
        if not batch:
            return
        sync, state = self.store.sync, self.state
        known_names = self._find_known()
        new = [entry for entry in batch.values() if not entry.replaces or not known_names.issuperset(entry.replaces)]
        replaced = {name for entry in batch.values() for name in entry.replaces}
        rows = newest_rows(row for entry in new for row in entry.rows)
        turns = newest_turns(turn for entry in new for turn in entry.turns)
        purged = {str(row.uid) for row in rows if row.state == PURGED} | {
            str(entry.uid) for entry in turns if entry.state == PURGED
        }
        if purged:
            state.purged_new |= purged
            state.purged_elsewhere |= dict.fromkeys(purged - state.purged_elsewhere.keys(), self.store.clock())
            state.save()
        at = self._next_cursor()
        while rows:
            page, rows = rows[: self._page], rows[self._page :]
            began = time.perf_counter()
            applied = sync.inbox.apply(self.theme, [(at.seq, row) for row in page], cursor=at)
            taken_s = max(time.perf_counter() - began, 0.001)
            if len(page) == self._page:
                self._page = max(LEAST_PAGE, min(MOST_PAGE, int(self._page * min(2.0, WRITE_LOCK_S / taken_s))))
            self.count.pulled += len(page)
            self.count.conflicts += applied.conflicts
            self.count.unreached.update(applied.unreached)
            self.on_progress()
        sync.inbox.apply(self.theme, [], cursor=at)
        for some in in_chunks(turns, TURN_ROWS):
            self.store.shared_turns.apply(self.theme, some, upto=at.seq, whole=True)
            self.count.turns_pulled += len(some)
            self.on_progress()
        if turns:
            self.count.unreached.update(self.store.turns.scrub())
        self._note_purged_again(new)
        for name in replaced & state.own.keys():
            del state.own[name]
            state.gone[name] = None  # its remover may have got no further
        for name in batch:
            if name in state.own:
                state.own[name].is_read = True
            else:
                state.read.add(name)
        state.seq = at.seq
        state.save()

    def _note_purged_again(self, segments: Collection[Segment]) -> None:
        """Note what was purged and stands in segments that came after it: a carrier brought old ones back, or was late."""
        erased = self._find_erased()
        contents = [(str(row.uid), row.content) for segment in segments for row in segment.rows]
        contents += [(str(turn.uid), turn.content) for segment in segments for turn in segment.turns]
        for uid, content in contents:
            if content and uid in erased:
                self.state.purged_elsewhere.setdefault(uid, self.store.clock())

    def _find_erased(self) -> set[str]:
        """Return what was purged of the theme: facts, scopes and turns."""
        turns = {str(uid) for uid, is_erased in self.store.shared_turns.states(self.theme).items() if is_erased}
        return turns | self.store.sync.standing.purged_uids(self.theme)

    def _next_cursor(self) -> PullCursor:
        """Return the position after the next step: a store that is restored from a backup is at an earlier one."""
        cursor = self.store.sync.inbox.cursor(self.theme)
        return PullCursor(cursor.seq + 1, cursor.seq + 1, cursor.mark_token)

    def _note_turns_wanted(self) -> None:
        """Read everything once more when the theme's turns are shared from now on."""
        is_sharing = self.store.shared_turns.is_sharing(self.theme)
        if is_sharing and not self.state.turns:
            self.state.read.clear()
        if is_sharing != self.state.turns:
            self.state.turns = is_sharing
            self.state.save()

    def _look_again(self) -> None:
        """Look once at what was left out before: a keyring may be open by now, or a policy may have changed."""
        if self._looked_again:
            return
        self._looked_again = True
        left = {entry.uid for entry in self.store.shared_turns.skipped_turns(self.theme)}
        if left:
            turns = newest_turns(turn for entry in self.read_all() for turn in entry.turns if turn.uid in left)
            seq = self.store.sync.inbox.cursor(self.theme).seq
            self.store.shared_turns.apply(self.theme, turns, upto=seq, again=True)

    # Writing.

    def _write(self) -> None:
        """Write what waits."""
        sync, shared = self.store.sync, self.store.shared_turns
        while True:
            pending = sync.outbox.pending_rows(self.theme, limit=SEGMENT_ROWS, author=self.author)
            rows = take_bytes(pending, SEGMENT_BYTES) if pending else []
            turns = shared.pending_turns(self.theme, limit=TURN_ROWS) if self._talks else []
            if not rows and not turns:
                break
            purged = {str(row.uid) for row in rows if row.state == PURGED} | {
                str(turn.uid) for turn in turns if turn.state == PURGED
            }
            self.state.purged_here |= purged
            self._put(Segment(rows, turns))
            at = self._next_cursor()
            sync.outbox.acknowledge(self.theme, [(row.uid, row.hlc) for row in rows])
            sync.inbox.apply(self.theme, [], cursor=at)
            shared.acknowledge(self.theme, turns, base=at.seq, end=at.seq)
            self.state.seq = at.seq
            self.state.save()
            self.count.pushed += len(rows)
            self.count.turns_pushed += len(turns)
            self.on_progress()
        self._write_lost()

    def _write_lost(self) -> None:
        """Write what lost before it was ever written, so that all list the same conflicts."""
        lost = self.store.sync.outbox.untold_versions(self.theme, self.author)
        for some in in_pages(lost, SEGMENT_ROWS, SEGMENT_BYTES):
            self._put(Segment(some, []))
            self.store.sync.outbox.acknowledge_lost(self.theme, some)
            self.count.pushed += len(some)

    def _write_held(self) -> None:
        """Write the versions that are held back here: a segment of this machine may have been the only one that held them."""
        if held_rows := self.store.sync.outbox.held_rows(self.theme, self.author):
            self._put(Segment(held_rows, []))

    def _put(self, segment: Segment) -> None:
        """Write a segment as this machine's. It is noted before, so that it is never taken for another's."""
        segment = replace(segment, node=self.store.sync.node, author=self.author, theme=self.theme)
        name = SegmentName(self.machine, self.state.next, os.urandom(8).hex())
        data = seal_segment(self.key, name, segment)
        self.state.next += 1
        self.state.own[str(name)] = OwnSegment(len(segment.rows) + len(segment.turns))
        self.state.save()
        self._files.write(str(name), data)
        self.state.own[str(name)].is_written = True
        self.state.save()  # before its rows are acknowledged: from then on it is missed when it is gone

    # What segments hold no longer.

    def _erase(self, *, at_once: bool) -> None:
        """Write segments anew that hold what was purged, without it, and remove them.

        What others purged is taken out of their segments by themselves, unless they do not come back.
        """
        state = self.state
        latest = self.store.clock() - (0 if at_once else LEFT_TO_WRITERS_MS)
        due = {uid for uid, at in state.purged_elsewhere.items() if at <= latest} | state.purged_here
        listed = self._files.list()
        # What came meanwhile is not read yet: taken out of the folder, it would be lost to this machine.
        if due:
            self._rewrite_without(sorted(listed.keys() & (state.read | state.own.keys() | self.problems.keys())), due)
        elif state.purged_new:
            self._rewrite_without(sorted(listed.keys() & state.own.keys()), state.purged_new)
        if due or state.purged_new:
            state.purged_here, state.purged_new = set(), set()
            state.purged_elsewhere = {uid: at for uid, at in state.purged_elsewhere.items() if uid not in due}
            state.save()

    def _rewrite_without(self, names: Iterable[str], purged: Set[str]) -> None:
        needles = [uid.encode() for uid in purged] if len(purged) <= FEW else []
        for name in names:
            try:
                data = self._files.read(name)
                payload = decrypt_payload(self.key, data)[1]
                if needles and not any(needle in payload for needle in needles):
                    continue
                segment = open_segment(self.key, self.theme, data)[1]
            except SegmentError:
                continue
            left = without_purged(segment, purged)
            if left != segment:
                self._replace([name], left)
            self.on_progress()

    def _merge_small(self) -> None:
        """Merge small segments of this machine: a year of single edits is no folder of a hundred thousand files."""
        listed = self._files.list()
        small = [
            name
            for name, entry in self.state.own.items()
            if name in listed and listed[name][0] < SMALL_BYTES and entry.size <= SEGMENT_ROWS // 4
        ]
        if len(small) <= MOST_SMALL:
            return
        segments: dict[str, Segment] = {}
        for name in small:
            try:
                segments[name] = open_segment(self.key, self.theme, self._files.read(name))[1]
            except SegmentError as error:
                self._note_problem(name, listed[name], str(error))
        rows = newest_rows(row for entry in segments.values() for row in entry.rows)
        turns = newest_turns(turn for entry in segments.values() for turn in entry.turns)
        self._replace(list(segments), Segment(rows, turns))

    def _replace(self, names: list[str], left: Segment) -> None:
        """Write what is left of segments, then remove them.

        What this machine knows to be purged is left out: another's segment may hold it until he learns of it.
        """
        left = without_purged(left, self._find_erased())
        for part in split_segment(left, SEGMENT_ROWS, SEGMENT_BYTES):
            self._put(replace(part, replaces=tuple(names)))
        self.state.gone.update(dict.fromkeys(names))
        for name in names:
            self.state.own.pop(name, None)
        self.state.save()
        for name in names:
            self._files.remove(name)

    def to_state(self) -> TeamState | None:
        """Return what keeps this theme from being exchanged whole."""
        missed = [problem for _, problem in self.problems.values() if problem.is_missed]
        if missed:
            named = f"{to_printable(missed[0].file)[:60]}: {missed[0].why}"
            more = f", and {len(missed) - 1} more" if len(missed) > 1 else ""
            return TeamState(
                "incomplete", f"files of the shared folder cannot be read ({named}{more}); all else is exchanged"
            )
        if self._missed:
            return TeamState(
                "incomplete", "files of this machine are gone from the shared folder; they are written again soon"
            )
        return None
