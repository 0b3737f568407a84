"""`AgentsPanel`: the connected sessions, and the age of each one's last heartbeat."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_store.model import Session, SessionStatus
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import display_formats

STYLES = {SessionStatus.LIVE: "$success", SessionStatus.STALE: "$warning", SessionStatus.ORPHANED: "$error"}


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
        for session in sorted(self.sessions, key=lambda one: -one.heartbeat_at)[: max(1, self.size.height or 1)]:
            age = display_formats.format_age(session.heartbeat_at, self.now) if self.has_ages else ""
            name = to_printable(session.title)
            where = to_printable(session.scope or session.theme)
            lines.append(
                Content.assemble(
                    (f"{display_formats.SESSION_SHAPES[session.status]} ", STYLES.get(session.status, "$dim")),
                    display_formats.fit_middle(name, max(6, (width - 8) * 3 // 5)),
                    (" " + display_formats.fit_middle(where, max(3, width - 8 - max(6, (width - 8) * 3 // 5))), "$dim"),
                    (f"{age:>4}", "$dim"),
                )
            )
        return Content("\n").join(lines)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(8, max(1, len(self.sessions)))
