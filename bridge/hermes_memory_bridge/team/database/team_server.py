"""Statements to the team database: greet, push, pull.

One connection without session state, so that PgBouncer may share it; only without a pooler the connection also
listens.

The protocol: rows travel, not operations. Whoever pushes increments the clock of the theme first, whose row lock
orders the commits, so that a reader who has seen change n has seen all before it. Of two versions of a row the
purged one wins, then the one of the higher clock, then of the higher node; sending a row twice changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import psycopg
from psycopg import conninfo
from psycopg.errors import ProgramLimitExceeded

from hermes_memory_bridge.team.database.change_probe import PROBE, ChangeProbe
from hermes_memory_bridge.team.database.lock_holders import RELEASE, ThemeHolder
from hermes_memory_bridge.team.database.team_schema import (
    TeamSchema,
    find_newest_team_version,
    is_usable_team_version,
    verify_team_schema,
)
from hermes_memory_bridge.team.database.team_states import (
    BAD_DSN,
    NOT_MIGRATED,
    SKEW_MS,
    AnswerOverdue,
    TeamError,
    to_team_state,
    to_wrong_version_state,
)
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.items.journal_receipt import ChainHead
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.shared_turns import MOST_CHARS
from hermes_memory_store.sync.team_origins import to_unknown_teammate
from hermes_memory_store.sync.wire_format import PullCursor, SyncRow, rename_theme_of_row

BATCH = 500
"""Rows of one push: the quickest size of a statement that carries its rows as arrays."""

LOAD = 2_000
"""Rows of one push when many wait: the quickest with the index of words in place, and no longer than local writers may wait."""

LOAD_BYTES = 4 * 2**20
"""Bytes of content of one push, or one row."""

PAGE = 2_000
"""Rows of one pull, of `PAGE_BYTES` in all, or one."""

PAGE_BYTES = 4 * 2**20

TURN_PAGE, TURN_PAGE_BYTES = 500, MOST_CHARS
"""Turns of one pull and their bytes, or one: who takes them in must not keep others waiting."""

ANSWER_S = 15.0
"""How long one answer may take; that to a push, which waits for locks, twice as long, and `LOAD_S` for more than `BATCH` rows."""

LOAD_S = 120.0

CONNECT_S = 10

LOOK_S = 1.0
"""How often to look whether an answer is overdue."""

DATA_ERRORS = (psycopg.DataError, psycopg.IntegrityError, ProgramLimitExceeded, UnicodeError)
"""What is wrong with a row, not with the database."""

NEVER = 1_000_000_000
"""Statements are prepared when that is asked for, and never because they come often."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")

UNVERIFIED = (
    "who answers as the team database is not verified, so anybody on the way may read and answer in its place: add"
    " sslmode=verify-full to the DSN, and sslrootcert where its authority is your own"
)

DEFAULTS = {
    "connect_timeout": str(CONNECT_S),
    "application_name": "hermes-memory",
    "client_encoding": "UTF8",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""Unless the DSN says otherwise. Nothing here needs a session: all of it is known to PgBouncer or never sent."""

GREET = "SELECT * FROM hm.greet(%s::uuid, %s::text[], %s::bigint[], %s::bigint[], %s::uuid[], %s::text[])"
"""Only the themes that changed are named: an exchange with nothing to do is one small answer."""

PUSH = """
SELECT * FROM hm.push(
  %(theme)s, %(by)s, %(token)s, %(own_ms)s, %(ids)s::uuid[], %(kinds)s::text[], %(contents)s::text[], %(attrs)s::text[],
  %(supersedes)s::uuid[], %(states)s::smallint[], %(hlcs)s::bigint[], %(nodes)s::uuid[], %(ancestors)s::text[],
  %(origins)s::text[], %(claims)s::text[], %(head_seq)s, %(head_hash)s::bytea, %(head_at)s::timestamptz, %(past)s::bytea[]
)
"""

WINNERS = "SELECT * FROM hm.pull_winners(%(theme)s, %(ids)s::uuid[], %(hlcs)s::bigint[], %(nodes)s::uuid[])"

PULL = "SELECT * FROM hm.pull(%(theme)s, %(turns)s, %(live)s, %(after)s, %(upto)s, %(limit)s, %(bytes)s)"

UNKNOWN = -1
"""Clock of a row that a store does not have."""


@dataclass(frozen=True, slots=True)
class ThemeNews:
    """The database's state of one theme, when it is not as this store left it."""

    theme: str
    seq: int
    gc_seq: int
    whole: bool
    """Whether all that this store has seen is still there."""
    mine: tuple[int, str] | None
    """Sequence and token of this node's last push."""


@dataclass(frozen=True, slots=True)
class Greeting:
    server_ms: int
    version: int
    """Of the schema, which its owner may have updated meanwhile."""
    read_only: bool
    news: list[ThemeNews]
    closed: frozenset[str] = frozenset()
    """Asked themes that are not open to this role."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of asked themes whose projects the team knows under other names than the asked ones."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Asked themes under whose names the team has other projects, and what those are recognised by."""


@dataclass(frozen=True, slots=True)
class KnownTheme:
    """This store's position in a theme."""

    theme: str
    cursor: PullCursor
    claims: Sequence[str] | None = None
    """What its project is recognised by; None for a theme of no project."""


@dataclass(frozen=True, slots=True)
class NewHead:
    """A head of this store's journal, for the database to keep."""

    head: ChainHead
    past: Sequence[ChainHead]
    """Heads that are kept there and that it takes the place of: the journal still has them."""


@dataclass(frozen=True, slots=True)
class PushResult:
    base: int
    """The theme's sequence before it."""
    token: str
    accepted: list[tuple[SyncRow, int | None]]
    """Rows that the database has, and their sequences; None where it had that version already, or one that wins."""
    ahead: list[SyncRow]
    """Rows stamped too far ahead of the database's clock, which it did not take."""
    server_ms: int
    """The database's time."""

    @property
    def end(self) -> int:
        """Return the theme's sequence after the push."""
        return self.base + len(self.accepted) + len(self.ahead)


@dataclass(frozen=True, slots=True)
class RowPage:
    """Some rows of a theme, in order, and the position after them."""

    rows: list[tuple[int, SyncRow]]
    cursor: PullCursor
    more: bool
    gc_seq: int = 0
    """Up to where deleted rows may have been removed when it was read."""


class TeamServer:
    def __init__(self, dsn: str, *, listen: bool = True) -> None:
        """Connect.

        :param listen: subscribe to changes
        :raises TeamError: says why without repeating the DSN
        """
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._due: float | None = None
        self._overdue = False
        try:
            full = to_full_dsn(dsn)
            self.conn = psycopg.connect(full, autocommit=True, prepare_threshold=None)
        except (psycopg.Error, OSError) as error:
            raise TeamError(to_team_state(error)) from None
        except ValueError:  # characters that no DSN has
            raise TeamError(BAD_DSN) from None
        self.warning = UNVERIFIED if is_unverified(full) else None
        """What is wrong with the connection though it works."""
        self.names: Mapping[str, str] = {}
        """Names of themes in the database where they are others than here. All methods take and return those of here."""
        self._claims: dict[str, str | None] = {}
        """By theme: what its project is recognised by, as the last greeting said it."""
        self._pulse = ChangeProbe(self.conn)
        threading.Thread(target=self._watch, name="team answers", daemon=True).start()
        self.direct = False
        """Whether there is no pooler in between, so that a statement may be prepared."""
        self.listening = False
        """Whether changes are told at once. A pooler in between lends connections, and listening would be left in them."""
        self._channels: frozenset[str] = frozenset()
        try:
            self.schema: TeamSchema = self.verify()
            self.collected: int | None = None
            """When `team collect` ran last, in milliseconds UTC; each greeting tells."""
            self.direct = self.listening = listen and self._is_direct()
            if self.direct:
                self.conn.prepare_threshold = NEVER
        except BaseException:
            self.close()
            raise

    def verify(self) -> TeamSchema:
        """Check that the schema is ours, without altering it. :raises TeamError: the database cannot be used now"""
        with self.limit_answer_time(ANSWER_S):
            return verify_team_schema(self.conn)

    def wait_for_notification(self, themes: Sequence[str], within_s: float) -> bool:
        """Wait until another machine has changed one of these themes; return whether one has."""
        try:
            if self._has_notification(themes):  # of what came with the answer to something else
                return True
            line = select.poll()  # the driver's own waiting wakes up ten times a second
            line.register(self.conn.fileno(), select.POLLIN)
            return bool(line.poll(within_s * 1000)) and self._has_notification(themes)
        except (psycopg.Error, OSError):
            self.listening = False  # the next question finds out what is wrong
        return False

    def _has_notification(self, themes: Sequence[str]) -> bool:
        payloads = {
            notice.payload for notice in self.conn.notifies(timeout=0) if notice.pid != self.conn.info.backend_pid
        }
        payloads |= self._pulse.heard
        self._pulse.heard.clear()
        return bool(payloads) and not {to_notify_name(self.to_name(theme)) for theme in themes}.isdisjoint(payloads)

    def _is_direct(self) -> bool:
        """Check whether no pooler is in between, and this is no standby, which announces nothing."""
        row = self.rows("SELECT pg_backend_pid(), pg_is_in_recovery()")[0]
        return row == (self.conn.info.backend_pid, False)

    def listen_to(self, themes: Iterable[str]) -> None:
        """Listen to what is announced of these themes, and of no others.

        :raises TeamError: the database cannot be used now
        """
        channels = frozenset(to_channel(self.to_name(theme)) for theme in themes)
        if not self.listening or channels == self._channels:
            return
        statements = [f"LISTEN {name}" for name in channels - self._channels]
        ended = [f"UNLISTEN {name}" for name in self._channels - channels]
        with self.limit_answer_time(ANSWER_S):
            self.conn.execute("; ".join(statements + ended))
        self._channels = channels

    def to_name(self, theme: str) -> str:
        return self.names.get(theme, theme)

    def list_claims(self, theme: str) -> str | None:
        """Return what the project of a theme is recognised by, as an array; None for a theme of no project."""
        return self._claims.get(theme)

    def _list_arrays(self, themes: Sequence[KnownTheme]) -> tuple[str, str, str, str]:
        """Return themes, sequences, marks and their tokens as PostgreSQL arrays."""
        return (
            to_postgres_array([self.to_name(theme.theme) for theme in themes]),
            to_postgres_array([theme.cursor.seq for theme in themes]),
            to_postgres_array([theme.cursor.mark_seq for theme in themes]),
            to_postgres_array([theme.cursor.mark_token for theme in themes]),
        )

    def is_unchanged(self, themes: Sequence[KnownTheme]) -> bool:
        """Check with one small query whether these themes are as this store left them.

        Returns False when that cannot be queried now.

        :raises TeamError: the database cannot be used now
        """
        if self._pulse.is_due([self.to_name(theme.theme) for theme in themes]):
            return False
        if not self.direct:
            return not self.value(PROBE, self._list_arrays(themes))
        with self.limit_answer_time(ANSWER_S):
            still = self._pulse.is_unchanged([(self.to_name(theme.theme), theme.cursor.seq) for theme in themes])
        if still is None:  # somebody in between lends another connection to each statement
            self.direct = False
        return bool(still)

    def greet(self, node: str, themes: Sequence[KnownTheme]) -> Greeting:
        """Return the server's time, and the themes that are not as this store left them. One round trip when all are.

        The names in the answer are those of the database.

        :raises TeamError: the database cannot be used now
        """
        claims = [None if entry.claims is None else to_postgres_array(entry.claims) for entry in themes]
        self._claims |= {entry.theme: claim for entry, claim in zip(themes, claims, strict=True)}
        with self.limit_answer_time(ANSWER_S):
            row = self.conn.execute(
                GREET, (node, *self._list_arrays(themes), to_postgres_array(claims) if any(claims) else None)
            ).fetchone()
        assert row is not None
        if row[1] is None:
            raise TeamError(NOT_MIGRATED)
        version = row[1]
        if not is_usable_team_version(version):
            raise TeamError(to_wrong_version_state(version, find_newest_team_version()))
        self.collected = row[5]
        news = [
            ThemeNews(theme, seq, gc, whole, tuple(mine) if mine else None) for theme, seq, gc, whole, mine in row[3]
        ]
        names = {themes[n - 1].theme: name for n, name, _ in row[6] if name is not None}
        other_names = {themes[n - 1].theme: other for n, name, other in row[6] if name is None}
        with self.limit_answer_time(ANSWER_S):
            self._pulse.note_greeting(
                [self.to_name(entry.theme) for entry in themes if entry.theme not in other_names],
                prepare=self.direct,
            )
        return Greeting(row[0], version, row[2], news, frozenset(row[4]), names, other_names)

    def push(
        self,
        theme: str,
        node: str,
        rows: Sequence[SyncRow],
        token: str,
        *,
        clock: Clock = system_clock,
        new_head: NewHead | None = None,
    ) -> PushResult:
        """Push rows in one statement.

        :param clock: of this machine
        :param new_head: kept with them
        :raises psycopg.Error: those of `DATA_ERRORS` name a row that cannot be accepted
        """
        with self.limit_answer_time(LOAD_S if len(rows) > BATCH else 2 * ANSWER_S, telling=DATA_ERRORS):
            row = self.conn.execute(
                PUSH,
                {
                    **self.to_version_arrays(theme, rows),
                    "by": node,
                    "token": token,
                    "own_ms": clock(),
                    "supersedes": to_postgres_array([one.supersedes or None for one in rows]),
                    "origins": to_postgres_array([format_origin_column(one.origin) for one in rows]),
                    "claims": self.list_claims(theme),
                    "head_seq": new_head.head.seq if new_head else None,
                    "head_hash": to_hash(new_head.head) if new_head else None,
                    "head_at": new_head.head.at if new_head else None,
                    "past": to_hash_array(new_head.past if new_head else ()),
                },
            ).fetchone()
        assert row is not None
        return to_push_result(rows, row[0], row[1], row[2], token)

    def release(self, theme: str) -> list[ThemeHolder]:
        """Have whoever holds a theme for too long disconnected; return who holds it.

        :raises TeamError: the database cannot be used now
        """
        return [ThemeHolder(*row) for row in self.rows(RELEASE, (self.to_name(theme), self.list_claims(theme)))]

    def to_version_arrays(self, theme: str, rows: Sequence[SyncRow]) -> dict[str, str]:
        """Return the theme's name in the database, and what makes up its versions as PostgreSQL arrays, one a column."""
        return {
            "theme": self.to_name(theme),
            "ids": to_postgres_array(self._list_uids(theme, rows)),
            "kinds": to_postgres_array([row.kind for row in rows]),
            "contents": to_postgres_array([row.content for row in rows]),
            "attrs": to_postgres_array([json.dumps(row.attrs, ensure_ascii=False) for row in rows]),
            "states": to_postgres_array([row.state for row in rows]),
            "hlcs": to_postgres_array([row.hlc for row in rows]),
            "nodes": to_postgres_array([row.node for row in rows]),
            "ancestors": to_postgres_array([to_postgres_array(row.ancestors) for row in rows]),
        }

    def pull(self, theme: str, after: int, limit: int = PAGE) -> RowPage:
        """Return the rows after a position in a theme, in order, but for captured turns.

        :raises TeamError: the database cannot be used now
        """
        bounds = {"after": after, "upto": None, "limit": limit, "bytes": PAGE_BYTES}
        return self._fetch_page(theme, after, {"turns": False, "live": True, **bounds})

    def pull_turns(self, theme: str, after: int, upto: int, *, live: bool = True) -> RowPage:
        """Return the captured turns between two positions in a theme, in order.

        :param live: not only erased ones
        :raises TeamError: the database cannot be used now
        """
        bounds = {"after": after, "upto": upto, "limit": TURN_PAGE, "bytes": TURN_PAGE_BYTES}
        return self._fetch_page(theme, after, {"turns": True, "live": live, **bounds})

    def _fetch_page(self, theme: str, after: int, named: Mapping[str, Any]) -> RowPage:
        found = self.rows(PULL, {"theme": self.to_name(theme), **named})
        if not found:
            return RowPage([], PullCursor(after), more=False)
        end, gc_seq, mark_seq, mark_token = found[0][:4]
        rows = [(row[4], self._parse_row(theme, row[4:-1])) for row in found if row[4] is not None]
        return RowPage(rows, PullCursor(end, mark_seq, mark_token), more=found[0][-1], gc_seq=gc_seq)

    def winners(self, theme: str, lost: Sequence[SyncRow]) -> list[tuple[int, SyncRow]]:
        """Return the database's versions in place of those it did not accept, with sequence numbers, in order.

        :raises TeamError: the database cannot be used now
        """
        named = {
            "theme": self.to_name(theme),
            "ids": self._list_uids(theme, lost),
            "hlcs": [version.hlc for version in lost],
            "nodes": [version.node for version in lost],
        }
        return [(row[0], self._parse_row(theme, row)) for row in self.rows(WINNERS, named)]

    def _list_uids(self, theme: str, rows: Sequence[SyncRow]) -> list[Uid]:
        name = self.to_name(theme)
        return [row.uid for row in (rows if name == theme else (rename_theme_of_row(row, name) for row in rows))]

    def _parse_row(self, theme: str, row: Sequence[Any]) -> SyncRow:
        return rename_theme_of_row(parse_pulled_row(self.to_name(theme), row), theme)

    def fetch_rows(self, theme: str, uids: Sequence[Uid]) -> list[SyncRow]:
        """Return these rows, as far as they exist, in order. :raises TeamError: the database cannot be used now"""
        named = {
            "theme": self.to_name(theme),
            "ids": list(uids),
            "hlcs": [UNKNOWN] * len(uids),
            "nodes": list(uids),
        }
        return [self._parse_row(theme, row) for row in self.rows(WINNERS, named)]

    def rows(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of one statement. :raises TeamError: the database cannot be used now"""
        with self.limit_answer_time(ANSWER_S):
            return self.conn.execute(statement, values).fetchall()

    def value(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Any:
        """Return the first column of the first row of one statement, or None.

        :raises TeamError: the database cannot be used now
        """
        rows = self.rows(statement, values)
        return rows[0][0] if rows else None

    def set_up(self, settings: Sequence[str], statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return all rows of one statement run under settings of its own.

        :raises TeamError: the database cannot be used now
        """
        with self.limit_answer_time(ANSWER_S), self.conn.pipeline(), self.conn.transaction():
            for setting in settings:
                self.conn.execute(setting)
            return self.conn.execute(statement, values).fetchall()

    def engine(self) -> str:
        """Return the version of PostgreSQL."""
        number = self.conn.info.server_version
        return f"{number // 10_000}.{number % 10_000}"

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(Exception):
            self.conn.close()

    def interrupt(self) -> None:
        """Interrupt a waiting query, from another thread."""
        with self._guard, contextlib.suppress(Exception):
            # A copy of the handle: closing what another thread waits on would be unsafe, hanging up is not.
            line = socket.socket(fileno=os.dup(self.conn.fileno()))
            try:
                line.shutdown(socket.SHUT_RDWR)
            finally:
                line.close()

    @contextlib.contextmanager
    def limit_answer_time(self, within_s: float, telling: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Cut the connection when an answer takes too long, and raise errors in words.

        :param telling: errors to raise unchanged
        """
        self._overdue = False
        self._due = time.monotonic() + within_s
        try:
            yield
        except telling:
            raise
        except (psycopg.Error, OSError) as error:
            raise TeamError(to_team_state(AnswerOverdue() if self._overdue else error)) from None
        finally:
            self._due = None

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_S):
            due = self._due
            if due is not None and time.monotonic() > due:
                self._overdue = True
                self.interrupt()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_full_dsn(dsn: str) -> str:
    """Add defaults to a DSN. :raises psycopg.Error: it is invalid"""
    parameters = conninfo.conninfo_to_dict(dsn)
    several = "," in str(parameters.get("host") or "") or "," in str(parameters.get("hostaddr") or "")
    defaults = {**DEFAULTS, "target_session_attrs": "read-write"} if several else DEFAULTS
    return conninfo.make_conninfo(dsn, **{name: value for name, value in defaults.items() if name not in parameters})


def is_unverified(dsn: str) -> bool:
    """Check whether a connection to another machine does not prove whose database answers.

    By default libpq encrypts where the server can, and believes whoever answers.
    """
    parameters = conninfo.conninfo_to_dict(dsn)
    hosts = str(parameters.get("host") or parameters.get("hostaddr") or "").split(",")
    is_local = all(host == "" or host.startswith(("/", "@")) or host in LOOPBACK for host in hosts)
    return (
        not is_local and "service" not in parameters and parameters.get("sslmode") not in ("verify-full", "verify-ca")
    )


def to_postgres_array(values: Sequence[str | int | None]) -> str:
    """Format values as a PostgreSQL array: the driver takes longer to inspect each than the query takes."""
    quoted = (
        "NULL" if value is None else '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        for value in values
    )
    return "{" + ",".join(quoted) + "}"


def to_hash_array(heads: Sequence[ChainHead]) -> str:
    """Format the hashes of heads as a PostgreSQL array."""
    return to_postgres_array([to_hash(head) for head in heads])


def to_hash(head: ChainHead) -> str:
    """Format the hash of a head as a `bytea`."""
    return f"\\x{head.hash}"


def to_notify_name(theme: str) -> str:
    return hashlib.md5(theme.encode(), usedforsecurity=False).hexdigest()[:8]


def to_channel(theme: str) -> str:
    """Return the channel on which `hm.tick` announces changes of a theme: one for each sixteenth of all themes."""
    return f"hm_{to_notify_name(theme)[0]}"


def new_push_token() -> str:
    return str(uuid.uuid4())


def to_push_result(rows: Sequence[SyncRow], base: int, server_ms: int, won: Sequence[int], token: str) -> PushResult:
    """Return which rows the database has considered, and which of them are now its version."""
    winners = set(won)
    taken: list[tuple[SyncRow, int | None]] = []
    ahead = []
    for seq, row in enumerate(rows, base + 1):
        if row.hlc >> 16 <= server_ms + SKEW_MS:
            taken.append((row, seq if seq in winners else None))
        else:
            ahead.append(row)
    return PushResult(base, token, taken, ahead, server_ms)


def format_origin_column(origin: Mapping[str, Any] | None) -> str | None:
    return None if origin is None else json.dumps(origin, ensure_ascii=False)


def parse_pulled_row(theme: str, row: Sequence[Any]) -> SyncRow:
    """Parse a row into the form the store takes."""
    _, uid, kind, content, attrs, supersedes, state, hlc, node, ancestors, origin, pushed_by, *says = row
    return SyncRow(
        theme=theme,
        uid=uid,
        kind=kind,
        content=content,
        attrs=json.loads(attrs),
        state=state,
        hlc=hlc,
        node=node,
        ancestors=tuple(ancestors),
        supersedes=supersedes,
        origin=None if origin is None else json.loads(origin),
        teammate=pushed_by or to_unknown_teammate(node),
        worded_by=says[0],
        changed_by=says[1],
        trusted=says[2],
    )
