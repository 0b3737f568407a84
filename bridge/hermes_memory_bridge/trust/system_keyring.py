"""The person's keyring: found without a desktop's environment, left alone while it does not answer.

An MCP host starts the bridge with little in its environment. The bus on which a keyring of Linux answers stands in the
user's runtime folder all the same. A keyring that hangs or is locked is left after two seconds, and not asked again for
half a minute: every write of an agent would wait for it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from hermes_memory_store.errors import FileError

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVICE = "hermes-memory"
"""What the keyring lists our secrets under."""

ANSWER_S = 2.0
"""How long the keyring may take, in seconds. One that waits for a person to unlock it must not stop an agent."""

REST_S = 30.0
"""How long a keyring that could not be reached is not asked again, in seconds."""

ABSENT = "no keyring can be reached on this machine"
LOCKED = "the keyring is locked: unlock it, for instance by logging in at the desktop"

BUS = "DBUS_SESSION_BUS_ADDRESS"


class VaultError(FileError):
    """A secret could not be stored or read."""

    code = "vault.unavailable"


class KeyringUnreachable(VaultError):
    """The machine has no keyring, or it is locked, or it does not answer; the message says which."""


class SystemKeyring:
    """Asks the keyring of this machine, in a thread of its own and with a limit on the wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """:param clock: seconds; tells when a keyring that could not be reached is asked again"""
        self.clock = clock
        self._rest: tuple[float, str] | None = None
        """Until when it is not asked again, and why."""

    def get(self, key: str) -> str | None:
        """Return a secret; None when there is none. :raises KeyringUnreachable: the keyring cannot be asked"""
        import keyring

        return self.ask(lambda: keyring.get_password(SERVICE, key))

    def set(self, key: str, secret: str) -> None:
        """Store a secret. One that arrives after the wait is over is taken out again: nothing refers to it.

        :raises KeyringUnreachable: the keyring cannot be asked, or refuses
        """
        import keyring

        self.ask(lambda: keyring.set_password(SERVICE, key, secret), too_late=lambda: delete_from_keyring(key))

    def delete(self, key: str) -> None:
        """Erase a secret. :raises KeyringUnreachable: the keyring cannot be asked"""
        self.ask(lambda: delete_from_keyring(key))

    def ask(self, question: Callable[[], T], too_late: Callable[[], object] | None = None) -> T:
        """Return the keyring's answer.

        :param too_late: what to do when the answer comes after the wait is over
        :raises KeyringUnreachable: none comes in time, or it is an error
        """
        import keyring.errors

        self.refuse_while_resting()
        try:
            answer = call_with_timeout(lambda: ask_unlocked_keyring(question), ANSWER_S, too_late)
        except Exception as error:
            reason = error.message if isinstance(error, KeyringUnreachable) else describe_keyring_error(error)
            if not isinstance(error, keyring.errors.PasswordSetError | keyring.errors.PasswordDeleteError):
                self._rest = self.clock() + REST_S, reason
                advice = "secrets stay masked, but their values can neither be stored nor read there"
                log.warning("%s: %s; the next try is in %.0f s", reason, advice, REST_S)
            raise KeyringUnreachable(reason) from error
        self._rest = None
        return answer

    def refuse_while_resting(self) -> None:
        """Raise the last failure again, while the keyring is left alone.

        :raises KeyringUnreachable: it could not be reached a moment ago
        """
        if self._rest is not None and self.clock() < self._rest[0]:
            raise KeyringUnreachable(self._rest[1])


def ask_unlocked_keyring(question: Callable[[], T]) -> T:
    """Ask the keyring when it is there and not locked. :raises KeyringUnreachable: there is none, or it is locked"""
    backend = find_keyring_backend()
    if backend is None:
        raise KeyringUnreachable(ABSENT)
    if type(backend).__module__ == "keyring.backends.SecretService" and is_secret_service_locked():
        raise KeyringUnreachable(LOCKED)
    return question()


def find_keyring_backend() -> object | None:
    """Find the keyring that answers first; None when this machine has none.

    Where none was found before it is looked for again: a person may have logged in at the desktop since.
    """
    set_bus_address()
    import keyring
    import keyring.backend
    import keyring.backends.chainer
    import keyring.backends.fail
    import keyring.backends.null

    if isinstance(keyring.get_keyring(), keyring.backends.fail.Keyring):
        with contextlib.suppress(KeyError):  # of a search that was not made yet
            keyring.backend.get_all_keyring.reset()  # of `jaraco.functools.once`
        keyring.core.init_backend()
    backend = keyring.get_keyring()
    backends = backend.backends if isinstance(backend, keyring.backends.chainer.ChainerBackend) else [backend]
    useless = (keyring.backends.fail.Keyring, keyring.backends.null.Keyring)
    return next((backend for backend in backends if not isinstance(backend, useless)), None)


def is_secret_service_locked() -> bool:
    """Check whether the Secret Service's collection is locked. Asking it for a secret would open a dialogue."""
    import secretstorage

    bus = secretstorage.dbus_init()
    try:
        return bool(secretstorage.get_default_collection(bus).is_locked())
    finally:
        bus.close()


def delete_from_keyring(key: str) -> None:
    """Erase an entry, if it is there."""
    import keyring
    import keyring.errors

    try:
        keyring.delete_password(SERVICE, key)
    except keyring.errors.PasswordDeleteError:
        if keyring.get_password(SERVICE, key) is not None:
            raise


def describe_keyring_error(error: Exception) -> str:
    import keyring.errors

    if isinstance(error, keyring.errors.KeyringLocked):
        return LOCKED
    if isinstance(error, TimeoutError):
        return f"the keyring did not answer within {ANSWER_S:.0f} s"
    if isinstance(error, keyring.errors.NoKeyringError):
        return ABSENT
    return f"the keyring does not work ({type(error).__name__}: {str(error).strip() or 'no reason given'})"


def call_with_timeout(call: Callable[[], T], seconds: float, too_late: Callable[[], object] | None = None) -> T:
    """Return what a call returns, waiting for it no longer than a limit.

    :param too_late: called when the call succeeds after all, in its thread
    :raises TimeoutError: it takes longer
    """
    lock, over = threading.Lock(), threading.Event()
    got: list[T] = []
    failed: list[Exception] = []
    left = False

    def run() -> None:
        try:
            answer = call()
        except Exception as error:
            failed.append(error)
            over.set()
            return
        with lock:
            if not left:
                got.append(answer)
                over.set()
                return
        if too_late is not None:
            try:
                too_late()
            except Exception:
                log.exception("the keyring took a secret after it had been given up, and keeps it")

    threading.Thread(target=run, daemon=True, name="keyring").start()
    over.wait(seconds)
    with lock:
        left = not over.is_set()
    if left:
        raise TimeoutError
    if failed:
        raise failed[0]
    return got[0]


def set_bus_address(environ: dict[str, str] | os._Environ[str] = os.environ) -> None:
    """Name the user's bus in the environment where none, or one that is gone, is named there."""
    if not sys.platform.startswith("linux") or is_bus_named(environ):
        return
    bus = find_user_bus(environ, os.getuid())
    if bus is not None:
        environ[BUS] = f"unix:path={bus}"


def is_bus_named(environ: Mapping[str, str]) -> bool:
    """Check whether a bus is named; one whose socket is gone is not."""
    address = environ.get(BUS, "").strip()
    path = address.removeprefix("unix:path=").partition(",")[0] if address.startswith("unix:path=") else None
    return bool(address) and (path is None or Path(path).exists())


def find_user_bus(environ: Mapping[str, str], uid: int, run: Path = Path("/run/user")) -> Path | None:
    """Find the socket of the user's bus: of nobody else, in a runtime folder that is the user's."""
    named = environ.get("XDG_RUNTIME_DIR", "").strip()
    for folder in ([Path(named)] if named else []) + [run / str(uid)]:
        bus = folder / "bus"
        try:
            if stat.S_ISSOCK(bus.stat().st_mode) and bus.stat().st_uid == uid and folder.stat().st_uid == uid:
                return bus
        except OSError:
            continue  # it is not there, or not ours to see
    return None
