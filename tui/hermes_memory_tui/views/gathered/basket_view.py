"""The basket: the gathered changes, the context that would result, and its cost. Done as one change, or not at all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import FactFilter
from hermes_memory_store.relief.tidying import PURGE, TidyStep, plan_tidying
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.basket.basket_run import (
    BasketOutcome,
    ChangeOutcome,
    OutdatedSubject,
    ThemeContext,
    apply_basket,
    preview_basket,
)
from hermes_memory_tui.basket.pending_changes import Basket, PendingChange, Subject, to_pending
from hermes_memory_tui.dialogs.confirm_dialog import MAX_SIDE_EFFECTS, gauge_line, side_effect_line
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.line_differences import LineDifference, diff_lines
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

SIGNS = {"added": ("+", "$success", "enters"), "removed": ("−", "$error", "leaves"), "moved": ("↕", "$dim", "moves")}
"""Sign, colour and word of a line of the context that is not as before."""

BAR = 16
"""Cells of a gauge."""

LABEL = 13
"""Cells of a label: `content was` and a gap."""

REST = 4
"""After others wrote it is not tried again before this many times what the last time took: they wait for it."""

SCOPE_LINE = "active scopes:"
"""How the line of a context begins that names the scopes; it is no fact that comes or goes."""

RowKey = tuple[int, str]
"""The number of a change, and the uid of one of its facts, which must be decided again or was put off; else empty."""


@dataclass(frozen=True, slots=True)
class BasketData:
    """The changes and what would come of them."""

    changes: tuple[PendingChange, ...]
    outcome: BasketOutcome | None
    """None where nothing can be tried, because the memory is open read-only."""


class BasketView(BaseView[BasketData]):
    """One row per change; below it the facts that somebody changed meanwhile."""

    CSS_PATH = "../../screens/view.tcss"  # Textual looks from the folder of the class
    NAME = "basket"
    TITLE_OF_LIST = "basket"
    BINDING_GROUP_TITLE = "Basket"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 2),
        GridColumn("change", 22),
        GridColumn("of"),
        GridColumn("result", 26, least=60),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "do_all", "Do all", id="basket.do", tooltip="Do all changes as one, or none", priority=True),
        WriteBinding("d,delete", "remove", "Remove", id="basket.remove", tooltip="Take the change out of the basket"),
        WriteBinding(
            "less_than_sign",
            "take_mine",
            "Mine",
            id="basket.mine",
            tooltip="Changed meanwhile: do the change all the same",
        ),
        WriteBinding(
            "greater_than_sign",
            "take_theirs",
            "Theirs",
            id="basket.theirs",
            tooltip="Changed meanwhile: leave the fact as it is",
        ),
        WriteBinding(
            "I", "put_off", "Ignore", id="basket.skip", tooltip="Leave this one in the basket when the rest is done"
        ),
        WriteBinding(
            "tilde", "tidy", "Tidy", id="basket.tidy", tooltip="Add what could be tidied, each with its reason"
        ),
        Binding(
            "l,right", "show_result", "Result", id="basket.result", tooltip="Show what would come of it", show=False
        ),
    ]

    def __init__(self, memory: Memory, basket: Basket) -> None:
        super().__init__(memory)
        self._gathered = basket
        self._rests_until = 0.0
        self._tried = BasketData(basket.changes, None)
        """What came of the last try, for `load`."""
        self._is_doing = False
        """Whether the changes are being done now."""
        self.grid.can_sort = False

    def ask_outside_store(self) -> None:
        """Try the changes: they are made and taken back on the writing connection, which may wait for its turn."""
        if self.memory.read_only:
            return
        self._gathered.forget_purged_in(self.memory, self.gathering.show_purged)
        changes, began = self._gathered.changes, time.monotonic()
        self._tried = BasketData(changes, preview_basket(self.memory.store, changes))
        self._rests_until = time.monotonic() + REST * (time.monotonic() - began)

    def load(self, store: Store) -> BasketData:
        return self._tried

    def check_for_changes(self) -> None:
        """As for every view, unless the preview is being made."""
        if time.monotonic() >= self._rests_until:
            super().check_for_changes()

    def draw(self, data: BasketData) -> None:
        self.grid.empty = (
            "The basket is empty.",
            "",
            "b in Facts, Scopes, Context or Review gathers what you do",
            "instead of doing it; here it is seen and done as one.",
            "~ adds what could be tidied.",
        )
        rows = []
        outcomes = data.outcome.changes if data.outcome is not None else []
        for place, change in enumerate(data.changes):
            rows += change_rows(change, outcomes[place] if outcomes else None)
        self.grid.set_subtitle(summary(data))
        self.grid.show(rows)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        if self.data is None or not self.data.changes:
            return "result", [Content.styled("Nothing would change.", "$dim")]
        outcome = self.data.outcome
        if outcome is None:
            return "result", [Content.styled("The memory is open read-only: nothing can be done.", "$warning")]
        lines: list[Line] = []
        pair = self._find(key)
        if pair is not None:
            lines += selection_lines(*pair)
        for before, after in outcome.changed_contexts:
            lines += context_lines(before, after)
        if not outcome.changed_contexts:
            lines += [Content.styled("No context changes.", "$dim"), Content("")]
        if outcome.others:
            lines += [
                heading_line("side effects"),
                *(side_effect_line(other, outcome.names) for other in outcome.others[:MAX_SIDE_EFFECTS]),
            ]
            rest = len(outcome.others) - MAX_SIDE_EFFECTS
            if rest > 0:
                lines.append(Content.styled(f"  and {rest:,} more", "$dim"))
            lines.append(Content(""))
        if pair is not None and len(pair[0].change.subjects) > 1:
            lines += [heading_line("facts of this change" if pair[0].change.subjects[0].entity == "fact" else "scopes")]
            lines += [
                Content(f"  {to_printable(subject.name)}  ") + brief(subject) for subject in pair[0].change.subjects
            ]
        return "result", lines

    def _find(self, key: object) -> tuple[ChangeOutcome, OutdatedSubject | None] | None:
        if self.data is None or self.data.outcome is None or not isinstance(key, tuple):
            return None
        number, uid = key
        for change in self.data.outcome.changes:
            if change.change.number == number:
                return change, next((other for other in change.outdated if other.gathered.uid == uid), None)
        return None

    # What a person does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "do_all" and self.focused is not self.grid and self.focused is not self.pages:
            return False  # enter in the filter line is its own
        if action == "gather":
            return False
        return super().check_action(action, parameters)

    def action_do_all(self) -> None:
        """Do all changes as one, or none."""
        changes = self._gathered.changes
        if not changes:
            self.notify("The basket is empty: b in Facts or Scopes gathers changes.", timeout=4)
            return
        if self.memory.read_only:
            self.notify("The memory is open read-only: nothing can be done.", severity="warning", timeout=4)
            return
        if self.data is None or self.data.changes != changes or self.data.outcome is None:
            self.notify("What would come of it is not shown yet; enter does it then.", timeout=4)
            self.reload()
            return
        outcome = self.data.outcome
        undecided = next((change for change in outcome.changes if change.outdated), None)
        if undecided is not None:
            self._go_to((undecided.change.number, undecided.outdated[0].gathered.uid))
            facts = display_formats.pluralise(outcome.undecided, "fact")
            self.notify(
                f"{facts} changed meanwhile: < does yours, > leaves theirs, I ignores it for now. Nothing was done.",
                severity="warning",
                timeout=8,
            )
            return
        if outcome.refused is not None:
            self._go_to((outcome.refused.change.number, ""))
            message = f"{outcome.refused.change.words} would be refused, so nothing was done: {outcome.refused.refused}"
            self.notify(message, severity="error", timeout=8, markup=False)
            return
        done = [change for change in changes if not all(subject.waits for subject in change.subjects)]
        if not done:
            self.notify("All of it is ignored for now; I takes one up again.", severity="warning", timeout=4)
            return
        self._do(changes)

    def _do(self, changes: tuple[PendingChange, ...]) -> None:
        def finish() -> None:
            self._is_doing = False
            self._gathered.finish(changes)
            self.gathering.show()
            if not self._gathered.changes and self.is_current:
                self.app.pop_screen()

        def refuse(error: StoreError) -> None:
            self._is_doing = False
            self.show_error(error)
            self.reload()

        if not self._is_doing:
            self._is_doing = True
            self.writes.run(
                lambda: self.memory.run_grouped_write(partial(apply_basket, changes=changes), say_done),
                finish,
                refuse,
            )

    def action_tidy(self) -> None:
        """Add what could be tidied in all themes, for the person to look at; what no undo takes back is left out."""

        def plan() -> list[TidyStep]:
            with self.memory.open_reader() as store:
                return plan_tidying(store, FactFilter())

        def fill(steps: list[TidyStep]) -> None:
            count = self._gathered.add_proposals(to_pending(step) for step in steps if step.action != PURGE)
            self.notify(f"{display_formats.pluralise(count, 'proposal')} added; d takes one out, enter does the rest.")
            self._show_changed()

        self.notify("Looking for what could be tidied …", timeout=2)
        self.writes.look_then(plan, fill)

    def action_remove(self) -> None:
        """Take the changes selected out of the basket; a fact to be decided, out of its change."""
        for key in self.grid.selected_keys:
            number, uid = key
            if uid:
                self._gathered.decide(number, uid, None)
            else:
                self._gathered.remove([number])
        self.grid.action_unmark()
        self._show_changed()

    def action_take_theirs(self) -> None:
        pair = self._undecided()
        if pair is not None:
            self._gathered.decide(pair[0].change.number, pair[1].gathered.uid, None)
            self._show_changed()

    def action_take_mine(self) -> None:
        pair = self._undecided()
        if pair is None:
            return
        if pair[1].present is None:
            self.notify(f"{pair[1].gathered.name} is there no more; > takes it out.", severity="warning", markup=False)
            return
        self._gathered.decide(pair[0].change.number, pair[1].gathered.uid, pair[1].present)
        self._show_changed()

    def action_put_off(self) -> None:
        """Leave the fact or the whole change in the basket when the rest is done, or no longer."""
        if not isinstance(self.grid.key, tuple):
            return
        number, uid = self.grid.key
        for change in self._gathered.changes:
            if change.number == number:
                for subject in change.subjects:
                    if not uid or subject.uid == uid:
                        self._gathered.put_off(number, subject.uid)
        self._show_changed()

    def action_undo(self) -> None:
        self.writes.run(self.memory.undo)  # what was done last, not what was gathered: `d` takes that out

    def action_sort(self) -> None:
        self.notify("Changes stand in the order in which they will be done.", timeout=4)

    def action_show_result(self) -> None:
        self.add_class("-show-text")
        self.pages.focus()

    def action_back(self) -> None:
        """Go back from the result to the list, or to where the basket was opened."""
        if self.focused is self.pages or self.has_class("-show-text"):
            super().action_back()
        elif not self.list_tools.clear():
            self.app.pop_screen()

    def _undecided(self) -> tuple[ChangeOutcome, OutdatedSubject] | None:
        pair = self._find(self.grid.key)
        if pair is None or pair[1] is None:
            self.notify("Nobody changed this meanwhile: there is nothing to decide.", timeout=4)
            return None
        return pair[0], pair[1]

    def _go_to(self, key: RowKey) -> None:
        self.grid.go_to(key)
        self.grid.focus()

    def _show_changed(self) -> None:
        self.gathering.show_trouble()
        self.gathering.show()
        self.reload()


def say_done(outcomes: Sequence[ChangeOutcome]) -> str:
    """Say how many changes were done; what was so already is none, as undo counts it."""
    tried = [outcome for outcome in outcomes if not all(subject.waits for subject in outcome.change.subjects)]
    done = sum(outcome.rows > 0 for outcome in tried)
    same = len(tried) - done
    if not done:
        return "nothing to do: all of it is so already"
    already = f", {same} {'is' if same == 1 else 'are'} so already" if same else ""
    return f"{display_formats.pluralise(done, 'change')} done as one{already}"


def change_rows(change: PendingChange, outcome: ChangeOutcome | None) -> list[GridRow]:
    """Return the row of a change, and one for each of its facts that is to be decided or was put off."""
    skipped = [subject for subject in change.subjects if subject.waits]
    sign, ink, result = "●", "hot", ""
    if outcome is None:
        sign, ink = "○", "dim"
    elif outcome.refused is not None:
        sign, ink, result = "✕", "error", f"refused: {to_printable(str(outcome.refused))}"
    elif outcome.outdated:
        sign, ink, result = "≠", "warning", f"decide again: {len(outcome.outdated)}"
    elif len(skipped) == len(change.subjects):
        sign, ink, result = "…", "dim", "skipped"
    elif not outcome.rows:
        sign, ink, result = "=", "dim", "is so already"
    else:
        result = "ready"
    rows = [
        GridRow(
            (change.number, ""),
            (
                GridCell(sign, ink, bold=True),
                GridCell(change.words, bold=True),
                GridCell(to_printable(change.name), name=True),
                GridCell(result, ink),
            ),
        )
    ]
    for entry in outcome.outdated if outcome is not None else ():
        result = "is there no more" if entry.present is None else f"changed by {to_printable(entry.by)}"
        rows.append(subject_row(change, entry.gathered, "≠", result))
    if len(skipped) < len(change.subjects):
        rows += [subject_row(change, subject, "…", "skipped") for subject in skipped]
    return rows


def subject_row(change: PendingChange, item: Subject, sign: str, result: str) -> GridRow:
    cells = (GridCell(sign, "warning"), GridCell("  └"), GridCell(to_printable(item.name)), GridCell(result, "warning"))
    return GridRow((change.number, item.uid), cells)


def summary(data: BasketData) -> str:
    outcome = data.outcome
    if outcome is None or not data.changes:
        return display_formats.pluralise(len(data.changes), "change")
    parts = [f"{outcome.undecided} to decide again"] if outcome.undecided else []
    contexts = outcome.changed_contexts
    for before, after in contexts[:1]:
        added, left = count_differences(diff_lines(before.lines, after.lines))
        moves = ", ".join(f"{number} {way}" for number, way in ((added, "in"), (left, "out")) if number)
        parts.append(f"context {before.tokens} → {after.tokens} tokens" + (f", {moves}" if moves else ""))
        parts.append(f"gauge {before.gauge.pct:.0f} → {after.gauge.pct:.0f} %")
    if len(contexts) > 1:
        parts.append(f"and {display_formats.pluralise(len(contexts) - 1, 'other theme')}")
    if not contexts:
        parts.append("no context changes")
    return " · ".join(parts)


def count_differences(lines: Sequence[LineDifference]) -> tuple[int, int]:
    """Return how many facts come and how many go."""
    facts = [line for line in lines if not line.text.startswith(SCOPE_LINE)]
    return sum(line.before is None for line in facts), sum(line.after is None for line in facts)


def context_lines(before: ThemeContext, after: ThemeContext) -> list[Line]:
    change = after.tokens - before.tokens
    sign = "±0" if not change else f"{change:+,}".replace("-", "−")
    lines: list[Line] = [
        heading_line(
            f"context of {to_printable(after.gauge.theme)}", f"{before.tokens:,} → {after.tokens:,} tokens ({sign})"
        ),
    ]
    differences = diff_lines(before.lines, after.lines)
    same = 0
    for difference in differences:
        kind = (
            "added"
            if difference.before is None
            else "removed"
            if difference.after is None
            else "moved"
            if difference.moved
            else ""
        )
        if kind:
            shape, ink, word = SIGNS[kind]
            word = "" if difference.text.startswith(SCOPE_LINE) else f"  {word}"
            lines.append(
                Content.assemble((f"{shape} ", f"bold {ink}"), (to_printable(difference.text), ink), (word, "$dim"))
            )
        same += not kind
    lines.append(Content.styled(f"  {display_formats.pluralise(same, 'line')} as before", "$dim"))
    return [*lines, gauge_line("now", before.gauge, BAR), gauge_line("after", after.gauge, BAR), Content("")]


def selection_lines(outcome: ChangeOutcome, undecided: OutdatedSubject | None) -> list[Line]:
    change = outcome.change
    lines: list[Line] = [heading_line(change.words, to_printable(change.name))]
    if change.reason:
        lines.append(labelled_value("because", to_printable(change.reason)))
    if outcome.refused is not None:
        lines.append(Content.styled(f"would be refused: {to_printable(str(outcome.refused))}", "$error"))
    if undecided is not None:
        lines += decision_lines(change, undecided)
    elif change.action == "edit":
        lines += [
            labelled_value("is", to_printable(str(change.subjects[0].state["content"]))),
            labelled_value("becomes", to_printable(change.value or "")),
        ]
    elif len(change.subjects) == 1:
        lines.append(brief(change.subjects[0]))
    return [*lines, Content("")]


def decision_lines(change: PendingChange, subject: OutdatedSubject) -> list[Line]:
    lines: list[Line] = []
    if subject.present is None:
        lines.append(Content.styled(f"{to_printable(subject.gathered.name)} is there no more.", "$warning"))
        return [*lines, key_hint_line((">", "take it out"), ("I", "ignore for now"))]
    lines.append(
        Content.styled(f"{to_printable(subject.gathered.name)} was changed by {to_printable(subject.by)}:", "$warning")
    )
    for name, was, now in subject.differences:
        lines += [
            labelled_value(f"{name} was", show_value(was), LABEL),
            labelled_value("is now", show_value(now), LABEL),
        ]
    if change.action == "edit":
        lines.append(labelled_value("yours", to_printable(change.value or ""), LABEL))
    return [*lines, key_hint_line(("<", change.words), (">", "leave it as it is now"), ("I", "ignore for now"))]


def show_value(value: object) -> str:
    """Return a value of a fact or scope as a person reads it."""
    return (
        "none"
        if value is None
        else {True: "yes", False: "no"}[value]
        if isinstance(value, bool)
        else to_printable(str(value))
    )


def brief(item: Subject) -> Content:
    """Return a fact or scope in a few words, as it was gathered."""
    if item.entity == "scope":
        return Content.styled(f"{item.theme}, {item.state['status']}", "$dim")
    pinned = ", pinned" if item.state["pinned"] else ""
    return Content.assemble(to_printable(str(item.state["content"])), (f"  {item.state['tier']}{pinned}", "$dim"))
