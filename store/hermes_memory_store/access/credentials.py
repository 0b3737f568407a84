"""Tokens: who may use the bridge, for which theme, with which rights. The store keeps digests only.

A token is 256 random bits, so a plain digest cannot be reversed by search; it needs no slow hash.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import find_name_faults
from hermes_memory_store.items.journal import Journal, JournalEntry
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.model import PERSON, RIGHTS, Millis, Rights

PREFIX = "hmt_"
"""Begins every token, so that people and scanners know one when they see it."""

MAX_NAME = 64

COLUMNS = "name, theme, rights, created_at, expires_at, revoked_at, digest"


@dataclass(frozen=True, slots=True)
class Credential:
    """What is known of a token: everything but the token itself."""

    name: str
    theme: str
    rights: Rights
    created_at: Millis
    expires_at: Millis | None = None
    revoked_at: Millis | None = None
    digest: bytes = b""
    """SHA-256 of the token: another one after it was rotated."""


class Credentials:
    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock

    def add(self, name: str, theme: str, rights: Rights, *, expires_at: int | None = None) -> tuple[Credential, str]:
        """Create a token. It is returned once and stored nowhere.

        :param name: its name for people
        :raises ArgumentError: the name is taken or cannot be one, or the rights allow nothing
        :raises ThemeInvalid: no agent can have this theme
        """
        called, theme = validate_token_name(name), to_theme_name(theme)
        if not rights.words:
            raise errors.ArgumentError(
                f"a token without a right opens nothing; give it one or more of {', '.join(RIGHTS)}", rights.words
            )
        if rights.other_themes and not rights.read:
            raise errors.ArgumentError("other-themes extends the right to read; give read as well", rights.words)
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._db.write_transaction() as conn:
            if conn.execute("SELECT 1 FROM credentials WHERE name = ?", (called,)).fetchone():
                raise errors.ArgumentError(
                    f"there is a token {called!r} already; rotate it, or choose another name", called
                )
            now = self._journal.now(conn)
            conn.execute(
                "INSERT INTO credentials (name, digest, theme, rights, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
                (called, token_digest(secret), theme, str(rights), now, expires_at),
            )
            self._record("token-add", called, theme, {"theme": theme, "rights": str(rights), "expires_at": expires_at})
        return self.get(called), secret

    def _find(self, condition: str, value: object) -> Credential | None:
        row = self._db.row(f"SELECT {COLUMNS} FROM credentials WHERE {condition}", (value,))
        return None if row is None else to_credential(row)

    def verify(self, secret: str) -> Credential | None:
        """Return the credential of a token; None when it is unknown, expired or revoked.

        Looked up anew each time, so that a revocation takes effect at once.
        """
        credential = self._find("digest = ?", token_digest(secret))
        return credential if credential is not None and self._is_in_force(credential) else None

    def is_current(self, shown: Credential) -> bool:
        """Check whether a presented token still grants the same access: neither changed, expired nor revoked."""
        credential = self._find("digest = ?", shown.digest)
        return (
            credential is not None
            and self._is_in_force(credential)
            and (credential.name, credential.theme, credential.rights) == (shown.name, shown.theme, shown.rights)
        )

    def current_among(self, shown: Collection[Credential]) -> set[Credential]:
        """Return those of these tokens that still grant what they did when they were presented."""
        return {credential for credential in shown if self.is_current(credential)}

    def get(self, name: str) -> Credential:
        """Return a token by its name. :raises UnknownToken: with the nearest names"""
        credential = self._find("name = ?", name)
        if credential is None:
            raise errors.UnknownToken(name, [credential.name for credential in self.list()])
        return credential

    def list(self) -> list[Credential]:
        """Return every token that was ever created, newest first."""
        return [to_credential(row) for row in self._db.rows(f"SELECT {COLUMNS} FROM credentials ORDER BY id DESC")]

    def revoke(self, name: str) -> Credential:
        """Revoke a token permanently. :raises UnknownToken:"""
        credential = self.get(name)
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            conn.execute("UPDATE credentials SET revoked_at = coalesce(revoked_at, ?) WHERE name = ?", (now, name))
            self._record("token-revoke", name, credential.theme, {})
        return self.get(name)

    def rotate(self, name: str) -> str:
        """Replace a token's secret; the old one is invalid from now on. :raises UnknownToken:"""
        credential = self.get(name)
        if credential.revoked_at is not None:
            raise errors.ArgumentError(f"token {name!r} is revoked; make another one", name)
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE credentials SET digest = ? WHERE name = ?", (token_digest(secret), name))
            self._record("token-rotate", name, credential.theme, {})
        return secret

    def _is_in_force(self, credential: Credential) -> bool:
        return credential.revoked_at is None and (
            credential.expires_at is None or credential.expires_at > self._clock()
        )

    def _record(self, op: str, name: str, theme: str, words: dict[str, object]) -> None:
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            theme_id = self._names.recorded_theme(conn, theme, now)
            entry = JournalEntry(op, "token", uids.new_uid(now), theme_id, None, {"name": name, **words})
            self._journal.append(conn, [entry], actor=PERSON, at=now)


def token_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()


def validate_token_name(name: str) -> str:
    """Validate a token's name. :raises ArgumentError: it cannot be one"""
    if not 0 < len(name.strip()) <= MAX_NAME:
        raise errors.ArgumentError(f"a token's name has 1 to {MAX_NAME} characters, this one has {len(name)}", name)
    secret, _ = find_name_faults(name)
    if secret is not None:
        raise errors.SecretRefused(f"the token's name holds a secret ({secret}); name who uses it", secret)
    return safe_text.validate_text(name.strip(), "the token's name")


def to_credential(row: tuple[Any, ...]) -> Credential:
    name, theme, rights, *others = row
    return Credential(name, theme, Rights.parse(rights), *others)
