"""Context: the exact context block that agents receive with their status, and the facts it omits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.model import ContextBlock, Fact, FactType, ThemeSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, heading_line


@dataclass(frozen=True, slots=True)
class ContextData:
    """The context block of one theme, and every hot fact in ranking order."""

    themes: list[ThemeSummary]
    theme: str
    injection: ContextBlock
    ranked: list[Fact]
    budget: int


class ContextView(BaseView[ContextData]):
    """The hot facts in ranking order on the left, the exact text on the right."""

    NAME = "told"
    TITLE_OF_LIST = "what is told"
    BINDING_GROUP_TITLE = "Told"
    WRITES = BaseView.WRITES | {"pin", "cool", "archive"}
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 6),
        GridColumn("fact"),
        GridColumn("why here", 20, least=60),
        GridColumn("tokens", 6, right=True),
        GridColumn("sum", 5, right=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,right", "theme(1)", "Next theme", id="told.next", tooltip="What the next theme's agents are told"),
        Binding("h,left", "theme(-1)", "Theme before", id="told.before", tooltip="The theme before", show=False),
        Binding("p", "pin", "Pin", id="told.pin", tooltip="Pin the fact, so that it is told first, or let it go"),
        Binding(
            "W", "cool", "Cool", id="told.cool", tooltip="Take the fact out of the hot tier: found, no longer told"
        ),
        Binding("a", "archive", "Archive", id="told.archive", tooltip="Put the fact away"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.theme: str | None = None

    def title_place(self) -> str:
        return f"{to_printable(self.data.theme)} is told" if self.data is not None else ""

    def on_screen_resume(self) -> None:
        if self.theme is None:
            place = self.inspector.main.tree_pane.place
            fact = self.inspector.main.table.fact
            self.theme = place.theme.name if place.theme else fact.theme if fact else None
        super().on_screen_resume()

    def load(self, store: Store) -> ContextData:
        themes = store.themes()
        names = [theme.name for theme in themes]
        theme = self.theme if self.theme in names else names[0] if names else "default"
        with store.db.snapshot():
            injection = store.injection.status(theme, record=False)
            ranked = store.injection.ranked_facts(theme)
        return ContextData(themes, theme, injection, ranked, store.policies.for_theme(theme).injection_tokens)

    def draw(self, data: ContextData) -> None:
        told = {fact.id for fact in data.injection.facts}
        now = self.memory.now()
        rows, total = [], 0
        for fact in data.ranked:
            is_told = fact.id in told
            total += fact.tokens + 1 if is_told else 0
            ink = "" if is_told else "dim"
            rows.append(
                GridRow(
                    fact.uid,
                    (
                        GridCell("● told" if is_told else "○ left", "hot" if is_told else "dim"),
                        GridCell(to_printable(fact.notation), ink),
                        GridCell(ranking_reason(fact, now), "dim"),
                        GridCell(str(fact.tokens), ink),
                        GridCell(str(total) if is_told else "·", "dim"),
                    ),
                )
            )
        self.grid.empty = ("No hot facts: an agent of this theme is told the rules alone.",)
        hue = palettes.theme_hues(theme.name for theme in data.themes).get(data.theme, 0)
        title: Any = Content.assemble(("■ ", f"$mark-{hue}"), f"{to_printable(data.theme)} is told")
        self.grid.border_title = title
        self.grid.border_subtitle = (
            f"{len(told)} told, {data.injection.left_out} left out · "
            f"{data.injection.fact_tokens} of {data.budget} tokens"
        )
        self.grid.show(rows)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        assert self.data is not None
        injection = self.data.injection
        chosen = next((fact.notation for fact in self.data.ranked if fact.uid == key), None)
        lines = [
            heading_line(
                f"{injection.tokens} tokens, {len(injection.text):,} characters", "memory_status answers exactly this:"
            ),
            Content(""),
        ]
        for line in injection.text.split("\n"):
            style = "bold $accent" if line == chosen else "$dim" if line.startswith("(+") else ""
            lines.append(Content.styled(to_printable(line), style))
        return "word for word", lines

    def action_theme(self, step: int) -> None:
        if self.data is not None and self.data.themes:
            names = [theme.name for theme in self.data.themes]
            self.theme = (
                names[(names.index(self.data.theme) + step) % len(names)] if self.data.theme in names else names[0]
            )
            self.grid.cursor = 0
            self.reload()

    def _fact(self) -> Fact | None:
        return None if self.data is None else next((one for one in self.data.ranked if one.uid == self.grid.key), None)

    def action_pin(self) -> None:
        fact = self._fact()
        if fact is not None:
            self.write(lambda: self.memory.run_action(bulk_actions.UNPIN if fact.pinned else bulk_actions.PIN, [fact]))

    def action_cool(self) -> None:
        fact = self._fact()
        if fact is not None:
            self.write(lambda: self.memory.run_action(bulk_actions.COOL, [fact]))

    def action_archive(self) -> None:
        fact = self._fact()
        if fact is not None:
            self.write(lambda: self.memory.run_action(bulk_actions.ARCHIVE, [fact]))


def ranking_reason(fact: Fact, now: int) -> str:
    """Return why a fact ranks where it does: pinned, then by how binding its type is, then most recently used."""
    used = display_formats.format_age(max(fact.updated_at, fact.read_at or 0), now)
    if fact.pinned:
        return f"pinned, used {used}"
    binding = "most binding" if fact.type is FactType.CONSTRAINT else fact.type.word
    return f"{binding}, used {used}"
