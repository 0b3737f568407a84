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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_memory_tui.inspector import Inspector
    from hermes_memory_tui.memory import Memory

FRAMES = "120"
"""Frames a second at most. Textual reads it when it is imported; at its own 60 every key waits up to 17 ms."""

LOOK_S = 2.0
"""How often an inspector in a browser looks whether its server is still there."""

TAKES_S = 1.0
"""How long the terminal may take to be left as it was found, once a signal asks to end; it may be one that nobody reads."""

LEAVE_S = 5.0
"""How long everything else may take until the process ends as it is. SQLite loses nothing then."""

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
    from hermes_memory_store.errors import StoreError, StoreNeedsUpgrade
    from hermes_memory_themes import ThemeError
    from hermes_memory_tui import looks, settings
    from hermes_memory_tui.inspector import Inspector

    memory, old = None, None
    try:
        wishes = settings.load()
        if wishes.keys:
            from hermes_memory_tui.actions import known_ids

            settings.refuse_unknown_keys(wishes, known_ids())
        look = looks.chosen(os.environ, wishes.look)
        memory = opened(db_path, read_only)
    except StoreNeedsUpgrade as error:
        old = Path(str(error.value))
    except (StoreError, ThemeError) as error:
        print(f"hermes-memory-tui: {error}", file=sys.stderr)
        return 1
    app = Inspector(memory, theme, old=old, look=look, settings=wishes, read_only=read_only, greets=not read_only)
    logging.getLogger().addHandler(Listener(app))
    app.call_after_refresh(settle)
    if leave_after_s is not None:
        app.call_after_refresh(app.set_timer, leave_after_s, lambda: app.exit(0))
    if in_a_browser():
        threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    with leaving_when_told(app):
        app.run()
    return app.return_value if app.return_value is not None else app.return_code or 0


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
    """Whether there is a terminal to draw on, which Textual does on standard error, or a browser."""
    return in_a_browser() or (os.environ.get("TERM") != "dumb" and sys.stdout.isatty() and sys.stderr.isatty())


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
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise SystemExit(128 + number) from None
        loop.call_soon_threadsafe(app.exit, 128 + number)
        threading.Thread(target=insist, args=(app, over, 128 + number), daemon=True).start()

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
