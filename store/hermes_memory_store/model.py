"""The memory's data types: frozen values passed between packages instead of rows or dicts.

Times are UTC milliseconds since the epoch, lengths are characters of MEMORY_SPEC notation, costs are estimated
tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType

from hermes_memory_store.fact_types import FactType as FactType
from hermes_memory_store.frozen import dataclass

if TYPE_CHECKING:
    from hermes_memory_store.places.branch_marks import BranchMark

Uid = NewType("Uid", str)
"""A time-ordered UUID in its canonical 36-character form; the name by which people and sync know a fact."""

Millis = NewType("Millis", int)
"""UTC milliseconds since the epoch."""


class Tier(StrEnum):
    """The tier that holds a fact."""

    HOT = "hot"
    COLD = "cold"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    WITHDRAWN = "withdrawn"
    """Its creation was undone. Shown nowhere; kept so that the undo can itself be undone."""


LIVE_TIERS = frozenset({Tier.HOT, Tier.COLD})
"""What search and listings show unless a `tier:` filter asks for more."""

STANDING_TIERS = LIVE_TIERS | {Tier.ARCHIVED}
"""What holds its place: of one scope, type and target, one fact at most is in any of these."""


class ScopeStatus(StrEnum):
    """The lifecycle of a unit of work."""

    OPEN = "open"
    COOLING = "cooling"
    """Nobody has referred to it for a while; it closes next unless somebody does."""
    CLOSED = "closed"
    WITHDRAWN = "withdrawn"
    """Its opening was undone. Shown nowhere."""


class SessionStatus(StrEnum):
    """The lifecycle of one agent run."""

    OPEN = "open"
    LIVE = "live"
    STALE = "stale"
    CLOSED = "closed"
    ORPHANED = "orphaned"


class OrphanPolicy(StrEnum):
    """What happens to a session whose agent died."""

    CHECKPOINT_AND_CLOSE = "checkpoint_and_close"
    ABORT_QUIETLY = "abort_quietly"


class PressureLevel(StrEnum):
    """How full a theme's hot tier is: merge at 70 %, archive at 85 %, consolidate at 95 % of the budget."""

    CALM = "calm"
    MERGE = "merge"
    ARCHIVE = "archive"
    CONSOLIDATE = "consolidate"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change: a person, a session, sync, an import, or the relief of pressure."""

    kind: str
    name: str = ""
    title: str = field(default="", compare=False)
    """A session's name for a person, where it was read from a store: `claude-code · shop #2`."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind


def parse_actor(text: str) -> Actor:
    """Parse what `str(actor)` returned."""
    kind, _, name = text.partition(":")
    return Actor(kind, name)


@dataclass(frozen=True, slots=True)
class Rights:
    """What an agent's connection may do with its theme's memory."""

    read: bool = True
    write: bool = True
    purge: bool = True
    other_themes: bool = False
    """Read the memory of other themes as well; writing them is never possible."""
    secrets: bool = False
    """Read the secrets behind masked facts."""
    personal: bool = False
    """Read the theme of the person's own facts as well; a process of the person's own always may."""
    tools: frozenset[str] | None = None
    """The tools it may call, by name; None for all that its other rights suffice for."""

    @classmethod
    def parse(cls, words: str) -> Rights:
        """Parse `read,write,tool:memory_search` as `str` writes it. :raises ValueError: names the unknown word"""
        names = [word.strip().lower() for word in words.split(",") if word.strip()]
        tools = frozenset(word.removeprefix(TOOL_WORD) for word in names if word.startswith(TOOL_WORD))
        rights = [word.replace("_", "-") for word in names if not word.startswith(TOOL_WORD)]
        for word in rights:
            if word not in RIGHTS:
                raise ValueError(f"{word!r} is no right; choose from {', '.join(RIGHTS)}")
        read, write, purge, other_themes, secrets, personal = (name in rights for name in RIGHTS)
        return cls(read, write, purge, other_themes, secrets, personal, tools or None)

    @property
    def words(self) -> str:
        """Return the rights without the tools, as people give them: words of `RIGHTS`."""
        return ",".join(name for name in RIGHTS if getattr(self, name.replace("-", "_")))

    def grants_any_tool(self, names: Iterable[str]) -> bool:
        """Check whether one of these tools may be called, as far as `tools` decides it."""
        return self.tools is None or not self.tools.isdisjoint(names)

    def __str__(self) -> str:
        return ",".join(filter(None, [self.words, *(TOOL_WORD + name for name in sorted(self.tools or ()))]))


RIGHTS = ("read", "write", "purge", "other-themes", "secrets", "personal")
"""Words for the rights of a token, in the order of their fields."""

TOOL_WORD = "tool:"
"""Begins the word for a tool that a token is restricted to."""


class Way(StrEnum):
    """The way by which something came into the memory."""

    TOOL = "tool"
    """A call of an agent's tool."""
    COMMAND_LINE = "command-line"
    SCREEN = "screen"
    """The inspector."""
    IMPORT = "import"
    RELIEF = "relief"
    """Making room, in the hot tier or in MEMORY.md and USER.md."""
    HOST_FILE = "host-file"
    """MEMORY.md or USER.md of hermes-agent."""
    HOOK = "hook"
    HISTORY = "history"
    """A session that its host had kept, read afterwards."""
    TEAM = "team"
    LIBRARY = "library"
    """A program that uses this package and does not say more."""
    UNKNOWN = "unknown"
    """Stored by a version that did not note origins, or without any by another program."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact, a turn or a change came from. What is not known is None; nothing is ever guessed."""

    way: Way = Way.UNKNOWN
    session: str | None = None
    """Name of the session."""
    title: str | None = None
    """The session's name for a person, at that time: `claude-code · shop #2`."""
    client: str | None = None
    """What the client calls itself, without its version; not verified."""
    client_version: str | None = None
    project: str | None = None
    """Name of the project; `Projects.get` has its identities."""
    root: str | None = None
    """Absolute path of the working tree, or of the folder where there is no repository. Never leaves this machine."""
    folder: str | None = None
    """The folder in it, relative to `root`; `.` for the root itself."""
    branch: str | None = None
    commit: str | None = None
    """Hexadecimal digits of HEAD's commit."""
    peer: str | None = None
    """Who called, as the bridge saw it: the user and process of a socket, or the name of a token."""
    program: str | None = None
    """The program that called, as the bridge saw it."""
    teammate: str | None = None
    """Who wrote it, where it came from a team: the role that the server knows, and the short name of the store."""
    team_way: str | None = None
    """The way by which it came into the teammate's memory, as that machine says."""
    team_verdict: str | None = None
    """What a person there let in by approving it, as that machine says: `approved:command`. It decides nothing here."""
    file: str | None = None
    """The file of an import."""
    line: int | None = None
    """The line of that file, from 1."""
    turns: tuple[Uid, ...] = ()
    """The captured turns it was written from, oldest first."""
    voice: str | None = None
    """Whose words an agent's write is, where that was heard: `said` by the person, `heard` from a page or a tool."""
    heard: str | None = None
    """Where they were heard: `read on https://…, 14:02`."""

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return self.way is not Way.UNKNOWN


UNKNOWN_ORIGIN = Origin()


PERSON = Actor("person")
RELIEF = Actor("relief")
IMPORT = Actor("import")
SYNC = Actor("sync")

HOLD_OPERATION = "hold"
"""Operation by which an agent's purge takes a fact away for the time of its retention."""


def format_notation(kind: str, target: str, content: str) -> str:
    """Format a fact's parts as MEMORY_SPEC writes them; `memory_spec.parse_notation` reads them back."""
    return f"{kind}[{target}]: {content}"


@dataclass(frozen=True, slots=True)
class Notation:
    """One parsed line of MEMORY_SPEC: `TYPE[target]: content`."""

    type: FactType
    target: str
    content: str

    def __str__(self) -> str:
        return format_notation(self.type, self.target, self.content)


APPROVED = "approved:"
"""Begins the verdict on a text that a person let in although this rule matched."""

ALLOWED = "allowed:"
"""Begins the verdict on a text that a person's rule on its source let in."""


def is_admitted(verdict: str) -> bool:
    """Check whether a verdict says that a person let a text in, or a person's rule."""
    return verdict.startswith((APPROVED, ALLOWED))


def is_clean_verdict(verdict: str | None) -> bool:
    """Check whether nothing was found in a text, or it was let in all the same."""
    return verdict is None or is_admitted(verdict)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of memory and its state."""

    id: int
    uid: Uid
    theme: str
    scope: str | None
    type: FactType
    target: str
    content: str
    tier: Tier
    pinned: bool
    chars: int
    tokens: int
    actor: Actor
    created_at: Millis
    updated_at: Millis
    superseded_by: Uid | None = None
    reads: int = 0
    read_at: Millis | None = None
    origin: Origin = UNKNOWN_ORIGIN
    verdict: str | None = None
    """What content checks found and what was decided about it; None: nothing was found."""
    guards: str | None = None
    """Its guards, a line each, as `hosts.guards` parses them."""
    cites: str | None = None
    """What it cites, as JSON; see `places.citations`."""

    @property
    def notation(self) -> str:
        """The fact in MEMORY_SPEC notation."""
        return format_notation(self.type, self.target, self.content)

    @property
    def standing(self) -> str:
        """Its tier, with the uid of the fact that replaced it: `superseded by 0190…`."""
        return self.tier.value if self.superseded_by is None else f"{self.tier.value} by {self.superseded_by}"

    @property
    def is_clean(self) -> bool:
        """Whether content checks found nothing in it, or it was let in all the same."""
        return is_clean_verdict(self.verdict)


@dataclass(frozen=True, slots=True)
class QuarantinedFact:
    """A suspicious fact in the quarantine queue."""

    fact: Fact
    why: str
    """The rule it fell under."""
    source: str | None
    """The program it came from; None when a person or an import brought it."""
    at: Millis
    """Since when it waits."""
    is_cleared: bool = False
    """Whether no rule of this version holds it any more."""
    is_overdue: bool = False
    """Whether it has waited longer than its theme's `review_days`."""
    said: str = ""
    """Of a proposal: who said, when, what it was made from."""

    @property
    def kind(self) -> tuple[str, str, str, bool]:
        """What it has in common with what waits for the same: theme, source (a page where it was heard on one), rule (a score
        is one), whether overdue."""
        if self.is_cleared:
            return self.fact.theme, "", "", False
        check = self.why.partition(":")[0]
        rule = check if check == "score" else self.why
        page = (self.fact.origin.heard or "").rpartition(", ")[0]
        return self.fact.theme, page or self.source or self.fact.actor.name or "", rule, self.is_overdue


@dataclass(frozen=True, slots=True)
class LiftedRule:
    """How often a person let in what a rule held in one theme."""

    theme: str
    rule: str
    count: int
    is_silenced: bool


Rule = Literal["always", "never"]
"""What becomes of a source's suspicious facts: they are let in, or refused."""


@dataclass(frozen=True, slots=True)
class SourceRule:
    """A person's rule for one source in one theme."""

    theme: str
    source: str
    rule: Rule
    at: Millis


@dataclass(frozen=True, slots=True)
class Gauge:
    """How full the hot tier of one theme is."""

    theme: str
    used: int
    """Notation characters of the hot facts."""
    budget: int
    """Notation characters the theme's policy allows."""
    tokens: int
    """Estimated tokens of the hot facts."""
    facts: int
    """How many facts are hot."""
    pinned: int
    """Notation characters of the pinned hot facts."""

    @property
    def pct(self) -> float:
        """`used` in percent of `budget`. Computed, so that a copy with another `used` cannot contradict itself."""
        return 100.0 * self.used / self.budget if self.budget else 100.0

    @property
    def level(self) -> PressureLevel:
        """The level of pressure at that percentage."""
        if self.pct >= 95:
            return PressureLevel.CONSOLIDATE
        if self.pct >= 85:
            return PressureLevel.ARCHIVE
        return PressureLevel.MERGE if self.pct >= 70 else PressureLevel.CALM


def count_live_facts(facts: Mapping[Tier, int]) -> int:
    return sum(number for tier, number in facts.items() if tier in LIVE_TIERS)


@dataclass(frozen=True, slots=True)
class ThemeSummary:
    """A theme with its gauge and counts."""

    name: str
    gauge: Gauge
    facts: dict[Tier, int]
    scopes: int
    """Scopes that are open or cooling."""
    proposed: int = 0
    """Of those in quarantine: not suspicious, but proposed."""

    @property
    def live(self) -> int:
        """How many facts it has, wherever one number is given: those that a list of facts shows, hot and cold."""
        return count_live_facts(self.facts)


@dataclass(frozen=True, slots=True)
class Scope:
    """A unit of work inside a theme."""

    uid: Uid
    theme: str
    label: str
    status: ScopeStatus
    opened_at: Millis
    closed_at: Millis | None
    closed_by: str | None
    """Why it closed: `signal`, `silence`, `shift`, `done` or the actor who closed it."""
    facts: dict[Tier, int]
    silence: int = 0
    """Turns since the last reference to it, in the session that is closest to it; in all sessions, once its own have ended."""

    @property
    def live(self) -> int:
        """How many facts it has, as `ThemeSummary.live`."""
        return count_live_facts(self.facts)


@dataclass(frozen=True, slots=True)
class Session:
    """One agent run."""

    uid: Uid
    theme: str
    name: str
    """What the client calls it."""
    client: str | None
    pid: int | None
    status: SessionStatus
    started_at: Millis
    heartbeat_at: Millis
    heartbeat_ms: int
    lease_ms: int
    """How long after a heartbeat it still counts as alive."""
    turn: int
    scope: str | None
    """The scope that writes without a scope go to."""
    on_orphan: OrphanPolicy
    ended_at: Millis | None = None
    checkpoint: dict[str, Any] | None = None
    client_version: str | None = None
    project: str | None = None
    """Name of the project it began in."""
    number: int | None = None
    """Counts the sessions of its client in that project, from 1. None: it began before sessions were numbered."""

    @property
    def title(self) -> str:
        """Its name for a person, `claude-code · shop #2`: without a number what the client calls it, or the end of its uid."""
        return session_title(self.uid, self.name, self.client, self.project, self.number)


def split_client_version(client: str) -> tuple[str, str | None]:
    """Split a client's name from the version that may follow it: `hermes-agent 0.19.1`."""
    match = re.search(r"\s+v?(\d\S*)$", client)
    return (client, None) if match is None or match.start() == 0 else (client[: match.start()], match[1])


OPAQUE_RUN = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{12,}|\d{10,}"
"""A UUID, a long run of digits and letters mixed, or a long number."""

READABLE_WORD = r"[^\W\d_]{3,}|[^\W\d_a-zA-Z]{2,}"


def is_opaque_name(name: str) -> bool:
    """Check whether a name says nothing to a person: it holds an identifier, or no word."""
    return re.search(OPAQUE_RUN, name) is not None or re.search(READABLE_WORD, name) is None


def format_session_title(client: str | None, project: str | None, number: int | None) -> str | None:
    """Format a session's name for a person, None when it has no number or no client."""
    if client is None or number is None:
        return None
    return f"{' · '.join(filter(None, (split_client_version(client)[0], project)))} #{number}"


def session_title(uid: str, name: str, client: str | None, project: str | None, number: int | None) -> str:
    """Return a session's name for a person, as `Session.title` describes it."""
    numbered = format_session_title(client, project, number)
    if numbered is not None or not is_opaque_name(name):
        return numbered or name
    return f"{split_client_version(client)[0] if client else 'session'} {uid[-8:]}"


@dataclass(frozen=True, slots=True)
class Project:
    """A project and what it was recognised by."""

    uid: Uid
    name: str
    """A label: never empty, and never that of another project."""
    remotes: tuple[str, ...] = ()
    """Normalised URLs, without user and password."""
    roots: tuple[str, ...] = ()
    """Root commits."""
    paths: tuple[str, ...] = ()
    """Common directories of its repositories, and folders, on this machine."""
    is_trusted: bool = False
    """Whether the committed files of a repository of it count as the person's own words."""


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project and what came from it."""

    project: Project
    facts: int
    """Facts that came from it, of every tier but those that were undone."""
    sessions: int
    """Sessions that began in it."""
    seen_at: Millis
    """When one of its identities was noted last."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the journal."""

    seq: int
    at: Millis
    actor: Actor
    op: str
    """`create`, `touch`, `supersede`, `obsolete`, `resolve`, `edit`, `pin`, `unpin`, `cool`, `warm`, `archive`,
    `restore`, `merge`, `open`, `close`, `reopen`, `rename`, `withdraw`, `undo`, `purge` …"""
    entity: str
    """`fact`, `scope`, `session`, `token` or `source`."""
    uid: Uid
    theme: str
    change: int
    """Sequence of the first row of the change this row belongs to; undo takes a change whole."""
    undoes: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    hash: str
    """Hexadecimal link of the tamper-evident chain."""
    origin: Origin = UNKNOWN_ORIGIN
    """Where the change came from; a fact that it brings in may come from elsewhere."""

    @property
    def is_own(self) -> bool:
        """Whether it is of the person at this machine, and not of an agent or another machine."""
        return self.actor.kind in (PERSON.kind, IMPORT.kind) and self.origin.session is None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The reason to quarantine a write."""

    rule: str
    what: str
    """It in words, such as "tells the reader to drop its instructions"."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of one accepted write."""

    fact: Fact
    created: bool
    """False when the same notation was already there and was only touched."""
    superseded: tuple[Uid, ...]
    closed: tuple[str, ...]
    """Labels of scopes this write closed (a `✓` fact)."""
    relief: Relief
    gauge: Gauge
    seqs: tuple[int, ...]
    parts: tuple[Fact, ...] = ()
    """All stored parts, when an over-long content was split."""
    masked: tuple[str, ...] = ()
    """Names under which the vault has secrets of it."""
    unkept: int = 0
    """Secrets that were masked and that nothing keeps."""
    suspicion: Suspicion | None = None
    """Why it waits for a person; it stands for nothing until then."""
    near: tuple[Fact, ...] = ()
    """Facts that say nearly the same under other targets, newest first; they stand beside it."""

    @property
    def status(self) -> str:
        if self.suspicion is not None:
            return "quarantined"
        return "created" if self.created else "deduplicated"


@dataclass(frozen=True, slots=True)
class Relief:
    """How many facts relief moved."""

    merged: int = 0
    cooled: int = 0
    archived: int = 0


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of a command: the facts it changed and the journal rows it wrote."""

    uids: tuple[Uid, ...]
    seqs: tuple[int, ...]
    masked: tuple[str, ...] = ()
    unkept: int = 0
    """Both as of a write."""


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The changes an undo reverted (`undone`) and the journal rows it wrote to do so (`seqs`)."""

    undone: tuple[int, ...]
    seqs: tuple[int, ...]
    uids: tuple[Uid, ...]
    left: tuple[str, ...] = ()
    """What is left as it is, and why: changes that others built on since, where that was asked for; parts of a change that
    relief, a purge or a scope in use keeps from being undone."""
    files: tuple[Path, ...] = ()
    """Files that are as they were before what moved entries out of them."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The effects of one turn of conversation."""

    turn: int
    closed: tuple[str, ...]
    cooling: tuple[str, ...]
    gauge: Gauge


@dataclass(frozen=True, slots=True)
class Turn:
    """One captured message."""

    uid: Uid
    theme: str
    session: str | None
    """Name of the session it was said in."""
    role: str
    """`user`, `assistant`, `system` or `tool`."""
    content: str
    at: Millis
    origin: Origin = UNKNOWN_ORIGIN
    verdict: str | None = None
    """What content checks found in it; None: nothing."""
    title: str | None = None
    """The session's name for a person, None where it belongs to none."""

    @property
    def is_clean(self) -> bool:
        """Whether content checks found nothing in it, or it was let in all the same."""
        return is_clean_verdict(self.verdict)


@dataclass(frozen=True, slots=True)
class TurnHit:
    """A turn found by a search, and how well it matches: 1.0 when it has every query term."""

    turn: Turn
    score: float
    id: int = 0
    """Of the turn in this store."""


class Sort(StrEnum):
    """The sort orders of a page of facts; `descending` decides whether the newest or A comes first."""

    UPDATED = "updated"
    CREATED = "created"
    TARGET = "target"
    TYPE = "type"


class ListOrder(StrEnum):
    """Orders of a whole list of facts besides those of its pages. No index has them: every fact of the list is looked at."""

    SCOPE = "scope"
    THEME = "theme"
    AUTHOR = "author"
    TOKENS = "tokens"
    READS = "reads"
    READ_AT = "read"
    GIVEN = "given"
    """Tokens of contexts a day, since it was written."""


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Select facts: every field that is set must match. Empty sets mean no restriction."""

    theme: str | None = None
    scopes: frozenset[str | None] = frozenset()
    """Exact labels; None stands for facts without a scope."""
    types: frozenset[FactType] = frozenset()
    tiers: frozenset[Tier] = LIVE_TIERS
    target: str | None = None
    """The target itself, or a dotted prefix of it, without regard to case."""
    before: Millis | None = None
    after: Millis | None = None
    """Bounds of `updated_at`: before <, after >=."""
    by: str | None = None
    """An actor: `person`, `relief`, a session by its name, title, client or the beginning of one, a teammate by the role."""
    pinned: bool | None = None
    read: bool | None = None
    """Whether a session was ever given it, or found it by a search."""
    cooled_by: str | None = None
    """What made it cold: `scope` (it was closed), `pressure`, or `uncurated` (no curator of the team made it hot)."""
    ways: frozenset[Way] = frozenset()
    """By which they came in."""
    projects: frozenset[str] = frozenset()
    """Names of projects they came from."""
    branches: frozenset[str] = frozenset()
    """Names of branches they were written on."""
    clients: frozenset[str] = frozenset()
    """What the MCP clients of the agent hosts that they came from call themselves."""
    seen_from: str | None = None
    """The theme of a project from which another theme is read: nothing that the former says otherwise, and of `default` only
    what was written in that project or in no known place."""
    also: tuple[str, ...] = ()
    """Themes that are read beside `theme`, each as seen from it."""

    @property
    def themes(self) -> tuple[str, ...]:
        """Return all themes that are read, none for all there are."""
        return () if self.theme is None else (self.theme, *self.also)

    def moved_out_by_pressure(self) -> FactFilter:
        return replace(self, tiers=frozenset({Tier.COLD}), cooled_by="pressure")


@dataclass(frozen=True, slots=True)
class PageCursor:
    """The end of a page; pass it back to read the next one."""

    key: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FactPage:
    """One page of facts in order, the cursor of the next page, and the total count."""

    facts: list[Fact]
    next: PageCursor | None
    total: int
    more: bool = False
    """Whether there are more than `total`: what the tallies cannot count is counted up to a bound."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search line: what to find, and which facts to search."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]
    excluded: tuple[str, ...]
    filter: FactFilter

    @property
    def has_text(self) -> bool:
        return bool(self.words or self.phrases or self.excluded)


@dataclass(frozen=True, slots=True)
class FactSearchResult:
    """The result of a search, best match first."""

    facts: list[Fact]
    total: int
    """How many facts match; a lower bound when `more` is true."""
    more: bool = False
    scores: list[float] = field(default_factory=list)
    """How well each fact fits the words, never rising; in no unit, so only to be compared within this answer. Empty where
    filters alone found them."""
    exact: int = 0
    """How many of the first have every word of a look-up; 0 for a question, whose answers share some words with it."""
    note: str | None = None
    """What the person who asked should know of how they were found: that the full-text index is damaged."""
    meant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was looked for instead of words that nothing has, as index terms: synonyms, and what a typing error stands for."""


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The context block an agent is given about its memory at one moment."""

    text: str
    """The whole answer: MEMORY_SPEC block, gauge line, facts, count of what was left out."""
    facts: list[Fact]
    fact_tokens: int
    tokens: int
    """Estimated tokens of the whole text."""
    left_out: int
    gauge: Gauge
    scopes: list[str]
    marks: Mapping[Uid, BranchMark] = field(default_factory=dict)
    """The branches of facts that are not known to be merged, by uid."""
    held: int = 0
    """Facts of unmerged branches that the theme holds back."""
    doubt: str | None = None
    """What of the memory is not as it was written, in words."""


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """Exactly what a purge removes."""

    theme: str
    scope: str | None
    by_tier: dict[Tier, int]
    samples: list[Fact] = field(default_factory=list)
    unreached: tuple[str, ...] = ()
    """Backups that still hold what was erased, since they could not be opened or changed."""
    erasure: FactPurgePlan | None = None
    """The facts, what is erased with them, and what stays; None where the facts are only counted or hidden."""

    @property
    def total(self) -> int:
        return sum(self.by_tier.values())


@dataclass(frozen=True, slots=True)
class FactPurgePlan:
    """Exactly what a purge of single facts erases, and what it leaves."""

    facts: tuple[Fact, ...]
    versions: int
    """Contents that they have or had."""
    turns: tuple[Turn, ...]
    """Captured turns that hold the words."""
    records: int
    """Questions of recalls, saved answers of calls and origins (titles, branches, files) that hold the words."""
    backups: int
    """Backups that hold the facts or the turns."""
    team_rows: int
    """Rows of the team database, which are erased there and on every machine when these exchange the next time."""
    others: tuple[Fact, ...] = ()
    """Facts that were not named and hold the same words."""
    lasting: tuple[str, ...] = ()
    """Kinds of names that hold the words and stay, such as that of a session: the journal's chain repeats them."""
    unreached: tuple[str, ...] = ()
    """What still holds what was erased, since it could not be opened or changed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding of the doctor."""

    name: str
    ok: bool
    detail: str
    repaired: bool = False
