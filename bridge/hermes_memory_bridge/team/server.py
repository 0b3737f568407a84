"""What is said to the team database: hello, push, load, pull. One connection, no session state, so PgBouncer may share it;
only where there is no pooler the connection also listens.

The protocol: rows travel, not operations. Whoever pushes increments the clock of the theme first, whose row lock orders the
commits, so that a reader who has seen change n has seen all before it. Of two versions of a row the purged one wins, then
the one of the higher clock, then of the higher node; sending a row twice changes nothing.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from psycopg import conninfo
from psycopg.errors import ProgramLimitExceeded, UniqueViolation

from hermes_memory_bridge.team.pulse import Pulse
from hermes_memory_bridge.team.schema import Schema, known_version, usable, verify
from hermes_memory_bridge.team.states import BAD_DSN, NOT_MIGRATED, SKEW_MS, Overdue, TeamError, state_of, wrong_version
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.sync import Cursor, SyncRow

BATCH = 500
"""Rows of one push: the quickest size of a statement that carries its rows as arrays."""

STAGE = 5_000
"""Rows of one load: more would keep local writers waiting while the store hands them out."""

PAGE = 2_000
"""Rows of one pull."""

ANSWER_S = 15.0
"""How long one answer may take; a load may take `LOAD_S`."""

LOAD_S = 120.0

CONNECT_S = 10

LOOK_S = 1.0
"""How often to look whether an answer is overdue."""

DATA_ERRORS = (psycopg.DataError, psycopg.IntegrityError, ProgramLimitExceeded, UnicodeError)
"""What is wrong with a row, not with the database."""

COUNTER_ERROR = UniqueViolation
"""What is wrong with the counter of a theme: no row is at fault where its sequence number is taken already."""

NEVER = 1_000_000_000
"""Statements are prepared when that is asked for, and never because they come often."""

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

HELLO = "SELECT * FROM hm.hello(%s::uuid, %s::text[], %s::bigint[], %s::bigint[], %s::uuid[])"
"""Only the themes that changed are named: an exchange with nothing to do is one small answer."""

WINNER = """
ON CONFLICT (theme, id) DO UPDATE SET kind = excluded.kind, content = excluded.content, attrs = excluded.attrs,
    content_sha = excluded.content_sha, state = excluded.state, hlc = excluded.hlc, node = excluded.node,
    anc = excluded.anc, seq = excluded.seq
  WHERE (excluded.state = 2, excluded.hlc, excluded.node)
      > (f.state = 2, CASE WHEN f.hlc >> 16 > greatest({ms}, %(own_ms)s) + {skew} THEN 0 ELSE f.hlc END, f.node)
RETURNING f.seq
"""
"""A row that ran ahead of both clocks, the database's and that of the store that pushes, loses against any other: else nobody
could change what it stands for until its time has come."""

TICK = """
WITH t AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms),
c AS (
  INSERT INTO hm.clock (theme, seq) VALUES (%(theme)s, %(count)s)
  ON CONFLICT (theme) DO UPDATE SET seq = hm.clock.seq + excluded.seq RETURNING seq - %(count)s AS base
), m AS (
  INSERT INTO hm.mark (theme, seq, token, node) SELECT %(theme)s, base + %(count)s, %(token)s, %(by)s FROM c
)
"""

CHANNEL = "hm"

NOTIFY = f"pg_notify('{CHANNEL}', left(md5(%(theme)s), 8))"
"""Says that a theme changed, without saying its name: whoever may connect may listen."""

COLUMNS = "theme, id, kind, content, attrs, supersedes, content_sha, state, hlc, node, anc, seq"

VALUES = """
  SELECT %(theme)s, u.id, u.kind, u.content, u.attrs::jsonb, u.supersedes, sha256(convert_to(u.content, 'UTF8')),
         u.state, u.hlc, u.node, {ancestors}, {base} + u.n
"""

PUSH = f"""
{TICK}, w AS (
  INSERT INTO hm.fact AS f ({COLUMNS})
  {VALUES.format(ancestors="ARRAY(SELECT jsonb_array_elements_text(u.anc)::bigint)", base="c.base")}
  FROM c, t, unnest(
    %(ids)s::uuid[], %(kinds)s::text[], %(contents)s::text[], %(attrs)s::text[], %(supersedes)s::uuid[],
    %(states)s::smallint[], %(hlcs)s::bigint[], %(nodes)s::uuid[], %(ancestors)s::jsonb[]
  ) WITH ORDINALITY AS u (id, kind, content, attrs, supersedes, state, hlc, node, anc, n)
  WHERE (u.hlc >> 16) <= t.ms + {SKEW_MS}
  {WINNER.format(ms="(SELECT ms FROM t)", skew=SKEW_MS)}
)
SELECT c.base, t.ms, ARRAY(SELECT seq FROM w), {NOTIFY} FROM c, t
"""

OPEN_LOAD = f"{TICK} SELECT c.base, t.ms, {NOTIFY} FROM c, t"

COPY = "COPY hm.stage (n, id, kind, content, attrs, supersedes, state, hlc, node, anc) FROM STDIN"

MERGE = f"""
INSERT INTO hm.fact AS f ({COLUMNS})
{VALUES.format(ancestors="u.anc", base="%(base)s")}
FROM hm.stage u
WHERE (u.hlc >> 16) <= %(ms)s + {SKEW_MS} ORDER BY u.n
{WINNER.format(ms="%(ms)s", skew=SKEW_MS)}"""

WINNERS = """
SELECT NULL, NULL, NULL, NULL, f.seq, f.id::text, f.kind, f.content, f.attrs::text, f.supersedes::text, f.state, f.hlc,
       f.node::text, f.anc
FROM unnest(%(ids)s::uuid[], %(hlcs)s::bigint[], %(nodes)s::uuid[]) AS u(id, hlc, node)
JOIN hm.fact f ON f.theme = %(theme)s AND f.id = u.id
WHERE (f.hlc, f.node) <> (u.hlc, u.node)
ORDER BY f.seq
"""

PULL = """
WITH c AS MATERIALIZED (SELECT seq, gc_seq FROM hm.clock WHERE theme = %(theme)s),
p AS MATERIALIZED (
  SELECT id, kind, content, attrs, supersedes, state, hlc, node, anc, seq FROM hm.fact
  WHERE theme = %(theme)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
), e AS MATERIALIZED (
  SELECT CASE WHEN (SELECT count(*) FROM p) < %(limit)s THEN c.seq ELSE (SELECT max(seq) FROM p) END AS seq, c.gc_seq FROM c
), m AS (
  SELECT m.seq, m.token FROM hm.mark m, e WHERE m.theme = %(theme)s AND m.seq <= e.seq ORDER BY m.seq DESC LIMIT 1
)
SELECT e.seq, e.gc_seq, m.seq, m.token::text, p.seq, p.id::text, p.kind, p.content, p.attrs::text, p.supersedes::text, p.state,
       p.hlc, p.node::text, p.anc
FROM e LEFT JOIN m ON true LEFT JOIN p ON true ORDER BY p.seq
"""


@dataclass(frozen=True, slots=True)
class News:
    """What the database says of one theme that is not as this store left it."""

    theme: str
    seq: int
    gc_seq: int
    whole: bool
    """Whether all that this store has seen is still there."""
    mine: tuple[int, str] | None
    """Sequence and token of this node's last push."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """The answer to a hello."""

    server_ms: int
    version: int
    """Of the schema, which its owner may have updated meanwhile."""
    read_only: bool
    news: list[News]


@dataclass(frozen=True, slots=True)
class Known:
    """Where this store is with a theme."""

    theme: str
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Pushed:
    """What became of the rows of one push."""

    base: int
    """The theme's sequence before it."""
    token: str
    taken: list[tuple[SyncRow, int | None]]
    """Rows that the database has, and their sequences; None where it had that version already, or one that wins."""
    ahead: list[SyncRow]
    """Rows stamped too far ahead of the database's clock, which it did not take."""
    server_ms: int
    """The database's time."""

    @property
    def end(self) -> int:
        """The theme's sequence after it."""
        return self.base + len(self.taken) + len(self.ahead)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a theme, in order, and where the store is once it has them."""

    rows: list[tuple[int, SyncRow]]
    cursor: Cursor
    more: bool
    gc_seq: int = 0
    """Up to where deleted rows may have been removed when it was read."""


class Server:
    """A team database, connected."""

    def __init__(self, dsn: str, *, listen: bool = True) -> None:
        """Connect. :param listen: be told of changes :raises TeamError: in words, without a word of the DSN"""
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._due: float | None = None
        self._overdue = False
        try:
            self.conn = psycopg.connect(full(dsn), autocommit=True, prepare_threshold=None)
        except (psycopg.Error, OSError) as error:
            raise TeamError(state_of(error)) from None
        except ValueError:  # characters that no DSN has
            raise TeamError(BAD_DSN) from None
        self._pulse = Pulse(self.conn)
        threading.Thread(target=self._watch, name="team answers", daemon=True).start()
        self.direct = False
        """Whether there is no pooler in between, so that a statement may be prepared."""
        self.listening = False
        """Whether changes are told at once. A pooler in between lends connections, and listening would be left in them."""
        try:
            self.schema: Schema = self.verify()
            self.listening = listen and self._listen()
        except BaseException:
            self.close()
            raise

    def verify(self) -> Schema:
        """Look whether the schema is ours; nothing is altered. :raises TeamError:"""
        with self.answering(ANSWER_S):
            return verify(self.conn)

    def heard(self, themes: Sequence[str], within_s: float) -> bool:
        """Wait until another machine has changed one of these themes; whether one has."""
        try:
            if self._told(themes):  # of what came with the answer to something else
                return True
            line = select.poll()  # the driver's own waiting wakes up ten times a second
            line.register(self.conn.fileno(), select.POLLIN)
            return bool(line.poll(within_s * 1000)) and self._told(themes)
        except (psycopg.Error, OSError):
            self.listening = False  # the next question finds out what is wrong
        return False

    def _told(self, themes: Sequence[str]) -> bool:
        told = {one.payload for one in self.conn.notifies(timeout=0) if one.pid != self.conn.info.backend_pid}
        told |= self._pulse.heard
        self._pulse.heard.clear()
        return bool(told) and not {name_told(theme) for theme in themes}.isdisjoint(told)

    def _listen(self) -> bool:
        with self.answering(ANSWER_S):
            row = self.conn.execute("SELECT pg_backend_pid(), pg_is_in_recovery()").fetchone()
            if row != (self.conn.info.backend_pid, False):
                return False
            self.conn.execute(f"LISTEN {CHANNEL}")
        self.direct = True
        self.conn.prepare_threshold = NEVER
        return True

    def unchanged(self, known: Sequence[Known]) -> bool:
        """Whether these themes are as this store left them, by one small question; False when that is not asked so now.

        :raises TeamError:
        """
        if not self.direct:
            return False
        with self.answering(ANSWER_S):
            still = self._pulse.is_still([(one.theme, one.cursor.seq) for one in known])
        if still is None:  # somebody in between lends another connection to each statement
            self.direct = False
        return bool(still)

    def hello(self, node: str, known: Sequence[Known]) -> Greeting:
        """The time there, and which themes are not as this store left them. One round trip when all are.

        :raises TeamError:
        """
        asked = (
            array([one.theme for one in known]),
            array([one.cursor.seq for one in known]),
            array([one.cursor.mark_seq for one in known]),
            array([one.cursor.mark_token for one in known]),
        )
        with self.answering(ANSWER_S):
            row = self.conn.execute(HELLO, (node, *asked)).fetchone()
        assert row is not None
        if row[1] is None:
            raise TeamError(NOT_MIGRATED)
        if not usable(row[1]):
            raise TeamError(wrong_version(row[1], known_version()))
        news = [News(theme, seq, gc, whole, tuple(mine) if mine else None) for theme, seq, gc, whole, mine in row[3]]
        if self.direct:
            with self.answering(ANSWER_S):
                self._pulse.greeted([one.theme for one in known])
        return Greeting(row[0], row[1], row[2], news)

    def push(
        self, theme: str, node: str, rows: Sequence[SyncRow], token: str, *, clock: Clock = system_clock
    ) -> Pushed:
        """Send rows, in one statement.

        :param clock: of this machine
        :raises psycopg.Error: those of `DATA_ERRORS` name a row that cannot be taken
        """
        with self.answering(ANSWER_S, telling=DATA_ERRORS):
            row = self.conn.execute(
                PUSH,
                {
                    **tick(theme, node, len(rows), token),
                    "own_ms": clock(),
                    "ids": [one.uid for one in rows],
                    "kinds": [one.kind for one in rows],
                    "contents": [one.content for one in rows],
                    "attrs": [json.dumps(one.attrs, ensure_ascii=False) for one in rows],
                    "supersedes": [one.supersedes or None for one in rows],
                    "states": [one.state for one in rows],
                    "hlcs": [one.hlc for one in rows],
                    "nodes": [one.node for one in rows],
                    "ancestors": [json.dumps(list(one.ancestors)) for one in rows],
                },
            ).fetchone()
        assert row is not None
        return pushed(rows, row[0], row[1], row[2], token)

    def load(
        self, theme: str, node: str, rows: Sequence[SyncRow], token: str, *, clock: Clock = system_clock
    ) -> Pushed:
        """As `push`, for many rows at once: they are copied to a stage and merged from there in the same transaction."""
        with self.answering(LOAD_S, telling=DATA_ERRORS), self.conn.transaction(), self.conn.cursor() as cursor:
            # The stage first: the clock of the theme is held only as long as merging takes.
            with cursor.copy(COPY) as copy:
                for n, one in enumerate(rows, 1):
                    copy.write_row(
                        (
                            n,
                            one.uid,
                            one.kind,
                            one.content,
                            json.dumps(one.attrs, ensure_ascii=False),
                            one.supersedes or None,
                            one.state,
                            one.hlc,
                            one.node,
                            "{" + ",".join(map(str, one.ancestors)) + "}",
                        )
                    )
            row = cursor.execute(OPEN_LOAD, tick(theme, node, len(rows), token)).fetchone()
            assert row is not None
            won = cursor.execute(MERGE, {"theme": theme, "base": row[0], "ms": row[1], "own_ms": clock()}).fetchall()
            cursor.execute("DELETE FROM hm.stage")
        return pushed(rows, row[0], row[1], [seq for (seq,) in won], token)

    def pull(self, theme: str, after: int, limit: int = PAGE) -> Page:
        """The rows after a place in a theme, in order. :raises TeamError:"""
        with self.answering(ANSWER_S):
            found = self.conn.execute(PULL, {"theme": theme, "after": after, "limit": limit}).fetchall()
        if not found:
            return Page([], Cursor(after), more=False)
        end, gc_seq, mark_seq, mark_token = found[0][:4]
        rows = [(row[4], row_of(theme, row)) for row in found if row[4] is not None]
        return Page(rows, Cursor(end, mark_seq, mark_token), more=len(rows) == limit, gc_seq=gc_seq)

    def winners(self, theme: str, lost: Sequence[SyncRow]) -> list[tuple[int, SyncRow]]:
        """What the database has in the place of versions that it did not take, with sequence numbers, in order.

        :raises TeamError:
        """
        named = {
            "theme": theme,
            "ids": [one.uid for one in lost],
            "hlcs": [one.hlc for one in lost],
            "nodes": [one.node for one in lost],
        }
        return [(row[4], row_of(theme, row)) for row in self.rows(WINNERS, named)]

    def rows(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement. :raises TeamError:"""
        with self.answering(ANSWER_S):
            return self.conn.execute(statement, values).fetchall()

    def value(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Any:
        """The first column of the first row of one statement, or None. :raises TeamError:"""
        found = self.rows(statement, values)
        return found[0][0] if found else None

    def set_up(self, settings: Sequence[str], statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows of one statement under settings of its own. :raises TeamError:"""
        with self.answering(ANSWER_S), self.conn.pipeline(), self.conn.transaction():
            for one in settings:
                self.conn.execute(one)
            return self.conn.execute(statement, values).fetchall()

    def engine(self) -> str:
        """The version of PostgreSQL."""
        number = self.conn.info.server_version
        return f"{number // 10_000}.{number % 10_000}"

    def close(self) -> None:
        """Hang up."""
        self._closed.set()
        with contextlib.suppress(Exception):
            self.conn.close()

    def interrupt(self) -> None:
        """From another thread: whoever waits for an answer stops waiting."""
        with self._guard, contextlib.suppress(Exception):
            # A copy of the handle: closing what another thread waits on would be unsafe, hanging up is not.
            line = socket.socket(fileno=os.dup(self.conn.fileno()))
            try:
                line.shutdown(socket.SHUT_RDWR)
            finally:
                line.close()

    @contextlib.contextmanager
    def answering(self, within_s: float, telling: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
        """Cut the connection when an answer takes too long, and say in words what went wrong.

        :param telling: errors that the caller wants as they are
        """
        self._overdue = False
        self._due = time.monotonic() + within_s
        try:
            yield
        except telling:
            raise
        except (psycopg.Error, OSError) as error:
            raise TeamError(state_of(Overdue() if self._overdue else error)) from None
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


def full(dsn: str) -> str:
    """A DSN with what it does not say itself. :raises psycopg.Error: it cannot be understood"""
    given = conninfo.conninfo_to_dict(dsn)
    several = "," in str(given.get("host") or "") or "," in str(given.get("hostaddr") or "")
    defaults = {**DEFAULTS, "target_session_attrs": "read-write"} if several else DEFAULTS
    return conninfo.make_conninfo(dsn, **{name: value for name, value in defaults.items() if name not in given})


def array(values: Sequence[str | int | None]) -> str:
    """Values as PostgreSQL writes an array: the driver takes longer to look at each than to ask."""
    quoted = (
        "NULL" if one is None else '"' + str(one).replace("\\", "\\\\").replace('"', '\\"') + '"' for one in values
    )
    return "{" + ",".join(quoted) + "}"


def name_told(theme: str) -> str:
    """By what a theme is named in `NOTIFY`."""
    return hashlib.md5(theme.encode(), usedforsecurity=False).hexdigest()[:8]


def tick(theme: str, node: str, count: int, token: str) -> dict[str, Any]:
    """What moves the clock of a theme."""
    return {"theme": theme, "by": node, "count": count, "token": token}


def new_token() -> str:
    """What a push is known by."""
    return str(uuid.uuid4())


def pushed(rows: Sequence[SyncRow], base: int, server_ms: int, won: Sequence[int], token: str) -> Pushed:
    """Which rows the database has looked at, and which of them are now its version."""
    winners = set(won)
    taken: list[tuple[SyncRow, int | None]] = []
    ahead = []
    for seq, one in enumerate(rows, base + 1):
        if one.hlc >> 16 <= server_ms + SKEW_MS:
            taken.append((one, seq if seq in winners else None))
        else:
            ahead.append(one)
    return Pushed(base, token, taken, ahead, server_ms)


def row_of(theme: str, row: Sequence[Any]) -> SyncRow:
    """A row as the store takes it."""
    _, _, _, _, _, uid, kind, content, attrs, supersedes, state, hlc, node, ancestors = row
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
    )
