"""`HelpScreen`: every key, generated from the bindings of the panes under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.widgets import Static

from hermes_memory_tui.dialogs.modal import Modal

KEY_WIDTH = 12
"""Cells of the keys before what they do."""

GROUPS = {
    "main": "Find",
    "fact": "Fact actions",
    "facts": "Fact list",
    "scope": "Scope actions",
    "memory": "Undo",
    "list": "Move",
    "pane": "Panes",
    "scopes": "Themes and scopes",
    "search": "Search line",
    "picker": "Pickers",
    "confirm": "Confirm",
    "editor": "Editor",
    "detail": "Fact detail",
    "view": "All views",
    "views": "Views",
    "app": "Global",
    "own": "Your commands",
}
"""Titles of the groups, by the first part of a binding's id, in the order they are shown."""

EVERY_VIEW, VIEWS = GROUPS["view"], GROUPS["views"]

OTHERS = "Other"


class HelpScreen(Modal[None]):
    """Closes with any of the keys that leave a screen."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "dismiss", "Close", id="help.close", tooltip="Close the help"),
        Binding("j,down", "scroll(1)", "Down", id="help.down", tooltip="Scroll down", show=False),
        Binding("k,up", "scroll(-1)", "Up", id="help.up", tooltip="Scroll up", show=False),
    ]

    def __init__(self, owners: Iterable[DOMNode]) -> None:
        super().__init__()
        self._owners = list(owners)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(self._text(), id="help-text")

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "keys"
        self.query_one("#help").border_subtitle = "esc: close"

    def action_scroll(self, lines: int) -> None:
        self.query_one("#help").scroll_relative(y=lines, animate=False)

    def _text(self) -> Content:
        own = [title for owner in self._owners if (title := view_title(owner))]
        groups: dict[str, dict[str, HelpEntry]] = {title: {} for title in (*own, *GROUPS.values())}
        for owner in self._owners:
            for binding in (one for several in owner._bindings.key_to_bindings.values() for one in several):
                if binding.id is not None and is_binding_allowed(owner, binding):
                    title = binding_group(owner, binding.id)
                    key = groups.setdefault(title, {}).setdefault(
                        binding.id, HelpEntry(binding.tooltip or binding.description)
                    )
                    key.add(self.app.get_key_display(binding))
        lines: list[Content] = []
        for title, keys in groups.items():
            if keys:
                lines += [Content.styled(title, "bold $accent"), *(key.content for key in keys.values()), Content("")]
        return Content("\n").join(lines[:-1])


def view_title(owner: DOMNode) -> str | None:
    """Return the group title of a view's keys, or None for an owner that is not a view."""
    return str(owner.BINDING_GROUP_TITLE) if hasattr(owner, "TITLE_OF_LIST") else None


def binding_group(owner: DOMNode, name: str) -> str:
    """Return the group of a binding.

    :param name: its id
    """
    kind = name.partition(".")[0]
    if kind == "view":
        return EVERY_VIEW if view_title(owner) else VIEWS
    return view_title(owner) or GROUPS.get(kind, OTHERS)


def is_binding_allowed(owner: DOMNode, binding: Binding) -> bool:
    """Check whether the action is possible here at all; a read-only screen hides the others."""
    _, name, parameters = parse(binding.action)
    return owner.check_action(name, parameters) is not False


@dataclass
class HelpEntry:
    """An action with its keys."""

    says: str
    keys: list[str] = field(default_factory=list)

    def add(self, key: str) -> None:
        if key not in self.keys:
            self.keys.append(key)

    @property
    def content(self) -> Content:
        return Content.assemble((f"  {' '.join(self.keys):<{KEY_WIDTH}}", "bold"), (self.says, "$dim"))
