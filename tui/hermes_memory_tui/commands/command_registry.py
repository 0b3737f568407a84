"""`CommandRegistry`: every command there is now: what has a key, places, looks, and what takes an argument.

The palette and the command line both read it, so that they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.binding import Binding
from textual.screen import Screen

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import ScopeStatus
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.commands.command import Command, CommandChoice, CommandValue
from hermes_memory_tui.model.view_catalog import VIEWS_BY_NAME
from hermes_memory_tui.system import palettes
from hermes_memory_tui.system.inspector_settings import suggestion
from hermes_memory_tui.text.query_completion import complete_query

if TYPE_CHECKING:
    from hermes_memory_tui.model.memory import Overview
    from hermes_memory_tui.screens.facts_screen import MainScreen

NAVIGATION = ("list", "pages", "detail", "app.next", "app.previous", "app.palette", "app.command", "own")
"""Beginnings of the ids of bindings that only move, or lead here: the palette lists none of them."""

GROUPS = ("recent", "here", "anywhere", "view", "own", "scope", "theme", "look")
"""The order of the palette's groups."""


class CommandRegistry:
    """The commands of one screen, at one moment."""

    def __init__(self, app: Any, screen: Screen[Any], own: Iterable[Command] = ()) -> None:
        # The app imports this module, and so stands here without its type.
        self._app = app
        self._screen = screen
        self.commands: dict[str, Command] = {}
        """By word."""
        for command in (*self._argument_commands(), *own, *self._key_commands()):
            self._add(command)
        self._words = {
            word: command
            for command in reversed(self.commands.values())
            for word in (*command.aliases, command.word)
            if word not in self.commands or self.commands[word] is command
        }

    def _add(self, command: Command) -> None:
        self.commands.setdefault(command.word, command)

    @property
    def words(self) -> list[str]:
        return sorted(self._words)

    def find_command(self, line: str) -> tuple[Command, str]:
        """Return the command of a line, and the text after its word.

        :raises ArgumentError: names the word, and what is near
        """
        word, _, text = line.strip().lstrip(":").lstrip().partition(" ")
        command = self._words.get(word.casefold())
        if command is None:
            raise ArgumentError(f"no command {to_printable(word)!r}{suggestion(word, self._words)}", word)
        return command, text.strip()

    def prepare_line(self, line: str) -> Callable[[], object]:
        """Return what a line does.

        :raises ArgumentError: says what is wrong with it, and what is near
        """
        command, text = self.find_command(line)
        if text and not command.argument:
            raise ArgumentError(f"{command.word} takes nothing after it, not {to_printable(text)!r}", text)
        if not text and command.argument and not command.argument.startswith("["):
            raise ArgumentError(f"{command.word} needs {command.argument}: {command.help}", line)
        return command.prepare(text)

    def choices(self) -> Iterator[CommandChoice]:
        """Yield the lines of the palette, by group."""
        listed = [one for one in self.commands.values() if one.listed]
        for command in sorted(listed, key=lambda one: GROUPS.index(one.group)):
            if not command.argument or command.argument.startswith("["):
                run = partial(run_prepared, command.prepare, "")
                yield CommandChoice(command.word, command.title, command.help, command.group, command.key, run)
            for value in command.values() if command.argument else ():
                run = partial(run_prepared, command.prepare, value.text)
                title = f"{command.title}: {to_printable(value.text)}"
                yield CommandChoice(f"{command.word} {value.text}", title, value.beside, command.group, "", run)

    # What has a key

    def _key_commands(self) -> Iterator[Command]:
        """Yield the actions of the focus, its screen and the app; what the bottom line names comes first."""
        seen = set()
        active = sorted(self._screen.active_bindings.values(), key=lambda one: not one.binding.show)
        for node, binding, enabled, tooltip in active:
            name = binding.id or ""
            if not enabled or not binding.description or binding.action in seen or is_navigation(binding):
                continue
            seen.add(binding.action)
            act = partial(self._app.run_action, binding.action, default_namespace=node)
            word = to_word(binding.description)
            aliases = [word, name.replace(".", "-")]
            group = "here"
            if name.startswith("view.") and name.removeprefix("view.") in VIEWS_BY_NAME:
                group, aliases = "view", [word, name.removeprefix("view.")]
            elif node is self._app:
                group = "anywhere"
            if word in self.commands:
                word = aliases[-1]
            yield Command(
                word,
                binding.description,
                tooltip or binding.description,
                partial(take_no_text, act),
                group,
                self._app.get_key_display(binding),
                tuple(aliases),
            )

    # What takes an argument

    def _argument_commands(self) -> Iterator[Command]:
        yield Command("q", "Quit", "Quit", lambda _: self._app.action_leave, listed=False, aliases=("quit", "q!", "wq"))
        yield Command(
            "scope", "Scope", "Facts of a scope", self._to_scope, "scope", argument="SCOPE", values=self._scopes
        )
        yield Command(
            "theme", "Theme", "Facts of a theme", self._to_theme, "theme", argument="THEME", values=self._themes
        )
        yield Command(
            "look", "Look", "Colours of the inspector", self._to_look, "look", argument="LOOK", values=self._looks
        )
        for word, says, done in (
            ("close", "Close a scope", ScopeStatus.CLOSED),
            ("reopen", "Reopen a scope", ScopeStatus.OPEN),
        ):
            prepare, values = partial(self._change_scope, word), partial(self._scopes, done)
            yield Command(word, says, says, prepare, argument="[SCOPE]", values=values, listed=False)
        yield Command(
            "facts",
            "Facts",
            "Search the facts, such as tier:hot",
            self._search,
            argument="[SEARCH]",
            listed=False,
            completions=self._complete_search,
        )
        yield Command(
            "at", "Go to time", "Show the memory as of a moment", self._travel, argument="[WHEN]", listed=False
        )
        yield Command(
            "export", "Export", "Write what is listed to a file", self._export, argument="[FILE]", listed=False
        )

    def _complete_search(self, text: str) -> Iterator[str]:
        found = complete_query(text, len(text), self._app.main.filter_values)
        yield from (text[: found.start] + one for one in found.texts)

    def _overview(self) -> Overview:
        """Return the themes and scopes that there are now, also while another view hides the facts."""
        main: MainScreen = self._app.main
        main.follow_missed()
        return main.overview

    def _scopes(self, but: ScopeStatus | None = None) -> Iterator[CommandValue]:
        """Yield the scopes. :param but: leave out those that are this already"""
        for scope in self._overview().scopes:
            if scope.status is not but:
                yield CommandValue(scope.label, f"{scope.status.value} scope of {to_printable(scope.theme)}")

    def _themes(self) -> Iterator[CommandValue]:
        for theme in self._overview().themes:
            yield CommandValue(theme.name, "Facts of this theme")

    def _looks(self) -> Iterator[CommandValue]:
        own = [look.name for look in palettes.LOOKS]
        for name in (*own, *(name for name in self._app.available_themes if name not in own)):
            look = self._app.available_themes[name]
            beside = "the colours now" if name == self._app.theme else "dark colours" if look.dark else "light colours"
            yield CommandValue(name, beside)

    def _find_scope(self, text: str) -> tuple[str, str]:
        """Return theme and label of a scope: `LABEL`, or `THEME/LABEL` where several themes have it.

        :raises ArgumentError: there is none, or more than one
        """
        main, overview = self._app.main, self._overview()
        if all(text not in (one.label, f"{one.theme}/{one.label}") for one in overview.scopes):
            main.try_follow_changes()  # not read yet: the first frame shows few scopes, and this one may be new
        scopes = [(scope.theme, scope.label) for scope in main.overview.scopes]
        found = [one for one in scopes if one[1] == text] or [one for one in scopes if "/".join(one) == text]
        here = main.tree_pane.place.theme
        if len(found) > 1 and here is not None:
            found = [one for one in found if one[0] == here.name] or found
        if len(found) > 1:
            named = " or ".join(to_printable("/".join(one)) for one in found)
            raise ArgumentError(f"several themes have the scope {to_printable(text)!r}: say {named}", text)
        if not found:
            near = suggestion(text, (label for _, label in scopes)) if scopes else ""
            raise ArgumentError(f"no scope {to_printable(text)!r}{to_printable(near)}", text)
        return found[0]

    def _to_scope(self, text: str) -> Callable[[], object]:
        return partial(self._go_to, *self._find_scope(text))

    def _to_theme(self, text: str) -> Callable[[], object]:
        themes = [theme.name for theme in self._overview().themes]
        if text not in themes:
            near = suggestion(text, themes) if themes else ""
            raise ArgumentError(f"no theme {to_printable(text)!r}{to_printable(near)}", text)
        return partial(self._go_to, text, None)

    def _go_to(self, theme: str, scope: str | None) -> None:
        self._app.open_view("facts")
        self._app.main.go_to_scope(theme, scope)

    def _to_look(self, text: str) -> Callable[[], object]:
        if text not in self._app.available_themes:
            raise ArgumentError(f"no look {to_printable(text)!r}{suggestion(text, self._app.available_themes)}", text)
        return partial(self._app.keep_look, text)

    def _change_scope(self, word: str, text: str) -> Callable[[], object]:
        main, screen = self._app.main, self._screen
        if main.memory.is_past or main.memory.read_only:
            why = "this is the past; esc returns to the present" if main.memory.is_past else "the memory is read-only"
            raise ArgumentError(f"{word} changes the memory: {why}", text)
        if text:
            theme, label = self._find_scope(text)
            act = main.memory.close_scope if word == "close" else main.memory.reopen_scope
            writer = screen if hasattr(screen, "write") else main
            return lambda: writer.write(lambda: act(theme, label))
        action = getattr(screen, f"action_{word}_scope", None)
        if action is None:
            raise ArgumentError(f"{word} which scope? Name one after it", text)
        return action  # type: ignore[no-any-return]

    def _search(self, text: str) -> Callable[[], object]:
        async def show() -> None:
            self._app.open_view("facts")
            if text:
                await self._app.main.show_line(text)

        return show

    def _travel(self, text: str) -> Callable[[], object]:
        from hermes_memory_tui.dialogs.moment_question import find_moment_problem
        from hermes_memory_tui.model.past_memory import name_moment

        if not text:
            return partial(self._app.run_action, "app.name_moment")
        wanted = DAYS.get(text.casefold(), text)
        problem = find_moment_problem(self._app.memory, wanted)
        if problem:
            raise ArgumentError(problem, text)
        return partial(self._app.travel, name_moment(wanted))

    def _export(self, text: str) -> Callable[[], object]:
        screen: Any = self._screen
        if not hasattr(screen, "export_to"):
            raise ArgumentError("nothing is listed here that could be exported", text)
        if not text:
            return screen.action_export  # type: ignore[no-any-return]
        problem = screen.find_export_problem(text)
        if problem:
            raise ArgumentError(problem, text)
        return partial(screen.export_to, text)


DAYS = {"yesterday": "1d", "now": "0m"}
"""Moments that are said in a word."""


def run_prepared(prepare: Callable[[str], Callable[[], object]], text: str) -> object:
    return prepare(text)()


def take_no_text(act: Callable[[], object], _text: str) -> Callable[[], object]:
    return act


def is_navigation(binding: Binding) -> bool:
    """Check whether a binding only moves the cursor or the focus, or opens the palette; Textual's own have no id."""
    name = binding.id or ""
    return not name or name in NAVIGATION or name.partition(".")[0] in NAVIGATION


def to_word(title: str) -> str:
    """Return a title as the word that a command line takes: `Close scope` is `close-scope`."""
    return re.sub(r"[^\w]+", "-", title.casefold()).strip("-")
