"""Context: the exact context block that agents receive with their status, why each fact is in it, and why others are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.context.start_choice import StartCandidate
from hermes_memory_store.memory_tests.memory_case import CaseStart
from hermes_memory_store.model import ContextBlock, Fact, ThemeSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.bulk_actions import BulkAction
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding, gather_binding
from hermes_memory_tui.screens.memory_test_dialog import CaseDraft, ask_for_test, to_test_binding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import reason_lines
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, heading_line


@dataclass(frozen=True, slots=True)
class ContextData:
    """The context block of one theme, and every fact that may be in it: those given, then those left out, the best first."""

    themes: list[ThemeSummary]
    theme: str
    block: ContextBlock
    ranked: list[Fact]
    candidates: dict[str, StartCandidate]
    """What each is worth, by uid."""
    budget: int


class ContextView(BaseView[ContextData]):
    """The facts that may be given on the left, the best first; why the selected one is or is not, and the exact text, on the
    right."""

    NAME = "told"
    TITLE_OF_LIST = "context"
    BINDING_GROUP_TITLE = "Context"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 6),
        GridColumn("fact"),
        GridColumn("why", 24, least=60),
        GridColumn("value", 5, right=True, least=80),
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
        WriteBinding("p", "pin", "Pin", id="told.pin", tooltip="Pin or unpin the fact; pinned facts come first"),
        WriteBinding(
            "W", "cool", "Cool", id="told.cool", tooltip="Move to the cold tier: searchable, not in the context"
        ),
        WriteBinding("a", "archive", "Archive", id="told.archive", tooltip="Archive the fact"),
        gather_binding("told"),
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
            budget = store.policies.for_theme(theme).injection_tokens
            situation = store.context.present_situation()
            sessions = store.turns.describe_sessions(theme)
            block = store.context.status(theme, record=False, situation=situation, sessions=sessions)
            choice = store.context.choose(theme, situation, budget)
            valued = [*choice.given, *choice.left_out]
            ranked = store.context.load_facts(valued)
        by_key = {candidate.key: candidate for candidate in valued}
        return ContextData(themes, theme, block, ranked, {fact.uid: by_key[fact.id] for fact in ranked}, budget)

    def draw(self, data: ContextData) -> None:
        included = {fact.id for fact in data.block.facts}
        rows, total = [], 0
        for fact in data.ranked:
            is_included = fact.id in included
            candidate = data.candidates[fact.uid]
            total += candidate.cost if is_included else 0
            ink = "" if is_included else "dim"
            rows.append(
                GridRow(
                    fact.uid,
                    (
                        GridCell("● in" if is_included else "○ out", "hot" if is_included else "dim"),
                        GridCell(to_printable(fact.notation), ink),
                        self.pending_cell(fact.uid)
                        or GridCell(reason_lines.format_reason_names(candidate.parts), "dim"),
                        GridCell(f"{candidate.value:.1f}", "dim", value=candidate.value),
                        GridCell(str(candidate.cost), ink, value=candidate.cost),
                        GridCell(str(total) if is_included else "·", "dim", value=total if is_included else -1),
                    ),
                )
            )
        self.grid.empty = ("No hot facts. The context block contains only the rules.",)
        hue = palettes.theme_hues(theme.name for theme in data.themes).get(data.theme, 0)
        title: Any = Content.assemble(("■ ", f"$mark-{hue}"), f"context of {to_printable(data.theme)}")
        self.grid.border_title = title
        self.grid.set_subtitle(
            f"{len(included)} included, {data.block.left_out} omitted · {data.block.fact_tokens}/{data.budget} tokens"
        )
        self.grid.show(rows)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        assert self.data is not None
        block = self.data.block
        chosen = next((fact.notation for fact in self.data.ranked if fact.uid == key), None)
        lines: list[Line] = [
            *self._why(str(key)),
            heading_line(
                f"{pluralise(block.tokens, 'token')}, {pluralise(len(block.text), 'character')}",
                "as returned by memory_status:",
            ),
            Content(""),
        ]
        for line in block.text.split("\n"):
            style = "bold $accent" if line == chosen else "$dim" if line.startswith("(+") else ""
            lines.append(Content.styled(to_printable(line), style))
        return "context block", lines

    def _why(self, uid: str) -> list[Line]:
        candidate = self.data.candidates.get(uid) if self.data is not None else None
        if self.data is None or candidate is None:
            return []
        is_given = any(fact.uid == uid for fact in self.data.block.facts)
        lines = reason_lines.format_reason_lines(candidate.parts, candidate.value, candidate.cost)
        title = heading_line("why this" if is_given else "why not", "" if is_given else "others are worth more a token")
        return [title, *(Content.styled(line, "$dim") for line in lines[:-1]), Content(lines[-1]), Content("")]

    def action_theme(self, step: int) -> None:
        if self.data is not None and self.data.themes:
            names = [theme.name for theme in self.data.themes]
            self.theme = (
                names[(names.index(self.data.theme) + step) % len(names)] if self.data.theme in names else names[0]
            )
            self.grid.cursor = 0
            self.reload()

    def action_make_test(self) -> None:
        ask_for_test(self, self._draft_case())

    def _draft_case(self) -> CaseDraft | None:
        fact = self._fact()
        return None if fact is None else CaseDraft(fact.theme, start=CaseStart(), lines=(fact.notation,))

    def _fact(self) -> Fact | None:
        ranked = () if self.data is None else self.data.ranked
        return next((fact for fact in ranked if fact.uid == self.grid.key), None)

    def action_pin(self) -> None:
        self._act(lambda facts: bulk_actions.UNPIN if all(fact.pinned for fact in facts) else bulk_actions.PIN)

    def action_cool(self) -> None:
        self._act(lambda _: bulk_actions.COOL)

    def action_archive(self) -> None:
        self._act(lambda _: bulk_actions.ARCHIVE)

    def show_pending(self) -> None:
        if self.data is not None:
            self.draw(self.data)

    def _act(self, choose: Callable[[Sequence[Fact]], BulkAction]) -> None:
        """Do something to the facts selected; to several only after a preview."""
        keys = self.grid.selected_keys
        facts = [fact for fact in self.data.ranked if fact.uid in keys] if self.data is not None else []
        if facts:
            self.writes.change_facts(lambda: facts, choose, self.grid, keys, self.grid.action_unmark)
