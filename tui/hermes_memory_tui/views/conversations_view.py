"""Conversations: captured messages, searchable, shown in full, purged by age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.find.recall import SessionHit, list_session_hits
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.model import ThemeSummary, Turn
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import FINAL, Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.origin_text import origin_values
from hermes_memory_tui.views.base_view import RowContext
from hermes_memory_tui.views.paged_view import PagedView
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn
from hermes_memory_tui.widgets.lists.grid_rows import GridRow, to_row
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

MOST_FOUND = 100
"""Turns a search lists, best first."""

SHOWN_CHARS = 20_000
"""Characters of a turn that are shown; the whole can be copied from the command line."""

ROLE_INKS = {"user": "accent", "assistant": "", "system": "dim", "tool": "dim"}


@dataclass(frozen=True, slots=True)
class ConversationsData:
    """Turns, newest first, or best match first after a search."""

    themes: list[ThemeSummary]
    turns: list[Turn]
    complete: bool
    hits: Sequence[SessionHit] = ()

    def find_hit(self, theme: str, session: str | None) -> SessionHit | None:
        return next((hit for hit in self.hits if (hit.theme, hit.session) == (theme, session)), None)


class ConversationsView(PagedView[ConversationsData]):
    """One row per turn; after a search one per session of a host, which enter unfolds into its turns."""

    NAME = "turns"
    TITLE_OF_LIST = "conversations"
    BINDING_GROUP_TITLE = "Conversations"
    LINE = "search messages"
    PAGE = 300
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn(
            "ago", 4, right=True, value=lambda turn, at: GridCell(display_formats.format_age(turn.at, at.now), "dim")
        ),
        GridColumn("", 1, value=lambda turn, at: GridCell("■", f"mark-{at.hues.get(turn.theme, 0)}")),
        GridColumn(
            "session",
            21,
            least=70,
            value=lambda turn, _: GridCell(to_printable(turn.title or turn.session or "–"), "dim", name=True),
        ),
        GridColumn("role", 9, value=lambda turn, _: GridCell(to_printable(turn.role), ROLE_INKS.get(turn.role, ""))),
        GridColumn("message", value=lambda turn, _: GridCell(to_printable(" ".join(turn.content[:400].split())))),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="turns.search", tooltip="Search messages"),
        WriteBinding(
            "P", "purge", "Purge", id="turns.purge", tooltip="Purge this theme's conversations (cannot be undone)"
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._of_fact: Sequence[str] = ()
        """The turns that a fact was written from, while their session alone is listed."""
        self._sought = False
        self._unfolded: set[SessionHit] = set()
        self._resumes: dict[tuple[str, str | None], str | None] = {}
        """How the hosts of these sessions go on with them, by theme and session."""

    def show_turns(self, turns: Sequence[str]) -> None:
        """List the session of these turns, with the cursor on the first of them."""
        self._of_fact, self._sought = turns, True
        self.filter.input.value = ""
        self.filter.display = False
        self.call_after_refresh(self.reload_first_page)  # it may have been opened just now

    def load(self, store: Store) -> ConversationsData:
        data = self._find(store)
        sessions = {(turn.theme, turn.session): turn for turn in data.turns}
        self._resumes = {key: store.host_sessions.find_resume_command(turn) for key, turn in sessions.items()}
        return data

    def _find(self, store: Store) -> ConversationsData:
        themes, words = store.themes(), self.filter.input.value.strip()
        sources = store.turns.by_uids(self._of_fact)
        if sources and not words:
            session = sources[0].session
            same = store.turns.list(sources[0].theme, session=session, limit=self.limit) if session else []
            older = [turn for turn in reversed(sources) if turn not in same]
            return ConversationsData(themes, [*same, *older], len(same) < self.limit)
        if words:
            best = [hit.turn for hit in store.turns.search(None, words, limit=MOST_FOUND)]
            places = {(turn.theme, turn.session): -place for place, turn in reversed([*enumerate(best)])}
            best.sort(
                key=lambda turn: -places[turn.theme, turn.session]
            )  # a session's messages together, the best first
            return ConversationsData(themes, best, True, list_session_hits(store.host_sessions, best, words))
        turns = [turn for theme in themes for turn in store.turns.list(theme.name, limit=self.limit)]
        turns.sort(key=lambda turn: -turn.at)
        return ConversationsData(themes, turns[: self.limit], len(turns) < self.limit)

    def draw(self, data: ConversationsData) -> None:
        at = RowContext(self.memory.now(), palettes.theme_hues(theme.name for theme in data.themes))
        searched = bool(self.filter.input.value.strip())
        self.grid.empty = (
            ("No matching messages.",)
            if searched
            else (
                "No conversations captured.",
                "",
                "hermes-memory-tui backfill brings in the sessions of your hosts on this disk;",
                "hooks and the tool memory_turn capture what agents say from now on",
            )
        )
        more = "" if data.complete else "+"
        noun = "message" if len(data.turns) == 1 and data.complete else "messages"
        order = "best session first" if searched else "newest first"
        self.grid.set_subtitle(f"{display_formats.format_count(len(data.turns))}{more} {noun}, {order}")
        if searched:
            self.filter.show_match_count(f"{len(data.turns)} found")
        if self._of_fact and not searched:
            title = to_printable(data.turns[0].title or "no session") if data.turns else "messages erased since"
            self.grid.set_subtitle(f"{title}, esc: all conversations")
        rows: list[GridRow] = []
        for place, group in groupby(data.turns, lambda turn: (turn.theme, turn.session)):
            turns, hit = [*group], data.find_hit(*place)
            rows += [] if hit is None else [self._to_session_row(hit, len(turns), at)]
            rows += [to_row(self.COLUMNS, turn.uid, turn, at) for turn in turns if hit is None or hit in self._unfolded]
        self.grid.show(rows)

        if self._sought:
            self._sought = False
            any(self.grid.go_to(uid) for uid in self._of_fact)

    def _to_session_row(self, hit: SessionHit, count: int, at: RowContext) -> GridRow:
        name = to_printable(" · ".join(filter(None, (load_host(hit.host)["title"], hit.project))))
        cells = (
            GridCell(display_formats.format_age(hit.at, at.now), "dim"),
            GridCell("■", f"mark-{at.hues.get(hit.theme, 0)}"),
            GridCell(name, bold=True),
            GridCell(f"{count} found", "dim"),
            GridCell(f"{'▾' if hit in self._unfolded else '▸'} {to_printable(hit.sentence)}", bold=True),
        )
        return GridRow(hit, cells)

    def open(self, key: object) -> None:
        if isinstance(key, SessionHit) and self.data is not None:
            self._unfolded ^= {key}
            self.draw(self.data)
        else:
            super().open(key)

    def action_copy_text(self) -> None:
        if not isinstance(self.grid.key, SessionHit) or self.grid.key.resume is None:
            super().action_copy_text()
            return
        self.app.copy_to_clipboard(self.grid.key.resume)
        self.notify(f"Copied {self.grid.key.resume}", timeout=2, markup=False)

    def action_back(self) -> None:
        if self._of_fact and self.focused is self.grid and not self.filter.input.value:
            self._of_fact = ()
            self.reload_first_page()
        else:
            super().action_back()

    @property
    def turn(self) -> Turn | None:
        """The turn under the cursor; of a session, the one that was found first."""
        if self.data is None:
            return None
        key = self.grid.key
        name = (key.theme, key.session) if isinstance(key, SessionHit) else key
        return next((turn for turn in self.data.turns if name in (turn.uid, (turn.theme, turn.session))), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        turn = self.turn
        if turn is None:
            return "message", [Content.styled("no message selected", "$dim")]
        now = self.memory.now()
        if isinstance(key, SessionHit):
            return "session", self._session_lines(key, now)
        content = turn.content[:SHOWN_CHARS]
        lines: list[Line] = [
            labelled_value("role", to_printable(turn.role)),
            labelled_value("when", display_formats.format_when(turn.at, now)),
            labelled_value("session", to_printable(turn.title or turn.session or "none")),
            *([labelled_value("resume", resume)] if (resume := self._resumes.get((turn.theme, turn.session))) else ()),
            labelled_value("theme", to_printable(turn.theme)),
            *(labelled_value(label, value) for label, value in origin_values(turn.origin) if label != "session"),
            Content(""),
            *(Content(to_printable(line)) for line in content.splitlines()),
        ]
        if len(turn.content) > SHOWN_CHARS:
            left = len(turn.content) - SHOWN_CHARS
            lines.append(
                Content.styled(
                    f"and {display_formats.pluralise(left, 'more character')}: hermes-memory-tui turns", "$dim"
                )
            )
        return "message", [*lines, Content(""), *self._surrounding_turns(turn)]

    def _session_lines(self, hit: SessionHit, now: int) -> Sequence[Line]:
        assert self.data is not None
        turns = [turn for turn in self.data.turns if (turn.theme, turn.session) == (hit.theme, hit.session)]
        values = {
            "host": load_host(hit.host)["title"],
            "project": hit.project,
            "when": display_formats.format_when(hit.at, now),
            "session": hit.session,
            "resume": hit.resume,
            "theme": hit.theme,
        }
        return [
            *(labelled_value(label, to_printable(value)) for label, value in values.items() if value),
            Content(""),
            heading_line(f"{display_formats.pluralise(len(turns), 'message')} found"),
            *(self._turn_line("", turn) for turn in turns),
            Content(""),
            key_hint_line(("enter", "unfold"), *([("y", "copy the resume command")] if hit.resume else ())),
        ]

    @staticmethod
    def _turn_line(arrow: str, turn: Turn) -> Line:
        words = display_formats.shortened_text(to_printable(" ".join(turn.content.split())), 200)
        return Content.assemble((arrow, "$dim"), (f"{to_printable(turn.role):<11}", "$dim"), words)

    def _surrounding_turns(self, turn: Turn) -> Sequence[Line]:
        """Return the messages just before and after, in the same session."""
        assert self.data is not None
        same = sorted(
            (other for other in self.data.turns if (other.theme, other.session) == (turn.theme, turn.session)),
            key=lambda other: other.at,
        )
        place = same.index(turn)
        around = [other for other in same[max(0, place - 3) : place + 4] if other is not turn]
        if not around:
            return []
        return [
            heading_line("surrounding messages"),
            *(self._turn_line("← " if other.at <= turn.at else "→ ", other) for other in around),
            Content(""),
            key_hint_line(("/", "search messages")),
        ]

    def on_filter_line_query_changed(self) -> None:
        self.reload_first_page()

    def action_purge(self) -> None:
        turn = self.turn
        if turn is None:
            return
        theme = turn.theme
        try:
            total, shared = self.memory.read_now(
                lambda store: (store.turns.count(theme), store.shared_turns.is_known_to_team(theme))
            )
        except StoreError as error:
            self.show_error(error)
            return
        lines: list[Line] = [
            Content.assemble(
                (display_formats.pluralise(total, "message"), "bold $error"),
                f" of theme {to_printable(theme)} will be purged.",
            ),
            *(
                [Content.styled("They are shared with the team: they are purged on every machine.", "$warning")]
                if shared
                else []
            ),
            Content.styled("To purge only old ones: hermes-memory-tui turns --purge --older-than AGE", "$dim"),
        ]
        dialog = Question(f"purge the conversations of {to_printable(theme)}", lines, armed_by=theme, alarm=True)
        self.ask_then(
            dialog,
            lambda _: self.writes.run(
                lambda: self.memory.run_write(
                    lambda store: store.turns.purge(theme),
                    lambda count: f"{display_formats.pluralise(count, 'message')} purged",
                    back=FINAL,
                )
            ),
        )
