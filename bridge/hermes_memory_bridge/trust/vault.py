"""The vault that stores masked secrets: the system's keyring or, without one, a file only its owner can read.

A secret is in the vault, on disk, before the fact that refers to it is written. A keyring cannot list its content,
so the names, never the secrets, are in a file of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hermes_memory_bridge.launcher.peers import make_private_folders
from hermes_memory_store.database import filesystem
from hermes_memory_store.errors import FileError

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVICE = "hermes-memory"

PLACES = ("keyring", "file")

ANSWER_S = 3.0
"""How long the keyring may take. One that waits for a person to unlock it must not stop an agent."""


class VaultError(FileError):
    """A secret could not be stored or read."""

    code = "vault.unavailable"


@dataclass(frozen=True, slots=True)
class VaultEntry:
    """A secret in the vault."""

    theme: str
    name: str
    fresh: bool
    """Whether it was not there before."""


class Vault:
    """Secrets by theme and name."""

    def __init__(self, file: Path, where: str | None = None) -> None:
        """:param file: the file for machines without a keyring
        :param where: `keyring`, `file`; `$HERMES_MEMORY_SECRETS`, else whichever works
        """
        self.file = file
        self.index = file.with_suffix(".names.json")
        """What the keyring holds, by name."""
        self.where = where or os.environ.get("HERMES_MEMORY_SECRETS") or ""
        self._lock = threading.Lock()

    def keep(self, theme: str, wanted: str, secret: str) -> str:
        """Store a secret; return its name: `wanted`, numbered when another secret already has that name.

        :raises VaultError: it could not be stored
        """
        return self.take(theme, wanted, secret).name

    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> VaultEntry:
        """Store a secret as `keep` does, and return also whether it was new.

        :param besides: names to avoid: marks that the surrounding text contains already, which stand for something else
        :raises VaultError: it could not be stored
        """
        base = re.sub(r"[^a-z0-9]+", "-", wanted.casefold()).strip("-") or "secret"
        with self._lock:
            number = 1
            while True:
                name = base if number == 1 else f"{base}-{number}"
                number += 1
                if name in besides:
                    continue
                kept = self._get(f"{theme}/{name}")
                if kept is None:
                    self._set_secret(f"{theme}/{name}", secret)
                    return VaultEntry(theme, name, fresh=True)
                if kept == secret:
                    self._note(f"{theme}/{name}")
                    return VaultEntry(theme, name, fresh=False)

    def reveal(self, theme: str, name: str) -> str | None:
        """Return the secret of that name; None when there is none.

        :raises VaultError: the keyring does not answer
        """
        with self._lock:
            return self._get(f"{theme}/{name}")

    def names(self, theme: str) -> list[str]:
        """Return the names of a theme's secrets.

        :raises VaultError: the list cannot be read A keyring's secrets from before there was a list appear when they
            are next used.
        """
        with self._lock:
            known = read_vault_file(self.index if self._uses_keyring() else self.file)
        return sorted(key.removeprefix(f"{theme}/") for key in known if key.startswith(f"{theme}/"))

    def list_names(self) -> list[tuple[str, str]]:
        """Return theme and name of every listed secret, without asking a keyring.

        :raises VaultError: the list cannot be read
        """
        with self._lock:
            keys = {**read_vault_file(self.index), **read_vault_file(self.file)}
        return sorted((theme, name) for theme, _, name in (key.partition("/") for key in keys))

    def forget(self, theme: str, name: str) -> None:
        """Erase a secret."""
        key = f"{theme}/{name}"
        with self._lock:
            if self._uses_keyring():
                import keyring.errors

                with contextlib.suppress(keyring.errors.PasswordDeleteError):
                    call_keyring_with_timeout(lambda: keyring.delete_password(SERVICE, key))
                self._drop_note(key)
            else:
                self._change(self.file, lambda held: held.pop(key, None))

    def _get(self, key: str) -> str | None:
        if self._uses_keyring():
            import keyring

            return call_keyring_with_timeout(lambda: keyring.get_password(SERVICE, key))
        return read_vault_file(self.file).get(key)

    def _set_secret(self, key: str, secret: str) -> None:
        if self._uses_keyring():
            import keyring

            # The name first: a name without a secret is a question, a secret without a name is never found again.
            self._note(key)
            try:
                call_keyring_with_timeout(lambda: keyring.set_password(SERVICE, key, secret))
            except VaultError:  # unlocked later, the keyring may still take it
                raise
            except Exception:
                self._drop_note(key)
                raise
        else:
            self._change(self.file, lambda held: held.__setitem__(key, secret))

    def _note(self, key: str) -> None:
        if self._uses_keyring() and key not in read_vault_file(self.index):
            self._change(self.index, lambda names: names.__setitem__(key, "keyring"))

    def _drop_note(self, key: str) -> None:
        if key in read_vault_file(self.index):
            self._change(self.index, lambda names: names.pop(key, None))

    def _uses_keyring(self) -> bool:
        if not self.where:
            self.where = "keyring" if is_keyring_usable() else "file"
            if self.where == "file":
                log.warning(
                    "this machine has no keyring; masked secrets are kept in %s, readable by its owner only", self.file
                )
        if self.where not in PLACES:
            raise VaultError(
                f"HERMES_MEMORY_SECRETS must be one of {', '.join(PLACES)}, not {self.where!r}", self.where
            )
        return self.where == "keyring"

    def _change(self, file: Path, change: Callable[[dict[str, str]], object]) -> None:
        try:
            make_private_folders(str(file))
            with open(self.file.with_suffix(".lock"), "w", encoding="ascii", opener=filesystem.open_private) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                held = read_vault_file(file)
                change(held)
                replace_private_file(file, json.dumps(held, indent=1))
        except OSError as error:
            raise VaultError(f"a secret could not be kept in {file}: {error.strerror or error}", file) from error


def is_keyring_usable() -> bool:
    """Check whether this machine has a keyring that answers."""
    try:
        import keyring.backends.chainer
        import keyring.backends.fail
        import keyring.backends.null

        backend = keyring.get_keyring()
        useless = (keyring.backends.fail.Keyring, keyring.backends.null.Keyring)
        if isinstance(backend, useless):
            return False
        if isinstance(backend, keyring.backends.chainer.ChainerBackend) and not backend.backends:
            return False
        call_keyring_with_timeout(lambda: keyring.get_password(SERVICE, "is it there"))
    except Exception as error:
        log.info("the keyring does not work: %s", error)
        return False
    return True


def call_keyring_with_timeout(ask: Callable[[], T]) -> T:
    """Return the keyring's answer within a timeout.

    :raises VaultError: it does not answer
    """
    got: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            got.append(ask())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ANSWER_S)
    if failed:
        raise failed[0]
    if not got:
        raise VaultError(
            f"the keyring did not answer within {ANSWER_S:.0f} s; unlock it, or set HERMES_MEMORY_SECRETS=file"
        )
    return got[0]


def read_vault_file(file: Path) -> dict[str, str]:
    """Read the content of the file.

    :raises VaultError: it cannot be read
    """
    try:
        held: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise VaultError(f"{file} cannot be read ({error}); mend it or move it away", file) from error
    return dict(held)


def replace_private_file(file: Path, text: str) -> None:
    """Replace a file atomically, for its owner only; the content is on disk when this returns."""
    with filesystem.atomic_write(file, encoding="utf-8") as new:
        new.write(text)
