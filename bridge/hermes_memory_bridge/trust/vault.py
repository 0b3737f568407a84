"""The vault: where masked secrets are kept. The system's keyring, or where there is none a file only its owner can read.

A secret is in the vault, on the disk, before the fact that stands for it is written. A keyring cannot say what it holds, so
the names, never the secrets, stand in a file of their own.
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

from hermes_memory_bridge.peers import make_folders
from hermes_memory_store import filesystem
from hermes_memory_store.errors import FileError

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVICE = "hermes-memory"

PLACES = ("keyring", "file")

ANSWER_S = 3.0
"""How long the keyring may take. One that waits for a person to unlock it must not stop an agent."""


class VaultError(FileError):
    """A secret could not be kept or read."""

    code = "vault.unavailable"


@dataclass(frozen=True, slots=True)
class Kept:
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
        """Keep a secret; the name it has from now on: `wanted`, numbered when another secret has that already.

        :raises VaultError: it could not be kept
        """
        return self.take(theme, wanted, secret).name

    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> Kept:
        """As `keep`, and whether it was new.

        :param besides: names that it must not have: marks that the text around it holds already, which stand for something else
        :raises VaultError: it could not be kept
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
                    self._set(f"{theme}/{name}", secret)
                    return Kept(theme, name, fresh=True)
                if kept == secret:
                    self._note(f"{theme}/{name}")
                    return Kept(theme, name, fresh=False)

    def reveal(self, theme: str, name: str) -> str | None:
        """The secret of that name; None when there is none. :raises VaultError: the keyring does not answer"""
        with self._lock:
            return self._get(f"{theme}/{name}")

    def names(self, theme: str) -> list[str]:
        """The names under which a theme's secrets are kept. :raises VaultError: the list cannot be read

        A keyring's secrets from before there was a list appear when they are next met.
        """
        with self._lock:
            known = read(self.index if self._uses_keyring() else self.file)
        return sorted(key.removeprefix(f"{theme}/") for key in known if key.startswith(f"{theme}/"))

    def known(self) -> list[tuple[str, str]]:
        """Theme and name of every secret that is listed, without asking a keyring. :raises VaultError:"""
        with self._lock:
            keys = {**read(self.index), **read(self.file)}
        return sorted((theme, name) for theme, _, name in (key.partition("/") for key in keys))

    def forget(self, theme: str, name: str) -> None:
        """Erase a secret."""
        key = f"{theme}/{name}"
        with self._lock:
            if self._uses_keyring():
                import keyring.errors

                with contextlib.suppress(keyring.errors.PasswordDeleteError):
                    answered(lambda: keyring.delete_password(SERVICE, key))
                self._strike(key)
            else:
                self._change(self.file, lambda held: held.pop(key, None))

    def _get(self, key: str) -> str | None:
        if self._uses_keyring():
            import keyring

            return answered(lambda: keyring.get_password(SERVICE, key))
        return read(self.file).get(key)

    def _set(self, key: str, secret: str) -> None:
        if self._uses_keyring():
            import keyring

            # The name first: a name without a secret is a question, a secret without a name is never found again.
            self._note(key)
            try:
                answered(lambda: keyring.set_password(SERVICE, key, secret))
            except VaultError:  # unlocked later, the keyring may still take it
                raise
            except Exception:
                self._strike(key)
                raise
        else:
            self._change(self.file, lambda held: held.__setitem__(key, secret))

    def _note(self, key: str) -> None:
        if self._uses_keyring() and key not in read(self.index):
            self._change(self.index, lambda names: names.__setitem__(key, "keyring"))

    def _strike(self, key: str) -> None:
        if key in read(self.index):
            self._change(self.index, lambda names: names.pop(key, None))

    def _uses_keyring(self) -> bool:
        if not self.where:
            self.where = "keyring" if works() else "file"
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
            make_folders(str(file))
            with open(self.file.with_suffix(".lock"), "w", encoding="ascii", opener=filesystem.private) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                held = read(file)
                change(held)
                replace(file, json.dumps(held, indent=1))
        except OSError as error:
            raise VaultError(f"a secret could not be kept in {file}: {error.strerror or error}", file) from error


def works() -> bool:
    """Whether this machine has a keyring that answers."""
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
        answered(lambda: keyring.get_password(SERVICE, "is it there"))
    except Exception as error:
        log.info("the keyring does not work: %s", error)
        return False
    return True


def answered(ask: Callable[[], T]) -> T:
    """What the keyring answers in time. :raises VaultError: it does not"""
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


def read(file: Path) -> dict[str, str]:
    """What the file holds. :raises VaultError: it cannot be read"""
    try:
        held: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise VaultError(f"{file} cannot be read ({error}); mend it or move it away", file) from error
    return dict(held)


def replace(file: Path, text: str) -> None:
    """Put new content in a file's place at once, on the disk when this returns, for its owner only."""
    with filesystem.atomic_write(file, encoding="utf-8") as new:
        new.write(text)
