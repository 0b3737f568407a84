"""Scopes: every unit of work with its lifecycle, and the actions on it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.memory.sessions import SILENT_TURNS
from hermes_memory_store.model import Fact, FactFilter, Scope, ScopeStatus, ThemeSummary, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import ActionResult, Memory, list_scopes
from hermes_memory_tui.screens.memory_screen import WriteBinding, gather_binding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.base_view import BaseView, RowContext
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import prepare_words, to_row
from hermes_memory_tui.widgets.lists.pick_list import Choice
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

ALIKE = 0.75
"""From which likeness on two labels may be two spellings of one."""

NEWEST = 8
"""Facts of a scope that are shown beside it."""

NAME_COLUMN = 3
"""The column of the name, after which stands what waits in the basket."""

INKS = {ScopeStatus.OPEN: "hot", ScopeStatus.COOLING: "warning", ScopeStatus.CLOSED: "dim"}


@dataclass(frozen=True, slots=True)
class ScopesData:
    themes: list[ThemeSummary]
    scopes: list[Scope]
    rows: list[GridRow]
    """A row for each scope, made where it delays no key: there may be thousands."""

    def find_scope(self, key: object) -> Scope | None:
        return next((scope for scope in self.scopes if scope.uid == key), None)


class ScopesView(BaseView[ScopesData]):
    NAME = "scopes"
    TITLE_OF_LIST = "scopes"
    BINDING_GROUP_TITLE = "Scopes"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn(
            "", 2, value=lambda scope, _: GridCell(display_formats.SCOPE_SHAPES[scope.status], INKS[scope.status])
        ),
        GridColumn("", 2, value=lambda scope, at: GridCell("■", f"mark-{at.hues.get(scope.theme, 0)}")),
        GridColumn(
            "theme", 6, least=70, most=16, value=lambda scope, _: GridCell(to_printable(scope.theme), "dim", name=True)
        ),
        GridColumn(
            "scope",
            value=lambda scope, _: GridCell(to_printable(scope.label), ink(scope), bold=not ink(scope), name=True),
        ),
        GridColumn(
            "status",
            10,
            least=60,
            most=19,
            value=lambda scope, _: GridCell(scope_state_text(scope), INKS[scope.status]),
        ),
        GridColumn("hot", 5, right=True, value=lambda scope, _: count_cell(scope, Tier.HOT)),
        GridColumn("cold", 5, right=True, value=lambda scope, _: count_cell(scope, Tier.COLD)),
        GridColumn(
            "arch", 5, right=True, least=70, value=lambda scope, _: count_cell(scope, Tier.ARCHIVED, Tier.SUPERSEDED)
        ),
        GridColumn("opened", 6, right=True, least=70, value=lambda scope, at: age_cell(scope, at.now)),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("c", "close_scope", "Close", id="scopes.close", tooltip="Close the scope and cool its hot facts"),
        WriteBinding(
            "o",
            "reopen_scope",
            "Reopen",
            id="scopes.reopen",
            tooltip="Reopen the scope and warm the facts its closing cooled",
        ),
        WriteBinding("N", "rename_scope", "Rename", id="scopes.rename", tooltip="Rename the scope"),
        WriteBinding("m", "merge_scope", "Merge", id="scopes.merge", tooltip="Merge into another scope"),
        gather_binding("scopes"),
        WriteBinding("P", "purge_scope", "Purge", id="scopes.purge", tooltip="Purge its facts (cannot be undone)"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._newest: dict[str, list[Fact]] = {}

    def load(self, store: Store) -> ScopesData:
        self._newest = {}
        themes, scopes = store.themes(), list_scopes(store)
        at = RowContext(self.memory.now(), palettes.theme_hues(theme.name for theme in themes))
        for scope in scopes:  # here, and not when the first of them is compared with all others
            normalise_label(scope.label)
        rows = [to_row(self.COLUMNS, scope.uid, scope, at) for scope in scopes]
        prepare_words(rows)
        return ScopesData(themes, scopes, rows)

    def draw(self, data: ScopesData) -> None:
        self.grid.empty = ("No scopes yet.", "", "an agent opens one with its first write to it")
        self.grid.set_subtitle(display_formats.pluralise(len(data.scopes), "scope"))
        rows = list(data.rows)
        for place, row in enumerate(rows) if self.gathering.pending else ():
            waits = self.gathering.pending.get(str(row.key))
            if waits is not None:
                name = GridCell(f"{row.cells[NAME_COLUMN].text}  → {waits}", "warning", bold=True)
                rows[place] = replace(row, cells=(*row.cells[:NAME_COLUMN], name, *row.cells[NAME_COLUMN + 1 :]))
        self.grid.show(rows)

    def redraw(self) -> None:
        if self.data is not None:
            now = self.memory.now()
            rows = [row_at(row, scope, now) for row, scope in zip(self.data.rows, self.data.scopes, strict=True)]
            self.data = replace(self.data, rows=rows)
        super().redraw()

    def show_pending(self) -> None:
        if self.data is not None:
            self.draw(self.data)

    @property
    def scope(self) -> Scope | None:
        return None if self.data is None else self.data.find_scope(self.grid.key)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        scope = self.scope
        if scope is None or self.data is None:
            return "scope", [Content.styled("no scope selected", "$dim")]
        facts = self._newest.get(scope.uid)
        if facts is None:
            query = FactFilter(theme=scope.theme, scopes=frozenset({scope.label}))
            facts = self._newest[scope.uid] = self.memory.read_now(
                lambda store: store.facts.page(query, limit=NEWEST).facts
            )
        now = self.memory.now()
        return f"scope {to_printable(scope.label)}", [
            lifecycle_line(scope.status),
            Content(""),
            labelled_value("theme", to_printable(scope.theme)),
            labelled_value("opened", display_formats.format_when(scope.opened_at, now)),
            *scope_age_lines(scope, now),
            *tier_count_lines(scope),
            *similar_scope_lines(scope, self.data.scopes),
            Content(""),
            heading_line("newest facts", "enter: show all"),
            *(
                Content.assemble(
                    (f"{display_formats.TIER_SHAPES[fact.tier]} ", "$hot" if fact.tier is Tier.HOT else "$dim"),
                    (f"{fact.type.value}[{to_printable(fact.target)}]", "bold"),
                    f" {to_printable(fact.content)}",
                )
                for fact in facts
            ),
        ]

    def open(self, key: object) -> None:
        scope = self.scope
        if scope is not None:
            main = self.inspector.main
            self.inspector.open_view("facts")
            main.go_to_scope(scope.theme, scope.label)

    @property
    def selected_scopes(self) -> list[Scope]:
        uids = set(self.grid.selected_keys)
        return [scope for scope in self.data.scopes if scope.uid in uids] if self.data is not None else []

    def action_close_scope(self) -> None:
        self._act_on_scopes("close", self.memory.close_scope)

    def action_reopen_scope(self) -> None:
        self._act_on_scopes("reopen", self.memory.reopen_scope)

    def _act_on_scopes(self, word: str, act: Callable[[str, str], ActionResult]) -> None:
        """Do something to the scopes selected; to several in one change, once the person has seen which."""
        scopes = self.selected_scopes
        if scopes and self.gathering.is_on:
            self.gathering.add_change(word, scopes, then=self.grid.action_unmark)
        elif len(scopes) == 1:
            self.grid.let_go(self.grid.selected_keys)
            self.writes.run(lambda: act(scopes[0].theme, scopes[0].label))
        elif scopes:
            lines = [scope_line(scope) for scope in scopes]
            lines.append(Content.styled("One change; u undoes it.", "$dim"))
            noun = display_formats.pluralise(len(scopes), "scope")
            self.grid.let_go(self.grid.selected_keys)
            self.ask_then(
                Question(f"{word} {noun}", lines),
                lambda _: self.writes.run(
                    lambda: self.memory.run_grouped_write(
                        lambda _: [act(scope.theme, scope.label) for scope in scopes], f"{word} of {noun} done"
                    ),
                    self.grid.action_unmark,
                ),
            )

    def action_rename_scope(self) -> None:
        scope = self.scope
        if scope is not None:
            dialog = Question(
                f"rename {to_printable(scope.label)}",
                [Content.styled(f"in theme {to_printable(scope.theme)}; its facts stay as they are", "$dim")],
                type_in="new name",
                start=scope.label,
                check=partial(find_rename_problem, scope, self.data.scopes if self.data is not None else ()),
            )
            self.ask_then(dialog, partial(self._rename, scope))

    def _rename(self, scope: Scope, label: str) -> None:
        self.writes.run(
            lambda: self.memory.run_write(
                lambda store: store.scopes.rename(scope.theme, scope.label, label),
                f"scope {to_printable(scope.label)} is now {to_printable(label)}",
            )
        )

    def action_merge_scope(self) -> None:
        """Choose a scope that takes the facts of those selected: another one, or one of several marked."""
        scopes = self.selected_scopes
        if not scopes or self.data is None:
            return
        theme = scopes[0].theme
        marked = {scope.label for scope in scopes} if len(scopes) > 1 else set()
        if any(scope.theme != theme for scope in scopes):
            self.notify("The marked scopes belong to several themes; merge one theme at a time.", severity="warning")
            return
        near = [peer.label for peer in similar_scopes(scopes[0], self.data.scopes)]
        targets = [
            scope for scope in self.data.scopes if scope.theme == theme and (marked or scope.uid != scopes[0].uid)
        ]
        targets.sort(key=lambda scope: (scope.label not in marked, scope.label not in near))
        if not targets:
            self.notify(f"Theme {theme} has no other scope.", severity="warning", timeout=4, markup=False)
            return
        choices = []
        for scope in targets:
            note = "marked · " if scope.label in marked else "similar name · " if scope.label in near else ""
            choices.append(Choice(scope.label, scope.label, note + scope.status.value))
        picker = Picker(f"merge {scopes_name(scopes)} into", choices, typing=True)
        self.ask_then(
            picker, lambda into: self._confirm_merge([scope for scope in scopes if scope.label != into], into)
        )

    def _confirm_merge(self, scopes: Sequence[Scope], into: str) -> None:
        if self.gathering.is_on:
            self.gathering.add_change("merge", scopes, into, self.grid.action_unmark)
            return
        lines: list[Line] = [
            *(scope_line(scope) for scope in scopes),
            Content.assemble("All move to ", (to_printable(into), "bold"), "."),
            Content("For duplicate targets the newer fact wins."),
            Content.styled("Can be undone with u.", "$dim"),
        ]
        self.ask_then(Question("merge scopes", lines), lambda _: self._merge(scopes, into))

    def _merge(self, scopes: Sequence[Scope], into: str) -> None:
        def merge(store: Store) -> int:
            return sum(len(store.scopes.merge(scope.theme, scope.label, into).uids) for scope in scopes)

        self.writes.run(
            lambda: self.memory.run_grouped_write(
                merge,
                lambda moved: (
                    f"{scopes_name(scopes)} merged into {to_printable(into)}, "
                    f"{display_formats.pluralise(moved, 'fact')} moved"
                ),
            ),
            self.grid.action_unmark,
        )

    def action_purge_scope(self) -> None:
        scope = self.scope
        if scope is None:
            return
        if self.grid.marked:
            self.notify("Scopes are purged one at a time; - clears the marks.", severity="warning", timeout=4)
            return
        self.writes.preview_then_run(
            lambda: self.memory.preview_scope(scope.theme, scope.label),
            lambda: self.memory.purge_scope(scope.theme, scope.label),
        )


def ink(scope: Scope) -> str:
    return "dim" if scope.status is ScopeStatus.CLOSED else ""


def count_cell(scope: Scope, *tiers: Tier) -> GridCell:
    count = sum(scope.facts.get(tier, 0) for tier in tiers)
    return GridCell(
        display_formats.abbreviate_number(count) if count else "·", ink(scope) if count else "dim", value=count
    )


def age_cell(scope: Scope, now: int) -> GridCell:
    """Return how long ago a scope was opened, which the scope opened last has the least of."""
    return GridCell(display_formats.format_age(scope.opened_at, now), "dim", value=-scope.opened_at)


def row_at(row: GridRow, scope: Scope, now: int) -> GridRow:
    """Return the row of a scope as it is some time later: the same one where its age reads the same."""
    age = age_cell(scope, now)
    return row if row.cells[-1] == age else replace(row, cells=(*row.cells[:-1], age))


def scopes_name(scopes: Sequence[Scope]) -> str:
    if len(scopes) == 1:
        return f"scope {to_printable(scopes[0].label)}"
    return display_formats.pluralise(len(scopes), "scope")


def scope_line(scope: Scope) -> Content:
    return Content.assemble(
        (to_printable(scope.label), "bold"),
        f" has {display_formats.pluralise(sum(scope.facts.values()), 'fact')}",
        (f"  {to_printable(scope.theme)}, {scope.status.value}", "$dim"),
    )


def scope_state_text(scope: Scope) -> str:
    if scope.status is ScopeStatus.CLOSED:
        return "closed"
    if scope.silence:
        return f"{scope.status.value}, {scope.silence}/{SILENT_TURNS} silent"
    return scope.status.value


def lifecycle_line(status: ScopeStatus) -> Content:
    parts: list[str | tuple[str, str]] = []
    for step in (ScopeStatus.OPEN, ScopeStatus.COOLING, ScopeStatus.CLOSED):
        here = step is status
        parts.append((f"{display_formats.SCOPE_SHAPES[step]} {step.value}", f"bold ${INKS[step]}" if here else "$dim"))
        parts.append((" ──▶ ", "$dim"))
    return Content.assemble(*parts[:-1])


def scope_age_lines(scope: Scope, now: int) -> Sequence[Line]:
    """Return when and why a scope was closed, or how close to closing it is."""
    if scope.status is ScopeStatus.CLOSED:
        when = "" if scope.closed_at is None else f"{display_formats.format_moment(scope.closed_at, now)}, "
        return [labelled_value("closed", f"{when}{closing_reason(scope.closed_by)}")]
    if scope.silence:
        left = SILENT_TURNS - scope.silence
        turns = f"{display_formats.pluralise(scope.silence, 'turn')} without a reference"
        after = f"; closes after {left} more" if left > 0 else "; closes at the next turn"
        return [labelled_value("silence", turns + after)]
    return [labelled_value("silence", "none (in use, or no agent connected)")]


WHY = {
    "signal": "closing signal in a message",
    "silence": "not referenced for six turns",
    "shift": "three consecutive turns wrote to another scope",
    "done": "a ✓ fact was written",
    "person": "closed by you",
    "session": "closed by an agent",
}


def closing_reason(closed_by: str | None) -> str:
    if closed_by is None:
        return "no reason recorded"
    kind, _, more = closed_by.partition(":")
    reason = WHY.get(kind.strip())
    if reason is None:
        return to_printable(closed_by)
    return reason + (f" ({to_printable(more.strip())})" if more.strip() else "")


def tier_count_lines(scope: Scope) -> Sequence[Line]:
    counts = [
        f"{display_formats.TIER_SHAPES[tier]} {display_formats.format_count(scope.facts[tier])} {tier.value}"
        for tier in Tier
        if scope.facts.get(tier)
    ]
    return [labelled_value("facts", "   ".join(counts) or "none")]


def similar_scopes(scope: Scope, scopes: Sequence[Scope]) -> list[Scope]:
    """Find other scopes of its theme whose labels may be spelling variants."""
    mine, digits = normalise_label(scope.label)

    def is_similar(label: str) -> bool:
        theirs, their_digits = normalise_label(label)
        is_alike = digits == their_digits
        return is_alike and (mine == theirs or difflib.SequenceMatcher(a=mine, b=theirs).ratio() >= ALIKE)

    peers = (peer for peer in scopes if peer.theme == scope.theme and peer.uid != scope.uid and is_similar(peer.label))
    return list(islice(peers, 5))


@lru_cache(maxsize=100_000)
def normalise_label(label: str) -> tuple[str, str]:
    """Normalise a label: fold case, drop punctuation, spaces and leading zeros.

    Returns its digits, too, which similar labels have in common: `q3` and `q4` are distinct.
    """
    words = "".join(char if char.isalnum() else " " for char in label.casefold()).split()
    normal = "".join(word.lstrip("0") or "0" if word.isdigit() else word for word in words)
    return normal, "".join(filter(str.isdigit, normal))


def similar_scope_lines(scope: Scope, scopes: Sequence[Scope]) -> Sequence[Line]:
    peers = similar_scopes(scope, scopes)
    if not peers:
        return []
    names = ", ".join(f"{to_printable(peer.label)} ({display_formats.pluralise(peer.live, 'fact')})" for peer in peers)
    return [
        Content(""),
        Content.styled(f"similar names: {names}", "$warning"),
        key_hint_line(("m", "merge (can be undone)")),
    ]


def find_rename_problem(scope: Scope, scopes: Sequence[Scope], label: str) -> str | None:
    if label != scope.label and any(peer.theme == scope.theme and peer.label == label for peer in scopes):
        return f"scope {to_printable(label)} exists; type another name, or esc and m to merge into it"
    return label_problem(label)


def label_problem(label: str) -> str | None:
    try:
        validate_label(label)
    except StoreError as error:
        return to_printable(str(error))
    return None
