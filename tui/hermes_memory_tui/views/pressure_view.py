"""Pressure: the capacity of each theme over time, which facts relief would move, and the host's own files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files import eviction_archive, memory_files
from hermes_memory_store.host_files.eviction_archive import EvictedEntry
from hermes_memory_store.host_files.memory_files import FilePressure
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.memory.pressure import ReliefMove
from hermes_memory_store.model import PressureLevel, ThemeSummary, Tier
from hermes_memory_store.projects.place_themes import AdoptionPlan
from hermes_memory_store.projects.theme_moves import SplitPlan
from hermes_memory_store.relief.file_relief import FileReliefReport, OptimizeReport, relieve_files
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import DEFAULT
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text.display_formats import fact_name, fit_text, format_count, format_sparkline, pluralise
from hermes_memory_tui.views.base_view import BaseView, bar_cell
from hermes_memory_tui.views.place_previews import adoption_lines, split_lines
from hermes_memory_tui.widgets.gauge_panel import styled_bar_parts, threshold_line
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value, to_border_title

POINTS = 24
"""Points of a history: one an hour."""

BAR = 20
"""Cells of a bar in the list."""

SHOWN_MOVES = 12
"""Facts of one step that are listed."""

SAID_MOVES = 4
"""Facts of one step that are named once they moved."""

STEPS = {
    PressureLevel.MERGE: (70, "merge duplicates"),
    PressureLevel.ARCHIVE: (85, "cool and archive closed scopes"),
    PressureLevel.CONSOLIDATE: (95, "cool the oldest, constraints last"),
}
"""At what percent relief does what."""

PAST = {"merge": "superseded", "cool": "cooled", "archive": "archived"}

BECAME = {Tier.COLD: "cooled"}
"""What happened to a fact that is now of a tier, where that is not what the tier is called."""


@dataclass(frozen=True, slots=True)
class PressureData:
    themes: list[ThemeSummary]
    histories: dict[str, list[int]]
    files: list[FilePressure]
    evicted: list[EvictedEntry]
    trouble: str
    """Why the host's files could not be read; empty when they could."""
    undecided: bool
    """Whether the person has still to choose between one theme for every place and one for each project."""


class PressureView(BaseView[PressureData]):
    """One row per theme, then MEMORY.md, USER.md, and the entries the host evicted from them."""

    NAME = "pressure"
    TITLE_OF_LIST = "pressure"
    BINDING_GROUP_TITLE = "Pressure"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 2),
        GridColumn("theme / file"),
        GridColumn("", BAR),
        GridColumn("full", 5, right=True),
        GridColumn("used / budget", 16, right=True, least=70),
        GridColumn("24 hours", POINTS, least=84),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("L", "relieve", "Relieve", id="pressure.relieve", tooltip="Run relief, with a preview"),
        WriteBinding(
            "J",
            "projects",
            "Projects",
            id="pressure.projects",
            show=False,
            tooltip="Give projects themes of their own, or split a theme",
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._plans: dict[str, dict[PressureLevel, list[ReliefMove]]] = {}
        self._reports: OptimizeReport | None = None

    def load(self, store: Store) -> PressureData:
        self._plans, self._reports = {}, None
        themes = store.themes()
        since = store.clock() - DAY_MS
        histories = store.pressure.histories(since=since, points=POINTS)
        home, files, lost, trouble = memory_files.hermes_home(), [], [], ""
        try:
            if not self.memory.is_past:  # nothing says what the files were
                files = [pressure for pressure in memory_files.file_pressures(home) if pressure.file.path.exists()]
                lost = eviction_archive.load_evicted_entries(home)
        except StoreError as error:
            trouble = str(error)
        return PressureData(themes, histories, files, lost, trouble, store.place_themes.is_undecided)

    def draw(self, data: PressureData) -> None:
        hues = palettes.theme_hues(theme.name for theme in data.themes)
        rows = [self._theme_row(theme, hues[theme.name], data) for theme in data.themes]
        rows += [host_file_row(file) for file in data.files]
        if data.evicted:
            cost = sum(entry.tokens for entry in data.evicted)
            size = f"{pluralise(len(data.evicted), 'entry', 'entries')}, {pluralise(cost, 'token')}"
            blank = GridCell("")
            rows.append(
                GridRow(
                    "archive",
                    (GridCell("▫", "dim"), GridCell("ARCHIVE.jsonl"), GridCell(size, "dim"), blank, blank, blank),
                )
            )
        self.grid.empty = ("No themes yet.",)
        self.grid.set_subtitle(to_border_title(to_printable(data.trouble) or "relief begins at 70, 85 and 95 %"))
        self.grid.show(rows)

    def _theme_row(self, theme: ThemeSummary, hue: int, data: PressureData) -> GridRow:
        gauge = theme.gauge
        alarm = " !" if gauge.level is PressureLevel.CONSOLIDATE else ""
        line = format_sparkline(data.histories[theme.name], gauge.budget, POINTS)
        return GridRow(
            theme.name,
            (
                GridCell("■", f"mark-{hue}"),
                GridCell(to_printable(theme.name) + alarm, bold=True),
                bar_cell(gauge.pct, BAR, gauge.level.value),
                GridCell(f"{gauge.pct:.0f}%", gauge.level.value, value=gauge.pct),
                GridCell(f"{format_count(gauge.used)} / {format_count(gauge.budget)}", "dim", value=gauge.used),
                GridCell(line, gauge.level.value),
            ),
        )

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        assert self.data is not None
        theme = next((summary for summary in self.data.themes if summary.name == key), None)
        if theme is not None:
            return f"pressure of {to_printable(theme.name)}", self._theme_text(theme)
        if key == "archive":
            return "evicted by the host", self._evicted_text()
        file = next((pressure for pressure in self.data.files if pressure.file.path.name == key), None)
        if file is not None:
            return file.file.path.name, self._file_text(file)
        return "pressure", [Content.styled("nothing selected", "$dim")]

    def _theme_text(self, theme: ThemeSummary) -> Sequence[Line]:
        assert self.data is not None
        gauge = theme.gauge
        width = max(20, min(60, self.pages.size.width - 10))
        history = self.data.histories[theme.name]
        lines: list[Line] = [
            Content.assemble(*styled_bar_parts(gauge.pct, width, gauge.level.value), (f" {gauge.pct:.0f}%", "bold")),
            Content.styled(threshold_line(width), "$dim"),
            labelled_value(
                "hot",
                f"{format_count(gauge.used)} of {format_count(gauge.budget)} characters",
            ),
            labelled_value(
                "holds",
                f"{pluralise(gauge.facts, 'fact')}, {pluralise(gauge.tokens, 'token')}",
            ),
            labelled_value("pinned", f"{100 * gauge.pinned / gauge.budget:.0f}% of the budget, never evicted"),
            labelled_value(
                "24 hours",
                f"{format_sparkline(history, gauge.budget, POINTS)}  {format_growth(history)}",
            ),
            Content(""),
        ]
        plan = self._plan(theme.name)
        coming = next_effective_level(theme, plan)
        for level, (pct, relief) in STEPS.items():
            moves = plan.get(level, [])
            mark = " ← next" if level is coming and moves else ""
            lines.append(
                Content.assemble(
                    (f"at {pct} %  ", f"bold ${level.value}"),
                    (relief, "bold"),
                    (f"  {pluralise(len(moves), 'fact')}{mark}", "$dim"),
                )
            )
            lines += [relief_move_line(move) for move in moves[:SHOWN_MOVES]]
            if len(moves) > SHOWN_MOVES:
                lines.append(Content.styled(f"  and {len(moves) - SHOWN_MOVES} more", "$dim"))
        lines += [Content(""), key_hint_line(("L", "run the next level"), ("u", "undo"))]
        if self.data.undecided:
            lines += [
                Content(""),
                Content("Every place has the theme default; each project can have its own."),
                key_hint_line(("J", "preview that")),
            ]
        return lines

    def _plan(self, theme: str) -> dict[PressureLevel, list[ReliefMove]]:
        if theme not in self._plans:
            self._plans[theme] = self.memory.read_now(lambda store: store.pressure.plan(theme))
        return self._plans[theme]

    def _file_text(self, file: FilePressure) -> Sequence[Line]:
        report = self._report(file.file.path.name)
        lines: list[Line] = [
            labelled_value("file", to_printable(str(file.file.path))),
            labelled_value(
                "holds",
                f"{pluralise(file.entries, 'entry', 'entries')}, "
                f"{format_count(file.used)} of {format_count(file.file.limit)} characters",
            ),
            labelled_value("size", f"{pluralise(file.tokens, 'token')} per turn"),
            Content(""),
        ]
        if report.before == report.after:
            return [
                *lines,
                heading_line("nothing to relieve"),
                Content.styled(to_printable(report.why or ""), "$dim"),
            ]
        lines += [
            heading_line("after relief", f"{report.before_pct:.0f}% → {report.after_pct:.0f}%"),
            Content(
                f"{report.abbreviated} abbreviated, {pluralise(report.migrated, 'fact')} moved to the store, "
                f"{report.removed} duplicates removed"
            ),
            Content(""),
            *map(style_diff_line, report.diff.splitlines()),
            *(Content.styled(f"kept: {to_printable(str(notation))}", "$dim") for notation in report.kept),
        ]
        return [*lines, Content(""), key_hint_line(("L", "run (keeps a backup)"), ("u", "undo"))]

    def _report(self, name: str) -> FileReliefReport:
        if self._reports is None:
            home = memory_files.hermes_home()
            theme = self._files_theme()
            self._reports = self.memory.read_now(lambda store: relieve_files(store, theme, home=home, dry_run=True))
        return self._reports.memory if name == "MEMORY.md" else self._reports.user

    def _files_theme(self) -> str:
        """Return the theme whose facts the host's files hold: that of the profile, else the first one."""
        from hermes_memory_themes.theme_identity import resolve_theme

        named = resolve_theme()
        names = [theme.name for theme in self.data.themes] if self.data is not None else []
        return named if named in names or not names else names[0] if len(names) == 1 else named

    def _evicted_text(self) -> Sequence[Line]:
        assert self.data is not None
        lines: list[Line] = [
            Content("Evicted by the host to make room; no longer visible to agents."),
            Content(""),
        ]
        for entry in self.data.evicted:
            label = " ".join(part for part in (entry.kind, entry.at) if part)
            lines.append(
                Content.assemble((f"{to_printable(label)}  " if label else "", "$dim"), to_printable(entry.text))
            )
        return [*lines, Content(""), key_hint_line(("L", "import as cold facts"))]

    # What a person does

    def action_relieve(self) -> None:
        if self.data is None:
            return
        key = self.grid.key
        theme = next((summary for summary in self.data.themes if summary.name == key), None)
        try:
            if theme is not None:
                self._ask_relief(theme)
            elif key == "archive":
                self._ask_rescue()
            elif key is not None:
                self._ask_files()
        except StoreError as error:
            self.show_error(error)

    def action_projects(self) -> None:
        """Preview a theme for each project; where that is chosen, the split of the selected theme, else of `default`."""
        selected = self.grid.key
        is_theme = self.data is not None and any(theme.name == selected for theme in self.data.themes)
        source = str(selected) if is_theme else DEFAULT
        try:
            if self.memory.read_now(lambda store: store.place_themes.is_by_project):
                self._ask_split(self.memory.read_now(lambda store: store.theme_split.plan(source)))
            else:
                self._ask_adoption(self.memory.read_now(lambda store: store.place_themes.plan_adoption()))
        except StoreError as error:
            self.show_error(error)

    def _ask_adoption(self, plan: AdoptionPlan) -> None:
        question = Question("a theme for each project", adoption_lines(plan))
        self.ask_then(question, lambda _: self._adopt())

    def _adopt(self) -> None:
        self.writes.run(
            lambda: self.memory.run_write(
                lambda store: store.place_themes.adopt(), "each project has a theme of its own"
            )
        )

    def _ask_join(self, project: str, twin: str) -> None:
        names = to_printable(f"{project} and {twin}")
        reason = Content("They have one first commit. Undo does not part them.")
        join = partial(
            self.memory.run_write, lambda store: store.projects.join(project, twin), f"{names} are one project"
        )
        self.ask_then(Question(f"are {names} one project?", [reason]), lambda _: self.writes.run(join))

    def _ask_split(self, plan: SplitPlan) -> None:
        project = self.memory.read_now(lambda store: store.place_themes.project_of(plan.source))
        twins = self.memory.read_now(lambda store: store.projects.find_twins(project)) if project else []
        if not plan.groups and project and twins:
            self._ask_join(project, twins[0])
        elif not plan.groups:
            self.notify(f"Nothing of {to_printable(plan.source)} belongs to another project.", timeout=4)
        else:
            question = Question(f"split {to_printable(plan.source)} by projects", split_lines(plan))
            self.ask_then(question, lambda _: self._split(plan))

    def _split(self, plan: SplitPlan) -> None:
        self.writes.run(
            lambda: self.memory.run_write(
                lambda store: store.theme_split.split(plan), f"{pluralise(plan.moved_count, 'fact')} moved"
            )
        )

    def _ask_relief(self, theme: ThemeSummary) -> None:
        plan = self._plan(theme.name)
        level = next_effective_level(theme, plan)
        moves = [
            move for step in STEPS for move in plan.get(step, []) if list(STEPS).index(step) <= list(STEPS).index(level)
        ]
        if not moves:
            self.notify("Nothing to relieve.", timeout=4)
            return
        freed = sum(move.fact.chars for move in moves if move.fact.tier.value == "hot")
        after = 100 * (theme.gauge.used - freed) / theme.gauge.budget
        lines: list[Line] = [
            Content.assemble(
                (pluralise(len(moves), "fact"), "bold"),
                f" will move; the gauge goes from {theme.gauge.pct:.0f}% to {after:.0f}%.",
            ),
            Content.styled("Can be undone with u.", "$dim"),
            Content(""),
            *(relief_move_line(move) for move in moves[:SHOWN_MOVES]),
        ]
        if len(moves) > SHOWN_MOVES:
            lines.append(Content.styled(f"  and {len(moves) - SHOWN_MOVES} more", "$dim"))
        name = to_printable(theme.name)
        self.ask_then(Question(f"relieve {name}", lines), lambda _: self._relieve(theme.name, level))

    def _relieve(self, theme: str, level: PressureLevel) -> None:
        self.writes.run(
            lambda: self.memory.run_write(
                lambda store: relieve_theme(theme, level, store),
                lambda moved: f"{to_printable(theme)} relieved: {moved}",
            )
        )

    def _ask_rescue(self) -> None:
        assert self.data is not None
        theme = self._files_theme()
        entries = pluralise(len(self.data.evicted), "entry", "entries")
        lines: list[Line] = [
            Content(f"{entries}, each to be a fact of theme {to_printable(theme)}:"),
            Content("cold, searchable, not in any context. ARCHIVE.jsonl is not changed."),
        ]
        evicted = list(self.data.evicted)
        self.ask_then(Question("import evicted entries", lines), lambda _: self._rescue(theme, evicted))

    def _rescue(self, theme: str, entries: list[EvictedEntry]) -> None:
        self.writes.run(lambda: self.memory.run_grouped_write(partial(rescue_entries, theme, entries), rescue_summary))

    def _ask_files(self) -> None:
        reports = [self._report("MEMORY.md"), self._report("USER.md")]
        if all(report.before == report.after for report in reports):
            self.notify("Nothing to relieve in these files.", timeout=4)
            return
        lines: list[Line] = []
        for report in reports:
            if report.before != report.after:
                lines += [heading_line(report.path.name, f"{report.before_pct:.0f}% → {report.after_pct:.0f}%")]
                lines += [style_diff_line(line) for line in report.diff.splitlines()[2:]]
        lines += [Content(""), Content.styled("A backup is kept; u or `optimize --undo` restores it.", "$dim")]
        self.ask_then(Question("relieve MEMORY.md and USER.md", lines), lambda _: self._relieve_files())

    def _relieve_files(self) -> None:
        theme, home = self._files_theme(), memory_files.hermes_home()
        self.writes.run(lambda: self.memory.relieve_files(theme, home, files_relief_summary))


def host_file_row(file: FilePressure) -> GridRow:
    ink = "consolidate" if file.pct >= 95 else "archive" if file.pct >= 85 else "merge" if file.pct >= 70 else "calm"
    return GridRow(
        file.file.path.name,
        (
            GridCell("§", "dim"),
            GridCell(file.file.path.name, bold=True),
            bar_cell(file.pct, BAR, ink),
            GridCell(f"{file.pct:.0f}%", ink, value=file.pct),
            GridCell(f"{format_count(file.used)} / {format_count(file.file.limit)}", "dim", value=file.used),
            GridCell("host file", "dim"),
        ),
    )


def next_effective_level(theme: ThemeSummary, plan: dict[PressureLevel, list[ReliefMove]]) -> PressureLevel:
    """Return the first level, from the current one on, that would move something."""
    order = list(STEPS)
    here = order.index(theme.gauge.level) if theme.gauge.level in order else 0
    return next((level for level in order[here:] if plan.get(level)), order[-1])


def relief_move_line(move: ReliefMove) -> Content:
    return Content.assemble(
        (f"  {PAST.get(move.op, move.op):<11}", "$dim"),
        (f"{move.fact.type.value}[{to_printable(move.fact.target)}]", "bold"),
        f" {to_printable(fit_text(move.fact.content, 60).rstrip())}",
    )


def relieve_theme(theme: str, level: PressureLevel, store: Store) -> str:
    """Relieve a theme now, and summarise what happened to which facts, with the first names of each kind."""
    changed = store.pressure.relieve(theme, level)
    facts = store.facts.by_uids(changed.uids)
    moved: dict[Tier, list[str]] = {}
    for uid in changed.uids:
        if uid in facts:
            moved.setdefault(facts[uid].tier, []).append(fact_name(facts[uid]))
    return (
        "; ".join(f"{BECAME.get(tier, tier.value)} {format_names(names)}" for tier, names in moved.items())
        or "nothing moved"
    )


def format_names(names: Sequence[str]) -> str:
    """Format the first names of a list, and how many more there are."""
    more = len(names) - SAID_MOVES
    return ", ".join(names[:SAID_MOVES]) + (f" and {more} more" if more > 0 else "")


def style_diff_line(line: str) -> Content:
    style = "$success" if line.startswith("+") else "$error" if line.startswith("-") else "$dim"
    return Content.styled(to_printable(line), style)


def format_growth(history: Sequence[int]) -> str:
    """Format by how much a gauge rose or fell."""
    change = history[-1] - history[0]
    return "unchanged" if not change else f"{change:+,} character" + ("" if abs(change) == 1 else "s")


def rescue_entries(theme: str, entries: Sequence[EvictedEntry], store: Store) -> tuple[int, int]:
    """Import evicted entries as cold facts, and return how many are new and how many existed already."""
    made, present = [], 0
    limit = store.policies.for_theme(theme).fact_chars
    for entry in entries[::-1]:
        for notation in entry.lines(limit):
            result = store.facts.write(theme, notation, writer=Writer.AGENT)
            present += not result.created
            made += [result.fact.uid] if result.created and result.suspicion is None else []
    if made:
        store.facts.cool(made)
    return len(made), present


def rescue_summary(counts: tuple[int, int]) -> str:
    made, present = counts
    return f"{pluralise(made, 'fact')} imported" + (f", {present} already present" if present else "")


def files_relief_summary(report: OptimizeReport) -> str:
    both = ", ".join(
        f"{file.path.name} {file.before_pct:.0f}% → {file.after_pct:.0f}%" for file in (report.memory, report.user)
    )
    return f"{both}; {pluralise(report.migrated_count, 'fact')} moved to the memory"
