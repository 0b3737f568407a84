"""`TypeAhead`: what is typed faster than the screen follows is meant for where the keys before it led.

Textual hands every key at once to the widget that has the focus. Over a slow line `/scope` comes in one piece: the
slash would open the search line while the letters still went to the list, where they sort, close and archive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

TIMEOUT_S = 5.0
"""After this long a key counts as handled, whatever has become of it: a busy machine takes more than a second for some."""

Typed = events.Key | events.Paste


class TypeAhead(App[int]):
    """An app that takes the next key, or the next paste, when the one before has been handled."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self._typed = deque[Typed]()
        """What is being handled, and behind it what waits."""

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, Typed):
            await super().on_event(event)
        elif event.is_forwarded:  # it comes back from the widget that had it
            if not self._wait_for_screen(self.on_event, event):
                await super().on_event(event)
        else:
            self._typed.append(event)
            if len(self._typed) == 1:
                await self._hand_over()
            else:
                self._finish_in_time(self._typed[0])

    def _wait_for_screen(self, callback: Callable[..., object], *arguments: object) -> bool:
        """Call later what acts on a screen that was opened just now: its bindings need widgets that it does not have yet."""
        return not self.screen.is_mounted and self.screen.call_later(self.call_later, callback, *arguments)

    async def _hand_over(self) -> None:
        event, node = self._typed[0], self.focused or self.screen
        if len(self._typed) > 1:
            self._finish_in_time(event)
        if not self._wait_for_screen(self._hand_over):
            await super().on_event(event)
            self._follow(event, node, then=node)

    def _finish_in_time(self, event: Typed) -> None:
        self.set_timer(TIMEOUT_S, partial(self._finish, event))

    def _follow(self, event: Typed, node: MessagePump | None, *, then: MessagePump | None = None) -> None:
        """Follow an event on its way from node to parent, up to this app and to a screen that it may have opened.

        :param then: where the way begins once more: the app runs the action of a key, and what that posts to the widget is on its
            way up behind the key
        """
        if node is None or node is self or not node.call_later(self._follow, event, node._parent, then=then):
            if then is None:
                self.call_later(self._finish_on_screen, event)
            else:
                self.call_later(self._follow, event, then)

    def _finish_on_screen(self, event: Typed) -> None:
        screen = self.screen
        if screen.is_running and (screen.focused is not None or not screen.AUTO_FOCUS):
            self.call_later(self._finish, event)
        else:
            screen.call_after_refresh(self.call_later, self._finish, event)

    async def _finish(self, event: Typed) -> None:
        if self._typed and self._typed[0] is event:
            self._typed.popleft()
            if self._typed:
                await self._hand_over()
