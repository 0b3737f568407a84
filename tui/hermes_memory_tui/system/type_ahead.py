"""`TypeAhead`: what is typed faster than the screen follows is meant for where the keys before it led.

Textual hands every key at once to the widget that has the focus. Over a slow line `/scope` comes in one piece: the
slash would open the search line while the letters still went to the list, where they sort, close and archive.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from textual import events
from textual.app import App
from textual.dom import DOMNode

LONGEST_S = 1.0
"""After this long a key counts as handled, whatever has become of it."""

LATER_S = 0.01
"""So much later it is surely over."""


class TypeAhead(App[int]):
    """An app that takes the next key, or the next paste, when the one before has been handled."""

    _waiting: deque[events.Key | events.Paste]
    _current: events.Key | events.Paste | None = None
    _current_since = 0.0
    _target: DOMNode

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._waiting = deque()

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        else:
            self._waiting.append(event)
            await self._hand_over_next()

    async def _hand_over_next(self) -> None:
        """Hand over what waits longest, unless the one before it is not handled yet; look again when it counts as handled."""
        rest_s = self._current_since + LONGEST_S - time.monotonic()
        if self._waiting and (self._current is None or rest_s <= 0):
            await self._hand_over(self._waiting.popleft())
        elif len(self._waiting) == 1:
            self.set_timer(rest_s + LATER_S, self._hand_over_next)

    async def _hand_over(self, event: events.Key | events.Paste) -> None:
        self._current, self._current_since = event, time.monotonic()
        if self._waiting:
            self.set_timer(LONGEST_S + LATER_S, self._hand_over_next)
        if self._waits_for_screen(event):
            return
        self._target = self.focused or self.screen
        await super().on_event(event)
        if event.is_forwarded:
            self._follow(event, self._target)
        else:  # a binding that goes before the focus
            self._settle(event, self._target)

    def _waits_for_screen(self, event: events.Key | events.Paste) -> bool:
        """Keep an event for a screen that was opened just now: its bindings act on widgets that it does not have yet."""
        screen = self.screen
        return not screen.is_mounted and screen.call_later(self.call_later, self._hand_over, event)

    def _follow(self, event: events.Key | events.Paste, node: DOMNode) -> None:
        """Look at the event once a node has had it: handled there, or on its way to the parent."""
        if not node.call_later(self._look, event, node):
            self._settle(event, self.screen)

    def _look(self, event: events.Key | events.Paste, node: DOMNode) -> None:
        parent = node._parent
        if event._stop_propagation or not isinstance(parent, DOMNode) or isinstance(event, events.Paste):
            self._settle(event, self._target)
        elif parent is not self:
            self._follow(event, parent)

    async def _on_key(self, event: events.Key) -> None:
        # Textual calls this before its own `_on_key`, which runs the binding: what is called later comes after both.
        if self._waits_for_screen(events.Key(event.key, event.character)):
            event.prevent_default()
            return
        self.call_later(self._settle, event, self._target)

    def _settle(self, event: events.Key | events.Paste, node: DOMNode | None) -> None:
        """Let the messages that the event has caused go their way from node to parent, up to this app."""
        if node is None or node is self or not node.call_later(self._settle, event, node._parent):
            self.call_later(self._finish_on_screen, event)

    def _finish_on_screen(self, event: events.Key | events.Paste) -> None:
        """Finish once a screen that the event has opened has its focus; a focus may be asked for by a message, too."""
        screen = self.screen
        if screen.is_running and (screen.focused is not None or not screen.AUTO_FOCUS):
            self.call_later(self._finish, event)
        else:
            screen.call_after_refresh(self.call_later, self._finish, event)

    async def _finish(self, event: events.Key | events.Paste) -> None:
        if event is self._current:
            self._current = None
            await self._hand_over_next()
