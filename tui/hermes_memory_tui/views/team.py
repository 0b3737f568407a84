"""Team: the exchange with a team database: its state in words, what waits, and what two machines said at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.model import Theme, format_notation
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_store.travelling import Conflict, SyncRow
from hermes_memory_tui import bridge, looks, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.memory import Done, Memory
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.fact_detail import marked_difference
from hermes_memory_tui.widgets.grid import Cell, Column, Grid, Row
from hermes_memory_tui.widgets.line_list import LineList
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair, titled

Keep = Literal["mine", "theirs", "both"]

CALM = ("idle", "exchanging", "fetching")


@dataclass(frozen=True, slots=True)
class State:
    """What the view shows."""

    themes: list[Theme]
    shared: dict[str, bool]
    """Whether the theme's policy lets it leave this machine."""
    waiting: dict[str, int]
    conflicts: list[Conflict]
    policies: str
    """The file in which a person says what is shared."""
    sync: dict[str, Any] | None = None
    """What the bridge says of the exchange; None when none answers."""

    @property
    def configured(self) -> bool:
        """Whether a team database is named."""
        return bool(self.sync and self.sync.get("configured"))

    def of(self, theme: str) -> dict[str, Any]:
        """What the bridge says of one theme."""
        return next((one for one in (self.sync or {}).get("themes", ()) if one.get("theme") == theme), {})


class TeamView(View[State]):
    """One line a theme; below, what waits for a person's decision."""

    NAME = "team"
    TITLE_OF_LIST = "shared with a team"
    BINDING_GROUP_TITLE = "Team"
    WRITES = View.WRITES | {"sync_now", "pause", "keep"}
    TICK_S = 2.0
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("", 2),
        Column("theme"),
        Column("shared", 24, least=60),
        Column("↑ waits", 8, right=True),
        Column("↓ behind", 8, right=True),
        Column("state", 16),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "sync_now", "Exchange now", id="team.now", tooltip="Exchange with the database at once"),
        Binding(
            "p",
            "pause",
            "Pause",
            id="team.pause",
            tooltip="Pause the exchange, or go on with it; what is written waits",
        ),
        Binding("m", "keep('mine')", "Keep mine", id="team.mine", tooltip="Keep what stands, and settle the conflict"),
        Binding("T", "keep('theirs')", "Theirs", id="team.theirs", tooltip="Put what lost in the place of what stands"),
        Binding("b", "keep('both')", "Both", id="team.both", tooltip="Keep both; what lost becomes a fact of its own"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        columns = (Column("ago", 4, right=True), Column("theme", 14), Column("stands"), Column("lost"))
        self.conflicts = Grid(columns, id="grid-below")
        self._sync: dict[str, Any] | None = None

    def below(self) -> ComposeResult:
        yield self.conflicts

    def on_mount(self) -> None:
        self.conflicts.border_title = "said at once by two machines"
        self.set_interval(self.TICK_S, self._ask_again)

    def _ask_again(self) -> None:
        if self.is_current and self.data is not None and self.data.configured:
            self.reload()

    def ask(self) -> None:
        self._sync = bridge.sync(self.memory.path, "status")

    def load(self, store: Store) -> State:
        themes = store.themes()
        shared = {theme.name: store.policies.for_theme(theme.name).sync for theme in themes}
        waiting, conflicts = store.sync.pending_counts(), store.sync.conflicts()
        return State(themes, shared, waiting, conflicts, str(store.policies.path), self._sync)

    def draw(self, data: State) -> None:
        now = self.memory.now()
        hues = looks.hues(theme.name for theme in data.themes)
        self.grid.empty = ("No theme was written to yet.",)
        self.grid.border_subtitle = titled(
            "no bridge runs" if data.sync is None else printable(str(data.sync.get("state", "not configured")))
        )
        self.grid.show([line(theme, hues[theme.name], data) for theme in data.themes])
        self.conflicts.display = bool(data.conflicts)
        self.conflicts.show([conflict_row(one, now) for one in data.conflicts])

    @property
    def conflict(self) -> Conflict | None:
        """The conflict under the cursor of the lower list."""
        found = self.data.conflicts if self.data is not None else []
        return next((one for one in found if one.uid == self.conflicts.key), None)

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        super().on_line_list_moved(message)
        if message.list is self.conflicts:
            self.show_text_soon()

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        data = self.data
        assert data is not None
        if self.focused is self.conflicts and self.conflict is not None:
            return "said at once", conflict_text(self.conflict, self.memory.now())
        if not data.configured:
            return "how to share", how_to(data)
        theme = str(key) if key is not None else ""
        return f"exchange of {printable(theme)}", exchange_text(theme, data, self.memory.now())

    # What a person does

    def action_sync_now(self) -> None:
        self._tell("now", "The bridge exchanges now.")

    def action_pause(self) -> None:
        paused = bool(self.data and self.data.sync and self.data.sync.get("paused"))
        said = "The exchange goes on." if paused else "The exchange is paused; what is written waits."
        self._tell("resume" if paused else "pause", said)

    def _tell(self, action: str, said: str) -> None:
        self.run_worker(lambda: self._told(action, said), thread=True, group="sync")

    def _told(self, action: str, said: str) -> None:
        answer = bridge.sync(self.memory.path, action)
        if answer is None:
            said = "No bridge runs: hermes-memory-bridge start starts it."
        elif "error" in answer:
            said = str(answer["error"].get("message", "it was refused"))
        self.app.call_from_thread(self._say, said, answer is not None and "error" not in answer)

    def _say(self, said: str, well: bool) -> None:
        if well:
            said = self.memory.note(Done(said.removesuffix("."))).sentence
        self.notify(said, severity="information" if well else "warning", timeout=6, markup=False)
        self.reload()

    def action_keep(self, keep: Keep) -> None:
        one = self.conflict
        if one is None:
            self.notify("Nothing was said at once by two machines.", timeout=4)
            return
        said = {"mine": "what stands was kept", "theirs": "what lost stands again", "both": "both were kept"}[keep]
        dialog = Ask(f"keep {keep}", conflict_text(one, self.memory.now()))
        self.ask_then(
            dialog,
            lambda _: self.write(
                lambda: self.memory.do(
                    lambda store: store.sync.resolve(one.uid, keep, theme=one.theme), f"settled: {said}"
                )
            ),
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "keep" and not self.memory.read_only and not (self.data and self.data.conflicts):
            return None
        return super().check_action(action, parameters)


def line(theme: Theme, hue: int, data: State) -> Row:
    """One theme in the list."""
    allowed = data.shared[theme.name]
    told = data.of(theme.name)
    waits, behind = told.get("waiting", data.waiting.get(theme.name, 0)), told.get("behind")
    state = told.get("state") if allowed and data.configured else "not configured" if allowed else "–"
    ink = "success" if state in CALM else "dim" if state in ("–", "not configured", None) else "warning"
    return Row(
        theme.name,
        (
            Cell("■", f"mark-{hue}"),
            Cell(printable(theme.name), bold=True),
            Cell("may be shared" if allowed else "stays on this machine", "" if allowed else "dim"),
            Cell(shown.short(waits) if allowed else "·", "" if waits else "dim"),
            Cell("·" if behind is None else shown.short(behind), "" if behind else "dim"),
            Cell(printable(str(state or "waits")), ink),
        ),
    )


def conflict_row(one: Conflict, now: int) -> Row:
    """One conflict in the lower list."""
    return Row(
        one.uid,
        (
            Cell(shown.age(one.at, now), "dim"),
            Cell(printable(one.theme), "dim"),
            Cell(called(one.mine), bold=True),
            Cell(called(one.theirs), "warning"),
        ),
    )


def called(row: SyncRow) -> str:
    """A version in one line."""
    if row.content is None:
        return "purged"
    kind, target = row.attrs.get("type"), row.attrs.get("target")
    return printable(format_notation(str(kind), str(target), row.content) if target else f"scope {row.content}")


def conflict_text(one: Conflict, now: int) -> Sequence[Line]:
    """Both versions of a conflict, and how to settle it."""
    why = "two versions of one thing" if one.why == "concurrent" else "two facts that both stand for one target"
    lines: list[Line] = [
        Content.assemble((why, "bold"), (f"  {shown.ago(one.at, now)}, theme {printable(one.theme)}", "$dim")),
        Content(""),
        heading("stands"),
        Content(called(one.mine)),
        pair("by", printable(str(one.mine.attrs.get("by", "unknown")))),
        Content(""),
        heading("lost"),
        Content(called(one.theirs)),
        pair("by", printable(str(one.theirs.attrs.get("by", "unknown")))),
    ]
    if one.mine.content and one.theirs.content and one.mine.content != one.theirs.content:
        lines += [
            Content(""),
            marked_difference(one.mine.content, one.theirs.content, "-", "$error"),
            marked_difference(one.theirs.content, one.mine.content, "+", "$success"),
        ]
    return [*lines, Content(""), keys(("m", "keeps what stands"), ("T", "what lost"), ("b", "both"))]


def exchange_text(theme: str, data: State, now: int) -> Sequence[Line]:
    """How the exchange of a theme goes."""
    sync, told = data.sync or {}, data.of(theme)
    last = sync.get("last_exchange")
    lines: list[Line] = [
        Content.styled(printable(str(sync.get("words") or sync.get("state") or "")), "bold"),
        Content(""),
        pair("waits", f"{shown.count(int(told.get('waiting') or data.waiting.get(theme, 0)))} to be sent"),
        pair("behind", f"{shown.count(int(told.get('behind') or 0))} to be fetched"),
        pair("sent", shown.count(int(told.get("pushed") or 0))),
        pair("fetched", shown.count(int(told.get("pulled") or 0))),
        pair("last", shown.ago(last, now) if isinstance(last, int) else printable(str(last or "not yet"))),
        pair("conflicts", str(sum(one.theme == theme for one in data.conflicts))),
        pair("refused", shown.count(int(sync.get("refused_count") or 0))),
        pair("turns", turns_text(told.get("turns"))),
    ]
    if sync.get("aside_count"):
        lines.append(pair("not shown", f"{sync['aside_count']} rows; see `hermes-memory-bridge sync status`"))
    if told.get("words"):
        lines += [Content(""), Content.styled(printable(str(told["words"])), "$warning")]
    if not data.shared.get(theme):
        lines += [Content(""), *allow(data)]
    return [*lines, Content(""), keys(("n", "exchanges now"), ("p", "pauses, goes on"))]


def turns_text(waiting: object) -> str:
    """Whether the captured turns of a theme travel. :param waiting: how many are to be sent; None where they do not"""
    if not isinstance(waiting, int):
        return "stay on this machine, unless its policy says sync_turns = true"
    return f"travel, too; {shown.count(waiting)} to be sent"


def how_to(data: State) -> Sequence[Line]:
    """What to configure, and how."""
    why = printable(str((data.sync or {}).get("words") or "")) if data.sync else "no bridge runs; it does the exchange"
    return [
        heading("Every memory stays on this machine."),
        Content("A theme can be shared with a team's PostgreSQL: each machine keeps the whole of it,"),
        Content("works without a network, and exchanges what changed in the background."),
        Content(""),
        pair("1", Content.styled("pip install 'hermes-memory-tui[team]'", "bold"), 3),
        pair("2", "name the database; it asks for the DSN and keeps it in the keyring:", 3),
        pair("", Content.styled("hermes-memory-bridge team connect", "bold"), 3),
        pair("", Content.styled("hermes-memory-bridge team dev  tries it without a server", "$dim"), 3),
        pair("3", "say which themes may leave this machine:", 3),
        *allow(data),
        pair("4", "keep a bridge running:", 3),
        pair("", Content.styled("hermes-memory-bridge install-service", "bold"), 3),
        Content(""),
        pair("now", why or "not configured"),
    ]


def allow(data: State) -> Sequence[Line]:
    """How a theme is allowed to leave this machine."""
    return [
        pair("", Content.styled(printable(data.policies), "bold"), 3),
        pair("", Content.styled("[themes.marketing]", "$accent"), 3),
        pair("", Content.styled("sync = true", "$accent"), 3),
    ]
