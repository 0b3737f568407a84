"""Team: the state of sync with a team database; until one is configured, what to configure and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.content import Content

from hermes_memory_store.model import Theme
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import bridge, looks
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, pair


@dataclass(frozen=True, slots=True)
class State:
    """What the view shows."""

    themes: list[Theme]
    shared: dict[str, bool]
    """Whether the theme's policy lets it leave this machine."""
    policies: str
    """The file in which a person says so."""
    bridge: dict[str, Any] | None


class TeamView(View[State]):
    """One line a theme."""

    NAME = "team"
    TITLE_OF_LIST = "shared with a team"
    BINDING_GROUP_TITLE = "Team"
    COLUMNS: ClassVar[Sequence[Column]] = (Column("", 2), Column("theme"), Column("shared", 24), Column("state", 20))

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._bridge: dict[str, Any] | None = None

    def ask(self) -> None:
        self._bridge = bridge.status(self.memory.path)

    def load(self, store: Store) -> State:
        themes = store.themes()
        shared = {theme.name: store.policies.for_theme(theme.name).sync for theme in themes}
        return State(themes, shared, str(store.policies.path), self._bridge)

    def draw(self, data: State) -> None:
        self.grid.empty = ("No theme was written to yet.",)
        self.grid.border_subtitle = "bridge runs" if data.bridge else "no bridge runs"
        hues = looks.hues(theme.name for theme in data.themes)
        self.grid.show([line(theme, hues[theme.name], data) for theme in data.themes])

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        data = self.data
        assert data is not None
        answer = data.bridge
        running = f"version {answer.get('version')}, process {answer.get('pid')}" if answer else "none runs"
        return "how to share", [
            heading("This version keeps every memory on this machine."),
            Content("Nothing is sent anywhere. Exchange with a team's Postgres is the next part"),
            Content("of this program; what it will need can be prepared now:"),
            Content(""),
            pair("1", "Say which themes may leave this machine, in"),
            pair("", Content.styled(printable(data.policies), "bold")),
            Content.styled("             [themes.marketing]\n             sync = true", "$accent"),
            pair("2", "Keep a bridge running: it does the exchange in the background."),
            pair("", Content.styled("hermes-memory-bridge install-service", "bold")),
            pair("3", "Until then, carry a memory by hand:"),
            pair("", Content.styled("hermes-memory-tui export --format jsonl FILE", "bold")),
            pair("", Content.styled("hermes-memory-tui import FILE", "bold")),
            Content(""),
            pair("bridge", running),
        ]


def line(theme: Theme, hue: int, data: State) -> Row:
    """One theme in the list."""
    allowed = data.shared[theme.name]
    return Row(
        theme.name,
        (
            Cell("■", f"mark-{hue}"),
            Cell(printable(theme.name), bold=True),
            Cell("may be shared" if allowed else "stays on this machine", "" if allowed else "dim"),
            Cell("not configured", "dim"),
        ),
    )
