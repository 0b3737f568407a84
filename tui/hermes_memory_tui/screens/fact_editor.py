"""Editors: preview the resulting line while typing, save with ctrl+s, never lose typed text."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files.file_changes import to_digest
from hermes_memory_store.host_files.host_memory import HostFile
from hermes_memory_store.host_files.memory_entries import FileEntry, replace_file_entry
from hermes_memory_store.model import Fact, FactType, Gauge, PressureLevel, Tier, format_notation
from hermes_memory_store.notation import memory_spec, token_estimate
from hermes_memory_store.places.citations import parse_citations
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_store.upkeep.fact_citations import NAMED
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.drafts import FILE_DRAFT
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.fact_detail import marked_difference
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.text_panel import Line, to_border_title, wrap_lines

FIRST_CELLS = 60
"""Cells in which remarks are wrapped before the editor has been laid out."""

UNSEEN_S = 0.7
"""For so long after another's change shows by itself, saving is taken for not having seen it."""

Save = Callable[["Editor"], None]

KEPT_AFTER_S = 0.4
"""How long typing must rest before it is kept."""


class Editor(Modal[str | None]):
    """A text with remarks below it and its keys. Dismissed with the unsaved text, or None."""

    CSS_PATH = "editor.tcss"
    BINDING_GROUP_TITLE = "Editor"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="editor.save", tooltip="Save the fact", priority=True),
        Binding(
            "ctrl+e",
            "elsewhere",
            "Editor",
            id="editor.elsewhere",
            tooltip="Open in $EDITOR",
            priority=True,
        ),
        Binding(
            "escape",
            "leave",
            "Close",
            id="editor.leave",
            tooltip="Close; unsaved text is kept as a draft",
            priority=True,
        ),
    ]
    AUTO_FOCUS = "TextArea"

    def __init__(
        self, theme: str, limit: int, start: str, draft: str | None, save: Save, gauge: Gauge | None = None
    ) -> None:
        """Create the editor.

        :param save: called to write the text; it dismisses the editor, or calls `show_refusal` or `conflict`
        :param gauge: the current gauge of the theme
        """
        super().__init__()
        self._save = save
        self.theme_name = theme
        self._gauge = gauge
        self._counted = self.base
        self._keeping: Timer | None = None
        self.keep: Callable[[str, str | None], object] = lambda *_: None
        """Called with what is typed whenever typing rests, so that a crash loses none of it."""
        self.limit = limit
        self.start = start
        self.area = TextArea(draft or start, soft_wrap=True, show_line_numbers=False, id="editor-text", compact=True)
        self._said = Static("", id="editor-said", markup=False)
        self._refused = ""

    @property
    def draft_key(self) -> str:
        raise NotImplementedError

    @property
    def base(self) -> Fact | None:
        """The fact being edited, as it was when editing started."""
        return None

    def line(self) -> str:
        raise NotImplementedError

    def head(self) -> ComposeResult:
        """Yield the widgets above the text."""
        yield from ()

    def compose(self) -> ComposeResult:
        with Vertical(id="editor"):
            yield from self.head()
            yield self.area
            yield self._said
            yield KeyLine()

    def on_mount(self) -> None:
        self.area.move_cursor(self.area.document.end)
        self.check()

    def on_text_area_changed(self) -> None:
        self._refused = ""
        self.check()
        if self._keeping is not None:
            self._keeping.stop()
        self._keeping = self.set_timer(KEPT_AFTER_S, self.keep_text)

    @property
    def unsaved_text(self) -> str | None:
        return self.area.text if self.area.text.strip() != self.start.strip() else None

    def keep_text(self) -> None:
        self.keep(self.draft_key, self.unsaved_text)

    def check(self) -> bool:
        """Show the resulting line, or what is wrong with it, and return whether it can be saved."""
        try:
            notation = memory_spec.parse_notation(self.line(), limit=self.limit)
        except StoreError as error:
            self._update_remarks(Content.styled(to_printable(str(error)), "$error"))
            return False
        length = len(notation.content)
        parts: list[Line] = [
            Content.assemble(
                ("✓ ", "$success"),
                (f"{notation.type.word} ", "bold"),
                ("about ", "$dim"),
                (to_printable(notation.target), "bold"),
                ("  ", ""),
                (f"{length} of {self.limit} characters", "$warning" if length > self.limit * 0.9 else "$dim"),
                (f" · {display_formats.pluralise(token_estimate.estimate_tokens(str(notation)), 'token')}", "$dim"),
            ),
            *self._pressure(len(str(notation))),
            *self.remarks(notation.content),
        ]
        if self._refused:
            parts.append(Content.styled(to_printable(self._refused), "$error"))
        self._update_remarks(wrap_lines(parts, self._said.size.width or FIRST_CELLS))
        return True

    def _added_chars(self, chars: int) -> int:
        """Return by how many characters saving this fact changes the hot tier.

        :param chars: characters of its notation
        """
        if self._counted is None:
            return chars
        return chars - self._counted.chars if self._counted.tier is Tier.HOT else 0

    def _pressure(self, chars: int) -> list[Content]:
        gauge = self._gauge
        if gauge is None:
            return []
        after = replace(gauge, used=gauge.used + self._added_chars(chars))
        parts: list[str | tuple[str, str]] = [
            ("hot tier after saving ", "$dim"),
            (f"{after.pct:.0f}%", f"bold ${after.level.value}" if after.level is not PressureLevel.CALM else "bold"),
            (
                f"  {display_formats.format_count(after.used)} of {display_formats.format_count(after.budget)} characters",
                "$dim",
            ),
        ]
        if after.level is not gauge.level:
            parts.append((f"  {display_formats.LEVEL_WORDS[after.level]}", f"${after.level.value}"))
        return [Content.assemble(*parts)]

    def remarks(self, content: str) -> list[Line]:
        return []

    def _update_remarks(self, content: Content) -> None:
        self._said.update(content)

    def show_gauge(self, gauge: Gauge | None, current: Fact | None) -> None:
        """Show another gauge: the memory has changed meanwhile.

        :param stands: the fact being edited, as the gauge counts it
        """
        self._gauge, self._counted = gauge, current
        self.check()

    def show_refusal(self, reason: str) -> None:
        """Show why the store refused the text, and keep everything."""
        self._refused = f"Not saved: {reason}"
        self.check()

    def conflict(self, theirs: Fact, *, unasked: bool = False) -> None:
        """Show that somebody else changed the fact meanwhile.

        :param unasked: it appears by itself, not because saving was refused
        """

    def action_save(self) -> None:
        if self.check():
            self._save(self)

    def action_elsewhere(self) -> None:
        """Continue in an external editor; the text here stays unless that succeeds."""
        from textual.app import SuspendNotSupported

        from hermes_memory_tui.system.external_editor import ExternalEditorError, edit_externally

        self.keep_text()
        text, trouble = self.area.text, ""
        try:
            with self.app.suspend():
                try:
                    text = edit_externally(text)
                except ExternalEditorError as error:
                    trouble = str(error)  # told below: the screen comes back only where this block ends well
        except SuspendNotSupported as error:
            trouble = str(error)
        if trouble:
            self.notify(to_printable(trouble), severity="warning", timeout=6, markup=False)
        else:
            self.area.text = text
            self.area.move_cursor(self.area.document.end)

    def action_leave(self) -> None:
        self.dismiss(self.unsaved_text)


class FactEditor(Editor):
    """Edits the content of a fact; type, target and uid stay."""

    def __init__(self, fact: Fact, limit: int, draft: str | None, save: Save, gauge: Gauge | None = None) -> None:
        self._base = fact
        super().__init__(fact.theme, limit, fact.content, draft, save, gauge)
        self._cited = ", ".join(citation.label for citation in parse_citations(fact.cites) if citation.kind in NAMED)
        self._cites = Input(self._cited, placeholder="src/db.py:12-20, https://…", id="editor-cites", compact=True)
        self._theirs: Fact | None = None
        self._unseen_until = 0.0

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+t",
            "take_theirs",
            "Load theirs",
            id="editor.theirs",
            tooltip="Load the other version",
        ),
    ]

    @property
    def draft_key(self) -> str:
        return self._base.uid

    @property
    def base(self) -> Fact | None:
        return self._base

    def line(self) -> str:
        return format_notation(self._base.type, self._base.target, self.area.text)

    @property
    def cites(self) -> list[str] | None:
        """What the fact is to cite; None where that was not changed."""
        names = [name.strip() for name in self._cites.value.split(", ") if name.strip()]
        return None if self._cites.value == self._cited else names

    def head(self) -> ComposeResult:
        fact = self._base
        yield Static(
            Content.assemble(
                (f"{fact.type.value}[{to_printable(fact.target)}]", "bold"),
                (f"   {to_printable(fact.theme)} › {to_printable(fact.scope or 'no scope')}", "$dim"),
                (f"   {display_formats.author_name(fact)}", "$dim"),
                ("   type and target are fixed", "$dim"),
            ),
            id="editor-head",
        )
        with Horizontal(id="editor-place"):
            yield Static(Content.assemble(("cites  ", "$dim")))
            yield self._cites

    def on_mount(self) -> None:
        self.query_one("#editor").border_title = f"edit fact {short_uid(self._base.uid)}"

    def remarks(self, content: str) -> list[Line]:
        lines: list[Line] = []
        if self._theirs is not None:
            lines = [
                Content.styled(
                    f"Changed by {display_formats.author_name(self._theirs)} meanwhile. "
                    "ctrl+s overwrites, ctrl+t loads theirs",
                    "bold $warning",
                ),
                marked_difference(self._theirs.content, content, "their", "$warning"),
                marked_difference(content, self._theirs.content, "yours", "$success"),
            ]
        elif content != self._base.content:
            lines = [
                marked_difference(self._base.content, content, "-", "$error"),
                marked_difference(content, self._base.content, "+", "$success"),
            ]
        return lines

    def conflict(self, theirs: Fact, *, unasked: bool = False) -> None:
        self._base = self._theirs = theirs
        self._refused = ""
        self._unseen_until = time.monotonic() + UNSEEN_S if unasked else 0.0
        self.refresh_bindings()
        self.check()

    def action_save(self) -> None:
        if time.monotonic() < self._unseen_until:
            # The hand was on its way already: nobody overwrites what they cannot have read yet.
            self._unseen_until = 0.0
            return
        super().action_save()

    def action_leave(self) -> None:
        if self.cites is not None and not self._refused:
            self.show_refusal("ctrl+s saves what the fact cites, esc drops it")
        else:
            super().action_leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "take_theirs" or self._theirs is not None

    def action_take_theirs(self) -> None:
        if self._theirs is not None:
            self.area.text = self.start = self._theirs.content
            self._theirs = None
            self.refresh_bindings()
            self.check()


class NewFactEditor(Editor):
    """Writes a new fact: a line of notation, and its scope."""

    def __init__(
        self, theme: str, scope: str, limit: int, draft: str | None, save: Save, gauge: Gauge | None = None
    ) -> None:
        super().__init__(theme, limit, "", draft, save, gauge)
        self._scope = Input(scope, placeholder="no scope", id="editor-scope", compact=True)

    @property
    def draft_key(self) -> str:
        return "new"

    @property
    def scope(self) -> str | None:
        """The typed label, or None when empty."""
        return self._scope.value.strip() or None

    def line(self) -> str:
        return self.area.text

    def head(self) -> ComposeResult:
        yield Static(
            Content(" ").join(Content.assemble(*type_legend(kind)) for kind in FactType),
            id="editor-head",
        )
        with Horizontal(id="editor-place"):
            yield Static(Content.assemble(("scope  ", "$dim")))
            yield self._scope

    def on_mount(self) -> None:
        self.query_one("#editor").border_title = to_border_title(f"new fact · {to_printable(self.theme_name)}")

    def check(self) -> bool:
        if not self.area.text.strip():
            self._update_remarks(Content.styled("TYPE[target]: content", "$dim"))
            return False
        return super().check()


class EntryEditor(Editor):
    """Edits an entry of a host's memory file."""

    def __init__(self, file: HostFile, entry: FileEntry, draft: str | None, save: Save) -> None:
        super().__init__("", 0, entry.text, draft, save)
        self.file, self.entry = file, entry

    @staticmethod
    def to_draft_key(file: HostFile, entry: FileEntry) -> str:
        return f"{FILE_DRAFT}{file.path}:{to_digest(entry.text)}"

    @property
    def draft_key(self) -> str:
        return self.to_draft_key(self.file, self.entry)

    def on_mount(self) -> None:
        self.query_one("#editor").border_title = to_border_title(f"{self.file.label}:{self.entry.first}")

    def check(self) -> bool:
        """Show what the entry costs, or why the file would be read otherwise."""
        try:
            replace_file_entry(self.file.text, self.entry, self.area.text, self.file.form)
        except StoreError as error:
            self._update_remarks(Content.styled(to_printable(str(error)), "$error"))
            return False
        tokens = display_formats.pluralise(token_estimate.estimate_tokens(self.area.text), "token")
        parts: list[Line] = [Content.styled(f"{tokens}, {self.entry.tokens} before", "$dim")]
        if self._refused:
            parts.append(Content.styled(to_printable(self._refused), "$error"))
        self._update_remarks(wrap_lines(parts, self._said.size.width or FIRST_CELLS))
        return True


def type_legend(kind: FactType) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the symbol of a type and its name: `C` and the rest of the word, where it begins with it."""
    name = kind.word[1:] if kind.word.startswith(kind.value.lower()) else f" {kind.word}"
    return (kind.value, "bold"), (name, "$dim")
