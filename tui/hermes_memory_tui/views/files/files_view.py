"""Files: the memory files of agent hosts, entry by entry, beside the facts that say the same or the opposite."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from difflib import ndiff
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files.host_memory import ABSENT, HostFile
from hermes_memory_store.model import Fact, FactFilter, Tier, format_notation
from hermes_memory_store.relief.host_edits import HostEdits
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.host_listing import (
    HostEntry,
    HostListing,
    find_files_here,
    load_host_listing,
    propose_agreement,
    propose_notation,
)
from hermes_memory_tui.model.memory import ActionResult, Memory
from hermes_memory_tui.model.working_folder import find_working_theme
from hermes_memory_tui.screens.fact_editor import Editor, EntryEditor, NewFactEditor
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.lists.pick_list import Choice
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

LOOK_S = 1.0
"""How often the files are looked at while somebody sees the view."""

MOST_OFFERED = 200
"""Facts that are offered to be added to a file."""

MARKS = {
    "same": GridCell("= same", "success"),
    "opposite": GridCell("≠ opposite", "warning", bold=True),
    "": GridCell(""),
}


def tokens_cell(tokens: int) -> GridCell:
    return GridCell(f"{tokens:,}", "dim", value=tokens)


def readers_cell(entry: HostEntry) -> GridCell:
    names = ", ".join(reading.title for reading in entry.readers)
    return GridCell(names, "dim") if names else GridCell("nobody", "warning")


class FilesView(BaseView[HostListing]):
    """One row per entry of a file."""

    CSS_PATH = "../../screens/view.tcss"
    NAME = "files"
    TITLE_OF_LIST = "files of agent hosts"
    BINDING_GROUP_TITLE = "Files"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("place", 26, value=lambda entry, _: GridCell(to_printable(entry.place), "dim", name=True)),
        GridColumn("entry", value=lambda entry, _: GridCell(to_printable(" ".join(entry.entry.text.split())))),
        GridColumn("tokens", 6, right=True, value=lambda entry, _: tokens_cell(entry.entry.tokens)),
        GridColumn("memory", 10, value=lambda entry, _: MARKS[entry.outcome]),
        GridColumn("read by", 22, least=90, value=lambda entry, _: readers_cell(entry)),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("e", "edit", "Edit", id="files.edit", tooltip="Edit the entry in its file"),
        WriteBinding("m", "move", "Move", id="files.move", tooltip="Move the entry into the memory"),
        WriteBinding(
            "comma", "settle_entry", "Agree", id="files.settle_entry", tooltip="Give the entry the fact's value"
        ),
        WriteBinding(
            "full_stop", "settle_fact", "Correct", id="files.settle_fact", tooltip="Give the fact the entry's value"
        ),
        WriteBinding("delete", "remove", "Remove", id="files.remove", tooltip="Take the entry out of its file"),
        WriteBinding("plus", "add", "Insert", id="files.add", tooltip="Add a fact to this file"),
        WriteBinding(
            "Q",
            "switch",
            "Quiet",
            id="files.switch",
            tooltip="Switch the memory that this host writes itself on or off",
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._files: list[HostFile] | None = None
        self._looked_at = 0.0
        self._is_looking = False

    # Keeping it true

    def check_for_changes(self) -> None:
        super().check_for_changes()
        is_due = time.monotonic() - self._looked_at >= LOOK_S and not self._is_looking
        if (
            self.is_current
            and self.data is not None
            and is_due
            and not self.memory.is_past
            and not self.title_bar.paused
        ):
            self._is_looking = True
            self.run_worker(self._look, thread=True, group="files")

    def _look(self) -> None:
        """Look whether another program has changed a file; called in a thread."""
        files = find_files_here()
        self.app.call_from_thread(self._note_files, files != self._files)

    def _note_files(self, is_changed: bool) -> None:
        self._is_looking, self._looked_at = False, time.monotonic()
        if is_changed and self.is_mounted:
            self.reload()

    def ask_outside_store(self) -> None:
        self._files = find_files_here()

    def load(self, store: Store) -> HostListing:
        theme = self.inspector.main.named_theme or find_working_theme(store)
        return load_host_listing(store, theme, self._files or [])

    def draw(self, data: HostListing) -> None:
        opposite = sum(entry.outcome == "opposite" for entry in data.entries)
        tokens = sum(file.tokens for file in data.files if file.is_read)
        self.grid.empty = (
            "No memory file of an agent host is read in this folder.",
            "",
            "CLAUDE.md, AGENTS.md, GEMINI.md, rules and memories of hosts on this machine show here",
        )
        parts = [display_formats.pluralise(len(data.files), "file"), f"{tokens:,} tokens"]
        self.grid.set_subtitle(" · ".join([*parts, *([f"{opposite} opposite"] if opposite else [])]))
        rows = []
        for file in data.files:
            entries = [entry for entry in data.entries if entry.file is file]
            rows += [to_row(self.COLUMNS, entry_key(entry), entry, self) for entry in entries]
            if not entries:
                cells = (
                    GridCell(to_printable(file.label), "dim", name=True),
                    GridCell(file.problem or "no entry", "dim"),
                )
                rows.append(GridRow((str(file.path), 0), (*cells, GridCell(""), GridCell(""), GridCell(""))))
        self.grid.show(rows)

    # What is shown beside the list

    @property
    def selected_entry(self) -> HostEntry | None:
        entries = () if self.data is None else self.data.entries
        return next((entry for entry in entries if entry_key(entry) == self.grid.key), None)

    @property
    def selected_file(self) -> HostFile | None:
        files = () if self.data is None else self.data.files
        key = self.grid.key
        return next((file for file in files if isinstance(key, tuple) and str(file.path) == key[0]), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        file, entry = self.selected_file, self.selected_entry
        if file is None:
            return "file", [Content.styled("What agent hosts read beside the memory.", "$dim")]
        lines: list[Line] = []
        if entry is not None:
            lines += [*(Content(to_printable(line)) for line in entry.entry.text.split("\n")), Content("")]
        for comparison in () if entry is None else entry.comparisons:
            fact, is_same = comparison.fact, comparison.outcome == "same"
            notation = to_printable(format_notation(fact.type, fact.target, fact.content))
            lines.append(labelled_value("same as" if is_same else "opposite", Content(notation)))
            if comparison.reason:
                lines.append(labelled_value("", Content.styled(to_printable(comparison.reason), "$warning")))
        if entry is not None:
            if entry.entry.headings:
                lines.append(labelled_value("under", to_printable(" › ".join(entry.entry.headings))))
            lines.append(
                labelled_value("tokens", f"{entry.entry.tokens} of {file.tokens:,} in this file, each session")
            )
        lines.append(labelled_value("file", to_printable(f"{file.label} ({file.level})")))
        if file.problem:
            lines.append(labelled_value("problem", Content.styled(to_printable(file.problem), "$warning")))
        absent = [reading.title for reading in file.readings if reading.problem == ABSENT]
        for reading in file.readings:
            problem = reading.problem if entry is None else entry.find_problem(reading)
            note = problem or reading.note
            who = Content.styled(f"{reading.title}{': ' * bool(note)}{to_printable(note)}", "$dim" if problem else "")
            if problem != ABSENT:
                lines.append(labelled_value("not by" if problem else "read by", who))
        if absent:
            lines.append(labelled_value("not here", Content.styled(", ".join(absent), "$dim")))
        draft = self.find_draft(entry) if entry is not None else None
        if draft is not None:
            lines += [Content(""), heading_line("unsaved draft"), Content(to_printable(draft))]
        keys = (
            ("e", "edit"),
            ("m", "move to memory"),
            *(
                ((",", "take the fact's value"), (".", "give it this one"))
                if entry and entry.outcome == "opposite"
                else ()
            ),
            ("del", "remove"),
            ("+", "insert a fact"),
            ("Q", "quiet the host's own memory"),
        )
        return "entry" if entry is not None else "file", [*lines, Content(""), key_hint_line(*keys)]

    def find_draft(self, entry: HostEntry) -> str | None:
        return self.inspector.main.drafts.find(EntryEditor.to_draft_key(entry.file, entry.entry))

    # What a person does

    def action_edit(self) -> None:
        entry = self.selected_entry
        if entry is not None:
            self.inspector.main.open_editor(EntryEditor(entry.file, entry.entry, self.find_draft(entry), self._save))

    def _save(self, editor: Editor) -> None:
        if isinstance(editor, EntryEditor) and self.data is not None:
            file, entry, wording, theme = editor.file, editor.entry, editor.area.text, self.data.theme
            self._write(
                lambda store: HostEdits(store, theme).edit(file, entry, wording), f"{file.label} edited", editor
            )

    def action_settle_entry(self) -> None:
        self._settle(is_fact=False)

    def action_settle_fact(self) -> None:
        self._settle(is_fact=True)

    def _settle(self, *, is_fact: bool) -> None:
        """Show the entry with the value of the fact that it contradicts, or the fact with the entry's, and write it then."""
        entry = self.selected_entry
        if entry is None or self.data is None or entry.outcome != "opposite":
            self.notify("No fact says the opposite of this entry.", timeout=4)
            return
        fact, theme = entry.comparisons[0].fact, self.data.theme
        wording, content = propose_agreement(entry)
        before, after = (fact.content, content) if is_fact else (entry.entry.text, wording)
        title = display_formats.fact_name(fact) if is_fact else to_printable(entry.place)

        def settle(store: Store) -> object:
            if is_fact:
                return store.facts.edit(fact.uid, content)
            return HostEdits(store, theme).edit(entry.file, entry.entry, wording)

        changes = [line for line in ndiff(before.splitlines(), after.splitlines()) if line[0] in "-+"]
        question = Question(f"change {title}", [Content(to_printable(change)) for change in changes])
        self.ask_then(question, lambda _: self._write(settle, f"{title} changed"))

    def action_remove(self) -> None:
        entry = self.selected_entry
        if entry is not None and self.data is not None:
            file, theme = entry.file, self.data.theme
            saved = f"{entry.entry.tokens} tokens fewer each session"
            self._write(
                lambda store: HostEdits(store, theme).remove(file, entry.entry), f"{entry.place} removed, {saved}"
            )

    def action_move(self) -> None:
        """Write the entry as a fact, in whose place it leaves its file; one that repeats a fact only leaves it."""
        entry = self.selected_entry
        if entry is None or self.data is None:
            return
        same = next((comparison.fact for comparison in entry.comparisons if comparison.outcome == "same"), None)
        if same is not None:
            lines = [
                Content(to_printable(format_notation(same.type, same.target, same.content))),
                Content.styled(f"says the same. Take {to_printable(entry.place)} out of its file?", "$dim"),
            ]
            self.ask_then(Question("in the memory already", lines), lambda _: self.action_remove())
            return
        limit = self.memory.store.policies.for_theme(self.data.theme).fact_chars
        editor = NewFactEditor(
            self.data.theme, "", limit, propose_notation(entry), lambda saved: self._move(entry, saved)
        )
        self.app.push_screen(editor)

    def _move(self, entry: HostEntry, editor: Editor) -> None:
        if self.data is None or not isinstance(editor, NewFactEditor):
            return
        theme, line, scope = self.data.theme, editor.line(), editor.scope

        def move(agreed: bool) -> ActionResult:
            return self.memory.run_write(
                lambda store: HostEdits(store, theme).move_to_memory(
                    entry.file,
                    entry.entry,
                    lambda opened: opened.facts.write(theme, line, scope=scope, confirmed=agreed),
                ),
                f"{entry.place} moved to the memory, {entry.entry.tokens} tokens fewer each session",
            )

        self.writes.run_text(move, lambda: editor.dismiss(None), lambda error: editor.show_refusal(str(error)))

    def action_add(self) -> None:
        """Choose a fact, and add what it says to the file."""
        file = self.selected_file
        if file is None or self.data is None or file.problem:
            return
        theme = self.data.theme
        criteria = FactFilter(theme=theme, tiers=frozenset({Tier.HOT, Tier.COLD}))
        facts: dict[str, Fact] = {
            fact.uid: fact
            for fact in self.memory.read_now(lambda store: store.facts.page(criteria, limit=MOST_OFFERED)).facts
        }
        choices = [
            Choice(uid, to_printable(format_notation(fact.type, fact.target, fact.content)))
            for uid, fact in facts.items()
        ]
        if not choices:
            self.notify(f"No fact in theme {to_printable(theme)}.", timeout=4)
            return

        def add(uid: str) -> None:
            self._write(
                lambda store: HostEdits(store, theme).append_fact(file, facts[uid], keeps=True),
                f"added to {file.label}",
            )

        self.ask_then(Picker(f"add to {to_printable(file.label)}", choices, typing=False), add)

    def _write(self, act: Callable[[Store], object], message: str, editor: Editor | None = None) -> None:
        def refuse(error: StoreError) -> None:
            if editor is None:
                self.show_error(error)
            else:
                editor.keep_text()
                editor.show_refusal(f"{error}. Your text is kept as a draft.")

        done = (lambda: editor.dismiss(None)) if editor is not None else None
        self.writes.run(lambda: self.memory.run_write(act, message), done, refuse)

    def action_switch(self) -> None:
        """Show how the host's settings would change, and write them when the person agrees."""
        from hermes_memory_bridge.connect.host_check import plan_memory_switch
        from hermes_memory_bridge.connect.host_config_files import FileChange, apply_file_changes
        from hermes_memory_bridge.connect.hosts import find_here

        file = self.selected_file
        plans = [] if file is None else [plan_memory_switch(reading.host, find_here()) for reading in file.readings]
        plan = next((plan for plan in plans if plan is not None), None)
        if plan is None:
            self.notify("The hosts that read this file write no memory that can be switched off.", timeout=5)
            return
        change, title = plan

        def switch() -> ActionResult:
            apply_file_changes([change])
            return self.memory.record_unjournaled(ActionResult(title, back="u undoes."), put_back)

        def put_back(_: Memory) -> ActionResult:
            apply_file_changes([FileChange(change.path, change.after, change.before)])
            return ActionResult(f"undone: {change.path.name} as before", back="")

        lines = [Content(to_printable(line.rstrip("\r\n"))) for line in change.diff()]
        self.ask_then(Question(title, lines), lambda _: self.writes.run(switch))


def entry_key(entry: HostEntry) -> tuple[str, int]:
    return str(entry.file.path), entry.entry.first
