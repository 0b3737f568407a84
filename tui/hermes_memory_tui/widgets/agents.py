"""`AgentsPanel`: the sessions that are connected, and how long ago each was heard of."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_store.model import Session, SessionStatus
from hermes_memory_store.text import printable
from hermes_memory_tui import shown

STYLES = {SessionStatus.LIVE: "$success", SessionStatus.STALE: "$warning", SessionStatus.ORPHANED: "$error"}


class AgentsPanel(Widget):
    """One line a session: its state by shape, name, scope, age of the last heartbeat."""

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
            age = shown.age(session.heartbeat_at, self.now) if self.has_ages else ""
            name = printable(session.name)
            where = printable(session.scope or session.theme)
            lines.append(
                Content.assemble(
                    (f"{shown.SESSION_SHAPES[session.status]} ", STYLES.get(session.status, "$dim")),
                    shown.fit_name(name, max(6, (width - 8) * 3 // 5)),
                    (" " + shown.fit_name(where, max(3, width - 8 - max(6, (width - 8) * 3 // 5))), "$dim"),
                    (f"{age:>4}", "$dim"),
                )
            )
        return Content("\n").join(lines)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return min(8, max(1, len(self.sessions)))
