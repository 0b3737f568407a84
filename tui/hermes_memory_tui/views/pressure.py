"""Pressure: how full each memory is and was, what relief would do to which facts, and the host's own files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store import evicted, memory_files
from hermes_memory_store.errors import StoreError
from hermes_memory_store.evicted import Evicted
from hermes_memory_store.memory_files import FilePressure
from hermes_memory_store.model import PressureLevel, Theme, Tier
from hermes_memory_store.pressure import Move
from hermes_memory_store.relief import FileReport, OptimizeReport, optimize
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import looks, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.gauge import marks, pieces, styled_bar
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair, titled

DAY_MS = 24 * 3_600_000

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
    PressureLevel.CONSOLIDATE: (95, "cool the oldest, least binding"),
}
"""At what percent relief does what."""

PAST = {"merge": "superseded", "cool": "cooled", "archive": "archived"}

BECAME = {Tier.COLD: "cooled"}
"""What happened to a fact that is now of a tier, where that is not what the tier is called."""


@dataclass(frozen=True, slots=True)
class Loads:
    """What the view shows."""

    themes: list[Theme]
    histories: dict[str, list[int]]
    files: list[FilePressure]
    evicted: list[Evicted]
    trouble: str
    """Why the host's files could not be read; empty when they could."""


class PressureView(View[Loads]):
    """One line a theme, then MEMORY.md, USER.md, and what the host evicted from them."""

    NAME = "pressure"
    TITLE_OF_LIST = "pressure"
    BINDING_GROUP_TITLE = "Pressure"
    WRITES = View.WRITES | {"relieve"}
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("", 2),
        Column("memory"),
        Column("", BAR),
        Column("full", 5, right=True),
        Column("used / budget", 16, right=True, least=70),
        Column("24 hours", POINTS, least=84),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "r", "relieve", "Relieve", id="pressure.relieve", tooltip="Make room here now, after a look at what goes"
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._plans: dict[str, dict[PressureLevel, list[Move]]] = {}
        self._reports: OptimizeReport | None = None

    def load(self, store: Store) -> Loads:
        self._plans, self._reports = {}, None
        themes = store.themes()
        since = store.clock() - DAY_MS
        histories = store.pressure.histories(since=since, points=POINTS)
        home, files, lost, trouble = memory_files.hermes_home(), [], [], ""
        try:
            files = [one for one in memory_files.pressure(home) if one.file.path.exists()]
            lost = evicted.entries(home)
        except StoreError as error:
            trouble = str(error)
        return Loads(themes, histories, files, lost, trouble)

    def draw(self, data: Loads) -> None:
        hues = looks.hues(theme.name for theme in data.themes)
        rows = [self._theme_row(theme, hues[theme.name], data) for theme in data.themes]
        rows += [file_row(file) for file in data.files]
        if data.evicted:
            cost = sum(one.tokens for one in data.evicted)
            told = f"{shown.plural(len(data.evicted), 'entry').replace('entrys', 'entries')}, {shown.plural(cost, 'token')}"
            blank = Cell("")
            rows.append(
                Row("archive", (Cell("▫", "dim"), Cell("ARCHIVE.jsonl"), Cell(told, "dim"), blank, blank, blank))
            )
        self.grid.empty = ("No memory was written to yet.",)
        self.grid.border_subtitle = titled(printable(data.trouble) or "relief begins at 70, 85 and 95 %")
        self.grid.show(rows)

    def _theme_row(self, theme: Theme, hue: int, data: Loads) -> Row:
        gauge = theme.gauge
        alarm = " !" if gauge.level is PressureLevel.CONSOLIDATE else ""
        line = shown.sparkline(data.histories[theme.name], gauge.budget, POINTS)
        return Row(
            theme.name,
            (
                Cell("■", f"mark-{hue}"),
                Cell(printable(theme.name) + alarm, bold=True),
                bar_cell(gauge.pct, gauge.level.value),
                Cell(f"{gauge.pct:.0f}%", gauge.level.value),
                Cell(f"{shown.count(gauge.used)} / {shown.count(gauge.budget)}", "dim"),
                Cell(line, gauge.level.value),
            ),
        )

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        assert self.data is not None
        theme = next((one for one in self.data.themes if one.name == key), None)
        if theme is not None:
            return f"pressure of {printable(theme.name)}", self._theme_text(theme)
        if key == "archive":
            return "evicted by the host", self._evicted_text()
        file = next((one for one in self.data.files if one.file.path.name == key), None)
        if file is not None:
            return file.file.path.name, self._file_text(file)
        return "pressure", [Content.styled("nothing is chosen", "$dim")]

    def _theme_text(self, theme: Theme) -> Sequence[Line]:
        assert self.data is not None
        gauge = theme.gauge
        width = max(20, min(60, self.pages.size.width - 10))
        history = self.data.histories[theme.name]
        lines: list[Line] = [
            Content.assemble(*styled_bar(gauge.pct, width, gauge.level.value), (f" {gauge.pct:.0f}%", "bold")),
            Content.styled(marks(width), "$dim"),
            pair("hot", f"{shown.count(gauge.used)} of {shown.count(gauge.budget)} characters"),
            pair("holds", f"{shown.plural(gauge.facts, 'fact')}, {shown.plural(gauge.tokens, 'token')}"),
            pair("pinned", f"{100 * gauge.pinned / gauge.budget:.0f}% of the budget, never moved"),
            pair("24 hours", f"{shown.sparkline(history, gauge.budget, POINTS)}  {grown(history)}"),
            Content(""),
        ]
        plan = self._plan(theme.name)
        coming = next_level(theme, plan)
        for level, (pct, what) in STEPS.items():
            moves = plan.get(level, [])
            mark = " ← next" if level is coming and moves else ""
            lines.append(
                Content.assemble(
                    (f"at {pct} %  ", f"bold ${level.value}"),
                    (what, "bold"),
                    (f"  {shown.plural(len(moves), 'fact')}{mark}", "$dim"),
                )
            )
            lines += [move_line(move) for move in moves[:SHOWN_MOVES]]
            if len(moves) > SHOWN_MOVES:
                lines.append(Content.styled(f"  and {len(moves) - SHOWN_MOVES} more", "$dim"))
        return [*lines, Content(""), keys(("r", "does the next step now"), ("u", "takes it back"))]

    def _plan(self, theme: str) -> dict[PressureLevel, list[Move]]:
        if theme not in self._plans:
            self._plans[theme] = self.memory.look(lambda store: store.pressure.plan(theme))
        return self._plans[theme]

    def _file_text(self, file: FilePressure) -> Sequence[Line]:
        report = self._report(file.file.path.name)
        lines: list[Line] = [
            pair("file", printable(str(file.file.path))),
            pair(
                "holds",
                f"{file.entries} entries, {shown.count(file.used)} of {shown.count(file.file.limit)} characters",
            ),
            pair("costs", f"{shown.plural(file.tokens, 'token')} in every turn"),
            Content(""),
        ]
        if report.before == report.after:
            return [*lines, heading("relief would change nothing"), Content.styled(printable(report.why or ""), "$dim")]
        lines += [
            heading("relief would leave", f"{report.before_pct:.0f}% → {report.after_pct:.0f}%"),
            Content(
                f"{report.abbreviated} abbreviated, {shown.plural(report.migrated, 'fact')} moved to the store, "
                f"{report.removed} that it holds already taken out"
            ),
            Content(""),
            *map(diff_line, report.diff.splitlines()),
            *(Content.styled(f"kept: {printable(str(kept))}", "$dim") for kept in report.kept),
        ]
        return [*lines, Content(""), keys(("r", "does it; a copy of the file is kept"), ("u", "puts it back"))]

    def _report(self, name: str) -> FileReport:
        if self._reports is None:
            home = memory_files.hermes_home()
            theme = self._files_theme()
            self._reports = self.memory.look(lambda store: optimize(store, theme, home=home, dry_run=True))
        return self._reports.memory if name == "MEMORY.md" else self._reports.user

    def _files_theme(self) -> str:
        """Whose facts the host's files hold: the theme of its profile, else the first there is."""
        from hermes_memory_themes.identity import resolve_theme

        named = resolve_theme()
        names = [theme.name for theme in self.data.themes] if self.data is not None else []
        return named if named in names or not names else names[0] if len(names) == 1 else named

    def _evicted_text(self) -> Sequence[Line]:
        assert self.data is not None
        lines: list[Line] = [
            Content("Your host took these out of its files to make room. Agents no longer see them."),
            Content(""),
        ]
        for one in self.data.evicted:
            label = " ".join(part for part in (one.kind, one.at) if part)
            lines.append(Content.assemble((f"{printable(label)}  " if label else "", "$dim"), printable(one.text)))
        return [*lines, Content(""), keys(("r", "rescues them into the memory"))]

    # What a person does

    def action_relieve(self) -> None:
        if self.data is None:
            return
        key = self.grid.key
        theme = next((one for one in self.data.themes if one.name == key), None)
        try:
            if theme is not None:
                self._ask_relief(theme)
            elif key == "archive":
                self._ask_rescue()
            elif key is not None:
                self._ask_files()
        except StoreError as error:
            self.say_error(error)

    def _ask_relief(self, theme: Theme) -> None:
        plan = self._plan(theme.name)
        level = next_level(theme, plan)
        moves = [
            move for step in STEPS for move in plan.get(step, []) if list(STEPS).index(step) <= list(STEPS).index(level)
        ]
        if not moves:
            self.notify("There is nothing that relief would move.", timeout=4)
            return
        freed = sum(move.fact.chars for move in moves if move.fact.tier.value == "hot")
        after = 100 * (theme.gauge.used - freed) / theme.gauge.budget
        lines: list[Line] = [
            Content.assemble(
                (shown.plural(len(moves), "fact"), "bold"),
                f" will move; the gauge goes from {theme.gauge.pct:.0f}% to {after:.0f}%.",
            ),
            Content.styled("All of it can be undone.", "$dim"),
            Content(""),
            *(move_line(move) for move in moves[:SHOWN_MOVES]),
        ]
        if len(moves) > SHOWN_MOVES:
            lines.append(Content.styled(f"  and {len(moves) - SHOWN_MOVES} more", "$dim"))
        name = printable(theme.name)
        self.ask_then(Ask(f"relieve {name}", lines), lambda _: self._relieve(theme.name, level))

    def _relieve(self, theme: str, level: PressureLevel) -> None:
        self.write(
            lambda: self.memory.do(
                lambda store: relieved(theme, level, store), lambda moved: f"{printable(theme)} relieved: {moved}"
            )
        )

    def _ask_rescue(self) -> None:
        assert self.data is not None
        theme = self._files_theme()
        lines: list[Line] = [
            Content(f"{len(self.data.evicted)} entries become cold facts of theme {printable(theme)}:"),
            Content("found by search, told to nobody until an agent asks. ARCHIVE.jsonl stays as it is."),
        ]
        found = list(self.data.evicted)
        self.ask_then(Ask("rescue what was evicted", lines), lambda _: self._rescue(theme, found))

    def _rescue(self, theme: str, found: list[Evicted]) -> None:
        self.write(lambda: self.memory.do_together(partial(rescued, theme, found), rescue_said))

    def _ask_files(self) -> None:
        reports = [self._report("MEMORY.md"), self._report("USER.md")]
        if all(report.before == report.after for report in reports):
            self.notify("Relief would change nothing in these files.", timeout=4)
            return
        lines: list[Line] = []
        for report in reports:
            if report.before != report.after:
                lines += [heading(report.path.name, f"{report.before_pct:.0f}% → {report.after_pct:.0f}%")]
                lines += [diff_line(line) for line in report.diff.splitlines()[2:]]
        lines += [Content(""), Content.styled("A copy is kept; u puts it back, and so does optimize --undo.", "$dim")]
        self.ask_then(Ask("relieve MEMORY.md and USER.md", lines), lambda _: self._relieve_files())

    def _relieve_files(self) -> None:
        theme, home = self._files_theme(), memory_files.hermes_home()
        self.write(lambda: self.memory.relieve_files(theme, home, files_said))


def bar_cell(pct: float, ink: str) -> Cell:
    """A bar in a cell."""
    full, part, rest = pieces(pct, BAR)
    return Cell("", parts=((full, "", ink), (part, ink, "track"), (rest, "", "track")))


def file_row(file: FilePressure) -> Row:
    """One of the host's files in the list."""
    ink = "consolidate" if file.pct >= 95 else "archive" if file.pct >= 85 else "merge" if file.pct >= 70 else "calm"
    return Row(
        file.file.path.name,
        (
            Cell("§", "dim"),
            Cell(file.file.path.name, bold=True),
            bar_cell(file.pct, ink),
            Cell(f"{file.pct:.0f}%", ink),
            Cell(f"{shown.count(file.used)} / {shown.count(file.file.limit)}", "dim"),
            Cell("the host's own file", "dim"),
        ),
    )


def next_level(theme: Theme, plan: dict[PressureLevel, list[Move]]) -> PressureLevel:
    """The first step, from the present level on, that would move something."""
    order = list(STEPS)
    here = order.index(theme.gauge.level) if theme.gauge.level in order else 0
    return next((level for level in order[here:] if plan.get(level)), order[-1])


def move_line(move: Move) -> Content:
    """One fact that relief would move."""
    return Content.assemble(
        (f"  {PAST.get(move.op, move.op):<11}", "$dim"),
        (f"{move.fact.type.value}[{printable(move.fact.target)}]", "bold"),
        f" {printable(shown.fit(move.fact.content, 60).rstrip())}",
    )


def relieved(theme: str, level: PressureLevel, store: Store) -> str:
    """Make room now; what became of which facts, the first of each by name."""
    changed = store.pressure.relieve(theme, level)
    found = store.facts.named(changed.uids)
    moved: dict[Tier, list[str]] = {}
    for uid in changed.uids:
        if uid in found:
            moved.setdefault(found[uid].tier, []).append(shown.name(found[uid]))
    return (
        "; ".join(f"{BECAME.get(tier, tier.value)} {listed(names)}" for tier, names in moved.items()) or "nothing moved"
    )


def listed(names: Sequence[str]) -> str:
    """The first of many, and how many more."""
    more = len(names) - SAID_MOVES
    return ", ".join(names[:SAID_MOVES]) + (f" and {more} more" if more > 0 else "")


def diff_line(line: str) -> Content:
    """One line of a unified diff."""
    style = "$success" if line.startswith("+") else "$error" if line.startswith("-") else "$dim"
    return Content.styled(printable(line), style)


def grown(history: Sequence[int]) -> str:
    """By how much a gauge rose or fell."""
    change = history[-1] - history[0]
    return "unchanged" if not change else f"{change:+,} characters"


def rescued(theme: str, found: Sequence[Evicted], store: Store) -> tuple[int, int]:
    """Write evicted entries as cold facts; how many facts are new, how many were there already."""
    made, known = [], 0
    limit = store.policies.for_theme(theme).fact_chars
    for one in found[::-1]:
        for said in one.lines(limit):
            result = store.facts.write(theme, said)
            known += not result.created
            made += [result.fact.uid] if result.created else []
    if made:
        store.facts.cool(made)
    return len(made), known


def rescue_said(counts: tuple[int, int]) -> str:
    """What a rescue did."""
    made, known = counts
    return f"{shown.plural(made, 'fact')} rescued" + (f", {known} were there already" if known else "")


def files_said(report: OptimizeReport) -> str:
    """What a relief of the files did."""
    both = ", ".join(
        f"{one.path.name} {one.before_pct:.0f}% → {one.after_pct:.0f}%" for one in (report.memory, report.user)
    )
    return f"{both}; {shown.plural(report.migrated, 'fact')} moved to the memory"
