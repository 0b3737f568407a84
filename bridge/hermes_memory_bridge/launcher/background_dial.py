"""Dialing the bridge beside the pump: while a bridge starts, the host is heard and answered. Standard library only."""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from hermes_memory_bridge.launcher.paths import BridgePaths


def report_to_host(message: str) -> None:
    """Write a line to standard error, which hosts show or log."""
    os.write(2, f"hermes-memory-bridge: {message}\n".encode("utf-8", "replace"))


class BackgroundDial:
    """One attempt to reach the bridge, starting one if needed, in a thread of its own."""

    def __init__(self, paths: BridgePaths, hello: dict[str, Any]) -> None:
        """:param hello: the greeting"""
        self.bridge: socket.socket | None = None
        self.answer: dict[str, Any] = {}
        self.why = ""
        """Why there is no bridge."""
        self.done, self._tell = os.pipe()
        """Can be read once the attempt is over."""
        _thread.start_new_thread(self._dial, (paths, dict(hello)))

    def _dial(self, paths: BridgePaths, hello: dict[str, Any]) -> None:
        try:
            # here, not above: the host's first answers do not need it
            from hermes_memory_bridge.launcher.dialing import dial_bridge, to_daemon_command

            try:
                self.bridge, self.answer = dial_bridge(paths, hello, to_daemon_command(paths.store), report_to_host)
            except OSError as error:
                self.why = str(error) or type(error).__name__
        except Exception as error:  # a thread's end tells nobody, and the host would wait for ever
            self.why = f"{type(error).__name__}: {error}"
        finally:
            os.close(self._tell)

    def close(self) -> None:
        """Release what tells the end of the attempt, which is over."""
        os.close(self.done)
