"""`MainScreen`: the person's actions on facts and scopes.

Every write runs in a thread, so no lock freezes a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import ArgumentError, FactConflict, StoreError
from hermes_memory_store.model import Fact, Gauge, Scope, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.bulk_actions import BulkAction
from hermes_memory_tui.model.drafts import NEW_FACT, Drafts
from hermes_memory_tui.model.memory import ActionResult, Memory, Overview
from hermes_memory_tui.screens.fact_listing import ListingScreen
from hermes_memory_tui.screens.memory_screen import SHOWN_BY, WriteBinding, gather_binding
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.view_strip import OpenConversation

if TYPE_CHECKING:
    from hermes_memory_tui.model.open_work import UnsavedText
    from hermes_memory_tui.screens.fact_editor import Editor
    from hermes_memory_tui.widgets.filter_line import FactSearchInput

MOST_COPIED = 500
"""Facts that are copied at once: terminals take some tens of thousands of characters."""


class MainScreen(ListingScreen):
    BINDING_GROUP_TITLE = "Memory"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="main.search", tooltip="Search and filter the facts"),
        Binding("v", "views", "Views", id="main.views", tooltip="Open a saved search", show=False),
        WriteBinding("e", "edit", "Edit", id="fact.edit", tooltip="Edit the content of the fact"),
        WriteBinding("n", "new", "New", id="fact.new", tooltip="Write a new fact"),
        WriteBinding("a", "archive", "Archive", id="fact.archive", tooltip="Archive the selected facts"),
        WriteBinding("u", "undo", "Undo", id="memory.undo", tooltip="Undo your latest change"),
        WriteBinding(
            "U", "undo_fact", "Undo its change", id="fact.undo", tooltip="Undo the latest change of this fact"
        ),
        WriteBinding("p", "pin", "Pin", id="fact.pin", tooltip="Pin or unpin; pressure never moves pinned facts"),
        WriteBinding("w", "warm", "Warm", id="fact.warm", tooltip="Move to the hot tier (in the context)"),
        WriteBinding("W", "cool", "Cool", id="fact.cool", tooltip="Move to the cold tier (search only)"),
        WriteBinding("m", "move", "Move", id="fact.move", tooltip="Move to another scope of the theme"),
        WriteBinding(
            "P", "purge", "Purge", id="fact.purge", tooltip="Purge the selected facts, or the scope in the tree"
        ),
        gather_binding("fact"),
        Binding("x", "export", "Export", id="fact.export", tooltip="Export the marked or listed facts"),
        WriteBinding("r", "restore", "Restore", id="fact.restore", tooltip="Restore to the hot tier"),
        WriteBinding("ctrl+r", "redo", "Redo", id="memory.redo", tooltip="Redo", show=False),
        WriteBinding(
            "c", "close_scope", "Close scope", id="scope.close", tooltip="Close the scope and cool its hot facts"
        ),
        WriteBinding(
            "o",
            "reopen_scope",
            "Reopen",
            id="scope.reopen",
            tooltip="Reopen the scope and warm the facts its closing cooled",
            show=False,
        ),
        Binding(
            "O",
            "conversation",
            "Conversation",
            id="fact.conversation",
            tooltip="Read the captured messages the fact was written from",
            show=False,
        ),
        Binding("s", "sort", "Sort", id="main.sort", tooltip="Choose the order of the facts", show=False),
        Binding(
            "equals_sign",
            "differences",
            "Diff",
            id="main.differences",
            tooltip="Toggle between diffs and full versions",
            show=False,
        ),
        Binding("y", "copy_uid", "Copy id", id="fact.copy_uid", tooltip="Copy the uid of the fact", show=False),
        Binding("Y", "copy", "Copy", id="fact.copy", tooltip="Copy the fact as its notation", show=False),
        Binding("t", "scopes_pane", "Themes", id="pane.scopes", tooltip="Focus themes and scopes", show=False),
        Binding("f", "facts_pane", "Facts", id="pane.facts", tooltip="Focus the facts", show=False),
        Binding("i", "detail_pane", "Fact", id="pane.detail", tooltip="Focus the fact detail", show=False),
        Binding("escape", "back", "Back", id="main.back", tooltip="Back", show=False),
    ]

    def __init__(self, memory: Memory, overview: Overview, theme: str | None) -> None:
        super().__init__(memory, overview, theme)
        self.drafts = Drafts(memory, self.kept)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "search" and self.filter_line is not None and self.focused is self.filter_line.input:
            return False
        return super().check_action(action, parameters)

    def action_differences(self) -> None:
        self.detail_pane.differences = not self.detail_pane.differences

    def action_conversation(self) -> None:
        """Open the conversation that the fact under the cursor was written from."""
        fact = self.table.fact
        if fact is None:
            return
        if not fact.origin.turns:
            self.notify("No captured message is known for this fact.", timeout=4)
            return
        self.post_message(OpenConversation(fact.origin.turns))

    # Saved views

    def on_fact_search_input_save_requested(self, message: FactSearchInput.SaveRequested) -> None:
        from hermes_memory_tui.dialogs.question import Question

        line = self.line
        if not line:
            self.notify("Type a search first; ctrl+s then saves it.", severity="warning", timeout=4)
            return

        def save(name: str) -> None:
            self.kept.save_view(name, line)
            self._show_saved_view_result(f"View {name!r} saved; v opens it.")

        def check(name: str) -> str:
            return f"View {name!r} exists: replace it?" if name in self.kept.views else ""

        says = [Content.styled(to_printable(line), "$dim")]
        self.ask_then(Question("save this search", says, type_in="as", check=check), save)

    def action_views(self) -> None:
        from hermes_memory_tui.dialogs.picker import Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        def choices() -> list[Choice]:
            return [Choice(name, name, line) for name, line in sorted(self.kept.views.items())]

        def remove(name: str) -> list[Choice]:
            self.kept.remove_view(name)
            self._show_saved_view_result(f"View {name!r} removed.")
            return choices()

        empty = "No saved views; ctrl+s in the search line saves one."
        self.app.push_screen(Picker("saved views", choices(), empty=empty, remove=remove), self._open_view)

    async def _open_view(self, name: str | None) -> None:
        line = None if name is None else self.kept.views.get(name)
        if line is None:
            return
        await self.show_line(line)

    def _show_saved_view_result(self, message: str) -> None:
        trouble = self.kept.trouble
        self.notify(
            f"Not saved: {trouble}." if trouble else message,
            severity="warning" if trouble else "information",
            timeout=5,
            markup=False,
        )

    # Facts

    def action_archive(self) -> None:
        self.on_chosen(lambda _: bulk_actions.ARCHIVE)

    def action_restore(self) -> None:
        self.on_chosen(lambda _: bulk_actions.RESTORE)

    def action_pin(self) -> None:
        self.on_chosen(lambda facts: bulk_actions.UNPIN if all(fact.pinned for fact in facts) else bulk_actions.PIN)

    def action_warm(self) -> None:
        self.on_chosen(lambda _: bulk_actions.WARM)

    def action_cool(self) -> None:
        self.on_chosen(lambda _: bulk_actions.COOL)

    def action_move(self) -> None:
        """Choose a scope of the theme to move to, or type a new one."""
        from hermes_memory_tui.dialogs.picker import NEW, Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        keys = self.table.selected_keys
        facts = self.load_facts(keys[:1])
        if not facts:
            return
        first = facts[0]
        scopes = [scope for scope in self.overview.scopes if scope.theme == first.theme]
        choices = [Choice(f"={scope.label}", scope.label, scope.status.value) for scope in scopes]
        choices.append(Choice("none", "no scope"))

        def move_to(label: str | None, facts: Sequence[Fact]) -> BulkAction:
            if len({fact.theme for fact in facts}) > 1:
                raise ArgumentError("the marked facts belong to several themes; move one theme at a time")
            return bulk_actions.move_to_scope(label)

        def choose(key: str) -> None:
            label = None if key == "none" else key.removeprefix(NEW if key.startswith(NEW) else "=")
            self.on_chosen(partial(move_to, label), keys)

        title = f"move to a scope of {first.theme}"
        self.ask_then(Picker(title, choices, typing=True, new="new scope"), choose)

    def action_purge(self) -> None:
        """Erase permanently: the whole scope when the tree has the focus, else the selected facts."""
        scope = self.tree_pane.place.scope if self.focused is self.tree_pane else None
        if scope is None:
            self.on_chosen(lambda _: bulk_actions.PURGE)
            return
        self.writes.preview_then_run(
            lambda: self.memory.preview_scope(scope.theme, scope.label),
            lambda: self.memory.purge_scope(scope.theme, scope.label),
            self._after_action,
        )

    def on_chosen(self, choose: Callable[[Sequence[Fact]], BulkAction], keys: Sequence[int] = ()) -> None:
        """Apply an action to the marked facts, or to the one under the cursor; to several only after a preview.

        :param choose: returns the action for these facts
        """
        keys = keys or self.table.selected_keys
        if keys:
            load = partial(self.memory.store.facts.by_ids, keys)
            self.writes.change_facts(load, choose, self.table, keys, self._after_action)

    def _after_action(self) -> None:
        self.table.action_unmark()
        self._forget_erased()

    def action_undo(self) -> None:
        if not self.gathering.take_back():
            place = self.tree_pane.place
            self.writes.run(partial(self.memory.undo, place.theme.name if place.theme else None))

    def action_redo(self) -> None:
        self.writes.run(self.memory.redo)

    def action_undo_fact(self) -> None:
        fact = self.table.fact
        if fact is not None:
            self.writes.run(lambda: self.memory.undo_change(self.memory.newest_change_of(fact)))

    def action_copy_uid(self) -> None:
        self._copy([fact.uid for fact in self._copy_targets()])

    def action_copy(self) -> None:
        self._copy([fact.notation for fact in self._copy_targets()])

    def _copy_targets(self) -> list[Fact]:
        keys = self.table.selected_keys
        if len(keys) > MOST_COPIED:
            self.notify(
                f"Too many facts for the clipboard (max. {MOST_COPIED:,}); export them with x.",
                severity="warning",
                timeout=5,
            )
            return []
        return self.load_facts(keys) or []

    def _copy(self, lines: list[str]) -> None:
        if lines:
            self.app.copy_to_clipboard("\n".join(lines))
            self.notify("Copied.", timeout=2)

    def action_export(self) -> None:
        from hermes_memory_tui.screens.table_export import ask_for_export

        ask_for_export(self, self.table, self.show_counts)

    # Scopes

    def action_close_scope(self) -> None:
        self._change_scope("close", self.memory.close_scope)

    def action_reopen_scope(self) -> None:
        self._change_scope("reopen", self.memory.reopen_scope)

    def _change_scope(self, action: str, act: Callable[[str, str], ActionResult]) -> None:
        scope = self._scope()
        if scope is not None and self.gathering.is_on:
            self.gathering.add_change(action, [scope])
        elif scope is not None:
            self.writes.run(lambda: act(scope.theme, scope.label))

    def _scope(self) -> Scope | None:
        """Return the scope selected in the tree, else that of the fact under the cursor."""
        if self.tree_pane.place.scope is not None:
            return self.tree_pane.place.scope
        fact = self.table.fact
        if fact is not None and fact.scope is not None:
            for scope in self.overview.scopes:
                if (scope.theme, scope.label) == (fact.theme, fact.scope):
                    return scope
        self.notify("Choose a scope first: t goes to themes and scopes.", severity="warning", timeout=4)
        return None

    def go_to_scope(self, theme: str, scope: str | None) -> None:
        if scope is not None and all((entry.theme, entry.label) != (theme, scope) for entry in self.overview.scopes):
            self.try_follow_changes()  # not read yet: the first frame shows few scopes, and this one may be new
        self.tree_pane.choose(theme, scope)
        self.action_facts_pane()

    async def show_fact(self, fact: Fact) -> None:
        """Show a fact among those of its theme, whatever was shown before."""
        self.go_to_scope(fact.theme, None)
        line = "" if fact.tier in (Tier.HOT, Tier.COLD) else f"tier:{fact.tier.value}"
        if line != self.line:
            await self.show_line(line)
        self.show_listing(self._current_request())
        self.go_to_fact(fact.uid)

    # Typing

    def action_edit(self) -> None:
        from hermes_memory_tui.screens.fact_editor import FactEditor

        fact = self.table.fact
        if fact is None:
            return
        if fact.tier is Tier.SUPERSEDED:
            self.notify("Superseded by a newer fact; restore it first with r.", severity="warning", timeout=5)
            return
        gauge = self._gauge_of(fact.theme)
        text = self.drafts.find(fact.uid) or (
            self.gathering.basket.pending_edit(fact.uid) if self.gathering.is_on else None
        )
        self.open_editor(FactEditor(fact, self._content_limit(fact.theme), text, self._save_edit, gauge))

    def action_new(self) -> None:
        """Write a new fact in the selected theme; with several and none selected, ask which."""
        place = self.tree_pane.place
        names = [theme.name for theme in self.overview.themes]
        if place.theme is not None:
            self._write_new(place.theme.name, place.scope.label if place.scope else "")
        elif len(names) > 1:
            self._ask_theme(names)
        else:
            self._write_new(*names or (self._theme or self.memory.find_folder_theme(),))

    def _ask_theme(self, names: Sequence[str]) -> None:
        from hermes_memory_tui.dialogs.picker import Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        fact = self.table.fact
        at = fact.theme if fact is not None else names[0]
        picker = Picker("theme of the new fact", [Choice(name, name) for name in names], typing=True, at=at)
        self.ask_then(picker, self._write_new)

    def _write_new(self, theme: str, scope: str = "") -> None:
        from hermes_memory_tui.screens.fact_editor import NewFactEditor

        limit, gauge = self._content_limit(theme), self._gauge_of(theme)
        self.open_editor(NewFactEditor(theme, scope, limit, self.drafts.find(NEW_FACT), self._save_new, gauge))

    def edit_unsaved(self, unsaved: UnsavedText) -> None:
        """Reopen an editor with the text it had when the app failed. :raises StoreError: the memory cannot be read"""
        from hermes_memory_tui.screens.fact_editor import FactEditor, NewFactEditor

        base, theme = unsaved.base, unsaved.theme if unsaved.base is None else unsaved.base.theme
        limit, gauge = self._content_limit(theme), self._gauge_of(theme)
        if base is not None:
            self.open_editor(FactEditor(base, limit, unsaved.text, self._save_edit, gauge))
        else:
            self.open_editor(NewFactEditor(theme, unsaved.scope, limit, unsaved.text, self._save_new, gauge))

    def _content_limit(self, theme: str) -> int:
        return self.memory.store.policies.for_theme(theme).fact_chars

    def _gauge_of(self, theme: str) -> Gauge | None:
        return next((summary.gauge for summary in self.overview.themes if summary.name == theme), None)

    # What was typed and not saved

    def on_mount(self) -> None:
        if not self.memory.read_only:
            self.call_after_refresh(self._offer_drafts)
            self._forget_purged_changes()

    def _forget_purged_changes(self) -> None:
        """Take facts that were erased out of the basket, which repeats their content."""
        if self.kept.basket(self.drafts.file):
            forget = partial(self.gathering.basket.forget_purged_in, self.memory, self.gathering.show_purged)
            self.run_worker(forget, thread=True, group="gathering")

    def _offer_drafts(self) -> None:
        """Notify the person of drafts that were left unsaved at the last exit."""
        left = self.drafts.describe_left()
        if left:
            self.notify(f"Unsaved draft: {left}.", severity="warning", timeout=8, markup=False)

    def _forget_erased(self) -> None:
        self._forget_purged_changes()
        self.drafts.forget_erased()

    def open_editor(self, editor: Editor) -> None:
        """Open an editor whose unsaved text is never lost."""
        editor.keep = self.drafts.keep
        self.app.push_screen(editor, partial(self._handle_editor_closed, editor))

    def _handle_editor_closed(self, editor: Editor, draft: str | None) -> None:
        self.drafts.close(editor.draft_key, draft)
        if draft is not None:
            key = "n" if editor.draft_key == NEW_FACT else "e"
            self.notify(f"Not saved. Kept as a draft; {key} resumes it.", severity="warning", timeout=5)

    def _save_edit(self, editor: Editor) -> None:
        from hermes_memory_tui.screens.fact_editor import FactEditor

        assert isinstance(editor, FactEditor)
        base, text, cites = editor.base, editor.area.text, editor.cites
        if base is not None:
            edit = self._gather_edit if self.gathering.is_on else self.memory.edit_fact
            self.writes.run_text(
                lambda agreed: edit(base, text, confirmed=agreed, cites=cites),
                lambda: editor.dismiss(None),
                partial(self._not_saved, editor),
            )

    def _gather_edit(
        self, base: Fact, text: str, *, confirmed: bool = False, cites: Sequence[str] | None = None
    ) -> ActionResult:
        from hermes_memory_tui.basket.basket_run import preview_edit
        from hermes_memory_tui.basket.pending_changes import to_subject

        if cites is not None:
            raise ArgumentError("what a fact cites is changed at once, not in the basket", base.uid)
        content = preview_edit(self.memory.store, base, text, confirmed=confirmed)
        if content == base.content:
            return ActionResult(f"{display_formats.fact_name(base)} unchanged", back="")
        return ActionResult(self.gathering.basket.gather("edit", [to_subject(base)], content), back=SHOWN_BY)

    def _save_new(self, editor: Editor) -> None:
        from hermes_memory_tui.screens.fact_editor import NewFactEditor

        assert isinstance(editor, NewFactEditor)
        theme, scope, line = editor.theme_name, editor.scope, editor.line()
        self.writes.run_text(
            lambda agreed: self.memory.add_fact(theme, line, scope, confirmed=agreed),
            lambda: editor.dismiss(None),
            partial(self._not_saved, editor),
        )

    def _not_saved(self, editor: Editor, error: StoreError) -> None:
        if isinstance(error, FactConflict) and editor.base is not None:
            theirs = self.memory.fact(editor.base.uid)
            editor.show_gauge(self.memory.gauge(theirs.theme), theirs)
            editor.conflict(theirs)
        else:
            editor.show_refusal(str(error))

    def facts_changed(self, facts: Sequence[Fact]) -> None:
        open_screen = self.app.screen
        if open_screen is self:
            return
        from hermes_memory_tui.screens import fact_editor

        if not isinstance(open_screen, fact_editor.Editor):
            return
        edited = open_screen.base
        current = next((fact for fact in facts if edited is not None and fact.uid == edited.uid), edited)
        open_screen.show_gauge(self._gauge_of(open_screen.theme_name), current)
        if current is not None and edited is not None and current.content != edited.content:
            open_screen.conflict(current, unasked=True)

    # Writing

    def after_write(self, done: ActionResult) -> None:
        self.try_follow_changes()
        self.table.settle()
        if done.show is not None:
            self.go_to_fact(done.show)
