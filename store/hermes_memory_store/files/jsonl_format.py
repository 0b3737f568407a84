"""The JSONL format of a theme with everything: how its lines are written and read.

One line describes the file, then one each scope, then one each fact. `fact_restore.py` restores them into a store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.conversations.turn_rows import PortableTurn, validate_turn
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.intake import Admission, Intake, to_listed_name
from hermes_memory_store.items.kinds import (
    FACT,
    FACT_COLUMNS,
    SCOPE,
    FactRow,
    Form,
    ItemKind,
    to_file_value,
)
from hermes_memory_store.items.origin_rows import PortableOrigin, parse_portable_origin
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import (
    APPROVED,
    IMPORT,
    PERSON,
    Actor,
    FactType,
    Notation,
    ScopeStatus,
    Tier,
    format_notation,
    is_clean_verdict,
)
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.store import Store

FORMAT = "hermes-memory"
VERSION = 1

LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999: later ones are mistakes, and cannot be shown."""

MAX_NAME = 300
"""Characters of an author that are kept."""

WORDS = {kind.word: kind for kind in FactType}

SCOPES = f"""
    SELECT uid, {", ".join(SCOPE.names)}
    FROM scopes WHERE theme_id = ?1 AND status <> 'withdrawn' AND label <> '' AND (?2 IS NULL OR label = ?2)
    ORDER BY label
"""

FACT_ROWS = f"""
    SELECT {FACT_COLUMNS}, s.label, a.kind, a.name, r.times, r.last_at
    FROM facts f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
    LEFT JOIN reads r ON r.fact_id = f.id
"""

FACTS = (
    FACT_ROWS
    + """
    WHERE f.theme_id = ? AND (f.tier = 'superseded') = ? AND f.tier <> 'withdrawn' AND (? IS NULL OR s.label = ?)
      AND f.id {} ?
    ORDER BY f.id {} LIMIT 2000
"""
)

SELECTED_FACTS = FACT_ROWS + " WHERE f.id IN ({})"

TURNS = """
    SELECT t.id, t.uid, n.name, t.role, t.content, t.at, t.origin_id, t.verdict
    FROM turns t LEFT JOIN sessions n ON n.id = t.session_id
    WHERE t.theme_id = ? AND t.id > ?
    ORDER BY t.id LIMIT 500
"""


@dataclass(frozen=True, slots=True)
class PortableScope:
    """A scope as a line describes it."""

    uid: bytes
    label: str
    status: ScopeStatus
    opened_at: int
    closed_at: int | None
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class PortableFact:
    """A fact as a line describes it."""

    uid: bytes
    scope: str | None
    said: Notation
    tier: Tier
    pinned: bool
    actor: Actor
    created_at: int
    updated_at: int
    superseded_by: bytes | None = None
    cooled_by: str | None = None
    reads: int = 0
    read_at: int | None = None
    origin: PortableOrigin | None = None
    """None: the line says none."""
    verdict: str | None = None
    """What the content checks of its store found in it, and what was decided."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Other optional attributes of facts."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Return where it stands and what it has besides, as it is stored."""
        state = {"tier": self.tier.value, "pinned": int(self.pinned), "updated_at": self.updated_at}
        return state | {"superseded_by": self.superseded_by, "cooled_by": self.cooled_by, **self.more}

    @property
    def waiting_rule(self) -> str | None:
        """The rule for which it waits where it comes from, unless somebody let it in."""
        return None if is_clean_verdict(self.verdict) else self.verdict

    def admit(self, intake: Intake, theme: str) -> Admission:
        """Check it on its way in. :raises StoreError: it must not come in"""
        return intake.admit_record(theme, self.said, scope=self.scope, verdict=self.verdict)

    def with_listed_names(self) -> PortableFact:
        """Return it with the names of who wrote and of what cooled it as they may be listed."""
        actor = Actor(self.actor.kind, to_listed_name(self.actor.name))
        return replace(self, actor=actor, cooled_by=self.cooled_by and to_listed_name(self.cooled_by))


VERDICT = re.compile(r"[a-z][a-z0-9_.:+-]{0,499}")
"""A verdict names rules, with what was decided about them, and says nothing else: `approved:order:hide+pay`."""

PortableItem = PortableScope | PortableFact | PortableTurn | None
"""What a line says; None for one that only describes the file."""


class OriginWords:
    """What lines say of origins; nothing when they are left out."""

    def __init__(self, reader: Store, origins: bool) -> None:
        self._rows = reader.names.origins
        self._origins = origins
        self._words: dict[int, dict[str, Any]] = {}

    def words(self, key: int | None, detail: str | None, verdict: str | None) -> dict[str, Any]:
        """Return what a line says of an origin, by its key, and of a verdict."""
        words: dict[str, Any] = {} if verdict is None else {"verdict": verdict}
        if key is None or not self._origins:
            return words
        if key not in self._words:
            self._words[key] = self._rows.portable(key)
        return {**words, "origin": self._words[key] | ({} if detail is None else json.loads(detail))}


def theme_jsonl_lines(
    store: Store, theme: str, scope: str | None, *, turns: bool = False, origins: bool = True
) -> Iterator[str]:
    """Yield the lines of a theme, or of one of its scopes, from a connection of their own.

    :param turns: include its captured turns
    :param origins: say where everything came from
    """
    with store.reader() as reader, reader.db.snapshot():
        theme_id = reader.names.theme(theme)
        yield to_header_jsonl(store, theme)
        for uid, *values in reader.db.rows(SCOPES, (theme_id, scope)):
            scope_values = dict(zip(SCOPE.names, values, strict=True))
            yield to_compact_json({"kind": "scope", "uid": uids.format_uid(uid), **to_file_words(SCOPE, scope_values)})
        words = OriginWords(reader, origins)
        yield from fact_jsonl_lines(reader, theme_id, scope, words)
        if turns:
            yield from turn_jsonl_lines(reader, theme_id, words)


def selected_jsonl_lines(store: Store, keys: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield single facts by key, each line with the number of facts so far; from a connection of their own."""
    with store.reader() as reader, reader.db.snapshot():
        yield to_header_jsonl(store, None), 0
        done, words = 0, OriginWords(reader, True)
        for some in in_chunks(keys):
            rows = {
                row[0]: row for row in reader.db.rows(SELECTED_FACTS.format(", ".join("?" * len(some))), tuple(some))
            }
            for row in (rows[key] for key in some if key in rows):
                done += 1
                yield to_fact_jsonl(row, words), done


def fact_jsonl_lines(reader: Store, theme_id: int, scope: str | None, words: OriginWords) -> Iterator[str]:
    """Yield standing facts first, then superseded ones newest first, so that most links lead to an earlier line."""
    for superseded, compared, direction, last in ((0, ">", "ASC", 0), (1, "<", "DESC", (1 << 63) - 1)):
        sql = FACTS.format(compared, direction)
        for row in rows_by_key(reader, sql, (theme_id, superseded, scope, scope), last):
            yield to_fact_jsonl(row, words)


def to_fact_jsonl(row: tuple[Any, ...], origins: OriginWords) -> str:
    """Format a row of `FACTS` as one JSON text."""
    fact = FactRow(*row[: len(FactRow._fields)])
    label, kind, name, times, read_at = row[len(FactRow._fields) :]
    verdict = fact.verdict
    if verdict is None and kind == PERSON.kind and fact.tier != Tier.QUARANTINED:
        # The check that scores asks nothing of the person, which other stores cannot know.
        suspicion = find_suspicion(Passage(TextKind.RULED, fact.content, fact.target))
        verdict = None if suspicion is None else APPROVED + suspicion.rule
    words = to_file_words(FACT, {**fact._asdict(), "scope": label or None})
    state = {name: words.pop(name) for name in ("created_at", "updated_at", "superseded_by", "cooled_by")}
    optional = FACT.optional_words(fact._asdict(), FACT.shown)
    return to_compact_json(
        {
            "kind": "fact",
            "uid": uids.format_uid(fact.uid),
            **words,
            "actor": str(Actor(kind, name)),
            **state,
            "reads": times or 0,
            "read_at": None if read_at is None else format_iso_time(read_at),
            **optional,
            **origins.words(fact.origin_id, fact.origin_detail, verdict),
        }
    )


def to_header_jsonl(store: Store, theme: str | None) -> str:
    """Return the line that describes the file. :param theme: None: of facts of any theme"""
    at = format_iso_time(store.clock())
    return to_compact_json({"kind": "header", "format": FORMAT, "version": VERSION, "theme": theme, "at": at})


def to_file_words(kind: ItemKind, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an item that each line of its kind has, as a file says them."""
    return {
        attribute.name: to_file_value(attribute.form, values[attribute.name])
        for attribute in kind.attributes
        if not attribute.is_optional
    }


def turn_jsonl_lines(reader: Store, theme_id: int, words: OriginWords) -> Iterator[str]:
    """Yield the captured turns of a theme, in the order in which they were captured."""
    return (turn_line(row, words) for row in rows_by_key(reader, TURNS, (theme_id,), 0))


def turn_line(row: tuple[Any, ...], origins: OriginWords) -> str:
    """Format a row of `TURNS` as one JSON text."""
    _, uid, session, role, content, at, origin_id, verdict = row
    words = {"kind": "turn", "uid": uids.format_uid(uid), "session": session, "role": role, "content": content}
    origin_words = origins.words(origin_id, None, verdict)
    return to_compact_json({**words, "at": format_iso_time(at), **origin_words})


def rows_by_key(reader: Store, sql: str, args: tuple[Any, ...], last: int) -> Iterator[tuple[Any, ...]]:
    """Yield all rows of a statement that selects some from a key on, which is its first column and its last argument.

    :param last: before the first key
    """
    while rows := reader.db.rows(sql, (*args, last)):
        yield from rows
        last = rows[-1][0]


def to_compact_json(words: dict[str, Any]) -> str:
    """Encode as compact JSON."""
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def parse_jsonl_line(line: str, limit: int) -> PortableItem:
    """Parse one line. :raises InputError: names what is wrong with it"""
    try:
        words = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise errors.ImportFileError(f"the line is not JSON: {error}", line) from error
    if not isinstance(words, dict):
        raise errors.ImportFileError("the line is not a JSON object", line)
    kind = words.get("kind", "fact")
    if kind == "header":
        refuse_newer_format(words)
        return None
    reader = LineReader(words)
    if kind == "scope":
        return reader.read_scope()
    if kind == "fact":
        return reader.read_fact(limit)
    if kind == "turn":
        return reader.read_turn()
    raise errors.ImportFileError(f"the line tells of a {errors.shorten_value(kind)!r}, unknown to this version", kind)


def refuse_newer_format(words: dict[str, Any]) -> None:
    """Check the format's version. :raises ImportFileError: for a file of a later version of the format"""
    if words.get("format") != FORMAT or words.get("version") != VERSION:
        raise errors.ImportFileError(
            f"the file has format {errors.shorten_value(words.get('format'))!r}, "
            f"version {errors.shorten_value(words.get('version'))};"
            f" this program reads {FORMAT!r} version {VERSION} and takes the other lines as far as it understands them",
            words.get("version"),
        )


class LineReader:
    """Read the fields of one JSON object, refusing values they cannot have."""

    def __init__(self, words: dict[str, Any]) -> None:
        self._words = words

    def read_scope(self) -> PortableScope:
        """Read a scope."""
        closed = self._words.get("closed_at") is not None
        closed_by = self._words.get("closed_by")
        return PortableScope(
            uid=self._uid("uid"),
            label=validate_label(self._text("label")),
            status=ScopeStatus.CLOSED if self._words.get("status") == "closed" else ScopeStatus.OPEN,
            opened_at=self._time("opened_at"),
            closed_at=self._time("closed_at") if closed else None,
            closed_by=None if closed_by is None else safe_text.validate_text(self._text("closed_by"), "closed_by"),
        )

    def read_fact(self, limit: int) -> PortableFact:
        """Read a fact."""
        kind = WORDS.get(self._text("type"))
        if kind is None:
            raise self._wrong("type", f"one of {', '.join(WORDS)}")
        target, content = self._text("target"), self._text("content")
        notation = memory_spec.parse_notation(format_notation(kind, target, content), limit=limit)
        if notation.target != " ".join(target.split()):
            raise self._wrong("target", "a target without ']'")
        tier = self._words.get("tier", Tier.HOT.value)
        if tier not in list(Tier) or tier == Tier.WITHDRAWN:
            raise self._wrong("tier", "hot, cold, archived, superseded or quarantined")
        scope, link, cooled_by = (self._words.get(name) for name in ("scope", "superseded_by", "cooled_by"))
        created_at = self._time("created_at")
        return PortableFact(
            uid=self._uid("uid"),
            scope=None if scope is None else validate_label(self._text("scope")),
            said=notation,
            tier=Tier(tier),
            pinned=self._words.get("pinned") is True,
            actor=self._actor(),
            created_at=created_at,
            updated_at=self._time("updated_at") if "updated_at" in self._words else created_at,
            superseded_by=None if link is None else self._uid("superseded_by"),
            cooled_by=None
            if cooled_by is None
            else safe_text.validate_text(self._text("cooled_by"), "cooled_by")[:MAX_NAME],
            reads=self._count("reads"),
            read_at=None if self._words.get("read_at") is None else self._time("read_at"),
            origin=self._origin(),
            verdict=self._verdict(),
            more={name: self._optional(name) for name in FACT.shown if self._words.get(name) is not None},
        )

    def read_turn(self) -> PortableTurn:
        """Read a turn."""
        session = self._words.get("session")
        return validate_turn(
            PortableTurn(
                uid=self._uid("uid"),
                session=None if session is None else self._text("session"),
                role=self._text("role"),
                content=self._text("content"),
                at=self._time("at"),
                origin=self._origin(),
                verdict=self._verdict(),
            )
        )

    def _text(self, name: str) -> str:
        value = self._words.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def _uid(self, name: str) -> bytes:
        try:
            return uids.parse_uid(self._text(name))
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

    def _optional(self, name: str) -> Any:
        match FACT.form(name):
            case Form.TIME:
                return self._time(name)
            case Form.COUNT | Form.FLAG:
                return self._count(name)
            case _:
                return safe_text.validate_text(self._text(name), name)[:MAX_NAME]

    def _verdict(self) -> str | None:
        if self._words.get("verdict") is None:
            return None
        if VERDICT.fullmatch(self._text("verdict")) is None:
            raise self._wrong("verdict", "names of rules, after `approved:` or `allowed:` where it was let in")
        return self._text("verdict")

    def _actor(self) -> Actor:
        text = (
            safe_text.validate_text(self._text("actor"), "the actor")
            if self._words.get("actor") is not None
            else str(IMPORT)
        )
        kind, _, name = text[:MAX_NAME].partition(":")
        return Actor(kind or IMPORT.kind, name)

    def _origin(self) -> PortableOrigin | None:
        words = self._words.get("origin")
        try:
            return None if words is None else parse_portable_origin(words)
        except (ValueError, KeyError, TypeError):
            raise self._wrong("origin", "an object as an export writes it") from None

    def _wrong(self, name: str, expected: str) -> errors.ImportFileError:
        value = errors.shorten_value(self._words.get(name))
        return errors.ImportFileError(f"{name} is {value!r}; it must be {expected}", value)
