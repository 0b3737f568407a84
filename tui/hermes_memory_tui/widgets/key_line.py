"""`KeyLine`: the keys available at the focus, generated from the bindings, so that the two cannot disagree."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from hermes_memory_store.frozen import dataclass

AT_THE_END = ("app.help", "app.palette", "app.quit")
"""Bindings that stand at the right end, whatever else there is room for."""


@dataclass(frozen=True, slots=True)
class KeyHint:
    """A key as it is shown here."""

    key: str
    description: str
    action: str
    node: DOMNode
    enabled: bool
    at_the_end: bool
    tooltip: str
    common: bool
    """Whether every view has it: such keys stand after a view's own."""

    @property
    def width(self) -> int:
        return cell_len(self.key) + cell_len(self.description) + 3

    @property
    def content(self) -> Content:
        key, word = ("bold $footer-key-foreground", "") if self.enabled else ("$dim", "$dim")
        return Content.assemble((f" {self.key}", key), (f" {self.description} ", word))


class KeyLine(Widget):
    """One line across the bottom. A click on a key runs its action; hovering over it shows a description."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._spans: list[tuple[int, KeyHint]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._refresh_keys)

    def _refresh_keys(self, _: Screen[object]) -> None:
        self.refresh()

    def render(self) -> Content:
        keys = self._keys()
        end = [key for key in keys if key.at_the_end]
        room = self.size.width - sum(key.width for key in end)
        line = []
        for key in keys:
            if not key.at_the_end and key.width <= room:
                room -= key.width
                line.append(key)
        self._spans = []
        parts, at = [], 0
        for key in line + end:
            if key.at_the_end and room:
                parts.append(Content(" " * room))
                at, room = at + room, 0
            self._spans.append((at, key))
            parts.append(key.content)
            at += key.width
        return Content("").join(parts)

    def _keys(self) -> list[KeyHint]:
        keys: dict[str, KeyHint] = {}
        active = sorted(self.screen.active_bindings.values(), key=lambda entry: entry.node is not self.screen)
        for node, binding, enabled, tooltip in active:
            if binding.show and binding.description:
                shown = self.app.get_key_display(binding)
                end = binding.id in AT_THE_END
                keys.setdefault(
                    binding.action,
                    KeyHint(
                        shown,
                        binding.description,
                        binding.action,
                        node,
                        enabled,
                        end,
                        tooltip,
                        (binding.id or "").startswith("view."),
                    ),
                )
        return sorted(keys.values(), key=lambda key: key.common)

    def _at(self, x: int) -> KeyHint | None:
        return next((key for start, key in self._spans if start <= x < start + key.width), None)

    async def on_click(self, event: events.Click) -> None:
        key = self._at(event.x)
        if key is not None and key.enabled:
            await self.app.run_action(key.action, default_namespace=key.node)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self._at(event.x)
        self.tooltip = None if key is None else key.tooltip or key.description
