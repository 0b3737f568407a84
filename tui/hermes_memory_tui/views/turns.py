"""Turns: captured conversations, found by their words, read whole, erased by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Theme, Turn
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import looks, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.memory import FINAL
from hermes_memory_tui.views.searched import Searched
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair

MOST_FOUND = 100
"""Turns a search lists, best first."""

SHOWN_CHARS = 20_000
"""Characters of a turn that are shown; the whole can be copied from the command line."""

ROLE_INKS = {"user": "accent", "assistant": "", "system": "dim", "tool": "dim"}


@dataclass(frozen=True, slots=True)
class Talk:
    """Turns, newest first, or best first when words were searched for."""

    themes: list[Theme]
    turns: list[Turn]
    complete: bool


class TurnsView(Searched[Talk]):
    """One line a turn."""

    NAME = "turns"
    TITLE_OF_LIST = "conversations"
    BINDING_GROUP_TITLE = "Turns"
    LINE = "words that were said"
    PAGE = 300
    WRITES = View.WRITES | {"purge"}
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("ago", 4, right=True),
        Column("", 1),
        Column("session", 14, least=70),
        Column("who", 9),
        Column("said"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="turns.search", key_display="/", tooltip="Find turns by their words"),
        Binding("P", "purge", "Purge", id="turns.purge", tooltip="Erase this theme's turns for good; cannot be undone"),
    ]

    def load(self, store: Store) -> Talk:
        themes, words = store.themes(), self.filter.input.value.strip()
        if words:
            return Talk(themes, [hit.turn for hit in store.turns.search(None, words, limit=MOST_FOUND)], True)
        turns = [turn for theme in themes for turn in store.turns.list(theme.name, limit=self.limit)]
        turns.sort(key=lambda turn: -turn.at)
        return Talk(themes, turns[: self.limit], len(turns) < self.limit)

    def draw(self, data: Talk) -> None:
        now = self.memory.now()
        hues = looks.hues(theme.name for theme in data.themes)
        searched = bool(self.filter.input.value.strip())
        self.grid.empty = (
            ("Nobody said that.",)
            if searched
            else (
                "No conversation is captured.",
                "",
                "agents capture turns with the tool memory_turn; what was said word for word",
                "can then be recalled when a context has been compressed away",
            )
        )
        more = "" if data.complete else "+"
        order = "best first" if searched else "newest first"
        self.grid.border_subtitle = f"{shown.count(len(data.turns))}{more} turns, {order}"
        if searched:
            self.filter.found(f"{len(data.turns)} found")
        self.grid.show([line(turn, hues.get(turn.theme, 0), now) for turn in data.turns])

    @property
    def turn(self) -> Turn | None:
        """The turn under the cursor."""
        return None if self.data is None else next((one for one in self.data.turns if one.uid == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        turn = self.turn
        if turn is None:
            return "turn", [Content.styled("no turn is chosen", "$dim")]
        now = self.memory.now()
        said = turn.content[:SHOWN_CHARS]
        lines: list[Line] = [
            pair("who", printable(turn.role)),
            pair("when", f"{shown.moment(turn.at, now)} ({shown.ago(turn.at, now)})"),
            pair("session", printable(turn.session or "none")),
            pair("theme", printable(turn.theme)),
            Content(""),
            *(Content(printable(one)) for one in said.splitlines()),
        ]
        if len(turn.content) > SHOWN_CHARS:
            left = len(turn.content) - SHOWN_CHARS
            lines.append(Content.styled(f"and {shown.count(left)} more characters: hermes-memory-tui turns", "$dim"))
        return "turn", [*lines, Content(""), *self._around(turn)]

    def _around(self, turn: Turn) -> Sequence[Line]:
        """What was said just before and after, in the same session."""
        assert self.data is not None
        same = sorted(
            (one for one in self.data.turns if (one.theme, one.session) == (turn.theme, turn.session)),
            key=lambda one: one.at,
        )
        place = same.index(turn)
        around = [one for one in same[max(0, place - 3) : place + 4] if one is not turn]
        if not around:
            return []
        return [
            heading("around it"),
            *(
                Content.assemble(
                    ("← " if one.at <= turn.at else "→ ", "$dim"),
                    (f"{printable(one.role):<11}", "$dim"),
                    printable(" ".join(one.content.split())[:200]),
                )
                for one in around
            ),
            Content(""),
            keys(("/", "finds turns by their words")),
        ]

    def on_filter_line_changed(self) -> None:
        self.from_the_top()

    def action_purge(self) -> None:
        turn = self.turn
        if turn is None:
            return
        theme = turn.theme
        try:
            total, shared = self.memory.look(
                lambda store: (store.turns.count(theme), store.shared_turns.reaches_team(theme))
            )
        except StoreError as error:
            self.say_error(error)
            return
        lines: list[Line] = [
            Content.assemble(
                (shown.plural(total, "turn"), "bold $error"), f" of theme {printable(theme)} will be erased for good."
            ),
            *(
                [Content.styled("The team has them, too: they are erased on every machine.", "$warning")]
                if shared
                else []
            ),
            Content.styled("hermes-memory-tui turns --purge --older-than AGE erases only the old ones.", "$dim"),
        ]
        dialog = Ask(f"purge the turns of {printable(theme)}", lines, armed_by=theme, alarm=True)
        self.ask_then(
            dialog,
            lambda _: self.write(
                lambda: self.memory.do(
                    lambda store: store.turns.purge(theme),
                    lambda gone: f"{shown.plural(gone, 'turn')} erased",
                    back=FINAL,
                )
            ),
        )


def line(turn: Turn, hue: int, now: int) -> Row:
    """One turn in the list."""
    said = printable(" ".join(turn.content[:400].split()))
    return Row(
        turn.uid,
        (
            Cell(shown.age(turn.at, now), "dim"),
            Cell("■", f"mark-{hue}"),
            Cell(printable(turn.session or "–"), "dim"),
            Cell(printable(turn.role), ROLE_INKS.get(turn.role, "")),
            Cell(said),
        ),
    )
