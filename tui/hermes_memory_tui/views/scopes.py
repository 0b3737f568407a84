"""Scopes: every unit of work with its lifecycle, and what a person does with it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Fact, FactFilter, Scope, ScopeStatus, Theme, Tier
from hermes_memory_store.scopes import checked_label
from hermes_memory_store.sessions import SILENT_TURNS
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import looks, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair
from hermes_memory_tui.widgets.pick_list import Choice

ALIKE = 0.75
"""From which likeness on two labels may be two spellings of one."""

NEWEST = 8
"""Facts of a scope that are shown beside it."""

INKS = {ScopeStatus.OPEN: "hot", ScopeStatus.COOLING: "warning", ScopeStatus.CLOSED: "dim"}


@dataclass(frozen=True, slots=True)
class Scopes:
    """What the view shows."""

    themes: list[Theme]
    scopes: list[Scope]

    def named(self, key: object) -> Scope | None:
        """The scope of a row."""
        return next((scope for scope in self.scopes if scope.uid == key), None)


class ScopesView(View[Scopes]):
    """One line a scope."""

    NAME = "scopes"
    TITLE_OF_LIST = "scopes"
    BINDING_GROUP_TITLE = "Scopes"
    WRITES = View.WRITES | {"close_scope", "reopen_scope", "rename_scope", "merge_scope", "purge_scope"}
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("", 2),
        Column("", 2),
        Column("theme", 16, least=90),
        Column("scope"),
        Column("status", 19, least=60),
        Column("hot", 6, right=True),
        Column("cold", 6, right=True),
        Column("arch", 6, right=True, least=70),
        Column("opened", 6, right=True, least=70),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "close_scope", "Close", id="scopes.close", tooltip="Close the scope; its hot facts cool"),
        Binding(
            "o", "reopen_scope", "Reopen", id="scopes.reopen", tooltip="Open it again; what its closing cooled warms"
        ),
        Binding("e", "rename_scope", "Rename", id="scopes.rename", tooltip="Give the scope another name"),
        Binding("m", "merge_scope", "Merge", id="scopes.merge", tooltip="Move everything of it into another scope"),
        Binding("P", "purge_scope", "Purge", id="scopes.purge", tooltip="Erase its facts for good; cannot be undone"),
        Binding("s", "sort", "Sort", id="scopes.sort", tooltip="By state, by name, by size, by age", show=False),
    ]
    SORTS = ("state", "name", "facts", "age")

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._sort = 0
        self._newest: dict[str, list[Fact]] = {}

    def load(self, store: Store) -> Scopes:
        self._newest = {}
        return Scopes(store.themes(), store.scopes.list())

    def draw(self, data: Scopes) -> None:
        now = self.memory.now()
        hues = looks.hues(theme.name for theme in data.themes)
        self.grid.empty = ("There are no scopes yet.", "", "an agent opens one with its first write to it")
        self.grid.border_subtitle = f"{shown.plural(len(data.scopes), 'scope')}, by {self.SORTS[self._sort]}"
        self.grid.show([line(scope, hues.get(scope.theme, 0), now) for scope in self._sorted(data.scopes)])

    def _sorted(self, scopes: list[Scope]) -> list[Scope]:
        match self.SORTS[self._sort]:
            case "name":
                return sorted(scopes, key=lambda scope: scope.label.casefold())
            case "facts":
                return sorted(scopes, key=lambda scope: -sum(scope.facts.values()))
            case "age":
                return sorted(scopes, key=lambda scope: -scope.opened_at)
            case _:
                return scopes

    def action_sort(self) -> None:
        self._sort = (self._sort + 1) % len(self.SORTS)
        if self.data is not None:
            self.draw(self.data)

    @property
    def scope(self) -> Scope | None:
        """The scope under the cursor."""
        return None if self.data is None else self.data.named(self.grid.key)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        scope = self.scope
        if scope is None or self.data is None:
            return "scope", [Content.styled("no scope is chosen", "$dim")]
        facts = self._newest.get(scope.uid)
        if facts is None:
            wanted = FactFilter(theme=scope.theme, scopes=frozenset({scope.label}))
            facts = self._newest[scope.uid] = self.memory.look(
                lambda store: store.facts.page(wanted, limit=NEWEST).facts
            )
        now = self.memory.now()
        return f"scope {printable(scope.label)}", [
            lifecycle(scope.status),
            Content(""),
            pair("theme", printable(scope.theme)),
            pair("opened", f"{shown.moment(scope.opened_at, now)} ({shown.ago(scope.opened_at, now)})"),
            *standing(scope, now),
            *counts(scope),
            *alike(scope, self.data.scopes),
            Content(""),
            heading("newest facts", "enter shows all"),
            *(
                Content.assemble(
                    (f"{shown.TIER_SHAPES[fact.tier]} ", "$hot" if fact.tier is Tier.HOT else "$dim"),
                    (f"{fact.type.value}[{printable(fact.target)}]", "bold"),
                    f" {printable(fact.content)}",
                )
                for fact in facts
            ),
        ]

    def open(self, key: object) -> None:
        """To the facts of the scope."""
        scope = self.scope
        if scope is not None:
            main = self.inspector.main
            self.inspector.open_view("facts")
            main.go_to_scope(scope.theme, scope.label)

    def action_close_scope(self) -> None:
        scope = self.scope
        if scope is not None:
            self.write(lambda: self.memory.close_scope(scope.theme, scope.label))

    def action_reopen_scope(self) -> None:
        scope = self.scope
        if scope is not None:
            self.write(lambda: self.memory.reopen_scope(scope.theme, scope.label))

    def action_rename_scope(self) -> None:
        scope = self.scope
        if scope is not None:
            dialog = Ask(
                f"rename {printable(scope.label)}",
                [Content.styled(f"in theme {printable(scope.theme)}; its facts stay as they are", "$dim")],
                type_in="new name",
                start=scope.label,
                check=wrong_label,
            )
            self.ask_then(dialog, partial(self._rename, scope))

    def _rename(self, scope: Scope, label: str) -> None:
        self.write(
            lambda: self.memory.do(
                lambda store: store.scopes.rename(scope.theme, scope.label, label),
                f"scope {printable(scope.label)} is now {printable(label)}",
            )
        )

    def action_merge_scope(self) -> None:
        scope = self.scope
        if scope is None or self.data is None:
            return
        near = [one.label for one in similar(scope, self.data.scopes)]
        others = [one for one in self.data.scopes if one.theme == scope.theme and one.uid != scope.uid]
        others.sort(key=lambda one: one.label not in near)
        if not others:
            self.notify(f"Theme {scope.theme} has no other scope.", severity="warning", timeout=4, markup=False)
            return
        choices = [
            Choice(one.label, one.label, ("a similar name · " if one.label in near else "") + one.status.value)
            for one in others
        ]
        picker = Picker(f"merge {printable(scope.label)} into", choices, typing=True)
        self.ask_then(picker, partial(self._ask_merge, scope))

    def _ask_merge(self, scope: Scope, into: str) -> None:
        lines: list[Line] = [
            Content.assemble(
                (printable(scope.label), "bold"),
                f" has {shown.plural(sum(scope.facts.values()), 'fact')}; all move to ",
                (printable(into), "bold"),
                ".",
            ),
            Content("Where both say something about one target, the newer fact stands."),
            Content.styled("u takes it back.", "$dim"),
        ]
        self.ask_then(Ask("merge scopes", lines), lambda _: self._merge(scope, into))

    def _merge(self, scope: Scope, into: str) -> None:
        self.write(
            lambda: self.memory.do(
                lambda store: store.scopes.merge(scope.theme, scope.label, into),
                lambda changed: (
                    f"scope {printable(scope.label)} merged into {printable(into)}, "
                    f"{shown.plural(len(changed.uids), 'fact')} moved"
                ),
            )
        )

    def action_purge_scope(self) -> None:
        scope = self.scope
        if scope is None:
            return
        self.look_ahead(
            lambda: self.memory.preview_scope(scope.theme, scope.label),
            lambda: self.memory.purge_scope(scope.theme, scope.label),
        )


def line(scope: Scope, hue: int, now: int) -> Row:
    """One scope in the list."""
    closed = scope.status is ScopeStatus.CLOSED
    ink = "dim" if closed else ""

    def number(*tiers: Tier) -> Cell:
        found = sum(scope.facts.get(tier, 0) for tier in tiers)
        return Cell(shown.short(found) if found else "·", ink if found else "dim")

    return Row(
        scope.uid,
        (
            Cell(shown.SCOPE_SHAPES[scope.status], INKS[scope.status]),
            Cell("■", f"mark-{hue}"),
            Cell(printable(scope.theme), "dim", name=True),
            Cell(printable(scope.label), ink, bold=not closed, name=True),
            Cell(state(scope), INKS[scope.status] if not closed else "dim"),
            number(Tier.HOT),
            number(Tier.COLD),
            number(Tier.ARCHIVED, Tier.SUPERSEDED),
            Cell(shown.age(scope.opened_at, now), "dim"),
        ),
    )


def state(scope: Scope) -> str:
    """How a scope stands, in a few words."""
    if scope.status is ScopeStatus.CLOSED:
        return "closed"
    if scope.silence:
        return f"{scope.status.value}, {scope.silence}/{SILENT_TURNS} silent"
    return scope.status.value


def lifecycle(status: ScopeStatus) -> Content:
    """Where a scope is on its way."""
    parts: list[str | tuple[str, str]] = []
    for one in (ScopeStatus.OPEN, ScopeStatus.COOLING, ScopeStatus.CLOSED):
        here = one is status
        parts.append((f"{shown.SCOPE_SHAPES[one]} {one.value}", f"bold ${INKS[one]}" if here else "$dim"))
        parts.append((" ──▶ ", "$dim"))
    return Content.assemble(*parts[:-1])


def standing(scope: Scope, now: int) -> Sequence[Line]:
    """Since when it is closed and why, or how near to closing it is."""
    if scope.status is ScopeStatus.CLOSED:
        when = "" if scope.closed_at is None else f"{shown.moment(scope.closed_at, now)}, "
        return [pair("closed", f"{when}{why_closed(scope.closed_by)}")]
    if scope.silence:
        left = SILENT_TURNS - scope.silence
        turns = f"{shown.plural(scope.silence, 'turn')} without a reference"
        after = f"; closes after {left} more" if left > 0 else "; closes at the next turn"
        return [pair("silence", turns + after)]
    return [pair("silence", "none: an agent has it in mind, or none is connected")]


WHY = {
    "signal": "a message said that it is done",
    "silence": "nobody referred to it for six turns",
    "shift": "three turns in a row wrote to another scope",
    "done": "a ✓ fact was written to it",
    "person": "you closed it",
    "session": "an agent closed it",
}


def why_closed(closed_by: str | None) -> str:
    """Why a scope was closed, in a sentence."""
    if closed_by is None:
        return "nobody said why"
    kind, _, more = closed_by.partition(":")
    said = WHY.get(kind.strip())
    if said is None:
        return printable(closed_by)
    return said + (f" ({printable(more.strip())})" if more.strip() else "")


def counts(scope: Scope) -> Sequence[Line]:
    """How many facts it has of each tier."""
    said = [
        f"{shown.TIER_SHAPES[tier]} {shown.count(scope.facts[tier])} {tier.value}"
        for tier in Tier
        if scope.facts.get(tier)
    ]
    return [pair("facts", "   ".join(said) or "none")]


def similar(scope: Scope, scopes: Sequence[Scope]) -> list[Scope]:
    """Other scopes of its theme that may be another spelling of it."""
    mine = plain(scope.label)
    found = []
    for other in scopes:
        if other.theme == scope.theme and other.uid != scope.uid:
            theirs = plain(other.label)
            if mine == theirs or near(mine, theirs):
                found.append(other)
    return found[:5]


def near(mine: str, theirs: str) -> bool:
    """Whether two folded labels are alike, and do not merely count on: `q3` and `q4` are two things."""
    digits = [char for char in mine if char.isdigit()], [char for char in theirs if char.isdigit()]
    return digits[0] == digits[1] and difflib.SequenceMatcher(a=mine, b=theirs).ratio() >= ALIKE


def plain(label: str) -> str:
    """A label without what spellings differ in: case, dashes, leading zeros."""
    words = "".join(char if char.isalnum() else " " for char in label.casefold()).split()
    return "".join(word.lstrip("0") or "0" if word.isdigit() else word for word in words)


def alike(scope: Scope, scopes: Sequence[Scope]) -> Sequence[Line]:
    """Names so similar that they may be one scope."""
    found = similar(scope, scopes)
    if not found:
        return []
    names = ", ".join(f"{printable(one.label)} ({shown.plural(sum(one.facts.values()), 'fact')})" for one in found)
    return [Content(""), Content.styled(f"similar names: {names}", "$warning"), keys(("m", "merges, u takes it back"))]


def wrong_label(label: str) -> str | None:
    """What is wrong with a label."""
    try:
        checked_label(label)
    except StoreError as error:
        return printable(str(error))
    return None
