"""`TitleBar`: the theme and file, the connected agents, and the latest change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from hermes_memory_store.model import Session
from hermes_memory_tui.text.agent_counts import AgentCounts, count_agents, find_next_lapse
from hermes_memory_tui.text.display_formats import actor_name, fit_text, format_ago, pluralise

if TYPE_CHECKING:
    from hermes_memory_tui.model.memory import Memory, Overview


class TitleBar(Widget):
    """One line across the top."""

    place: reactive[str] = reactive("")
    """Where the person is: `marketing › launch-032`."""

    file: reactive[str] = reactive("")
    """The store's file."""

    last: reactive[str] = reactive("")
    """What changed last, by whom, how long ago."""

    agents: reactive[AgentCounts | None] = reactive(None)
    """Sessions that have not ended, which the rest of the screen says, too; None before that is known."""

    read_only: reactive[bool] = reactive(False)
    """Whether the memory is open read-only."""

    capture_stop: reactive[str] = reactive("")
    """Why nothing of what agents are told is kept, while that is so."""

    past: reactive[str] = reactive("")
    """The moment that is looked at, when it is not the present."""

    paused: reactive[str] = reactive("")
    """That changes are not followed, and how many there were since; empty while they are."""

    basket: reactive[str] = reactive("")
    """How many changes were gathered and wait to be done; empty while there are none."""

    trouble: reactive[str] = reactive("")
    """What is wrong with the store; shown instead of everything that could be out of date."""

    writing: reactive[bool] = reactive(False)
    """Whether a write is waiting for its turn."""

    _lapse: Timer | None = None

    def show_agents(self, sessions: Sequence[Session], memory: Memory) -> None:
        """Show how many are at work, and again when the next lease passes: nothing is written then that would tell."""
        if self._lapse is not None:
            self._lapse.stop()
            self._lapse = None
        now = memory.now()
        self.agents = count_agents(sessions, now)
        lapse = find_next_lapse(sessions, now)
        if lapse is not None and not memory.is_past and self.is_running:
            wait_s = max(1.0, (lapse - now + 1) / 1000)
            self._lapse = self.set_timer(wait_s, partial(self.show_agents, sessions, memory))

    def render(self) -> Content:
        left: list[str | tuple[str, str]] = [
            (" ☿ ", "$accent"),
            ("hermes", "bold $accent"),
            " memory  ",
            (self.place, "bold"),
        ]
        if self.past:
            left.append((f"  {self.past}", "bold $warning"))
        elif self.read_only:
            left.append(("  read-only", "$warning"))
        if self.paused:
            left.append((f"  {self.paused}", "bold $warning"))
        if self.basket and not self.past:
            left.append((f"  {self.basket}", "bold $warning"))
        if self.capture_stop and not self.past:
            left.append((f"  capture {self.capture_stop}", "bold $warning"))
        right = [(f"! {self.trouble} ", "bold $error")] if self.trouble else self._facts()
        room = self.size.width - parts_width(left)
        while right and parts_width(right) > room - 2 and len(right) > 1:
            right.pop(0)
        if parts_width(right) > room - 2:
            text, style = right[0]
            right = [(fit_text(text, max(0, room - 2)), style)]
        return Content.assemble(*left, " " * max(0, room - parts_width(right)), *right)

    def _facts(self) -> list[tuple[str, str]]:
        parts = [(f"{self.file}   ", "$dim")]
        if self.last:
            parts.append((f"{self.last}   ", "$dim"))
        if self.writing:
            parts.append(("◌ writing   ", "$warning"))
        if self.agents is not None:
            at_work = self.agents.at_work
            parts.append((f"● {pluralise(at_work, 'agent')} ", "$success") if at_work else ("○ no agent ", "$dim"))
        return parts


def update_title_bar(bar: TitleBar, memory: Memory, overview: Overview, place: str) -> None:
    """Update a title bar: the location, the theme and file, the connected agents and the latest change."""
    now = memory.now()
    bar.place = place
    bar.file = abbreviate_home(str(memory.shown_path))
    bar.read_only = memory.read_only
    if not bar.past.startswith(memory.band):
        bar.past = memory.band
    bar.capture_stop = memory.find_capture_stop()
    bar.show_agents(overview.sessions, memory)
    if overview.newest is not None:
        bar.last = f"changed {format_ago(overview.newest.at, now)} by {actor_name(overview.newest.actor)}"


def abbreviate_home(path: str) -> str:
    """Return a path with `~` for the home folder."""
    from pathlib import Path

    home = str(Path.home())
    return "~" + path.removeprefix(home) if path.startswith(home + "/") else path


def parts_width(parts: Sequence[str | tuple[str, str]]) -> int:
    return sum(cell_len(part if isinstance(part, str) else part[0]) for part in parts)
