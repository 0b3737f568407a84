"""The commands of one screen at one moment, as the palette and the help list them: what has a key, places and looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from textual.actions import parse
from textual.binding import Binding
from textual.dom import DOMNode

from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.model.view_catalog import VIEWS_BY_NAME
from hermes_memory_tui.system import palettes

NAVIGATION = ("list", "pages", "detail", "app.next", "app.previous", "app.palette")
"""Beginnings of the ids of bindings that only move, or lead here: the palette lists none of them."""

GROUPS = ("recent", "here", "anywhere", "view", "scope", "theme", "look")
"""The order of the palette's groups."""

PLACES = ("scope", "theme", "look")
"""Groups that are listed once something is typed: there may be thousands."""

HELP_GROUPS = {
    "main": "find",
    "fact": "a fact",
    "facts": "facts",
    "scope": "a scope",
    "memory": "undo",
    "list": "move",
    "pane": "panes",
    "scopes": "scopes",
    "view": "all views",
    "views": "views",
    "app": "anywhere",
    "time": "time",
}
"""Groups of the help, by the first part of a binding's id, in the order they are shown."""

EVERY_VIEW, VIEWS = HELP_GROUPS["view"], HELP_GROUPS["views"]


@dataclass(frozen=True, slots=True)
class CommandChoice:
    """A line of the palette or the help, and what it does."""

    line: str
    """The name it is remembered by."""
    title: str
    help: str
    group: str
    key: str
    run: Callable[[], object]
    enabled: bool = True

    @property
    def words(self) -> str:
        """What is searched: the title before the rest."""
        # Letters in their order say something within a title, in a sentence nothing: each of its words is for itself.
        return fold_accents("\n".join([self.title, self.line, self.key, *self.help.split()]))


# The app imports this module, and so stands in it without its type.


def list_commands(app: Any) -> list[CommandChoice]:
    """Return the lines of the palette, by group."""
    choices = [*_actions(app), *_places(app), *_looks(app)]
    return sorted(choices, key=lambda choice: GROUPS.index(choice.group))


def list_keys(app: Any, owners: Iterable[DOMNode]) -> list[CommandChoice]:
    """Return every key of some panes, by group; what is not possible now is not enabled."""
    choices: dict[str, CommandChoice] = {}
    panes = list(owners)
    for owner in panes:
        for bindings in owner._bindings.key_to_bindings.values():
            for binding in bindings:
                name = binding.id or ""
                _, action, parameters = parse(binding.action)
                allowed = owner.check_action(action, parameters)
                if name and name not in choices and allowed is not False:
                    choice = _to_choice(app, owner, binding, _help_group(owner, name))
                    choices[name] = replace(choice, title=choice.help, help=choice.title, enabled=allowed is True)
    groups = [*filter(None, map(_view_group, panes)), *HELP_GROUPS.values()]
    order = {group: place for place, group in reversed(list(enumerate(groups)))}
    return sorted(choices.values(), key=lambda choice: order.get(choice.group, len(order)))


def _help_group(owner: DOMNode, name: str) -> str:
    """Return the group of a binding in the help. :param name: its id"""
    kind = name.partition(".")[0]
    if kind == "view":
        return EVERY_VIEW if _view_group(owner) else VIEWS
    return _view_group(owner) or HELP_GROUPS.get(kind, kind)


def _view_group(owner: DOMNode) -> str | None:
    """Return the group of a view's own keys, or None for an owner that is not a view."""
    return str(owner.BINDING_GROUP_TITLE).casefold() if hasattr(owner, "TITLE_OF_LIST") else None


def _to_choice(app: Any, node: DOMNode, binding: Binding, group: str) -> CommandChoice:
    keys = dict.fromkeys(
        app.get_key_display(bound)
        for bindings in node._bindings.key_to_bindings.values()
        for bound in bindings
        if bound.id == binding.id
    )
    return CommandChoice(
        binding.id or binding.action,
        binding.description,
        binding.tooltip or binding.description,
        group,
        " ".join(keys),
        partial(app.run_action, binding.action, default_namespace=node),
    )


def _actions(app: Any) -> Iterator[CommandChoice]:
    """Yield the actions of the focus, its screen and the app; what the bottom line names comes first."""
    actions = set()
    active = sorted(app.screen.active_bindings.values(), key=lambda bound: not bound.binding.show)
    for node, binding, enabled, _tooltip in active:
        name = binding.id or ""
        if not enabled or not binding.description or binding.action in actions or is_navigation(binding):
            continue
        actions.add(binding.action)
        group = "here"
        if name.startswith("view.") and name.removeprefix("view.") in VIEWS_BY_NAME:
            group = "view"
        elif node is app:
            group = "anywhere"
        yield _to_choice(app, node, binding, group)


def _places(app: Any) -> Iterator[CommandChoice]:
    """Yield the themes and scopes that there are now, also while another view hides the facts."""
    main = app.main
    main.follow_missed()
    overview = main.overview
    for scope in overview.scopes:
        yield CommandChoice(
            f"scope {scope.theme}/{scope.label}",
            f"Scope: {to_printable(scope.label)}",
            f"{scope.status.value} scope of {to_printable(scope.theme)}",
            "scope",
            "",
            partial(_go_to, app, scope.theme, scope.label),
        )
    for theme in overview.themes:
        title = f"Theme: {to_printable(theme.name)}"
        run = partial(_go_to, app, theme.name, None)
        yield CommandChoice(f"theme {theme.name}", title, "Facts of this theme", "theme", "", run)


def _go_to(app: Any, theme: str, scope: str | None) -> None:
    app.open_view("facts")
    app.main.go_to_scope(theme, scope)


def _looks(app: Any) -> Iterator[CommandChoice]:
    own = [look.name for look in palettes.LOOKS]
    for name in (*own, *(name for name in app.available_themes if name not in own)):
        look = app.available_themes[name]
        colours = "the colours now" if name == app.theme else "dark colours" if look.dark else "light colours"
        yield CommandChoice(f"look {name}", f"Look: {name}", colours, "look", "", partial(app.keep_look, name))


def is_navigation(binding: Binding) -> bool:
    """Check whether a binding only moves the cursor or the focus, or opens the palette; Textual's own have no id."""
    name = binding.id or ""
    return not name or name in NAVIGATION or name.partition(".")[0] in NAVIGATION
