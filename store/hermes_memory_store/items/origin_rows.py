"""Origins as rows: one for each distinct origin of a theme, and its key in facts, turns and the journal.

What differs from fact to fact, the turns it was written from and the line of an import, is kept beside the fact. The
chain of the journal covers the digest of an origin, which names no path of this machine: a log that is replayed
elsewhere has the same chain.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from functools import lru_cache
from pathlib import PurePath
from time import monotonic
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.written_facts import parse_words
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import to_listed_name, to_masked_name
from hermes_memory_store.items.project_rows import ensure_project, fold_project_name, project_key, project_words
from hermes_memory_store.model import UNKNOWN_ORIGIN, Origin, Session, Uid, Way, split_client_version

WORDS = ("session", "title", "client", "client_version", "project", "root", "folder", "branch", "commit") + (
    *("peer", "program", "teammate", "team_way", "team_verdict", "file"),
)
"""Fields of `Origin` that are text, in the order of the table's columns."""

VOICES = ("said", "heard")
"""Whose words a write may be."""

ERASED = "(purged)"
"""What stands in an origin for a text that was erased with the words of a fact."""

PATHS = frozenset({"root", "folder", "file"})

DETAILS = ("line", "turns", "voice", "heard")
"""Fields that differ from fact to fact."""

NO_DETAILS: dict[str, Any] = {name: getattr(UNKNOWN_ORIGIN, name) for name in DETAILS}

MAX_WORD = 1_000
"""Characters of one field that are kept: longer than any path or branch a person would name."""

COLUMNS = tuple({"project": "project_id", "commit": "commit_id"}.get(name, name) for name in WORDS)

TEXT_COLUMNS = tuple(column for column in COLUMNS if column != "project_id")

PROJECT_NAME = "coalesce((SELECT name FROM projects WHERE id = p.joined_id), p.name)"

SELECT_ORIGINS = f"""
    SELECT o.id, o.digest, o.way, {", ".join(PROJECT_NAME if c == "project_id" else f"o.{c}" for c in COLUMNS)}
    FROM origins o LEFT JOIN projects p ON p.id = o.project_id
"""

ORIGINS_WITH_UIDS = f"""
    SELECT o.id, o.digest, o.salt, o.way, {", ".join("NULL" if c == "project_id" else f"o.{c}" for c in COLUMNS)}, p.uid
    FROM origins o LEFT JOIN projects p ON p.id = o.project_id
    ORDER BY o.id
"""

LOOK_S = 1.0
"""Seconds after which a reader looks whether another connection has written."""

INSERT_ORIGIN = f"""
    INSERT INTO origins (id, theme_id, digest, salt, way, {", ".join(COLUMNS)})
    VALUES (?, ?, ?, ?, ?, {", ".join("?" * len(COLUMNS))})
"""

SAME_ORIGIN = f"""
    SELECT id FROM origins
    WHERE theme_id = ? AND salt <> x'' AND way = ? AND {" AND ".join(f"{column} IS ?" for column in COLUMNS)}
"""

IS_UNUSED = """
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM facts WHERE origin_id = ?1)
      AND NOT EXISTS (SELECT 1 FROM journal WHERE origin_id = ?1 AND digest IS NULL)
      AND NOT EXISTS (SELECT 1 FROM turns WHERE origin_id = ?1)
"""

IS_WHOLE = "SELECT 1 FROM origins WHERE id = ? AND salt <> x''"
"""Finds an origin of which nothing was erased: only such a one is given to something new."""

ATTRIBUTED: ContextVar[Origin | None] = ContextVar("attributed", default=None)
"""The origin of what this thread or task changes at the moment."""


COMPACT = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class PortableOrigin:
    """An origin as it is told outside the machine it was noted on."""

    origin: Origin
    """Without its project."""
    project: dict[str, Any] | None = field(default=None, compare=False)
    """The project as `project_words` describes it."""


@lru_cache(maxsize=2048)
def add_origin_detail(origin: Origin, detail: str) -> Origin:
    """Return the origin of a fact, with what `format_origin_detail` made of the rest of it."""
    words = {name: value for name, value in parse_words(detail).items() if name in DETAILS}
    return replace(origin, **words | {"turns": tuple(words.get("turns", ()))})


@contextmanager
def attribute_changes(origin: Origin) -> Iterator[None]:
    """Attribute every change within the block to this origin, in any store; a write may still name its own."""
    token = ATTRIBUTED.set(origin)
    try:
        yield
    finally:
        ATTRIBUTED.reset(token)


class OriginRows:
    """Find origins by their keys and keys by origins, and cache both: neither ever changes."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self.default = Origin(way=Way.LIBRARY)
        """The origin of changes that nobody attributes."""
        self.find_default: Callable[[], Origin] | None = None
        """Finds it anew for each change, where it may differ from one to the next."""
        self._keys: dict[tuple[int, Origin], int] = {}
        self._known: dict[int, Origin] = {}
        self._digests: dict[int, bytes] = {}
        self.received: dict[tuple[str | None, str | None], Origin] = {}
        """Origins that teammates told of, by their words and the teammate."""
        self._last: tuple[int, Origin, int | None] | None = None
        """The newest look-up: a write asks for its origin once for the fact and once for each row of the journal."""
        self._version: int | None = None
        self._looked_at = 0.0
        self._last_session: tuple[Origin, Session, Origin] | None = None
        """What was completed last: an agent writes several facts between two turns."""

    def end_write(self) -> None:
        """Forget the newest look-up: until the next write, another process may erase words of that origin."""
        self._last = None

    def forget(self) -> None:
        """Clear the cache: a transaction was rolled back, the file was replaced, or a project has another name."""
        for cache in (self._keys, self._known, self._digests, self.received):
            cache.clear()
        self._last = self._last_session = None

    def current(self) -> Origin:
        return ATTRIBUTED.get() or (self.default if self.find_default is None else self.find_default())

    def key(self, conn: sqlite3.Connection, theme_id: int, origin: Origin) -> int | None:
        """Return the key of an origin, created when it is new; None when nothing is known of it.

        Call it inside a write transaction.

        :raises ArgumentError: there is no project of that name
        """
        last = self._last
        if last is not None and last[1] is origin and last[0] == theme_id:
            return last[2]
        alike = replace(origin, **NO_DETAILS) if any(getattr(origin, name) for name in DETAILS) else origin
        key = self._keys.get((theme_id, alike))
        if key is not None and conn.execute(IS_WHOLE, (key,)).fetchone() is None:
            key = None  # another process has erased words of it
        if key is None and alike.is_known:
            key = self._keys[theme_id, alike] = self._insert(conn, theme_id, alike)
        self._last = (theme_id, origin, key)
        return key

    def by_key(self, key: int | None, detail: str | None = None) -> Origin:
        """Return the origin with a key. :param detail: what `format_origin_detail` made of the rest of it"""
        if key is None:
            return UNKNOWN_ORIGIN
        if monotonic() - self._looked_at > LOOK_S:
            self._notice_erasures()
        origin = self._known.get(key)
        if origin is None:
            self._load(key)
            origin = self._known.get(key, UNKNOWN_ORIGIN)
        return origin if detail is None else add_origin_detail(origin, detail)

    def complete(self, origin: Origin | None, session: Session | None) -> Origin:
        """Return the origin, the current one unless given, with what its session adds: its names, client and project."""
        origin = origin or self.current()
        if session is None:
            return origin
        last = self._last_session
        if last is None or last[1] is not session or last[0] != origin:
            last = self._last_session = (origin, session, complete_origin(origin, session))
        return last[2]

    def _notice_erasures(self) -> None:
        """Read origins again when another connection has written: it may have erased words of one."""
        version, self._looked_at = self._db.value("PRAGMA data_version"), monotonic()
        if version != self._version:
            self._known.clear()
        self._version = version

    def digest(self, key: int) -> bytes:
        if key not in self._digests:
            self._load(key)
        return self._digests.get(key, b"")

    def keys(
        self,
        theme_id: int | None,
        ways: Collection[Way],
        projects: Collection[str],
        branches: Collection[str] = (),
        clients: Collection[str] = (),
    ) -> list[int]:
        """Return the keys of the origins with one of these ways, of one of these projects, branches and clients; empty: any.

        :raises QueryError: no such project is known in this theme
        """
        where, args = ["1"], []  # type: tuple[list[str], list[Any]]
        if theme_id is not None:
            where.append("theme_id = ?")
            args.append(theme_id)
        if ways:
            where.append(f"way IN ({', '.join('?' * len(ways))})")
            args += sorted(way.value for way in ways)
        if projects:
            project_ids = self.projects_called(theme_id, projects)
            where.append(f"project_id IN ({', '.join(map(str, project_ids))})")
        if branches:
            where.append(f"branch IN ({', '.join('?' * len(branches))})")
            args += sorted(branches)
        if clients:  # a version may follow, or what the client is connected for
            where.append("(" + " OR ".join(["client || ' ' LIKE ? OR client LIKE ?"] * len(clients)) + ")")
            args += [pattern for client in sorted(clients) for pattern in (f"{client} %", f"{client}-for-%")]
        return [key for (key,) in self._db.rows(f"SELECT id FROM origins WHERE {' AND '.join(where)}", args)]

    def projects_called(self, theme_id: int | None, names: Collection[str]) -> list[int]:
        """Return the keys of projects by name, and of those that have joined them. :raises QueryError: unknown here"""
        rows = self._db.rows(
            "SELECT p.id, p.name, p.folded, j.folded FROM projects p LEFT JOIN projects j ON j.id = p.joined_id"
            " WHERE EXISTS (SELECT 1 FROM origins"
            " WHERE project_id IN (p.id, p.joined_id) AND (?1 IS NULL OR theme_id = ?1))",
            (theme_id,),
        )
        keys: list[int] = []
        for name in names:
            folded = fold_project_name(name)
            into = {joined for _, _, own, joined in rows if own == folded and joined} | {folded}
            alike = [key for key, _, own, joined in rows if own in into or joined in into]
            if not alike:
                near = errors.closest_names(name, [row[1] for row in rows])
                hint = " or ".join(map(repr, near)) or ", ".join(sorted(row[1] for row in rows)[:8]) or "no project yet"
                raise errors.QueryError(f"no project is called {errors.shorten_value(name)!r}; known: {hint}", name)
            keys += alike
        return keys

    def project_name(self, key: int) -> str:
        return str(self._db.value("SELECT name FROM projects WHERE id = ?", (key,)))

    def keys_of_client(self, theme_id: int | None, text: str) -> list[tuple[int, str | None]]:
        """Return the keys of the origins of a client, of a session by its title, or of a teammate, with the session's name.

        :param text: a teammate is named by the role, or by role and store as `Origin.teammate` is
        """
        sql = (
            "SELECT id, session FROM origins WHERE (?1 IS NULL OR theme_id = ?1)"
            " AND (client = ?2 OR title = ?2 OR teammate = ?2 OR teammate >= ?2 || '/' AND teammate < ?2 || '0')"
        )
        return self._db.rows(sql, (theme_id, text))

    def authors_beginning(self, theme_id: int | None, beginning: str, most: int) -> list[str]:
        """Return the names of a theme's clients, and the roles of its teammates, with this beginning, for completion."""
        role = "substr(teammate, 1, instr(teammate, '/') - 1)"
        names = []
        for name, column, condition in (("client", "client", "1"), (role, "teammate", "instr(teammate, '/')")):
            sql = (
                f"SELECT DISTINCT {name} FROM origins WHERE (?1 IS NULL OR theme_id = ?1) AND {condition}"
                f" AND {column} >= ?2 AND {column} < ?3 ORDER BY 1 LIMIT ?4"
            )
            names += [row[0] for row in self._db.rows(sql, (theme_id, beginning, beginning + "\U0010ffff", most))]
        return names

    def names_beginning(self, theme_id: int | None, beginning: str, most: int) -> list[str]:
        """Return the names of a theme's projects with this beginning, for completion."""
        rows = self._db.rows(
            "SELECT name FROM projects p WHERE joined_id IS NULL AND EXISTS"
            " (SELECT 1 FROM origins WHERE project_id IN (SELECT id FROM projects WHERE id = p.id OR joined_id = p.id)"
            " AND (?1 IS NULL OR theme_id = ?1)) ORDER BY folded",
            (theme_id,),
        )
        folded = fold_project_name(beginning)
        return [name for (name,) in rows if fold_project_name(name).startswith(folded)][:most]

    def portable(self, key: int) -> dict[str, Any]:
        """Return an origin as it is told outside this machine: no path, and its project with what it is recognised by."""
        words = to_origin_words(self.by_key(key), local=False)
        with self._db.snapshot() as conn:
            sql = "SELECT coalesce(p.joined_id, p.id) FROM origins o JOIN projects p ON p.id = o.project_id WHERE o.id = ?"
            row = conn.execute(sql, (key,)).fetchone()
            return words if row is None else {**words, "project": project_words(conn, row[0])}

    def resolve(self, conn: sqlite3.Connection, portable: PortableOrigin, now: int) -> Origin:
        """Return a portable origin with the project it has here, which is known from now on."""
        if portable.project is None:
            return portable.origin
        key = ensure_project(conn, portable.project, now)
        (joined_id,) = conn.execute("SELECT joined_id FROM projects WHERE id = ?", (key,)).fetchone()
        if joined_id is not None:
            self.forget()
        (name,) = conn.execute("SELECT name FROM projects WHERE id = ?", (joined_id or key,)).fetchone()
        return replace(portable.origin, project=name)

    def record(self, key: int) -> dict[str, Any]:
        """Return an origin as the transaction log tells of it, with all that `insert_origin_record` needs."""
        with self._db.snapshot() as conn:
            sql = "SELECT project_id, digest, salt FROM origins WHERE id = ?"
            project_id, digest, salt = conn.execute(sql, (key,)).fetchone()
            words = {"id": key, **to_origin_words(self.by_key(key)), "digest": digest.hex(), "salt": salt.hex()}
            return words if project_id is None else {**words, "project": project_words(conn, project_id)}

    def find_altered(self) -> list[int]:
        """Return the keys of the origins that do not fit their digests."""
        altered = []
        with self._db.snapshot() as conn:
            for key, digest, salt, way, *words, project in conn.execute(ORIGINS_WITH_UIDS):
                origin = Origin(Way(way) if way in list(Way) else Way.UNKNOWN, *words)
                if not salt and ERASED in words:
                    continue
                if origin_digest(origin, None if project is None else uids.format_uid(project), salt) != digest:
                    altered.append(int(key))
        return altered

    def _insert(self, conn: sqlite3.Connection, theme_id: int, origin: Origin) -> int:
        origin = admit_origin(origin)
        project_id, project = None, None
        if origin.project is not None:
            project_id = project_key(conn, origin.project)
            (uid,) = conn.execute("SELECT uid FROM projects WHERE id = ?", (project_id,)).fetchone()
            project = uids.format_uid(uid)
        columns = origin_columns(origin, project_id)
        same = conn.execute(SAME_ORIGIN, (theme_id, *columns)).fetchone()
        if same is None:
            salt = os.urandom(8)
            made = (None, theme_id, origin_digest(origin, project, salt), salt, *columns)
            same = (conn.execute(INSERT_ORIGIN, made).lastrowid,)
        return int(same[0])

    def _load(self, key: int) -> None:
        row = self._db.row(f"{SELECT_ORIGINS} WHERE o.id = ?", (key,))
        if row is not None:
            self._known[key] = Origin(Way(row[2]), *row[3:])
            self._digests[key] = row[1]


def origin_columns(origin: Origin, project_id: int | None) -> list[Any]:
    return [origin.way.value, *(project_id if name == "project" else getattr(origin, name) for name in WORDS)]


def insert_origin_record(conn: sqlite3.Connection, theme_id: int, words: dict[str, Any], now: int) -> None:
    """Insert an origin that `OriginRows.record` described, under its key.

    :raises ValueError: KeyError, TypeError: it does not fit its digest, or makes no sense
    """
    project = words.get("project")
    project_id = None if project is None else ensure_project(conn, project, now)
    origin = parse_origin_words({**words, "project": None})
    if isinstance(words.get("root"), str):
        origin = replace(origin, root=words["root"])
    origin = to_clean_origin(origin)
    digest, salt = bytes.fromhex(words["digest"]), bytes.fromhex(words["salt"])
    is_erased = not salt and ERASED in words.values()
    if not is_erased and digest != origin_digest(origin, None if project is None else project["uid"], salt):
        raise ValueError(f"origin {words['id']} was altered: it does not fit its digest")
    there = conn.execute("SELECT digest FROM origins WHERE id = ?", (int(words["id"]),)).fetchone()
    if there is not None:  # a log that was continued tells of it again
        if there[0] != digest:
            raise ValueError(f"there is another origin {words['id']}")
        if not is_erased:
            return
        conn.execute("DELETE FROM origins WHERE id = ?", (int(words["id"]),))
    conn.execute(INSERT_ORIGIN, (int(words["id"]), theme_id, digest, salt, *origin_columns(origin, project_id)))


def erase_origin_texts(
    conn: sqlite3.Connection, is_erased: Callable[[str], bool], keys: Collection[int] | None = None
) -> int:
    """Take texts out of origins, and the salt of each with them, so that its digest tells nothing; return how many held some.

    The journal's chain goes on naming an origin by its digest. :param keys: only of these; None for all
    """
    number = 0
    for key, *texts in conn.execute(f"SELECT id, {', '.join(TEXT_COLUMNS)} FROM origins").fetchall():
        names = [
            name for name, text in zip(TEXT_COLUMNS, texts, strict=True) if text and text != ERASED and is_erased(text)
        ]
        if names and (keys is None or key in keys):
            assignments = ", ".join(f"{name} = ?" for name in names)
            sql = f"UPDATE origins SET {assignments}, salt = x'' WHERE id = ?"
            conn.execute(sql, (*(ERASED for _ in names), key))
            number += 1
    return number


def find_origins_of(conn: sqlite3.Connection, facts: Iterable[bytes]) -> set[int]:
    sql = "SELECT origin_id FROM facts WHERE uid = ? AND origin_id IS NOT NULL"
    return {key for uid in facts for (key,) in conn.execute(sql, (uid,))}


def erase_unused_origins(conn: sqlite3.Connection, keys: Collection[int]) -> int:
    """Erase those of these origins of which only erased facts came; return how many."""
    unused = [key for key in keys if conn.execute(IS_UNUSED, (key,)).fetchone()]
    return erase_origin_texts(conn, lambda _: True, unused) if unused else 0


def to_clean_origin(origin: Origin) -> Origin:
    """Return the origin with bounded texts in which no character hides: they come from folders and from clients."""
    texts = ((name, getattr(origin, name)) for name in WORDS)
    clean: dict[str, Any] = {name: safe_text.to_printable(text[:MAX_WORD]) for name, text in texts if text is not None}
    return replace(origin, **clean)


def admit_origin(origin: Origin) -> Origin:
    """Return the origin as it may be listed: no name in it holds a secret or reads like an instruction, no path a secret."""
    origin = to_clean_origin(origin)
    names = {name: getattr(origin, name) for name in WORDS if getattr(origin, name) is not None and name != "project"}
    admitted: dict[str, Any] = {
        name: to_masked_name(text) if name in PATHS else to_listed_name(text) for name, text in names.items()
    }
    return replace(origin, **admitted)


def origin_digest(origin: Origin, project: str | None, salt: bytes) -> bytes:
    """Return the digest of what an origin says outside this machine, which tells nothing of it without the salt.

    :param project: its uid
    """
    from hashlib import blake2b  # here: it loads OpenSSL, 2 ms that nobody who only reads should wait for

    words = {**to_origin_words(origin, local=False), "project": project}
    text = json.dumps(words, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16, key=salt).digest()


def to_origin_words(origin: Origin, *, local: bool = True) -> dict[str, Any]:
    """Return what is known of an origin, in portable words. :param local: False leaves out the paths of this machine"""
    words: dict[str, Any] = {"way": origin.way.value}
    words |= {name: getattr(origin, name) for name in WORDS if getattr(origin, name) is not None}
    if not local:
        words.pop("root", None)
        if origin.file is not None:
            words["file"] = to_portable_file(origin.file, origin.root)
        if origin.program is not None:
            words["program"] = PurePath(origin.program).name or origin.program
        if origin.folder is not None and PurePath(origin.folder).is_absolute():
            del words["folder"]
    return words | origin_detail_words(origin)


def parse_origin_words(words: Any) -> Origin:
    """Parse what `to_origin_words` made, as a file or a teammate says it. Unknown ways and fields are left out.

    :raises ValueError: it is no origin
    """
    if not isinstance(words, dict):
        raise ValueError("an origin is an object")
    way = words.get("way")
    texts = {name: words[name] for name in WORDS if isinstance(words.get(name), str) and words[name]}
    texts.pop("root", None)
    way_known = Way(way) if way in list(Way) else Way.UNKNOWN
    return Origin(way=way_known, **texts, **parse_origin_detail(words))


def parse_portable_origin(words: Any) -> PortableOrigin:
    """Parse what `OriginRows.portable` made. :raises ValueError: KeyError, TypeError: it is no origin"""
    if not isinstance(words, dict):
        raise ValueError("an origin is an object")
    project = words.get("project")
    if project is not None:
        uids.parse_uid(project["uid"])
    return PortableOrigin(parse_origin_words({**words, "project": None}), project)


def to_portable_file(file: str, root: str | None) -> str:
    """Return a file's path relative to the working tree it lies in, else its name."""
    place = PurePath(file)
    if root is not None and place.is_relative_to(root):
        return place.relative_to(root).as_posix()
    return place.name if place.is_absolute() else file


def origin_detail_words(origin: Origin) -> dict[str, Any]:
    """Return what an origin says of one fact alone."""
    words: dict[str, Any] = {}
    if origin.line is not None:
        words["line"] = origin.line
    if origin.turns:
        words["turns"] = list(origin.turns)
    words |= {name: value for name in ("voice", "heard") if (value := getattr(origin, name)) is not None}
    return words


def parse_origin_detail(words: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an origin that `origin_detail_words` made."""
    line, turns, voice, heard = (words.get(name) for name in DETAILS)
    fields: dict[str, Any] = {}
    if voice in VOICES:
        fields["voice"] = voice
    if isinstance(heard, str) and heard:
        fields["heard"] = safe_text.to_printable(heard[:MAX_WORD])
    if isinstance(line, int) and not isinstance(line, bool) and line > 0:
        fields["line"] = line
    if isinstance(turns, list):
        fields["turns"] = tuple(Uid(uids.format_uid(uids.parse_uid(uid))) for uid in turns if isinstance(uid, str))
    return fields


def format_origin_detail(words: dict[str, Any]) -> str | None:
    """Format what an origin says of one fact alone as its column, in one order; None when that is nothing."""
    return COMPACT.encode({name: words[name] for name in DETAILS if name in words}) if words else None


def complete_origin(origin: Origin, session: Session) -> Origin:
    """Return the origin with what its session adds: its names, its client and its project."""
    client, version = split_client_version(session.client) if session.client else (None, None)
    return replace(
        origin,
        session=session.name,
        title=session.title if session.number is not None else origin.title,
        client=origin.client or client,
        client_version=origin.client_version or (None if origin.client else session.client_version or version),
        project=origin.project or session.project,
    )


def drop_foreign_turns(conn: sqlite3.Connection, theme_id: int, origin: Origin) -> Origin:
    """Return an origin that another machine or a file told, without turns that belong to another theme here."""
    if not origin.turns:
        return origin
    marks = ", ".join("?" * len(origin.turns))
    sql = f"SELECT uid FROM turns WHERE theme_id <> ? AND uid IN ({marks})"
    foreign = {
        uids.format_uid(uid) for (uid,) in conn.execute(sql, (theme_id, *map(uids.parse_uid, origin.turns))).fetchall()
    }
    return replace(origin, turns=tuple(uid for uid in origin.turns if uid not in foreign)) if foreign else origin


def require_turns_of_theme(conn: sqlite3.Connection, theme_id: int | None, turns: Collection[Uid]) -> None:
    """Check that captured turns which a write names are those of its theme.

    :raises ArgumentError: one is not, or there is none of this uid
    """
    if turns:
        marks = ", ".join("?" * len(turns))
        sql = f"SELECT uid FROM turns WHERE theme_id IS ? AND uid IN ({marks})"
        there = {uids.format_uid(uid) for (uid,) in conn.execute(sql, (theme_id, *map(uids.parse_uid, turns)))}
        missing = [uid for uid in turns if uid not in there]
        if missing:
            raise errors.ArgumentError(f"this theme has no captured turn {missing[0]}", missing[0])
