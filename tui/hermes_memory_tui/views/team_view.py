"""Team: the sync status with a team database, pending rows, and concurrent edits on two machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from hermes_memory_store.installation import to_install_command
from hermes_memory_store.model import ThemeSummary, UndoResult, format_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import SyncConflict, SyncRow
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import ActionResult, Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import bridge_client, palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.base_view import BaseView, RowContext, ago_cell
from hermes_memory_tui.views.session_actions import left_lines
from hermes_memory_tui.widgets.fact_detail import marked_difference
from hermes_memory_tui.widgets.lists.grid import Grid, GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value, to_border_title

Keep = Literal["mine", "theirs", "both"]

CALM = ("idle", "exchanging", "fetching")


@dataclass(frozen=True, slots=True)
class TeamData:
    themes: list[ThemeSummary]
    shared: dict[str, bool]
    """Whether the theme's policy lets it leave this machine."""
    waiting: dict[str, int]
    conflicts: list[SyncConflict]
    policies: str
    """The file in which a person says what is shared."""
    sync: dict[str, Any] | None = None
    """What the bridge says of the exchange; None when none answers."""

    @property
    def is_configured(self) -> bool:
        return bool(self.sync and self.sync.get("configured"))

    def theme_status(self, theme: str) -> dict[str, Any]:
        return next((entry for entry in (self.sync or {}).get("themes", ()) if entry.get("theme") == theme), {})


class TeamView(BaseView[TeamData]):
    """One row per theme; below, the conflicts that await a decision."""

    NAME = "team"
    TITLE_OF_LIST = "shared with a team"
    BINDING_GROUP_TITLE = "Team"
    TICK_S = 2.0
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 2),
        GridColumn("theme"),
        GridColumn("sharing", 24, least=60),
        GridColumn("↑ pending", 9, right=True),
        GridColumn("↓ behind", 8, right=True),
        GridColumn("state", 16),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("S", "sync_now", "Sync", id="team.now", tooltip="Sync with the team database now"),
        WriteBinding(
            "Z",
            "pause",
            "Pause sync",
            id="team.pause",
            tooltip="Pause or resume sync; writes queue up",
        ),
        WriteBinding(
            "less_than_sign", "keep('mine')", "Mine", id="team.mine", tooltip="Resolve: keep the current version"
        ),
        WriteBinding(
            "greater_than_sign",
            "keep('theirs')",
            "Theirs",
            id="team.theirs",
            tooltip="Resolve: use the overridden version",
        ),
        WriteBinding(
            "ampersand", "keep('both')", "Both", id="team.both", tooltip="Resolve: keep both as separate facts"
        ),
        WriteBinding(
            "U", "take_back", "Undo theirs", id="team.take_back", tooltip="Take back all that a teammate wrote"
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        columns = (
            GridColumn("ago", 4, right=True, value=lambda conflict, at: ago_cell(conflict.at, at.now)),
            GridColumn("theme", 6, most=16, value=lambda conflict, _: GridCell(to_printable(conflict.theme), "dim")),
            GridColumn("kept", value=lambda conflict, _: GridCell(format_sync_row(conflict.mine), bold=True)),
            GridColumn("overridden", value=lambda conflict, _: GridCell(format_sync_row(conflict.theirs), "warning")),
        )
        self.conflicts = Grid(columns, id="grid-below")
        self._sync: dict[str, Any] | None = None

    def below_list(self) -> ComposeResult:
        yield self.conflicts

    def on_mount(self) -> None:
        self.conflicts.border_title = "conflicts"
        self.set_interval(self.TICK_S, self._ask_again)

    def _ask_again(self) -> None:
        if self.is_current and self.data is not None and self.data.is_configured:
            self.reload()

    def ask_outside_store(self) -> None:
        self._sync = bridge_client.request_sync(self.memory.path, "status")

    def load(self, store: Store) -> TeamData:
        themes = store.themes()
        shared = {theme.name: store.policies.for_theme(theme.name).carrier is not None for theme in themes}
        pending, conflicts = store.sync.outbox.pending_counts(), store.sync.standing.conflicts()
        sync = None if self.memory.is_past else self._sync
        return TeamData(themes, shared, pending, conflicts, str(store.policies.path), sync)

    def draw(self, data: TeamData) -> None:
        at = RowContext(self.memory.now(), palettes.theme_hues(theme.name for theme in data.themes))
        self.grid.empty = ("No themes yet.",)
        self.grid.set_subtitle(
            to_border_title(
                "the state of the sync is of the present"
                if self.memory.is_past
                else "no bridge"
                if data.sync is None
                else to_printable(str(data.sync.get("state", "not configured")))
            )
        )
        self.grid.show([team_theme_row(theme, at.hues[theme.name], data) for theme in data.themes])
        self.conflicts.display = bool(data.conflicts)
        self.conflicts.show([to_row(self.conflicts.columns, conflict.uid, conflict, at) for conflict in data.conflicts])

    @property
    def conflict(self) -> SyncConflict | None:
        conflicts = self.data.conflicts if self.data is not None else []
        return next((conflict for conflict in conflicts if conflict.uid == self.conflicts.key), None)

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        super().on_line_list_moved(message)
        if message.list is self.conflicts:
            self.show_text_soon()

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        data = self.data
        assert data is not None
        if self.focused is self.conflicts and self.conflict is not None:
            return "conflict", conflict_detail(self.conflict, self.memory.now())
        if not data.is_configured:
            return "how to share", setup_lines(data)
        theme = str(key) if key is not None else ""
        return f"sync of {to_printable(theme)}", sync_detail(theme, data, self.memory.now())

    # What a person does

    def action_sync_now(self) -> None:
        self._request_sync("now", "Sync started.")

    def action_pause(self) -> None:
        paused = bool(self.data and self.data.sync and self.data.sync.get("paused"))
        message = "Sync resumed." if paused else "Sync paused; writes are queued."
        self._request_sync("resume" if paused else "pause", message)

    def _request_sync(self, action: str, message: str) -> None:
        self.run_worker(lambda: self._show_answer(action, message), thread=True, group="sync")

    def _show_answer(self, action: str, message: str) -> None:
        answer = bridge_client.request_sync(self.memory.path, action)
        if answer is None:
            message = "No bridge is running. Start it with: hermes-memory-bridge start"
        elif "error" in answer:
            message = str(answer["error"].get("message", "the bridge rejected the request"))
        self.app.call_from_thread(self._show_setup_hint, message, answer is not None and "error" not in answer)

    def _show_setup_hint(self, message: str, well: bool) -> None:
        if well:
            message = self.memory.record_unjournaled(ActionResult(message.removesuffix("."))).message
        self.notify(message, severity="information" if well else "warning", timeout=6, markup=False)
        self.reload()

    def action_keep(self, keep: Keep) -> None:
        conflict = self.conflict
        if conflict is None:
            self.notify("No conflicts.", timeout=4)
            return
        done = {"mine": "current version kept", "theirs": "overridden version restored", "both": "both versions kept"}[
            keep
        ]
        dialog = Question(f"keep {keep}", conflict_detail(conflict, self.memory.now()))
        self.ask_then(
            dialog,
            lambda _: self.writes.run(
                lambda: self.memory.run_write(
                    lambda store: store.sync.standing.resolve(conflict.uid, keep, theme=conflict.theme),
                    f"conflict resolved: {done}",
                )
            ),
        )

    def action_take_back(self) -> None:
        lines: list[Line] = [
            Content(
                "Take back all that a role of the team, or a machine of a folder, wrote: its words, moves and pins."
            ),
            Content.styled("What others have changed since stays. What would happen is shown first.", "$dim"),
        ]
        self.ask_then(Question("take back a teammate's facts", lines, type_in="role"), self._preview_taking_back)

    def _preview_taking_back(self, role: str) -> None:
        def ask(result: UndoResult) -> None:
            facts = display_formats.pluralise(len(result.uids), "fact")
            lines: list[Line] = [
                Content(f"{facts} of {to_printable(role)} would be taken back."),
                *left_lines(result.left),
            ]
            self.ask_then(
                Question(f"take back {facts}", lines),
                lambda _: self.writes.run(
                    lambda: self.memory.run_write(
                        lambda store: store.sync.standing.undo_teammate(role),
                        f"{facts} of {to_printable(role)} taken back",
                    )
                ),
            )

        self.writes.look_then(lambda: self.memory.preview_undo_teammate(role), ask)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "keep" and not self.memory.read_only and not (self.data and self.data.conflicts):
            return None
        return super().check_action(action, parameters)


def team_theme_row(theme: ThemeSummary, hue: int, data: TeamData) -> GridRow:
    allowed = data.shared[theme.name]
    status = data.theme_status(theme.name)
    waits, behind = status.get("waiting", data.waiting.get(theme.name, 0)), status.get("behind")
    state = status.get("state") if allowed and data.is_configured else "not configured" if allowed else "–"
    ink = "success" if state in CALM else "dim" if state in ("–", "not configured", None) else "warning"
    return GridRow(
        theme.name,
        (
            GridCell("■", f"mark-{hue}"),
            GridCell(to_printable(theme.name), bold=True),
            GridCell("shared" if allowed else "local only", "" if allowed else "dim"),
            GridCell(display_formats.abbreviate_number(waits) if allowed else "·", "" if waits else "dim", value=waits),
            GridCell(
                "·" if behind is None else display_formats.abbreviate_number(behind),
                "" if behind else "dim",
                value=behind or 0,
            ),
            GridCell(to_printable(str(state or "pending")), ink),
        ),
    )


def format_sync_row(row: SyncRow) -> str:
    if row.content is None:
        return "purged"
    kind, target = row.attrs.get("type"), row.attrs.get("target")
    return to_printable(format_notation(str(kind), str(target), row.content) if target else f"scope {row.content}")


def conflict_detail(clash: SyncConflict, now: int) -> Sequence[Line]:
    """Return both versions of a conflict, and how to resolve it."""
    cause = "concurrent edits" if clash.why == "concurrent" else "two facts for one target"
    lines: list[Line] = [
        Content.assemble(
            (cause, "bold"),
            (f"  {display_formats.format_ago(clash.at, now)}, theme {to_printable(clash.theme)}", "$dim"),
        ),
        Content(""),
        heading_line("kept"),
        Content(format_sync_row(clash.mine)),
        labelled_value("by", to_printable(str(clash.mine.attrs.get("by", "unknown")))),
        Content(""),
        heading_line("overridden"),
        Content(format_sync_row(clash.theirs)),
        labelled_value("by", to_printable(str(clash.theirs.attrs.get("by", "unknown")))),
    ]
    if clash.mine.content and clash.theirs.content and clash.mine.content != clash.theirs.content:
        lines += [
            Content(""),
            marked_difference(clash.mine.content, clash.theirs.content, "-", "$error"),
            marked_difference(clash.theirs.content, clash.mine.content, "+", "$success"),
        ]
    return [*lines, Content(""), key_hint_line(("<", "keep current"), (">", "use overridden"), ("&", "keep both"))]


def sync_detail(theme: str, data: TeamData, now: int) -> Sequence[Line]:
    sync, status = data.sync or {}, data.theme_status(theme)
    last = sync.get("last_exchange")
    lines: list[Line] = [
        Content.styled(to_printable(str(sync.get("words") or sync.get("state") or "")), "bold"),
        Content(""),
        labelled_value(
            "pending",
            display_formats.pluralise(int(status.get("waiting") or data.waiting.get(theme, 0)), "row"),
        ),
        labelled_value("behind", display_formats.pluralise(int(status.get("behind") or 0), "row")),
        labelled_value("pushed", display_formats.format_count(int(status.get("pushed") or 0))),
        labelled_value("pulled", display_formats.format_count(int(status.get("pulled") or 0))),
        labelled_value(
            "last",
            display_formats.format_ago(last, now) if isinstance(last, int) else to_printable(str(last or "not yet")),
        ),
        labelled_value("conflicts", str(sum(conflict.theme == theme for conflict in data.conflicts))),
        labelled_value("rejected", display_formats.format_count(int(sync.get("refused_count") or 0))),
        labelled_value("chats", conversation_sync_text(status.get("turns"))),
    ]
    if "collected" in sync:
        at = sync["collected"]
        moment = display_formats.format_ago(at, now) if isinstance(at, int) else "never: the owner runs `team collect`"
        lines.append(labelled_value("erased", f"purged words, from the database's files: {moment}"))
    if sync.get("warning"):
        lines += [Content(""), Content.styled(to_printable(str(sync["warning"])), "$warning")]
    if sync.get("uncurated"):
        cold = display_formats.pluralise(int(sync["uncurated"]), "fact")
        lines.append(labelled_value("kept cold", f"{cold} that no curator made hot; in Facts: cooled:uncurated"))
    if sync.get("aside_count"):
        rows = display_formats.pluralise(int(sync["aside_count"]), "row")
        lines.append(labelled_value("held back", f"{rows}; see `hermes-memory-bridge sync status`"))
    if status.get("words"):
        lines += [Content(""), Content.styled(to_printable(str(status["words"])), "$warning")]
    if not data.shared.get(theme):
        lines += [Content(""), *allow_theme_lines(data)]
    return [*lines, Content(""), key_hint_line(("S", "sync now"), ("Z", "pause or resume"))]


def conversation_sync_text(pending: object) -> str:
    """Return whether the captured turns of a theme are shared.

    :param waiting: how many turns are pending; None where turns are not shared
    """
    if not isinstance(pending, int):
        return "local only (set sync_turns = true to share)"
    return f"shared; {display_formats.format_count(pending)} pending"


def setup_lines(data: TeamData) -> Sequence[Line]:
    status = (
        to_printable(str((data.sync or {}).get("words") or ""))
        if data.sync
        else "no bridge is running; the bridge does the sync"
    )
    return [
        heading_line("Nothing is shared yet."),
        Content(
            "A theme can be shared through a team's PostgreSQL. Each machine keeps a full copy, works offline, and syncs "
            "changes in the background."
        ),
        Content(""),
        labelled_value("1", Content.styled(to_install_command("team"), "bold"), 3),
        labelled_value("2", "set the database; the DSN is stored in the keyring:", 3),
        labelled_value("", Content.styled("hermes-memory-bridge team connect", "bold"), 3),
        labelled_value("", Content.styled("or, without a server: hermes-memory-bridge team dev", "$dim"), 3),
        labelled_value("3", "choose the themes to share:", 3),
        *allow_theme_lines(data),
        labelled_value("4", "keep a bridge running:", 3),
        labelled_value("", Content.styled("hermes-memory-bridge install-service", "bold"), 3),
        Content(""),
        labelled_value("now", status or "not configured"),
    ]


def allow_theme_lines(data: TeamData) -> Sequence[Line]:
    return [
        labelled_value("", Content.styled(to_printable(data.policies), "bold"), 3),
        labelled_value("", Content.styled("[themes.marketing]", "$accent"), 3),
        labelled_value("", Content.styled("sync = true", "$accent"), 3),
    ]
