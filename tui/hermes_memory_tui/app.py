"""The door of the inspector. It imports nothing of Textual until it is called: `run_inspector` sets the stage first."""

from __future__ import annotations

import gc
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_memory_tui.inspector import Inspector

FRAMES = "120"
"""Frames a second at most. Textual reads it when it is imported; at its own 60 every key waits up to 17 ms."""


def run_inspector(db_path: str | Path | None = None, theme: str | None = None, read_only: bool = False) -> int:
    """Show a memory until the person quits; the exit code.

    :param db_path: the file; `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`; created when there is none
    :param theme: the theme to begin with; all of them when None
    :param read_only: change nothing, and create nothing
    """
    if os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        print("hermes-memory-tui needs a terminal; its commands do not: see hermes-memory-tui --help", file=sys.stderr)
        return 1
    os.environ.setdefault("TEXTUAL_FPS", FRAMES)
    # The collector would run a dozen times while everything is imported and made, and nothing is garbage yet.
    gc.disable()
    from hermes_memory_store.errors import StoreError, StoreNeedsUpgrade
    from hermes_memory_themes import ThemeError
    from hermes_memory_tui import looks, settings
    from hermes_memory_tui.inspector import Inspector
    from hermes_memory_tui.memory import Memory

    memory, old = None, None
    try:
        wishes = settings.load()
        if wishes.keys:
            from hermes_memory_tui.actions import known_ids

            settings.refuse_unknown_keys(wishes, known_ids())
        look = looks.chosen(os.environ, wishes.look)
        memory = Memory.open(db_path, read_only=read_only)
    except StoreNeedsUpgrade as error:
        old = Path(str(error.value))
    except (StoreError, ThemeError) as error:
        print(f"hermes-memory-tui: {error}", file=sys.stderr)
        return 1
    app = Inspector(memory, theme, old=old, look=look, settings=wishes, greets=not read_only)
    logging.getLogger().addHandler(Listener(app))
    app.call_after_refresh(settle)
    app.run()
    return app.return_value if app.return_value is not None else app.return_code or 0


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
