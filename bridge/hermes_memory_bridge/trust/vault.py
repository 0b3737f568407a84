"""The vault that keeps masked secrets: the person's keyring or, where that is allowed, a file only its owner can read.

A secret is in the vault, on disk, before the fact that refers to it is written. Where no keyring can be reached, it is
kept nowhere unless the person has allowed the file: the fact then carries a mark that says so.

A keyring cannot list its content, so the names, never the secrets, are in a file of their own. The names of both places
are one list, and a name that was ever given is not given again: an old mark must not show a new secret.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hermes_memory_bridge.trust.system_keyring import KeyringUnreachable, SystemKeyring, VaultError
from hermes_memory_bridge.wire.peers import make_private_folders
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.spans import NOT_KEPT
from hermes_memory_store.system import file_locks, filesystem

VARIABLE = "HERMES_MEMORY_SECRETS"

PLACES = ("keyring", "file")

HOW_TO_ALLOW = (
    "to keep such secrets in a file that only you can read: `hermes-memory-bridge secret allow-file`, "
    f"or {VARIABLE}=file in the bridge's environment"
)


@dataclass(frozen=True, slots=True)
class VaultEntry:
    theme: str
    name: str
    fresh: bool
    """Whether it was not there before."""


class VaultFile:
    """A JSON object in a file that only its owner can read, read again when the file changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, str] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._gathered: dict[str, str] | None = None
        """What is to be the content at the end of `gather`, as soon as that changes it."""
        self._gathers = False

    def read(self) -> dict[str, str]:
        """Return the content; do not change it. :raises VaultError: it cannot be read"""
        if self._gathered is not None:
            return self._gathered
        try:
            status = os.stat(self.path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                entries: Any = json.loads(self.path.read_text(encoding="utf-8"))
                self._entries, self._stamp = dict(entries), stamp
        except FileNotFoundError:
            self._entries, self._stamp = {}, None
        except (OSError, ValueError, TypeError) as error:
            raise VaultError(f"{self.path} cannot be read ({error}); mend it or move it away", self.path) from error
        return self._entries

    def put(self, key: str, value: str) -> None:
        """Add an entry; it is on disk when this returns, or when `gather` does."""
        if self.read().get(key) != value:
            self._change()[key] = value
            self._write_unless_gathering()

    def drop(self, key: str) -> None:
        """Remove an entry, if it is there."""
        if key in self.read():
            del self._change()[key]
            self._write_unless_gathering()

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Write the changes of the block at once at its end, also when it fails: who took them takes them back.

        Hold the vault against others meanwhile.

        :raises VaultError: they could not be written; none of them is kept
        """
        self._gathers = True
        try:
            yield
        finally:
            self._gathers = False
            self._write_unless_gathering()

    def _change(self) -> dict[str, str]:
        if self._gathered is None:
            self._gathered = dict(self._entries)
        return self._gathered

    def _write_unless_gathering(self) -> None:
        if self._gathered is not None and not self._gathers:
            entries, self._gathered = self._gathered, None
            replace_private_file(self.path, json.dumps(entries, indent=1))


class Vault:
    """Secrets by theme and name."""

    def __init__(self, file: Path, where: str | None = None, keyring: SystemKeyring | None = None) -> None:
        """:param file: the file of a vault without a keyring
        :param where: `keyring` or `file`; `$HERMES_MEMORY_SECRETS`, else the keyring and, where a person has allowed it,
            the file when no keyring can be reached
        """
        self.file = file
        self.where = (where or os.environ.get(VARIABLE, "")).strip()
        self.keyring = keyring or SystemKeyring()
        self.unkept_reason: str | None = None
        """Why the last secret that was offered is not kept, as a sentence that says how to allow it; None when it is."""
        self._plain = VaultFile(file)
        self._index = VaultFile(file.with_suffix(".names.json"))
        self._forgotten = VaultFile(file.with_suffix(".forgotten.json"))
        self._allowed = file.with_suffix(".file-allowed")
        self._lock = threading.RLock()
        self._is_gathering = False
        self._salt = os.urandom(16)
        self._digests: dict[str, bytes] = {}
        """Digests of the keyring's secrets that this process has seen, by key: a keyring takes a millisecond to answer."""
        self._names: dict[tuple[str, bytes], str] = {}
        """Keys by theme and name without its number, and by digest."""
        self._numbers: dict[str, int] = {}
        """The number up to which names are known to be given, by theme and name without it."""

    def keep(self, theme: str, wanted: str, secret: str) -> str:
        """Store a secret; return its name: `wanted`, numbered when another secret already has that name.

        :raises VaultError: it could not be stored
        """
        entry = self.take(theme, wanted, secret)
        if entry is None:
            raise VaultError(self.unkept_reason or "the secret is not kept")
        return entry.name

    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> VaultEntry | None:
        """Store a secret as `keep` does; None when there is no place that may keep it, which `unkept_reason` explains.

        :param besides: names to avoid: marks that the surrounding text contains already, which stand for something else
        :raises VaultError: the vault's files cannot be read or written, or the setting names no place
        """
        base = re.sub(r"[^a-z0-9]+", "-", wanted.casefold()).strip("-") or "secret"
        base = f"{base}-secret" if base == NOT_KEPT else base
        with self._locked():
            try:
                key, fresh = self._take(f"{theme}/{base}", secret, {f"{theme}/{name}" for name in besides})
            except KeyringUnreachable as error:
                self.unkept_reason = f"{error.message}; {HOW_TO_ALLOW}"
                return None
        self.unkept_reason = None
        return VaultEntry(theme, key.partition("/")[2], fresh)

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Write what the block takes into the file at its end: one write for thousands of secrets of an import.

        Others wait for the vault meanwhile. What a keyring takes is not gathered: its name must be noted before.

        :raises VaultError: it cannot be written; none of what the file was given is kept
        """
        with self._locked():
            if self._is_gathering:
                yield
                return
            self._is_gathering = True
            try:
                with self._plain.gather():
                    yield
            finally:
                self._is_gathering = False

    def replace(self, theme: str, name: str, secret: str) -> None:
        """Store a secret of the program's own under a fixed name, in place of the previous one.

        :raises VaultError: it could not be stored
        """
        key = f"{theme}/{name}"
        with self._locked():
            try:
                self._set_secret(key, secret)
            except KeyringUnreachable as error:
                raise VaultError(f"{error.message}; {HOW_TO_ALLOW}") from error
            self._forgotten.drop(key)

    def reveal(self, theme: str, name: str) -> str | None:
        """Return the secret of that name; None when there is none.

        :raises VaultError: it was never kept, or the keyring that has it cannot be reached
        """
        if name == NOT_KEPT:
            raise VaultError(
                f"this secret was masked and not kept, so it cannot be shown: no place could keep it; {HOW_TO_ALLOW}",
                name,
            )
        with self._lock:
            return self._get(f"{theme}/{name}")

    def names(self, theme: str) -> list[str]:
        """Return the names of a theme's secrets, whichever place keeps them. Asks no keyring.

        A keyring's secrets from before there was a list appear when they are next used.

        :raises VaultError: the list cannot be read
        """
        return [name for other, name in self.list_names() if other == theme]

    def list_names(self) -> list[tuple[str, str]]:
        """Return theme and name of every listed secret, without asking a keyring.

        :raises VaultError: the list cannot be read
        """
        with self._lock:
            keys = {**self._index.read(), **self._plain.read()}
        return sorted((theme, name) for theme, _, name in (key.partition("/") for key in keys))

    def list_plain_names(self) -> list[tuple[str, str]]:
        """Return theme and name of every secret that stands in the file. :raises VaultError: it cannot be read"""
        with self._lock:
            keys = sorted(self._plain.read())
        return [(theme, name) for theme, _, name in (key.partition("/") for key in keys)]

    def forget(self, theme: str, name: str) -> None:
        """Erase a secret. Its name is never given again, since facts may still carry its mark.

        :raises VaultError: the keyring that has it cannot be reached
        """
        self._erase(f"{theme}/{name}", free=False)

    def take_back(self, entry: VaultEntry) -> None:
        """Erase a secret to which no fact refers, since its write failed; its name may be given again.

        :raises VaultError: the keyring that has it cannot be reached
        """
        self._erase(f"{entry.theme}/{entry.name}", free=True)

    def allow_file(self) -> None:
        """Allow the file for secrets that no keyring can keep, until `move_to_keyring`.

        :raises VaultError: this cannot be noted on disk
        """
        with self._locked():
            replace_private_file(self._allowed, "")

    def is_file_allowed(self) -> bool:
        return self.where == "file" or (not self.where and self._allowed.exists())

    def move_to_keyring(self) -> int:
        """Move every secret of the file to the keyring, which they keep their names in; return how many.

        Each is in the keyring, and read back from there, before the file lets go of it. The file is allowed no longer.

        :raises VaultError: the keyring cannot be reached; what was moved stays moved
        """
        with self._locked():
            entries = dict(self._plain.read())
            for key, secret in entries.items():
                self._index.put(key, "keyring")
                self.keyring.set(key, secret)
                if self.keyring.get(key) != secret:
                    raise VaultError(
                        f"the keyring does not return {key.partition('/')[2]!r} as it was given; it stays here", key
                    )
                self._plain.drop(key)
            self._allowed.unlink(missing_ok=True)
        return len(entries)

    def _take(self, base: str, secret: str, besides: Collection[str]) -> tuple[str, bool]:
        digest = self._digest(secret)
        key = self._names.get((base, digest))
        if key is not None and key not in besides and (key in self._plain.read() or key in self._index.read()):
            return key, False
        number = self._numbers.get(base, 1) if not besides else 1
        while True:
            key = base if number == 1 else f"{base}-{number}"
            number += 1
            if key in besides or key in self._forgotten.read():
                continue
            previous = self._find_digest(key)
            if previous is None:
                self._set_secret(key, secret)
            self._names[base, previous or digest] = key
            if previous is None or previous == digest:
                if not besides:
                    self._numbers[base] = max(self._numbers.get(base, 1), number - 1)
                return key, previous is None

    def _find_digest(self, key: str) -> bytes | None:
        """Return the digest of what a name stands for: None when it is free."""
        plain = self._plain.read().get(key)
        if plain is not None:
            return self._digest(plain)
        listed = key in self._index.read()
        if listed and key in self._digests:
            return self._digests[key]
        if self.where == "file":
            return b"elsewhere" if listed else None
        try:
            secret = self.keyring.get(key)
        except KeyringUnreachable:
            if listed:
                return b"elsewhere"  # it stands for what cannot be compared
            return None
        if secret is None:
            return None
        self._index.put(key, "keyring")
        self._digests[key] = self._digest(secret)
        return self._digests[key]

    def _get(self, key: str) -> str | None:
        plain = self._plain.read().get(key)
        if plain is not None or key in self._forgotten.read():
            return plain
        try:
            return self.keyring.get(key) if self.where != "file" or key in self._index.read() else None
        except KeyringUnreachable:
            if key not in self._index.read():
                return None
            raise

    def _set_secret(self, key: str, secret: str) -> None:
        if self._may_use_keyring():
            noted = key in self._index.read()
            try:
                self.keyring.refuse_while_resting()
                # The name first: a name without a secret is a question, a secret without a name is never found again.
                self._index.put(key, "keyring")
                self.keyring.set(key, secret)
            except KeyringUnreachable:
                if not noted:
                    self._index.drop(key)
                if not self.is_file_allowed():
                    raise
            else:
                self._digests[key] = self._digest(secret)
                self._plain.drop(key)
                return
        self._plain.put(key, secret)

    def _may_use_keyring(self) -> bool:
        if self.where and self.where not in PLACES:
            raise VaultError(f"{VARIABLE} must be one of {', '.join(PLACES)}, not {self.where!r}", self.where)
        return self.where != "file"

    def _erase(self, key: str, *, free: bool) -> None:
        with self._locked():
            if key in self._index.read() or (self.where != "file" and key not in self._plain.read()):
                try:
                    self.keyring.delete(key)
                except KeyringUnreachable:
                    if key in self._index.read():
                        raise
                self._index.drop(key)
            if not free:
                self._forgotten.put(key, "forgotten")
            self._plain.drop(key)
            self._digests.pop(key, None)

    def _digest(self, secret: str) -> bytes:
        return hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=16).digest()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the vault against other threads and processes."""
        with self._lock, contextlib.ExitStack() as stack:
            if self._is_gathering:
                yield
                return
            try:
                make_private_folders(str(self.file))
                lock = self.file.with_suffix(".lock")
                stack.enter_context(file_locks.exclusive_lock(file_locks.open_lock(lock)))
            except OSError as error:
                raise VaultError(f"{self.file} cannot be used: {error.strerror or error}", self.file) from error
            yield


def replace_private_file(file: Path, text: str) -> None:
    """Replace a file atomically, for its owner only; the content is on disk when this returns.

    :raises VaultError: it cannot be written
    """
    try:
        make_private_folders(str(file))
        with filesystem.atomic_write(file, encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        raise VaultError(f"{file} cannot be written: {error.strerror or error}", file) from error
