"""The JSONL format of a theme with everything: how its lines are written and read.

One line describes the file, then one each scope, then one each fact. `fact_restore.py` restores them into a store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

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
from hermes_memory_store.items.tier_columns import IS_PROPOSED
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import (
    ALLOWED,
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
from hermes_memory_store.places.citations import is_portable_citing
from hermes_memory_store.store import Store

FORMAT = "hermes-memory"
VERSION = 1

LATEST = 253_402_300_799_999
"""The last millisecond of the year 9999: later ones are mistakes, and cannot be shown."""

MAX_NAME = 300
"""Characters of an author that are kept."""

WORDS = {kind.word: kind for kind in FactType}

TIERS = tuple(tier for tier in Tier if tier is not Tier.WITHDRAWN)

VERDICT = re.compile(r"[a-z][a-z0-9_.:+-]{0,499}")
"""A verdict names rules, with what was decided about them, and says nothing else: `approved:order:hide+pay`."""

T = TypeVar("T")

SCOPES = f"""
    SELECT uid, {", ".join(SCOPE.names)}
    FROM scopes WHERE theme_id = ?1 AND status <> 'withdrawn' AND label <> '' AND (?2 IS NULL OR label = ?2)
    ORDER BY label
"""

FACT_ROWS = f"""
    SELECT {FACT_COLUMNS}, s.label, a.kind, a.name, r.times, r.last_at
    FROM (SELECT * FROM facts WHERE NOT ({IS_PROPOSED})) f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
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
    uid: bytes
    label: str
    status: ScopeStatus
    opened_at: int
    closed_at: int | None
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class PortableFact:
    uid: bytes
    scope: str | None
    notation: Notation
    tier: Tier
    actor: Actor
    created_at: int
    updated_at: int
    pinned: bool = False
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

    def to_waiting(self, rule: str) -> PortableFact:
        """Return it as one that waits for a person."""
        return replace(self, tier=Tier.QUARANTINED, verdict=rule)

    def admit(self, intake: Intake, theme: str) -> Admission:
        """Check it on its way in. :raises StoreError: it must not come in"""
        return intake.admit_record(theme, self.notation, scope=self.scope, verdict=self.verdict)

    def with_listed_names(self) -> PortableFact:
        """Return it with the names of who wrote and of what cooled it as they may be listed."""
        name, cooled_by = to_listed_name(self.actor.name), self.cooled_by and to_listed_name(self.cooled_by)
        if (name, cooled_by) == (self.actor.name, self.cooled_by):
            return self
        return replace(self, actor=Actor(self.actor.kind, name), cooled_by=cooled_by)


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
    """Yield the lines of a theme, or of one of its scopes, from a connection of their own."""
    with store.reader() as reader, reader.db.snapshot():
        theme_id = reader.names.theme(theme)
        yield to_header_jsonl(store, theme)
        for uid, *values in reader.db.rows(SCOPES, (theme_id, scope)):
            scope_values = dict(zip(SCOPE.names, values, strict=True))
            yield to_compact_json({"kind": "scope", "uid": uids.format_uid(uid), **to_file_words(SCOPE, scope_values)})
        origin_words = OriginWords(reader, origins)
        # Standing facts first, then superseded ones newest first: most links lead to an earlier line.
        for superseded, compared, direction, last in ((0, ">", "ASC", 0), (1, "<", "DESC", (1 << 63) - 1)):
            sql = FACTS.format(compared, direction)
            for row in rows_by_key(reader, sql, (theme_id, superseded, scope, scope), last):
                yield to_fact_jsonl(row, origin_words)
        for row in rows_by_key(reader, TURNS, (theme_id,), 0) if turns else ():
            _, uid, session, role, content, at, origin_id, verdict = row
            words = {"kind": "turn", "uid": uids.format_uid(uid), "session": session, "role": role, "content": content}
            words |= {"at": format_iso_time(at), **origin_words.words(origin_id, None, verdict)}
            yield to_compact_json(words)


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


def to_fact_jsonl(row: tuple[Any, ...], origins: OriginWords) -> str:
    """Format a row of `FACTS` as one JSON text."""
    fact = FactRow(*row[: len(FactRow._fields)])
    label, kind, name, times, read_at = row[len(FactRow._fields) :]
    verdict = fact.verdict
    if verdict is None and fact.tier != Tier.QUARANTINED:
        # It stands here, by whose words it is or without a score, which other stores cannot know.
        suspicion = find_suspicion(Passage(TextKind.WRITE, fact.content, fact.target))
        verdict = None if suspicion is None else (APPROVED if kind == PERSON.kind else ALLOWED) + suspicion.rule
    words = to_file_words(FACT, {**fact._asdict(), "scope": label or None})
    state = {name: words.pop(name) for name in ("created_at", "updated_at", "superseded_by", "cooled_by")}
    return to_compact_json(
        {
            "kind": "fact",
            "uid": uids.format_uid(fact.uid),
            **words,
            "actor": str(Actor(kind, name)),
            **state,
            "reads": times or 0,
            "read_at": None if read_at is None else format_iso_time(read_at),
            **FACT.optional_words(fact._asdict(), FACT.carried),
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


def rows_by_key(reader: Store, sql: str, args: tuple[Any, ...], last: int) -> Iterator[tuple[Any, ...]]:
    """Yield all rows of a statement that selects some after a key, which is its first column and its last argument."""
    while rows := reader.db.rows(sql, (*args, last)):
        yield from rows
        last = rows[-1][0]


def to_compact_json(words: dict[str, Any]) -> str:
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"))


def parse_jsonl_line(line: str, limit: int) -> PortableItem:
    """Parse one line. :raises InputError: names what is wrong with it"""
    try:
        words = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise errors.ImportFileError(f"the line is not JSON: {error}", line) from error
    if not isinstance(words, dict):
        raise errors.ImportFileError("the line is not a JSON object", line)
    kind, reader = words.get("kind", "fact"), LineReader(words)
    if kind == "fact":
        return reader.read_fact(limit)
    if kind == "turn":
        return reader.read_turn()
    if kind == "scope":
        return reader.read_scope()
    if kind != "header":
        message = f"the line tells of a {errors.shorten_value(kind)!r}, unknown to this version"
        raise errors.ImportFileError(message, kind)
    if words.get("format") != FORMAT or words.get("version") != VERSION:
        raise errors.ImportFileError(
            f"the file has format {errors.shorten_value(words.get('format'))!r}, "
            f"version {errors.shorten_value(words.get('version'))};"
            f" this program reads {FORMAT!r} version {VERSION} and takes the other lines as far as it understands them",
            words.get("version"),
        )
    return None


class LineReader:
    """Read the fields of one JSON object, refusing values they cannot have."""

    def __init__(self, words: dict[str, Any]) -> None:
        self._words = words

    def read_scope(self) -> PortableScope:
        closed = self._words.get("closed_at") is not None
        return PortableScope(
            uid=self._uid("uid"),
            label=validate_label(self._text("label")),
            status=ScopeStatus.CLOSED if self._words.get("status") == "closed" else ScopeStatus.OPEN,
            opened_at=self._time("opened_at"),
            closed_at=self._time("closed_at") if closed else None,
            closed_by=self._optional("closed_by", self._safe_text),
        )

    def read_fact(self, limit: int) -> PortableFact:
        kind = WORDS.get(self._text("type"))
        if kind is None:
            raise self._wrong("type", f"one of {', '.join(WORDS)}")
        target, content = self._text("target"), self._text("content")
        notation = memory_spec.parse_notation(format_notation(kind, target, content), limit=limit)
        if notation.target != " ".join(target.split()):
            raise self._wrong("target", "a target without ']'")
        tier = self._words.get("tier", Tier.HOT.value)
        if tier not in TIERS:
            raise self._wrong("tier", "hot, cold, archived, superseded or quarantined")
        scope = self._optional("scope", self._text)
        created_at = self._time("created_at")
        return PortableFact(
            uid=self._uid("uid"),
            scope=None if scope is None else validate_label(scope),
            notation=notation,
            tier=Tier(tier),
            pinned=self._words.get("pinned") is True,
            actor=self._actor(),
            created_at=created_at,
            updated_at=self._time("updated_at") if "updated_at" in self._words else created_at,
            superseded_by=self._optional("superseded_by", self._uid),
            cooled_by=self._optional("cooled_by", self._short_text),
            reads=self._count("reads"),
            read_at=self._optional("read_at", self._time),
            origin=self._optional("origin", self._origin),
            verdict=self._optional("verdict", self._verdict),
            more={
                name: READERS.get(name, READERS.get(FACT.form(name), LineReader._short_text))(self, name)
                for name in FACT.carried
                if self._words.get(name) is not None
            },
        )

    def read_turn(self) -> PortableTurn:
        return validate_turn(
            PortableTurn(
                uid=self._uid("uid"),
                session=self._optional("session", self._text),
                role=self._text("role"),
                content=self._text("content"),
                at=self._time("at"),
                origin=self._optional("origin", self._origin),
                verdict=self._optional("verdict", self._verdict),
            )
        )

    def _optional(self, name: str, read: Callable[[str], T]) -> T | None:
        return None if self._words.get(name) is None else read(name)

    def _text(self, name: str) -> str:
        value = self._words.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def _safe_text(self, name: str) -> str:
        return safe_text.validate_text(self._text(name), name)

    def _short_text(self, name: str) -> str:
        return self._safe_text(name)[:MAX_NAME]

    def _citing(self, name: str) -> str:
        text = self._text(name)
        if not is_portable_citing(text):
            raise self._wrong(
                name, "citations of lines by paths of a repository, of commits, commands, addresses or messages"
            )
        return text

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

    def _verdict(self, name: str) -> str:
        if VERDICT.fullmatch(self._text(name)) is None:
            raise self._wrong(name, "names of rules, after `approved:` or `allowed:` where it was let in")
        return self._text(name)

    def _actor(self) -> Actor:
        if self._words.get("actor") is None:
            return IMPORT
        kind, _, name = safe_text.validate_text(self._text("actor"), "the actor")[:MAX_NAME].partition(":")
        return Actor(kind or IMPORT.kind, name)

    def _origin(self, name: str) -> PortableOrigin:
        try:
            return parse_origin_text(json.dumps(self._words[name]))
        except (ValueError, KeyError, TypeError):
            raise self._wrong(name, "an object as an export writes it") from None

    def _wrong(self, name: str, expected: str) -> errors.ImportFileError:
        value = errors.shorten_value(self._words.get(name))
        return errors.ImportFileError(f"{name} is {value!r}; it must be {expected}", value)


@lru_cache(maxsize=64)
def parse_origin_text(text: str) -> PortableOrigin:
    """Parse an origin in JSON: most lines of a file say the same one."""
    return parse_portable_origin(json.loads(text))


READERS: dict[Form | str, Callable[[LineReader, str], Any]] = {
    "cites": LineReader._citing,
    Form.TIME: LineReader._time,
    Form.COUNT: LineReader._count,
    Form.FLAG: LineReader._count,
}
"""How a line's optional attributes are read; others are short texts."""
