"""The command palette: every action that has a key, and the colour schemes; generated from the bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.fuzzy import Matcher

from hermes_memory_store.safe_text import to_printable


class BindingCommands(Provider):
    """The actions available on the screen under the palette."""

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        seen = set()
        # What the bottom line names comes first, then what only the keyboard knows, in the end how to move.
        active = sorted(
            self.screen.active_bindings.values(), key=lambda one: (not one.binding.show, is_navigation(one.binding))
        )
        for node, binding, enabled, tooltip in active:
            if not enabled or not binding.description or binding.id is None or binding.action in seen:
                continue
            seen.add(binding.action)
            act = partial(self.app.run_action, binding.action, default_namespace=node)
            key = self.app.get_key_display(binding)
            yield f"{binding.description}  ({key})", tooltip or binding.description, act
        yield from self._places()
        for look in self.app.available_themes:
            yield f"Look: {look}", "Change the colours of the app", partial(setattr, self.app, "theme", look)

    def _places(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """Yield every theme and scope; choosing one shows its facts."""
        app: Any = self.app
        screen = app.facts_screen
        if screen is None:
            return
        for scope in screen.overview.scopes:
            title = f"Scope: {to_printable(scope.label)}"
            yield (
                title,
                f"Facts of this scope of {to_printable(scope.theme)}",
                partial(self._go_to, scope.theme, scope.label),
            )
        for theme in screen.overview.themes:
            title = f"Theme: {to_printable(theme.name)}"
            yield title, "Facts of this theme", partial(self._go_to, theme.name, None)

    def _go_to(self, theme: str, scope: str | None) -> None:
        app: Any = self.app
        app.open_view("facts")
        app.facts_screen.go_to_scope(theme, scope)

    async def discover(self) -> Hits:
        for name, help_text, act in self._commands():
            if not name.startswith(("Look: ", "Scope: ", "Theme: ")):
                yield DiscoveryHit(Content(name), act, name, literal_help(help_text))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help_text, act in self._commands():
            score = max(matcher.match(name), 0.7 * matcher.match(help_text))
            if name.startswith("Look: "):
                score *= 0.5  # "close" means a scope before it means catppuccin-latte
            if score > 0:
                yield Hit(score, highlight_match(matcher, name), act, name, literal_help(help_text))


def is_navigation(binding: Binding) -> bool:
    """Check whether a binding only navigates; such bindings are left out of the palette."""
    return (binding.id or "").partition(".")[0] in ("list", "pages", "detail")


def highlight_match(matcher: Matcher, name: str) -> Content:
    """Highlight the typed characters in a name.

    Textual's own highlighter parses the name as markup, and names contain brackets.
    """
    found, (_, places) = Content(name), matcher.fuzzy_search.match(matcher.query, name)
    for place in places:
        if not name[place].isspace():
            found = found.stylize(matcher.match_style, place, place + 1)
    return found


def literal_help(text: str) -> Any:
    """Return a help text that is not parsed as markup, as a plain string would be."""
    return Content(text)
