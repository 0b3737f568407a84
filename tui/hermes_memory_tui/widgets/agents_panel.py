"""`AgentsPanel`: the connected sessions, and the age of each one's last heartbeat."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_store.memory.sessions import present_status
from hermes_memory_store.model import Session, SessionStatus
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import display_formats

STYLES = {SessionStatus.LIVE: "$success", SessionStatus.STALE: "$warning", SessionStatus.ORPHANED: "$error"}

SHORTEST_PLACE = 5
"""Cells in which a scope still says something."""


class AgentsPanel(Widget):
    """One line per session: its state by shape, name, scope, age of the last heartbeat."""

    sessions: reactive[list[Session]] = reactive(list, layout=True)
    """What is shown, newest heartbeat first."""

    now: reactive[int] = reactive(0)
    """The present in milliseconds, for ages."""

    has_ages: reactive[bool] = reactive(True)
    """Whether it is known when each was last heard of."""

    def render(self) -> Content:
        if not self.sessions:
            return Content.styled("none connected" if self.has_ages else "none", "$dim")
        width = self.size.width
        lines = []
        shown = sorted(self.sessions, key=lambda session: -session.heartbeat_at)[: max(1, self.size.height or 1)]
        # A session's name is shown whole where it fits; where it works has the rest.
        longest = max(cell_len(to_printable(session.title)) for session in shown)
        cells = max(6, min(longest, width - 6))
        for session in shown:
            age = display_formats.format_age(session.heartbeat_at, self.now) if self.has_ages else ""
            name = to_printable(session.title)
            where = to_printable(session.scope or session.theme) if width - 6 - cells >= SHORTEST_PLACE else ""
            status = present_status(session, self.now)
            lines.append(
                Content.assemble(
                    (f"{display_formats.SESSION_SHAPES[status]} ", STYLES.get(status, "$dim")),
                    display_formats.fit_middle(name, cells),
                    (display_formats.fit_middle(f" {where}", max(0, width - 6 - cells)), "$dim"),
                    (f"{age:>4}", "$dim"),
                )
            )
        return Content("\n").join(lines)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(8, max(1, len(self.sessions)))
