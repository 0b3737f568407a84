"""`Confirming`: shows what an act would change before it is done. What cannot be undone is armed by typing, not by a key."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from hermes_memory_store.model import Change, Gauge, Tier
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui import shown
from hermes_memory_tui.acts import Preview
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.gauge import styled_bar
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.pages import titled

BAR = 24
"""Cells of a gauge."""

MOST_OTHERS = 6
"""Changes of facts that were not chosen that are shown; the rest is counted."""


class Confirming(Modal[bool]):
    """Enter does it, escape leaves. Dismissed with whether it is to be done."""

    CSS_PATH = "../screens/confirming.tcss"
    BINDING_GROUP_TITLE = "Before it is done"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "do", "Do it", id="confirm.do", tooltip="Do what is shown", priority=True),
        Binding("escape", "leave", "Leave", id="confirm.leave", tooltip="Change nothing"),
        Binding("down", "scroll(1)", "Down", id="confirm.down", tooltip="Scroll down", show=False),
        Binding("up", "scroll(-1)", "Up", id="confirm.up", tooltip="Scroll up", show=False),
    ]

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self.preview = preview
        self.line = Input(id="confirm-line", compact=True, max_length=300)
        self.line.display = preview.act.final
        self._said = Static("", id="confirm-said", markup=False)
        self._body = VerticalScroll(Static(told(preview), id="confirm-text", markup=False), id="confirm-body")

    @property
    def wanted(self) -> str:
        """What must be typed before it can be done; nothing for what can be undone."""
        if not self.preview.act.final:
            return ""
        return self.preview.scope or str(self.preview.facts)

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm", classes="alarm" if self.preview.act.final else ""):
            yield self._body
            yield self._said
            yield self.line
            yield KeyLine()

    def on_mount(self) -> None:
        many = shown.plural(self.preview.facts, "fact")
        whole = f" of scope {printable(self.preview.scope)}" if self.preview.scope else ""
        self.query_one("#confirm").border_title = titled(f"{self.preview.act.word} · {many}{whole}")
        if self.preview.act.final:
            self.line.focus()
        else:
            self._body.focus()
        self._say()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._say()

    @property
    def armed(self) -> bool:
        """Whether it can be done now."""
        typed = self.line.value.strip().replace(",", "") if self.preview.scope is None else self.line.value.strip()
        return self.preview.refused is None and (not self.wanted or typed == self.wanted)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Shown, but dimmed, until it is armed.
        return None if action == "do" and not self.armed else True

    def _say(self) -> None:
        if self.preview.refused is not None:
            said = Content.styled(f"It would be refused: {printable(str(self.preview.refused))}", "$error")
        elif not self.wanted:
            said = Content.styled("enter does it; u takes it back afterwards", "$dim")
        elif self.armed:
            said = Content.styled("enter erases them now", "bold $error")
        else:
            what = "the scope's name" if self.preview.scope else "how many they are"
            said = Content.assemble(
                ("Nothing brings back what is erased. ", "bold $error"),
                f"Type {what}, ",
                (self.wanted, "bold"),
                ", to go on.",
            )
        self._said.update(said)
        self.refresh_bindings()

    def action_do(self) -> None:
        if self.armed:
            self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)

    def action_scroll(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)


def told(preview: Preview) -> Content:
    """Everything an act would change, in words."""
    tiers = ", ".join(
        f"{shown.TIER_SHAPES[tier]} {shown.count(number)} {tier.value}"
        for tier, number in sorted(preview.tiers.items(), key=lambda one: list(Tier).index(one[0]))
    )
    types = ", ".join(f"{shown.count(number)} {kind.word}" for kind, number in preview.types.items())
    lines = [Content(tiers), Content.styled(types, "$dim"), Content("")]
    for fact in preview.samples:
        lines.append(
            Content.assemble(
                (f"{shown.TIER_SHAPES[fact.tier]} ", "$dim"),
                (f"{shown.name(fact)}  ", "bold"),
                printable(fact.content)[:100],
                (f"  {printable(fact.scope)}" if fact.scope and not preview.scope else "", "$dim"),
            )
        )
    more = preview.facts - len(preview.samples)
    if more > 0:
        lines.append(Content.styled(f"  and {shown.count(more)} more", "$dim"))
    if preview.act.final:
        lines += [
            Content(""),
            Content("Erased from the store, its journal, its index and the backups this program made."),
            Content.styled("To put facts away instead, archive them.", "$dim"),
        ]
    if preview.same:
        lines += [Content(""), Content.styled(f"{shown.count(preview.same)} of them would stay as they are", "$dim")]
    if preview.others:
        lines += [
            Content(""),
            Content.styled("and besides", "bold"),
            *(besides(change, preview) for change in preview.others[:MOST_OTHERS]),
        ]
        rest = len(preview.others) - MOST_OTHERS
        if rest > 0:
            lines.append(Content.styled(f"  and {shown.count(rest)} more changes", "$dim"))
    if not preview.foretold:
        lines += [
            Content(""),
            Content.styled("Too many to try out beforehand: what pressure does then is not foretold.", "$warning"),
            Content.styled("Agents that write wait until it is done.", "$warning"),
        ]
    for before, after in preview.gauges:
        lines += [Content(""), gauge_line("now", before), gauge_line("then", after)]
    return Content("\n").join(lines)


def besides(change: Change, preview: Preview) -> Content:
    """A change of something that was not chosen."""
    name = preview.names.get(change.uid, f"{change.entity} {short(change.uid)}")
    doing = {"supersede": "superseded", "cool": "cooled", "archive": "archived", "merge": "merged", "open": "opened"}
    return Content.assemble(("  ↷ ", "$warning"), f"{printable(name)} ", (doing.get(change.op, change.op), "$warning"))


def gauge_line(word: str, gauge: Gauge) -> Content:
    """A gauge in one line."""
    return Content.assemble(
        (f"{word:<6}", "$dim"),
        *styled_bar(gauge.pct, BAR, gauge.level.value),
        f" {gauge.pct:.0f}%",
        (f"  {shown.plural(gauge.facts, 'hot fact')}, {shown.plural(gauge.tokens, 'token')}", "$dim"),
        (f"  {printable(gauge.theme)}", "$dim"),
    )
