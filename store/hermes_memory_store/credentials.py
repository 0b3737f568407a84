"""Tokens: who may speak to the bridge, for which theme, with which rights. The store keeps digests only.

A token is 256 random bits, so a plain digest cannot be searched; it needs no slow hash.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from hermes_memory_store import errors, text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import PERSON, Millis, Rights
from hermes_memory_store.names import Names

PREFIX = "hmt_"
"""Begins every token, so that people and scanners know one when they see it."""

MAX_NAME = 64

COLUMNS = "name, theme, rights, created_at, expires_at, revoked_at, digest"


@dataclass(frozen=True, slots=True)
class Credential:
    """A token as it is known: everything but the token."""

    name: str
    theme: str
    rights: Rights
    created_at: Millis
    expires_at: Millis | None = None
    revoked_at: Millis | None = None
    digest: bytes = b""
    """SHA-256 of the token: another one after it was rotated."""


class Credentials:
    """Makes, checks and revokes tokens."""

    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock

    def add(self, name: str, theme: str, rights: Rights, *, expires_at: int | None = None) -> tuple[Credential, str]:
        """Make a token. It is returned once and stands nowhere.

        :param name: what people call it
        :raises ArgumentError: the name is taken, or cannot be one
        """
        called = checked_name(name)
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._db.writing() as conn:
            if conn.execute("SELECT 1 FROM credentials WHERE name = ?", (called,)).fetchone():
                raise errors.ArgumentError(
                    f"there is a token {called!r} already; rotate it, or choose another name", called
                )
            now = self._journal.now(conn)
            conn.execute(
                "INSERT INTO credentials (name, digest, theme, rights, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                (called, digest(secret), theme, str(rights), now, expires_at),
            )
            self._record("token-add", called, theme, {"theme": theme, "rights": str(rights), "expires_at": expires_at})
        return self.get(called), secret

    def verify(self, secret: str) -> Credential | None:
        """Whose token this is; None when it is unknown, expired or revoked. Asked anew each time, so revoking works at once."""
        row = self._db.row(f"SELECT {COLUMNS} FROM credentials WHERE digest = ?", (digest(secret),))
        found = None if row is None else credential_of(row)
        return found if found is not None and self._is_in_force(found) else None

    def is_current(self, shown: Credential) -> bool:
        """Whether a token that was shown still opens what it did then: the same secret, theme and rights, neither expired nor
        revoked."""
        row = self._db.row(f"SELECT {COLUMNS} FROM credentials WHERE digest = ?", (shown.digest,))
        found = None if row is None else credential_of(row)
        return (
            found is not None
            and self._is_in_force(found)
            and (found.name, found.theme, found.rights) == (shown.name, shown.theme, shown.rights)
        )

    def current_among(self, shown: Collection[Credential]) -> set[Credential]:
        """Those of these tokens that still open what they did when they were shown."""
        return {one for one in shown if self.is_current(one)}

    def get(self, name: str) -> Credential:
        """A token by its name. :raises UnknownToken: with the nearest names"""
        row = self._db.row(f"SELECT {COLUMNS} FROM credentials WHERE name = ?", (name,))
        if row is None:
            raise errors.UnknownToken(name, [known.name for known in self.list()])
        return credential_of(row)

    def list(self) -> list[Credential]:
        """Every token that was ever made, newest first."""
        return [credential_of(row) for row in self._db.rows(f"SELECT {COLUMNS} FROM credentials ORDER BY id DESC")]

    def revoke(self, name: str) -> Credential:
        """End a token for good. :raises UnknownToken:"""
        found = self.get(name)
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            conn.execute("UPDATE credentials SET revoked_at = coalesce(revoked_at, ?) WHERE name = ?", (now, name))
            self._record("token-revoke", name, found.theme, {})
        return self.get(name)

    def rotate(self, name: str) -> str:
        """Give a token another secret; the old one is void from now on. :raises UnknownToken:"""
        found = self.get(name)
        if found.revoked_at is not None:
            raise errors.ArgumentError(f"token {name!r} is revoked; make another one", name)
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._db.writing() as conn:
            conn.execute("UPDATE credentials SET digest = ? WHERE name = ?", (digest(secret), name))
            self._record("token-rotate", name, found.theme, {})
        return secret

    def _is_in_force(self, one: Credential) -> bool:
        return one.revoked_at is None and (one.expires_at is None or one.expires_at > self._clock())

    def _record(self, op: str, name: str, theme: str, said: dict[str, object]) -> None:
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            theme_id = self._names.theme_for_writing(conn, theme, now)
            entry = Entry(op, "token", uids.new_uid(now), theme_id, None, {"name": name, **said})
            self._journal.append(conn, [entry], actor=PERSON, at=now)


def digest(secret: str) -> bytes:
    """What the store keeps of a token."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def checked_name(name: str) -> str:
    """:raises ArgumentError: it cannot be a token's name"""
    if not 0 < len(name.strip()) <= MAX_NAME:
        raise errors.ArgumentError(f"a token's name has 1 to {MAX_NAME} characters, this one has {len(name)}", name)
    return text.check(name.strip(), "the token's name")


def credential_of(row: tuple[object, ...]) -> Credential:
    """A row as data."""
    name, theme, rights, created, expires, revoked, digest_ = row
    return Credential(str(name), str(theme), Rights.parse(str(rights)), created, expires, revoked, digest_)  # type: ignore[arg-type]
