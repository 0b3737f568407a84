"""A theme as JSONL with everything: what the lines say, written and read.

One line describes the file, one each scope, one each fact. `restoring.py` brings what they say into a store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hermes_memory_store import errors, notation, text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import iso
from hermes_memory_store.model import IMPORT, Actor, FactType, Notation, ScopeStatus, Tier, format_notation
from hermes_memory_store.scopes import checked_label
from hermes_memory_store.store import Store
from hermes_memory_store.turn_rows import SaidTurn, checked_turn

FORMAT = "hermes-memory"
VERSION = 1

LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999: later ones are mistakes, and cannot be shown."""

MAX_NAME = 300
"""Characters of an author that are kept."""

WORDS = {kind.word: kind for kind in FactType}

SCOPES = """
    SELECT s.uid, s.label, s.status, s.opened_at, s.closed_at, s.closed_by
    FROM scopes s WHERE s.theme_id = ?1 AND s.status <> 'withdrawn' AND s.label <> '' AND (?2 IS NULL OR s.label = ?2)
    ORDER BY s.label
"""

FACT = """
    SELECT f.id, f.uid, s.label, f.type, f.target, f.content, f.tier, f.pinned, a.kind, a.name, f.created_at,
      f.updated_at, f.superseded_by, f.cooled_by, r.times, r.last_at
    FROM facts f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
    LEFT JOIN reads r ON r.fact_id = f.id
"""

FACTS = (
    FACT
    + """
    WHERE f.theme_id = ? AND (f.tier = 'superseded') = ? AND f.tier <> 'withdrawn' AND (? IS NULL OR s.label = ?)
      AND f.id {} ?
    ORDER BY f.id {} LIMIT 2000
"""
)

CHOSEN = FACT + " WHERE f.id IN ({})"

TURNS = """
    SELECT t.id, t.uid, n.name, t.role, t.content, t.at FROM turns t LEFT JOIN sessions n ON n.id = t.session_id
    WHERE t.theme_id = ? AND t.id > ?
    ORDER BY t.id LIMIT 500
"""


@dataclass(frozen=True, slots=True)
class SaidScope:
    """A scope as a line tells of it."""

    uid: bytes
    label: str
    status: ScopeStatus
    opened_at: int
    closed_at: int | None
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class SaidFact:
    """A fact as a line tells of it."""

    uid: bytes
    scope: str | None
    said: Notation
    tier: Tier
    pinned: bool
    actor: Actor
    created_at: int
    updated_at: int
    superseded_by: bytes | None
    cooled_by: str | None
    reads: int
    read_at: int | None


Said = SaidScope | SaidFact | SaidTurn | None
"""What a line says; None for one that only describes the file."""


def lines(store: Store, theme: str, scope: str | None, *, turns: bool = False) -> Iterator[str]:
    """The lines of a theme, or of one scope of it, from a connection of their own. :param turns: with its captured turns"""
    with store.reader() as reader, reader.db.snapshot():
        theme_id = reader.names.theme(theme)
        yield dumped({"kind": "header", "format": FORMAT, "version": VERSION, "theme": theme, "at": iso(store.clock())})
        for uid, label, status, opened_at, closed_at, closed_by in reader.db.rows(SCOPES, (theme_id, scope)):
            yield dumped(
                {
                    "kind": "scope",
                    "uid": uids.to_text(uid),
                    "label": label,
                    "status": status,
                    "opened_at": iso(opened_at),
                    "closed_at": None if closed_at is None else iso(closed_at),
                    "closed_by": closed_by,
                }
            )
        yield from fact_lines(reader, theme_id, scope)
        if turns:
            yield from turn_lines(reader, theme_id)


def chosen_lines(store: Store, keys: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Single facts by key, each line with the number of facts so far; from a connection of their own."""
    with store.reader() as reader, reader.db.snapshot():
        yield (
            dumped({"kind": "header", "format": FORMAT, "version": VERSION, "theme": None, "at": iso(store.clock())}),
            0,
        )
        done = 0
        for some in in_chunks(keys):
            rows = {row[0]: row for row in reader.db.rows(CHOSEN.format(", ".join("?" * len(some))), tuple(some))}
            for row in (rows[key] for key in some if key in rows):
                done += 1
                yield fact_line(row), done


def fact_lines(reader: Store, theme_id: int, scope: str | None) -> Iterator[str]:
    """Standing facts first, then superseded ones newest first, so that a link mostly leads to an earlier line."""
    for superseded, compared, direction, last in ((0, ">", "ASC", 0), (1, "<", "DESC", (1 << 63) - 1)):
        sql = FACTS.format(compared, direction)
        yield from map(fact_line, rows_by_key(reader, sql, (theme_id, superseded, scope, scope), last))


def fact_line(row: tuple[Any, ...]) -> str:
    """A row of `FACTS` as one JSON text."""
    _, uid, label, kind, target, content, tier, pinned, actor, name, created, updated, link, cooled_by, times, read = (
        row
    )
    return dumped(
        {
            "kind": "fact",
            "uid": uids.to_text(uid),
            "scope": label or None,
            "type": FactType(kind).word,
            "target": target,
            "content": content,
            "tier": tier,
            "pinned": bool(pinned),
            "actor": str(Actor(actor, name)),
            "created_at": iso(created),
            "updated_at": iso(updated),
            "superseded_by": None if link is None else uids.to_text(link),
            "cooled_by": cooled_by,
            "reads": times or 0,
            "read_at": None if read is None else iso(read),
        }
    )


def turn_lines(reader: Store, theme_id: int) -> Iterator[str]:
    """The captured turns of a theme, in the order in which they were captured."""
    return map(turn_line, rows_by_key(reader, TURNS, (theme_id,), 0))


def turn_line(row: tuple[Any, ...]) -> str:
    """A row of `TURNS` as one JSON text."""
    _, uid, session, role, content, at = row
    words = {"kind": "turn", "uid": uids.to_text(uid), "session": session, "role": role, "content": content}
    return dumped({**words, "at": iso(at)})


def rows_by_key(reader: Store, sql: str, args: tuple[Any, ...], last: int) -> Iterator[tuple[Any, ...]]:
    """All rows of a statement that selects some from a key on, which is its first column and its last argument.

    :param last: before the first key
    """
    while rows := reader.db.rows(sql, (*args, last)):
        yield from rows
        last = rows[-1][0]


def dumped(words: dict[str, Any]) -> str:
    """Compact JSON."""
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def parse(line: str, limit: int) -> Said:
    """What one line says. :raises InputError: naming what is wrong with it"""
    try:
        words = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise errors.ImportFileError(f"the line is not JSON: {error}", line) from error
    if not isinstance(words, dict):
        raise errors.ImportFileError("the line is not a JSON object", line)
    kind = words.get("kind", "fact")
    if kind == "header":
        refuse_newer(words)
        return None
    reader = Reader(words)
    if kind == "scope":
        return reader.scope()
    if kind == "fact":
        return reader.fact(limit)
    if kind == "turn":
        return reader.turn()
    raise errors.ImportFileError(f"the line tells of a {errors.shorten(kind)!r}, unknown to this version", kind)


def refuse_newer(words: dict[str, Any]) -> None:
    """:raises ImportFileError: for a file of a later version of the format"""
    if words.get("format") != FORMAT or words.get("version") != VERSION:
        raise errors.ImportFileError(
            f"the file has format {errors.shorten(words.get('format'))!r}, version {errors.shorten(words.get('version'))};"
            f" this program reads {FORMAT!r} version {VERSION} and takes the other lines as far as it understands them",
            words.get("version"),
        )


class Reader:
    """Reads the words of one JSON object, refusing what they cannot mean."""

    def __init__(self, words: dict[str, Any]) -> None:
        self._words = words

    def scope(self) -> SaidScope:
        """A scope."""
        closed = self._words.get("closed_at") is not None
        closed_by = self._words.get("closed_by")
        return SaidScope(
            uid=self._uid("uid"),
            label=checked_label(self._text("label")),
            status=ScopeStatus.CLOSED if self._words.get("status") == "closed" else ScopeStatus.OPEN,
            opened_at=self._time("opened_at"),
            closed_at=self._time("closed_at") if closed else None,
            closed_by=None if closed_by is None else text.check(self._text("closed_by"), "closed_by"),
        )

    def fact(self, limit: int) -> SaidFact:
        """A fact."""
        kind = WORDS.get(self._text("type"))
        if kind is None:
            raise self._wrong("type", f"one of {', '.join(WORDS)}")
        target, content = self._text("target"), self._text("content")
        said = notation.parse(format_notation(kind, target, content), limit=limit)
        if said.target != " ".join(target.split()):
            raise self._wrong("target", "a target without ']'")
        tier = self._words.get("tier", Tier.HOT.value)
        if tier not in list(Tier) or tier == Tier.WITHDRAWN:
            raise self._wrong("tier", "hot, cold, archived, superseded or quarantined")
        scope, link, cooled_by = (self._words.get(name) for name in ("scope", "superseded_by", "cooled_by"))
        created_at = self._time("created_at")
        return SaidFact(
            uid=self._uid("uid"),
            scope=None if scope is None else checked_label(self._text("scope")),
            said=said,
            tier=Tier(tier),
            pinned=self._words.get("pinned") is True,
            actor=self._actor(),
            created_at=created_at,
            updated_at=self._time("updated_at") if "updated_at" in self._words else created_at,
            superseded_by=None if link is None else self._uid("superseded_by"),
            cooled_by=None if cooled_by is None else text.check(self._text("cooled_by"), "cooled_by")[:MAX_NAME],
            reads=self._count("reads"),
            read_at=None if self._words.get("read_at") is None else self._time("read_at"),
        )

    def turn(self) -> SaidTurn:
        """A turn."""
        session = self._words.get("session")
        return checked_turn(
            SaidTurn(
                uid=self._uid("uid"),
                session=None if session is None else self._text("session"),
                role=self._text("role"),
                content=self._text("content"),
                at=self._time("at"),
            )
        )

    def _text(self, name: str) -> str:
        value = self._words.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def _uid(self, name: str) -> bytes:
        try:
            return uids.to_bytes(self._text(name))
        except ValueError:
            raise self._wrong(name, "a UUID") from None

    def _time(self, name: str) -> int:
        try:
            moment = datetime.fromisoformat(self._text(name))
            millis = round(moment.timestamp() * 1000)
        except (ValueError, OverflowError):
            raise self._wrong(name, "an ISO 8601 time") from None
        if moment.tzinfo is None or not 0 <= millis <= LATEST:
            raise self._wrong(name, "an ISO 8601 time with its zone, from 1970 on")
        return millis

    def _count(self, name: str) -> int:
        value = self._words.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
            raise self._wrong(name, "a whole number from 0 on")
        return value

    def _actor(self) -> Actor:
        said = text.check(self._text("actor"), "the actor") if self._words.get("actor") is not None else str(IMPORT)
        kind, _, name = said[:MAX_NAME].partition(":")
        return Actor(kind or IMPORT.kind, name)

    def _wrong(self, name: str, wanted: str) -> errors.ImportFileError:
        value = errors.shorten(self._words.get(name))
        return errors.ImportFileError(f"{name} is {value!r}; it must be {wanted}", value)
