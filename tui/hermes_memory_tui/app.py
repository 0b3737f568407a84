"""Entry point of the inspector. Imports nothing of Textual until `run_inspector` has prepared the environment."""

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
    from hermes_memory_tui.model.memory import Memory
    from hermes_memory_tui.model.open_work import RecoveryState
    from hermes_memory_tui.recovery import AppFailure
    from hermes_memory_tui.system.inspector_settings import InspectorSettings

FRAMES = "120"
"""Frames a second at most. Textual reads it when it is imported; at its own 60 every key waits up to 17 ms."""

MAX_NEW_OBJECTS = 50_000
"""New objects from which on garbage is collected: a frame makes a thousand, and no key should wait for it."""

ESCAPE_MS = "25"
"""Milliseconds after which an escape is a key of its own. What a terminal sends for one key comes at once; a person takes
longer to press another one, which must not become alt and that key."""

SSH_ESCAPE_MS = "150"
"""Over ssh the sequence of a key may come in pieces."""

LOOK_S = 2.0
"""How often an inspector in a browser looks whether its server is still there."""

TAKES_S = 1.5
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
    """Show a memory until the person quits, and return the exit code.

    :param db_path: the file; `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`; created when missing
    :param theme: the theme to start with; all themes when None
    :param read_only: change nothing and create nothing
    :param leave_after_s: quit automatically after this many seconds
    """
    if not has_interactive_terminal():
        drawn = " that can be drawn on (TERM is 'dumb')" if os.environ.get("TERM") == "dumb" else ""
        print(
            f"hermes-memory-tui needs a terminal{drawn}; its commands do not, such as `hermes-memory-tui now` "
            "and `hermes-memory-tui facts`: see hermes-memory-tui --help",
            file=sys.stderr,
        )
        return 1
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)
    os.environ.setdefault("ESCDELAY", SSH_ESCAPE_MS if "SSH_CONNECTION" in os.environ else ESCAPE_MS)
    # The collector would run a dozen times while everything is imported and made, and nothing is garbage yet.
    gc.disable()
    from hermes_memory_store.errors import StoreError
    from hermes_memory_themes import ThemeError
    from hermes_memory_tui.system import inspector_settings, inspector_state, palettes

    leave_at = None if leave_after_s is None else time.monotonic() + leave_after_s
    recovery: RecoveryState | None = None
    if is_web_driver():
        threading.Thread(target=exit_with_server, args=(os.getppid(),), daemon=True).start()
    try:
        wishes = inspector_settings.load_inspector_settings()
        if wishes.keys:
            from hermes_memory_tui.keymap_actions import binding_ids

            wishes = inspector_settings.resolve_actions(wishes, binding_ids())
        state = inspector_state.InspectorState(inspector_settings.inspector_folder() / inspector_state.FILE_NAME)
        look = palettes.initial_look(os.environ, wishes.look, state.look)
        while True:
            app = make_app(db_path, theme, read_only, look, wishes, recovery)
            failure = run_app(app, leave_at)
            if failure is None:
                return app.return_value if app.return_value is not None else app.return_code or 0
            recovery = failure.to_recovery(app, recovery)
            if recovery.failures >= MOST_FAILURES or is_web_driver() or app.return_value is not None:
                print(f"hermes-memory-tui: {failure.exit_message}", file=sys.stderr)
                return app.return_value or 1
    except (StoreError, ThemeError) as error:
        print(f"hermes-memory-tui: {error}", file=sys.stderr)
        return 1


def make_app(
    db_path: str | Path | None,
    theme: str | None,
    read_only: bool,
    look: str,
    wishes: InspectorSettings,
    recovery: RecoveryState | None,
) -> Inspector:
    """Return the app for a memory, or for an old file that it asks about.

    :raises StoreError: the memory cannot be opened
    """
    from hermes_memory_store.errors import StoreNeedsUpgrade
    from hermes_memory_tui.inspector import Inspector

    memory, old = None, None
    try:
        memory = open_memory(db_path, read_only)
    except StoreNeedsUpgrade as error:
        old = Path(str(error.value))
    if memory is not None and recovery is not None and recovery.undo_history is not None:
        memory.adopt_undo_history(recovery.undo_history)
    offers_start = not read_only and recovery is None
    return Inspector(
        memory,
        theme,
        old=old,
        look=look,
        settings=wishes,
        read_only=read_only,
        offers_start=offers_start,
        recovery=recovery,
    )


def run_app(app: Inspector, leave_at: float | None) -> AppFailure | None:
    """Run an app until it ends, and return the failure that ended it, if any.

    :param leave_at: when to quit, by the monotonic clock
    """
    failure: AppFailure | None = None
    over = threading.Event()

    def fail(error: Exception) -> None:
        from hermes_memory_tui.recovery import AppFailure

        nonlocal failure
        failure = AppFailure.report_failure(app, error)
        threading.Thread(target=exit_if_stuck, args=(app, over, failure), daemon=True).start()

    app.on_failure = fail
    listener = ToastLogHandler(app)
    logging.getLogger().addHandler(listener)
    app.call_after_refresh(freeze_startup_objects)
    if leave_at is not None:
        app.call_after_refresh(lambda: app.set_timer(max(0.01, leave_at - time.monotonic()), lambda: app.exit(0)))
    try:
        with exit_on_signals(app):
            app.run()
    except Exception as error:
        if failure is None:
            fail(error)
        app.restore_terminal()
    finally:
        over.set()
        logging.getLogger().removeHandler(listener)
    return failure


def freeze_startup_objects() -> None:
    """Begin to collect garbage, of what comes after the first paint."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MAX_NEW_OBJECTS)
    gc.enable()


def exit_if_stuck(app: Inspector, over: threading.Event, failure: AppFailure) -> None:
    """End an app that failed and cannot close by itself."""
    if not over.wait(STUCK_S):
        app.restore_terminal()
        with suppress(OSError):
            os.write(2, f"hermes-memory-tui: {failure.exit_message}\r\n".encode())
        os._exit(1)


def open_memory(path: str | Path | None, read_only: bool) -> Memory:
    """Open the memory; when nothing may be changed, open a file of an older store version as a copy.

    :raises StoreError:
    """
    from hermes_memory_store.errors import StoreOlder
    from hermes_memory_store.system.filesystem import default_store_path
    from hermes_memory_tui.model.memory import Memory
    from hermes_memory_tui.system.bridge_client import replace_older_bridge

    if not read_only:
        replace_older_bridge(Path(path).expanduser() if path is not None else default_store_path())
    try:
        return Memory.open(path, read_only=read_only)
    except StoreOlder as error:
        from hermes_memory_tui.model.upgrade_on_open import open_migrated_copy

        return open_migrated_copy(Path(str(error.value)))


def has_interactive_terminal() -> bool:
    """Check whether there is a terminal for input and for output (Textual draws on standard error), or a browser."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    is_terminal = all(stream is not None and not stream.closed and stream.isatty() for stream in streams)
    return is_web_driver() or (os.environ.get("TERM") != "dumb" and is_terminal)


def is_web_driver() -> bool:
    """Check whether a server shows the app in a browser: the server sets the driver."""
    return "WebDriver" in os.environ.get("TEXTUAL_DRIVER", "")


def exit_with_server(server: int) -> None:
    """Exit when the server is gone, since nobody could see the app or quit it.

    Runs in a thread of its own and exits at once: Textual would wait forever for its output to be read.
    """
    while os.getppid() == server:
        time.sleep(LOOK_S)
    os._exit(1)


@contextmanager
def exit_on_signals(app: Inspector) -> Iterator[None]:
    """Quit cleanly on a termination signal, restore the terminal, and make sure that the exit happens."""
    import asyncio

    over = threading.Event()

    def leave(number: int, _: object) -> None:
        threading.Thread(target=force_exit, args=(app, over, 128 + number), daemon=True).start()
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


def force_exit(app: Inspector, over: threading.Event, code: int) -> None:
    """Force the app to end, even if its output is not read or something never finishes."""
    if over.wait(TAKES_S):
        return
    app.restore_terminal()
    if not over.wait(LEAVE_S):
        os._exit(code)


class ToastLogHandler(logging.Handler):
    """Sends log warnings of the store and the bridge to the message log instead of the screen."""

    def __init__(self, app: Inspector) -> None:
        super().__init__(logging.WARNING)
        self._app = app

    def emit(self, record: logging.LogRecord) -> None:
        self._app.remember(record.getMessage(), "warning")
