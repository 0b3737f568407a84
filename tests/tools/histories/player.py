"""Playing a history on real stores, with a server in memory unless a carrier of its own is given."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from hermes_memory_store import uids
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Actor, FactFilter, Session, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PullCursor, SyncRow
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock
from tests.store.team import THEME, Member, Server, converge
from tests.tools.histories import checks
from tests.tools.histories.steps import PAGE, History, Step

BEGIN = 1_790_000_000_000

TICK_MS = 8
"""Each machine's clock has its own remainder by this, so that no two machines make a uid in the same millisecond."""

MEMORY = Path("/dev/shm")
"""Files there cost no disk, where the system has it."""

WORD = re.compile(r"word\d+x")
"""A word that one fact says, and no other."""


class Failed(AssertionError):
    """A history that does not end as it must."""

    def __init__(self, history: History, played: int, why: BaseException) -> None:
        super().__init__(
            f"seed {history.seed} after {played} of {len(history.steps)} steps: {type(why).__name__}: {why}"
        )
        self.history = history
        self.played = played
        self.why = why


def play(
    history: History, folder: Path | None = None, *, player: Callable[[History, Path], Player] | None = None
) -> None:
    """Play a history and check what it comes to.

    :param player: makes who plays it; `Player` unless given
    :raises Failed: with what did not hold
    """
    with seeded_noise(history.seed), tempfile.TemporaryDirectory(dir=folder or place()) as home:
        team = (player or Player)(history, Path(home))
        played = 0
        try:
            for step in history.steps:
                team.do(step)
                played += 1
            team.settle()
            checks.check_at_rest(team)
            team.finish()
        except Exception as error:
            raise Failed(history, played, error) from error
        finally:
            team.close()


def place() -> Path | None:
    """Where the files of a history lie."""
    return MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None


@cache
def fresh_store() -> bytes:
    """A store in which nobody has written yet."""
    with seeded_noise(0), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        Store.open(path, policies=Policies.load(Path(folder) / "none.toml")).close()
        return path.read_bytes()


@contextmanager
def seeded_noise(seed: int) -> Iterator[None]:
    """Uids, salts and names of machines from a seed, so that a history is the same each time it is played."""
    noise, genuine = random.Random(seed), os.urandom
    os.urandom = noise.randbytes  # type: ignore[assignment]
    try:
        yield
    finally:
        os.urandom = genuine


@dataclass
class Player:
    """The machines of a history, and what is known of what they said."""

    sync: ClassVar[str] = "true"
    """What the policy of the theme says."""

    history: History
    home: Path
    members: list[Member] = field(default_factory=list)
    server: Server = field(default_factory=Server)
    delivered: list[tuple[int, SyncRow]] = field(default_factory=list)
    purged: set[str] = field(default_factory=set)
    words: int = 0
    said: dict[str, set[str]] = field(default_factory=dict)
    """The words that a fact said, by its uid."""

    def __post_init__(self) -> None:
        (self.home / "themes.toml").write_text(
            f"[themes.team]\nsync = {self.sync}\nhot_chars = {self.history.hot_chars}\n"
        )
        policies = Policies.load(self.home / "themes.toml")
        for n in range(self.history.machines):
            path = self.home / f"{n}.db"
            path.touch(mode=0o600)
            path.write_bytes(fresh_store())
            self.members.append(self.join(path, HandClock(BEGIN + n), policies))
        for member in self.members[self.history.machines - self.history.guarded :] if self.history.guarded else ():
            member.guard()
        for member in self.members:
            hurry(member)

    def join(self, path: Path, clock: HandClock, policies: Policies) -> Member:
        """One more machine."""
        return Member(path, clock, policies)

    def settle(self) -> None:
        """Everybody exchanges everything."""
        converge(self.members, self.server, limit=PAGE)

    def close(self) -> None:
        """Close the stores."""
        for member in self.members:
            member.store.close()

    def finish(self) -> None:
        """What is done and checked when all is at rest."""

    def do(self, step: Step) -> None:
        """One step, and what must hold after each."""
        member = self.members[step.machine % len(self.members)]
        member.clock.forward(TICK_MS * (1 + step.machine * 3))
        uids._last = 0  # a machine orders its own uids alone
        getattr(self, step.name)(member, *step.args)
        checks.check_purged(member)

    def attempt(self, member: Member, what: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """What it returns, or None where the store's rules refuse it: then nothing was changed."""
        before = member.store.journal.last_seq()
        try:
            return what(*args, **more)
        except StoreError as error:
            assert member.store.journal.last_seq() == before, f"refused ({error}), and something was changed"
            assert "None" not in error.message, f"a refusal that says nothing: {error.message}"
            return None

    def new_words(self, text: str) -> str:
        """The text, with a word of its own where it asks for one."""
        if "#" not in text:
            return text
        self.words += 1
        return text.replace("#", f"word{self.words}x")

    def note_words(self, uid: str, text: str) -> None:
        """Remember what a fact said."""
        self.said.setdefault(uid, set()).update(WORD.findall(text))

    def find_uid(self, member: Member, pick: int) -> str | None:
        """The fact that a number names."""
        if member.store.names.theme_or_none(THEME) is None:
            return None
        wanted = FactFilter(theme=THEME, tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        facts = sorted(fact.uid for fact in member.store.facts.page(wanted, limit=1000).facts)
        return facts[pick % len(facts)] if facts else None

    def find_change(self, member: Member, pick: int) -> int | None:
        """The change that a number names; the newest are named most often."""
        rows = member.store.db.rows("SELECT DISTINCT change FROM journal ORDER BY change DESC")
        near = rows[:12] if pick % 4 else rows
        return near[pick // 4 % len(near)][0] if near else None

    def session(self, member: Member, name: str) -> Session:
        """A session of that name on this machine."""
        return member.store.sessions.open(THEME, f"{name}-{self.members.index(member)}")

    # What a step may say: each does one thing on one machine.

    def write(self, member: Member, line: str, label: str | None, session: str | None) -> None:
        line = self.new_words(line)
        by = None if session is None else self.session(member, session)
        result = self.attempt(member, member.store.facts.write, THEME, line, scope=label, session=by)
        if result is not None:
            self.note_words(result.fact.uid, line)

    def edit(self, member: Member, pick: int, content: str) -> None:
        content = self.new_words(content)
        if (uid := self.find_uid(member, pick)) and self.attempt(member, member.store.facts.edit, uid, content):
            self.note_words(uid, content)

    def archive(self, member: Member, pick: int) -> None:
        self.change(member, pick, member.store.facts.archive)

    def restore(self, member: Member, pick: int) -> None:
        self.change(member, pick, member.store.facts.restore)

    def cool(self, member: Member, pick: int) -> None:
        self.change(member, pick, member.store.facts.cool)

    def pin(self, member: Member, pick: int) -> None:
        self.change(member, pick, member.store.facts.pin)

    def unpin(self, member: Member, pick: int) -> None:
        self.change(member, pick, member.store.facts.pin, False)

    def change(self, member: Member, pick: int, act: Callable[..., Any], *more: Any) -> None:
        if uid := self.find_uid(member, pick):
            self.attempt(member, act, [uid], *more)

    def move(self, member: Member, pick: int, label: str | None) -> None:
        self.change(member, pick, member.store.facts.move, label)

    def close_scope(self, member: Member, label: str) -> None:
        self.attempt(member, member.store.scopes.close, THEME, label)

    def reopen_scope(self, member: Member, label: str) -> None:
        self.attempt(member, member.store.scopes.reopen, THEME, label)

    def rename_scope(self, member: Member, label: str, new: str) -> None:
        self.attempt(member, member.store.scopes.rename, THEME, label, new)

    def merge_scopes(self, member: Member, label: str, into: str) -> None:
        self.attempt(member, member.store.scopes.merge, THEME, label, into)

    def undo_last(self, member: Member, count: int) -> None:
        self.attempt(member, member.store.undo.last, count)

    def undo_change(self, member: Member, pick: int) -> None:
        if (seq := self.find_change(member, pick)) is not None:
            self.attempt(member, member.store.undo.change, seq)

    def undo_session(self, member: Member, name: str, leaving: bool) -> None:
        before = checks.touched_by_person(member.store)
        name = f"{name}-{self.members.index(member)}"
        if self.attempt(member, member.store.undo.session, name, leaving=leaving):
            checks.check_untouched(member.store, before)

    def redo(self, member: Member) -> None:
        self.attempt(member, member.store.undo.redo)

    def undo_and_redo(self, member: Member, pick: int) -> None:
        """Taking all of a change back and bringing it back is as if nothing had happened.

        Where a fact was left out because its creation is undone, what it replaced comes back as it was before that.
        """
        if (seq := self.find_change(member, pick)) is None:
            return
        before = checks.portrait(member.store)
        if (undone := self.attempt(member, member.store.undo.change, seq)) is None:
            return
        if member.store.journal.last_seq() > undone.seqs[-1]:  # what the team says came to stand where room was made
            self.attempt(member, member.store.undo.change, undone.seqs[0])
        else:
            member.store.undo.change(undone.seqs[0])
            assert undone.left or checks.portrait(member.store) == before, f"undo and redo of {seq} left something"

    def purge(self, member: Member, pick: int) -> None:
        if uid := self.find_uid(member, pick):
            member.store.purge.facts([uids.parse_uid(uid)])
            self.purged.add(uid)

    def purge_scope(self, member: Member, label: str) -> None:
        sql = (
            "SELECT f.uid FROM facts f JOIN scopes s ON s.id = f.scope_id WHERE s.label = ? AND s.status <> 'withdrawn'"
        )
        there = {uids.format_uid(uid) for (uid,) in member.store.db.rows(sql, (label,))}
        if self.attempt(member, member.store.purge.execute, THEME, scope=label):
            self.purged |= there

    def suspect(self, member: Member, line: str, label: str | None) -> None:
        line = self.new_words(line)
        fact = self.attempt(member, member.store.facts.quarantine, THEME, line, why="a test", scope=label)
        if fact is not None:
            self.note_words(fact.uid, line)

    def approve(self, member: Member, pick: int) -> None:
        self.judge(member, pick, member.store.facts.approve)

    def refuse(self, member: Member, pick: int) -> None:
        self.judge(member, pick, member.store.facts.refuse)

    def judge(self, member: Member, pick: int, act: Callable[..., Any]) -> None:
        if member.store.names.theme_or_none(THEME) and (waiting := member.store.facts.quarantine_queue(THEME)):
            self.attempt(member, act, [waiting[pick % len(waiting)].fact.uid])

    def hold(self, member: Member) -> None:
        """What an agent's purge does: it leaves every list, and undo brings it back."""
        self.attempt(member, member.store.purge.soft_delete, THEME, actor=Actor("session", "one-0"))

    def decide(self, member: Member, pick: int, keep: Any) -> None:
        if met := member.store.sync.standing.conflicts(THEME):
            self.attempt(member, member.store.sync.standing.resolve, met[pick % len(met)].uid, keep)

    def renew_node(self, member: Member) -> None:
        member.store.sync.renew_node()

    def push(self, member: Member, limit: int, acknowledged: bool) -> None:
        member.push(self.server, limit=limit, acknowledged=acknowledged)

    def pull(self, member: Member, limit: int) -> None:
        self.delivered += self.server.pull(member.store.sync.inbox.cursor(THEME).seq, limit)
        member.pull(self.server, limit=limit)

    def deliver_again(self, member: Member, picked: Sequence[int]) -> None:
        """Pages that come twice and out of their order."""
        page = [self.delivered[pick % len(self.delivered)] for pick in picked if self.delivered]
        member.store.sync.inbox.apply(THEME, page, cursor=member.store.sync.inbox.cursor(THEME))

    def collect(self, member: Member) -> None:
        """Everybody exchanges everything, and what was deleted leaves the server and the machines."""
        self.settle()
        upto = self.server.collect()
        self.delivered.clear()
        for one in self.members:
            one.store.sync.inbox.forget_deleted(THEME, upto)

    def crash(self, member: Member, back: int) -> None:
        """The cursor and the outbox are what the disk says; a clock may be set back meanwhile."""
        member.reopen()
        hurry(member)
        member.clock.forward(-1000 * back)

    def lose_cursor(self, member: Member) -> None:
        member.store.sync.inbox.apply(THEME, [], cursor=PullCursor())

    def offer_everything(self, member: Member) -> None:
        member.store.sync.outbox.mark_all_unsent(THEME)


def hurry(member: Member) -> None:
    """Only the disk's own safety is given up, for speed."""
    member.store.db.conn.execute("PRAGMA synchronous = OFF")
