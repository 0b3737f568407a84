"""The end of a hook, whatever hangs: after its time the host goes on.

What must not be lost is then left on disk by a process behind it.
"""

from __future__ import annotations

import _thread
import os
import time

from hermes_memory_bridge.hook_program.host_answer import format_host_answer
from hermes_memory_bridge.hook_program.without_bridge import leave_record, needs_record, run_detached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_memory_bridge.hook_program.hook_event import HookEvent

LIMITS_S = {"prompt": 0.15}
"""From the program's beginning to its end; a person waits for a prompt."""

LIMIT_S = 1.0
"""For all other events."""


class HardStop:
    """Answers the host once: in time with what there is, else with nothing."""

    def __init__(self, host: str, event: str, began: float, find_event: Callable[[], HookEvent]) -> None:
        """:param began: when the program began, by `time.monotonic`
        :param find_event: reads the event, or reads on
        """
        self.host = host
        self.event = event
        self.ends = began + LIMITS_S.get(event, LIMIT_S)
        self.store = ""
        self.found: HookEvent | None = None
        """The event, once it was read."""
        self.is_settled = False
        """Whether it is known that a bridge has the event, or that it waits."""
        self._find_event = find_event
        self._answering = _thread.allocate_lock()
        _thread.start_new_thread(self._end_in_time, ())

    def answer(self, text: str, name: str = "") -> bool:
        """Print the answer, unless it is too late. Returns whether it was printed.

        :param text: what the model is to be given
        :param name: the host's own name of its event
        """
        if not self._answering.acquire(False):
            return False
        said = format_host_answer(self.host, self.event, text, name).encode("utf-8", "replace")
        try:
            while said:
                said = said[os.write(1, said) :]
        except OSError:
            return False  # the host no longer listens
        return True

    def _end_in_time(self) -> None:
        time.sleep(max(0.0, self.ends - time.monotonic()))
        try:
            self.answer("")
            if not self.is_settled:
                run_detached(self._leave_event, keeps_input=self.found is None)
        finally:
            os._exit(0)

    def _leave_event(self) -> None:
        event = self.found or self._find_event()
        if needs_record(event):
            leave_record(self.store, event)
