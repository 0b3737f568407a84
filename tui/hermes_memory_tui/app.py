"""The door of the inspector. It imports nothing of Textual until it is called: `run_inspector` sets the stage first."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_memory_tui.inspector import Inspector
    from hermes_memory_tui.memory import Memory
    from hermes_memory_tui.recovery import Failure, Recovery
    from hermes_memory_tui.settings import Settings

FRAMES = "120"
"""Frames a second at most. Textual reads it when it is imported; at its own 60 every key waits up to 17 ms."""

LOOK_S = 2.0
"""How often an inspector in a browser looks whether its server is still there."""

TAKES_S = 1.0
"""How long the terminal may take to be left as it was found, once a signal asks to end; it may be one that nobody reads."""

LEAVE_S = 5.0
"""How long everything else may take until the process ends as it is. SQLite loses nothing then."""

STUCK_S = 20.0
"""How long an app that failed may take to close; a write may wait half of it for a lock, and must not be cut off."""

MOST_FAILURES = 3
"""The inspector ends when it fails so often without a key having been pressed: shown anew it would fail again, for ever."""

ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""What asks a program to end; SIGHUP: its terminal has gone. (Ctrl-C is a key while the inspector has the terminal.)"""


def run_inspector(
    db_path: str | Path | None = None,
    theme: str | None = None,
    read_only: bool = False,
    leave_after_s: float | None = None,
) -> int:
    """Show a memory until the person quits; the exit code.

    :param db_path: the file; `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`; created when there is none
    :param theme: the theme to begin with; all of them when None
    :param read_only: change nothing, and create nothing
    :param leave_after_s: quit by itself after so long
    """
    if not on_a_screen():
        print("hermes-memory-tui needs a terminal; its commands do not: see hermes-memory-tui --help", file=sys.stderr)
        return 1
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)
    # The collector would run a dozen times while everything is imported and made, and nothing is garbage yet.
    gc.disable()
    from hermes_memory_store.errors import StoreError
    from hermes_memory_themes import ThemeError
    from hermes_memory_tui import looks, settings

    leave_at = None if leave_after_s is None else time.monotonic() + leave_after_s
    recovery: Recovery | None = None
    if in_a_browser():
        threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        wishes = settings.load()
        if wishes.keys:
            from hermes_memory_tui.actions import known_ids

            settings.refuse_unknown_keys(wishes, known_ids())
        look = looks.chosen(os.environ, wishes.look)
        while True:
            app = make_app(db_path, theme, read_only, look, wishes, recovery)
            failure = show(app, leave_at)
            if failure is None:
                return app.return_value if app.return_value is not None else app.return_code or 0
            recovery = failure.recovery(app, recovery)
            if recovery.failures >= MOST_FAILURES or in_a_browser() or app.return_value is not None:
                print(f"hermes-memory-tui: {failure.last_sentence}", file=sys.stderr)
                return app.return_value or 1
    except (StoreError, ThemeError) as error:
        print(f"hermes-memory-tui: {error}", file=sys.stderr)
        return 1


def make_app(
    db_path: str | Path | None,
    theme: str | None,
    read_only: bool,
    look: str,
    wishes: Settings,
    recovery: Recovery | None,
) -> Inspector:
    """The app on a memory, or on an old file that it asks about. :raises StoreError: the memory cannot be opened"""
    from hermes_memory_store.errors import StoreNeedsUpgrade
    from hermes_memory_tui.inspector import Inspector

    memory, old = None, None
    try:
        memory = opened(db_path, read_only)
    except StoreNeedsUpgrade as error:
        old = Path(str(error.value))
    if memory is not None and recovery is not None and recovery.deeds is not None:
        memory.take_over(recovery.deeds)
    greets = not read_only and recovery is None
    return Inspector(
        memory, theme, old=old, look=look, settings=wishes, read_only=read_only, greets=greets, recovery=recovery
    )


def show(app: Inspector, leave_at: float | None) -> Failure | None:
    """Run an app to its end; what it failed of, if it did. :param leave_at: by the monotonic clock"""
    failure: Failure | None = None
    over = threading.Event()

    def fail(error: Exception) -> None:
        from hermes_memory_tui.recovery import Failure

        nonlocal failure
        failure = Failure.reported(app, error)
        threading.Thread(target=end_if_stuck, args=(app, over, failure), daemon=True).start()

    app.on_failure = fail
    listener = Listener(app)
    logging.getLogger().addHandler(listener)
    app.call_after_refresh(settle)
    if leave_at is not None:
        app.call_after_refresh(lambda: app.set_timer(max(0.01, leave_at - time.monotonic()), lambda: app.exit(0)))
    try:
        with leaving_when_told(app):
            app.run()
    except Exception as error:
        if failure is None:
            fail(error)
        app.restore_terminal()
    finally:
        over.set()
        logging.getLogger().removeHandler(listener)
    return failure


def end_if_stuck(app: Inspector, over: threading.Event, failure: Failure) -> None:
    """End an app that failed and cannot even close."""
    if not over.wait(STUCK_S):
        app.restore_terminal()
        with suppress(OSError):
            os.write(2, f"hermes-memory-tui: {failure.last_sentence}\r\n".encode())
        os._exit(1)


def opened(path: str | Path | None, read_only: bool) -> Memory:
    """Open the memory; one of an older version of ours as a copy when nothing may be changed. :raises StoreError:"""
    from hermes_memory_store.errors import StoreOlder
    from hermes_memory_tui.memory import Memory

    try:
        return Memory.open(path, read_only=read_only)
    except StoreOlder as error:
        from hermes_memory_tui.upgrading import older_for_reading

        return older_for_reading(Path(str(error.value)))


def on_a_screen() -> bool:
    """Whether there is a terminal to type on and to draw on, which Textual does on standard error, or a browser."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    is_terminal = all(stream is not None and not stream.closed and stream.isatty() for stream in streams)
    return in_a_browser() or (os.environ.get("TERM") != "dumb" and is_terminal)


def in_a_browser() -> bool:
    """Whether a server shows us in a browser: it sets the driver."""
    return "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")


def leave_with(server: int) -> None:
    """End when the server has gone: nobody could see us or tell us to.

    At once, and from a thread of its own: Textual would wait for ever for somebody to take what it draws.
    """
    while os.getppid() == server:
        time.sleep(LOOK_S)
    os._exit(1)


@contextmanager
def leaving_when_told(app: Inspector) -> Iterator[None]:
    """Quit properly when a signal asks for it, so that the terminal is left as it was found; see to it that it happens."""
    import asyncio

    over = threading.Event()

    def leave(number: int, _: object) -> None:
        threading.Thread(target=insist, args=(app, over, 128 + number), daemon=True).start()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise SystemExit(128 + number) from None
        loop.call_soon_threadsafe(app.exit, 128 + number)

    before = {name: signal.signal(name, leave) for name in ENDING}
    try:
        yield
    finally:
        over.set()
        for name, handler in before.items():
            signal.signal(name, handler)


def insist(app: Inspector, over: threading.Event, code: int) -> None:
    """See to it that the app ends, even if nobody takes what it draws or something never comes to its end."""
    if over.wait(TAKES_S):
        return
    app.give_up_terminal()
    if not over.wait(LEAVE_S):
        os._exit(code)


class Listener(logging.Handler):
    """Warnings of the rooms below go to the messages a person can read, never over the screen."""

    def __init__(self, app: Inspector) -> None:
        super().__init__(logging.WARNING)
        self._app = app

    def emit(self, record: logging.LogRecord) -> None:
        self._app.remember(record.getMessage(), "warning")


def settle() -> None:
    """After the first paint: what is there now stays, and need not be looked through again."""
    gc.collect()
    gc.freeze()
    gc.enable()
