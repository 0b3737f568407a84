"""What goes on in a memory now: who is at work, how full it is, what is written and given, what waits, what is wrong.

The view *Now* draws it, and `watch` and `stats` print it. Everything shown happened: a trace counts rows of the journal
and of the context records, nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hermes_memory_bridge.connect.hooks.host_states import HostState, list_host_states
from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.journal.change_folds import ChangeFold, ChangeFolds
from hermes_memory_store.model import PressureLevel, Session, SessionStatus, ThemeSummary
from hermes_memory_store.operations import find_operation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.journal_pages import MEMORY
from hermes_memory_tui.model.working_folder import see_working_folder
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.agent_counts import AgentCounts, count_agents, find_next_lapse, is_at_work
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.display_formats import actor_name, pluralise
from hermes_memory_tui.text.fold_phrases import format_fold_subject, format_fold_verb

TRACE_MS = 300_000
"""The time that the trace of an agent covers."""

TRACE_CELLS = 20
"""Parts of that time, oldest first."""

DAY_HOURS = 24

HOUR_MS = 3_600_000

MOST_AGENTS = 40
"""Agents that are shown; of a thousand those at work that were heard last, and how many more there are."""

MOST_EVENTS = 60
"""Changes, and context records, that the stream goes back."""

MOST_GIVINGS = 200
"""Of the newest context records of a theme, those that are looked at for one that came since."""

WRITTEN = """
    SELECT theme_id, at / 3600000, count(*) FROM journal WHERE seq > ? AND seq <= ? AND entity = 'fact' GROUP BY 1, 2
"""

GIVEN = "SELECT theme_id, at / 3600000, sum(tokens) FROM injections WHERE id > ? AND id <= ? GROUP BY 1, 2"

CHANGED = """
    SELECT theme_id, actor_id, min(at) FROM journal WHERE seq > ? AND seq <= ? AND entity != 'session' GROUP BY change
"""

WAS_GIVEN = """
    SELECT i.theme_id, n.name, i.at FROM injections i JOIN sessions n ON n.id = i.session_id WHERE i.id > ? AND i.id <= ?
"""

SYNC_CALM = ("idle", "exchanging", "fetching", "not configured")
"""States of a sync in which nothing is wrong."""


class Call(NamedTuple):
    """A change that a session made, or a context that it was given."""

    theme: str
    session: str
    at: int


@dataclass(frozen=True, slots=True)
class NowEvent:
    """Something that was written or given."""

    at: int
    key: tuple[str, int]
    """`change` and the number of its first row, or `given` and the number of the record."""
    who: str
    session: str | None
    """Name of the session, where it was one."""
    theme: str
    verb: str
    text: str
    uid: str | None = None
    """The fact to open."""


@dataclass(frozen=True, slots=True)
class AgentNow:
    """A session that has not ended."""

    session: Session
    branch: str
    """The branch it wrote from last; empty when that is not known."""
    trace: tuple[int, ...]
    """What it wrote and was given, in `TRACE_CELLS` parts of the last five minutes."""
    word: str
    """What it did last."""

    @property
    def calls(self) -> int:
        """How much it wrote and was given in the last five minutes."""
        return sum(self.trace)


@dataclass(frozen=True, slots=True)
class ThemeDay:
    """How full a theme is, and its last 24 hours, hour by hour."""

    theme: ThemeSummary
    written: tuple[int, ...]
    """Changes of facts."""
    given: tuple[int, ...]
    """Tokens."""


@dataclass(frozen=True, slots=True)
class NowNote:
    """Something that waits for a person, or is wrong."""

    text: str
    view: str
    """The view where it can be acted on."""
    is_wrong: bool = False


@dataclass(frozen=True, slots=True)
class NowState:
    """All of it at one moment."""

    agents: list[AgentNow]
    """Those at work, then those that are stale."""
    more_agents: int
    counts: AgentCounts
    lapses_at: int | None
    """When the next agent becomes stale unless it is heard; None when none is at work."""
    days: list[ThemeDay]
    events: list[NowEvent]
    """Newest first."""
    notes: list[NowNote]

    def sentence(self) -> str:
        """Say the same in one plain line: what waits for a person before what is merely full, since its end may be cut."""
        notes = "; ".join(note.text for note in self.notes) or "nothing waits"
        busiest = sorted(self.days, key=lambda day: -day.theme.gauge.pct)[:3]
        full = ", ".join(f"{to_printable(day.theme.name)} {day.theme.gauge.pct:.0f} % full" for day in busiest)
        more = len(self.days) - len(busiest)
        return (
            ". ".join(filter(None, (self.counts.sentence(), notes, full + (f" and {more} more" if more > 0 else ""))))
            + "."
        )


class NowReader:
    """Reads the state, and keeps what it counted: each look counts only what is new."""

    def __init__(self) -> None:
        self._path: Any = None
        self._seq = self._record = 0
        self._written: Counter[tuple[int, int]] = Counter()
        self._given: Counter[tuple[int, int]] = Counter()
        self._calls: list[Call] = []

    def read(
        self, store: Store, now: int, *, is_past: bool = False, sync: dict[str, Any] | None = None, capture: str = ""
    ) -> NowState:
        """Read the state at a moment.

        :param now: milliseconds UTC
        :param is_past: leave out what is only known of the present
        :param sync: what the bridge says of the exchange with a team
        :param capture: why nothing of what agents say is kept, when that is so
        """
        themes = store.themes()
        sessions = store.sessions.list(most_ended=0)
        events, branches = read_events(store)
        self._count_new(store, now)
        traces = count_traces(self._calls, now)
        shown = sorted(sessions, key=lambda agent: (not is_at_work(agent, now), -agent.heartbeat_at))[:MOST_AGENTS]
        last = {(event.theme, event.session): event for event in reversed(events) if event.session is not None}
        agents = [
            AgentNow(
                session,
                branches.get((session.theme, session.name), ""),
                traces.get((session.theme, session.name), (0,) * TRACE_CELLS),
                format_last_word(last.get((session.theme, session.name))),
            )
            for session in shown
        ]
        hosts = [] if is_past else list_host_states(store, sessions)
        cited = [] if is_past else find_stale_citations(store)
        notes = [*find_waiting(store, themes), *cited, *find_wrong(themes, sessions, hosts, sync, capture)]
        return NowState(
            agents,
            len(sessions) - len(shown),
            count_agents(sessions, now),
            find_next_lapse(sessions, now),
            self._days(store, themes, now),
            events,
            notes,
        )

    def _count_new(self, store: Store, now: int) -> None:
        seq = store.journal.last_seq()
        record = int(store.db.value("SELECT coalesce(max(id), 0) FROM injections"))
        traced = self._seq, self._record
        if store.path != self._path or seq < self._seq or record < self._record:
            self._path = store.path
            self._written.clear()
            self._given.clear()
            self._calls.clear()
            self._seq, self._record = find_last_rows_before(store, now - DAY_HOURS * HOUR_MS)
            traced = find_last_rows_before(store, now - TRACE_MS)
        for counts, sql, span in (
            (self._written, WRITTEN, (self._seq, seq)),
            (self._given, GIVEN, (self._record, record)),
        ):
            for theme_id, hour, many in store.db.rows(sql, span):
                counts[theme_id, hour] += many
        self._calls = [call for call in self._calls if call.at >= now - TRACE_MS]
        self._calls += read_calls(store, traced, (seq, record))
        self._seq, self._record = seq, record

    def _days(self, store: Store, themes: Sequence[ThemeSummary], now: int) -> list[ThemeDay]:
        last_hour = now // HOUR_MS
        hours = range(last_hour - DAY_HOURS + 1, last_hour + 1)
        keys = [store.names.theme_or_none(theme.name) or 0 for theme in themes]
        return [
            ThemeDay(
                theme,
                tuple(self._written[key, hour] for hour in hours),
                tuple(self._given[key, hour] for hour in hours),
            )
            for theme, key in zip(themes, keys, strict=True)
        ]


def find_last_rows_before(store: Store, since: int) -> tuple[int, int]:
    """Return the last journal row and the last context record that are older."""
    return find_first_row(store, "journal", "seq", since) - 1, find_first_row(store, "injections", "id", since) - 1


def find_first_row(store: Store, table: str, key: str, since: int) -> int:
    """Return the first key of a row that is not older, in a table that grows with the time; there is no index of it."""
    # Asked for together, every row would be looked at.
    low = store.db.value(f"SELECT min({key}) FROM {table}") or 1
    high = (store.db.value(f"SELECT max({key}) FROM {table}") or 0) + 1
    while low < high:
        middle = (low + high) // 2
        row = store.db.row(f"SELECT at FROM {table} WHERE {key} >= ? ORDER BY {key} LIMIT 1", (middle,))
        if row is None or row[0] >= since:
            high = middle
        else:
            low = middle + 1
    return low


def read_events(store: Store) -> tuple[list[NowEvent], dict[tuple[str, str], str]]:
    """Return what was written and given last, newest first, and the branch that each session wrote from last."""
    folds = ChangeFolds(store).newest(MOST_EVENTS, entities=MEMORY)
    named = change_names(store, [fold.lead for fold in folds])
    branches: dict[tuple[str, str], str] = {}
    for fold in folds:
        lead = fold.lead
        if lead.actor.kind == "session" and lead.origin.branch:
            branches.setdefault((lead.theme, lead.actor.name), to_printable(lead.origin.branch))
    events = [written_event(fold, named) for fold in folds]
    events += [given_event(record) for record in store.context_records.list(limit=MOST_EVENTS)]
    return sorted(events, key=lambda event: -event.at), branches


def written_event(fold: ChangeFold, named: dict[int, str]) -> NowEvent:
    lead = fold.lead
    verb = format_fold_verb(fold).replace("undo of", "undid")
    return NowEvent(
        lead.at,
        ("change", fold.first),
        "backfill" if verb == "propose" else actor_name(lead.actor),
        lead.actor.name if lead.actor.kind == "session" else None,
        lead.theme,
        find_operation(verb).did or find_operation(verb).done,
        format_fold_subject(fold, change_subject(lead, named)),
        lead.uid if lead.entity == "fact" and lead.op != "purge" else None,
    )


def given_event(record: ContextRecord) -> NowEvent:
    purpose = f" for “{to_printable(record.why)}”" if record.why else ""
    text = f"{pluralise(len(record.facts), 'fact')} in {pluralise(record.tokens, 'token')}{purpose}"
    agent = to_printable(record.title or record.session or "an agent")
    return NowEvent(record.at, ("given", record.id), agent, record.session, record.theme, "was given", text)


def list_givings_here(store: Store, after: int | None) -> list[ContextRecord]:
    """Return what agents of the working folder's project were given, oldest first.

    :param after: only what came after this record; None for the newest
    """
    from hermes_memory_store.places.project_sighting import to_project

    sighting = to_project(see_working_folder())
    sighting = None if sighting is None else store.projects.trace(sighting)
    theme, project = store.place_themes.theme_of(sighting), None if sighting is None else store.projects.find(sighting)
    is_shared = store.place_themes.project_of(theme) is None

    def is_here(record: ContextRecord) -> bool:
        session = None if record.session is None else store.sessions.find_named(record.theme, record.session)
        return not is_shared or project is None or (session is not None and session.project == project)

    records = store.context_records.list(theme, limit=MOST_GIVINGS)
    return [record for record in reversed(records) if record.id > (after or 0) and is_here(record)]


def format_last_word(event: NowEvent | None) -> str:
    return "" if event is None else f"{event.verb} {event.text}"


def read_calls(store: Store, after: tuple[int, int], upto: tuple[int, int]) -> Iterator[Call]:
    """Yield what sessions wrote and were given. :param after: the last journal row and context record before; `upto` likewise"""
    for theme_id, actor_id, at in store.db.rows(CHANGED, (after[0], upto[0])):
        actor = store.names.actor_by_key(actor_id)
        if actor.kind == "session":
            yield Call(store.names.theme_name(theme_id), actor.name, at)
    for theme_id, name, at in store.db.rows(WAS_GIVEN, (after[1], upto[1])):
        yield Call(store.names.theme_name(theme_id), name, at)


def count_traces(calls: Iterable[Call], now: int) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return what each session wrote and was given in the last five minutes, by theme and name."""
    since = now - TRACE_MS
    traces: dict[tuple[str, str], list[int]] = {}
    for theme, session, at in calls:
        if since <= at <= now:
            cell = min((at - since) * TRACE_CELLS // TRACE_MS, TRACE_CELLS - 1)
            traces.setdefault((theme, session), [0] * TRACE_CELLS)[cell] += 1
    return {key: tuple(cells) for key, cells in traces.items()}


def find_waiting(store: Store, themes: Sequence[ThemeSummary]) -> Iterable[NowNote]:
    quarantined = display_formats.quarantined_count(themes)
    if quarantined:
        yield NowNote(f"{pluralise(quarantined, 'fact')} quarantined", "review")
    if proposed := sum(theme.proposed for theme in themes):
        yield NowNote(f"{pluralise(proposed, 'fact')} proposed", "review")
    conflicts = len(store.sync.standing.conflicts())
    if conflicts:
        yield NowNote(f"{pluralise(conflicts, 'conflict')} with the team", "team")


def find_stale_citations(store: Store) -> Iterable[NowNote]:
    stale = [check for check in store.citations.check_newest() if check.is_stale]
    if stale:
        contradicted = sum(check.other is not None for check in stale)
        more = f", {contradicted} with another value" if contradicted else ""
        yield NowNote(f"{pluralise(len(stale), 'fact')} with changed citations{more}", "review", is_wrong=True)


def find_wrong(
    themes: Iterable[ThemeSummary],
    sessions: Iterable[Session],
    hosts: Iterable[HostState],
    sync: dict[str, Any] | None,
    capture: str,
) -> Iterable[NowNote]:
    for theme in themes:
        if theme.gauge.level is PressureLevel.CONSOLIDATE:
            yield NowNote(f"{to_printable(theme.name)} is {theme.gauge.pct:.0f} % full", "pressure", is_wrong=True)
    for host in hosts:
        if host.is_silent:
            yield NowNote(
                f"{to_printable(host.host)} is silent: its hooks are installed, and not heard", "agents", True
            )
    orphans = [session for session in sessions if session.status is SessionStatus.ORPHANED]
    if orphans:
        yield NowNote(f"{pluralise(len(orphans), 'session')} gone without an end", "agents", is_wrong=True)
    if capture:
        yield NowNote(f"capture {capture}", "turns", is_wrong=True)
    state = (sync or {}).get("state")
    if sync and sync.get("configured") and state not in SYNC_CALM:
        cause = f": {to_printable(str(sync['error']))}" if sync.get("error") else ""
        yield NowNote(f"sync {to_printable(str(state))}{cause}", "team", is_wrong=True)
