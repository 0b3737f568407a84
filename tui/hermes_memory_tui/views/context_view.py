"""Context: the exact context block that agents receive with their status, and the facts it omits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.memory_tests.memory_case import CaseStart
from hermes_memory_store.model import ContextBlock, Fact, ThemeSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.memory_test_dialog import CaseDraft, MemoryTestMixin, to_test_binding
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


class ContextView(MemoryTestMixin, BaseView[ContextData]):
    """The hot facts in ranking order on the left, the exact text on the right."""

    NAME = "told"
    TITLE_OF_LIST = "context"
    BINDING_GROUP_TITLE = "Context"
    WRITES = BaseView.WRITES | {"pin", "cool", "archive"}
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 6),
        GridColumn("fact"),
        GridColumn("reason", 20, least=60),
        GridColumn("tokens", 6, right=True),
        GridColumn("total", 5, right=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,right", "theme(1)", "Next theme", id="told.next", tooltip="Context of the next theme"),
        Binding(
            "h,left",
            "theme(-1)",
            "Previous theme",
            id="told.before",
            tooltip="Context of the previous theme",
            show=False,
        ),
        Binding("p", "pin", "Pin", id="told.pin", tooltip="Pin or unpin the fact; pinned facts come first"),
        Binding("W", "cool", "Cool", id="told.cool", tooltip="Move to the cold tier: searchable, not in the context"),
        Binding("a", "archive", "Archive", id="told.archive", tooltip="Archive the fact"),
        to_test_binding("told"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.theme: str | None = None

    def title_place(self) -> str:
        return f"context of {to_printable(self.data.theme)}" if self.data is not None else ""

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
        included = {fact.id for fact in data.injection.facts}
        now = self.memory.now()
        rows, total = [], 0
        for fact in data.ranked:
            is_included = fact.id in included
            total += fact.tokens + 1 if is_included else 0
            ink = "" if is_included else "dim"
            rows.append(
                GridRow(
                    fact.uid,
                    (
                        GridCell("● in" if is_included else "○ out", "hot" if is_included else "dim"),
                        GridCell(to_printable(fact.notation), ink),
                        GridCell(ranking_reason(fact, now), "dim"),
                        GridCell(str(fact.tokens), ink),
                        GridCell(str(total) if is_included else "·", "dim"),
                    ),
                )
            )
        self.grid.empty = ("No hot facts. The context block contains only the rules.",)
        hue = palettes.theme_hues(theme.name for theme in data.themes).get(data.theme, 0)
        title: Any = Content.assemble(("■ ", f"$mark-{hue}"), f"context of {to_printable(data.theme)}")
        self.grid.border_title = title
        self.grid.border_subtitle = (
            f"{len(included)} included, {data.injection.left_out} omitted · "
            f"{data.injection.fact_tokens}/{data.budget} tokens"
        )
        self.grid.show(rows)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        assert self.data is not None
        injection = self.data.injection
        chosen = next((fact.notation for fact in self.data.ranked if fact.uid == key), None)
        lines = [
            heading_line(
                f"{injection.tokens} tokens, {len(injection.text):,} characters", "as returned by memory_status:"
            ),
            Content(""),
        ]
        for line in injection.text.split("\n"):
            style = "bold $accent" if line == chosen else "$dim" if line.startswith("(+") else ""
            lines.append(Content.styled(to_printable(line), style))
        return "context block", lines

    def action_theme(self, step: int) -> None:
        if self.data is not None and self.data.themes:
            names = [theme.name for theme in self.data.themes]
            self.theme = (
                names[(names.index(self.data.theme) + step) % len(names)] if self.data.theme in names else names[0]
            )
            self.grid.cursor = 0
            self.reload()

    def draft_case(self) -> CaseDraft | None:
        fact = self._fact()
        return None if fact is None else CaseDraft(fact.theme, start=CaseStart(), lines=(fact.notation,))

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
    used = display_formats.format_ago(max(fact.updated_at, fact.read_at or 0), now)
    if fact.pinned:
        return f"pinned, {used}"
    return f"{fact.type.word}, {used}"
