"""`Confirmation`: previews what an action would change. Typing a text, not a key, arms what cannot be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from hermes_memory_store.model import Change, FactPurgePlan, Gauge, Tier
from hermes_memory_store.operations import find_operation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.bulk_actions import Preview
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.gauge_panel import styled_bar_parts
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.text_panel import to_border_title

BAR = 24
"""Cells of a gauge."""

MAX_SIDE_EFFECTS = 200
"""Changes of facts that were not chosen that are listed; the rest is counted."""


FEW_PLACES = 4
"""Places of the same words that are named unasked."""


class Confirmation(Modal[bool]):
    """Enter confirms, escape cancels. Dismissed with whether to run the action."""

    CSS_PATH = "../screens/confirming.tcss"
    BINDING_GROUP_TITLE = "Confirm"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "do", "OK", id="confirm.do", tooltip="Run the action", priority=True),
        Binding("escape", "leave", "Cancel", id="confirm.leave", tooltip="Cancel"),
        Binding("ctrl+o", "toggle_places", "All places", id="confirm.places", tooltip="Show or hide all places"),
        Binding("down", "scroll(1)", "Down", id="confirm.down", tooltip="Scroll down", show=False),
        Binding("up", "scroll(-1)", "Up", id="confirm.up", tooltip="Scroll up", show=False),
    ]

    def __init__(self, preview: Preview) -> None:
        super().__init__()
        self.preview = preview
        self.line = Input(id="confirm-line", compact=True, max_length=300)
        self.line.display = preview.act.final
        self._said = Static("", id="confirm-said", markup=False)
        self._text = Static(preview_text(preview), id="confirm-text", markup=False)
        self._body = VerticalScroll(self._text, id="confirm-body")
        self._shows_places = False

    @property
    def required_text(self) -> str:
        """The text to type before the action can run; empty when it can be undone."""
        if not self.preview.act.final:
            return ""
        return self.preview.scope or str(self.preview.facts)

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm", classes="alarm" if self.preview.act.final else ""):
            yield self._said
            yield self.line
            yield self._body
            yield KeyLine()

    def on_mount(self) -> None:
        many = display_formats.pluralise(self.preview.facts, "fact")
        whole = f" of scope {to_printable(self.preview.scope)}" if self.preview.scope else ""
        self.query_one("#confirm").border_title = to_border_title(f"{self.preview.act.word} · {many}{whole}")
        if self.preview.act.final:
            self.line.focus()
        else:
            self._body.focus()
        self._update_prompt()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._update_prompt()

    @property
    def is_armed(self) -> bool:
        typed = self.line.value.strip().replace(",", "") if self.preview.scope is None else self.line.value.strip()
        return self.preview.refused is None and (not self.required_text or typed == self.required_text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Shown, but dimmed, until it is armed.
        if action == "toggle_places":
            return self.preview.purge is not None and len(places_of_same_words(self.preview.purge)) > FEW_PLACES
        return None if action == "do" and not self.is_armed else True

    def _update_prompt(self) -> None:
        if self.preview.refused is not None:
            prompt = Content.styled(f"Would fail: {to_printable(str(self.preview.refused))}", "$error")
        elif not self.required_text:
            prompt = Content.styled("enter: confirm · can be undone with u", "$dim")
        elif self.is_armed:
            prompt = Content.styled("enter: purge now", "bold $error")
        else:
            label = "the scope's name" if self.preview.scope else "the number of facts"
            prompt = Content.assemble(
                ("This cannot be undone. ", "bold $error"),
                f"Type {label}, ",
                (self.required_text, "bold"),
                ", to confirm.",
            )
        self._said.update(prompt)
        self.refresh_bindings()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer enter after a text that does not arm the action."""
        event.stop()
        typed = to_printable(self.line.value.strip())
        if not self.is_armed and self.preview.refused is None and typed:
            self._said.update(
                Content.styled(f"{typed} is not {self.required_text}; nothing was purged.", "bold $error")
            )

    def action_do(self) -> None:
        if self.is_armed:
            self.dismiss(True)

    def action_toggle_places(self) -> None:
        self._shows_places = not self._shows_places
        self._text.update(preview_text(self.preview, self._shows_places))

    def action_leave(self) -> None:
        self.dismiss(False)

    def action_scroll(self, lines: int) -> None:
        self._body.scroll_relative(y=lines, animate=False)


def preview_text(preview: Preview, all_places: bool = False) -> Content:
    """Return what an action would change. :param all_places: name all places of the words that a purge erases"""
    tiers = ", ".join(
        f"{display_formats.TIER_SHAPES[tier]} {display_formats.format_count(number)} {tier.value}"
        for tier, number in sorted(preview.tiers.items(), key=lambda entry: list(Tier).index(entry[0]))
    )
    types = ", ".join(f"{display_formats.format_count(number)} {kind.word}" for kind, number in preview.types.items())
    lines = [Content(tiers), Content.styled(types, "$dim")]
    if preview.act.final:
        lines += [
            Content(""),
            *(fact_purge_lines(preview.purge, all_places) if preview.purge is not None else []),
            Content("Purged from the store, its journal, its index and the backups of this program."),
            Content.styled("To keep them, archive instead.", "$dim"),
        ]
    if preview.same:
        lines += [
            Content(""),
            Content.styled(f"{display_formats.format_count(preview.same)} unchanged", "$dim"),
        ]
    if preview.others:
        lines += [
            Content(""),
            Content.styled("side effects", "bold"),
            *(side_effect_line(change, preview.names) for change in preview.others[:MAX_SIDE_EFFECTS]),
        ]
        rest = len(preview.others) - MAX_SIDE_EFFECTS
        if rest > 0:
            lines.append(Content.styled(f"  and {display_formats.pluralise(rest, 'more change')}", "$dim"))
    if not preview.foretold:
        lines += [
            Content(""),
            Content.styled("Too many facts for a dry run; side effects of pressure are unknown.", "$warning"),
            Content.styled("Agents cannot write until it has finished.", "$warning"),
        ]
    for before, after in preview.gauges:
        lines += [Content(""), preview_gauge_line("now", before), preview_gauge_line("after", after)]
    return Content("\n").join([*lines, Content(""), *sample_lines(preview)])


def sample_lines(preview: Preview) -> list[Content]:
    """Return the facts that an action applies to, below everything that is said of all of them."""
    lines: list[Content] = []
    for fact in preview.samples:
        lines.append(
            Content.assemble(
                (f"{display_formats.TIER_SHAPES[fact.tier]} ", "$dim"),
                (f"{display_formats.fact_name(fact)}  ", "bold"),
                display_formats.shortened_text(to_printable(fact.content), 100),
                (f"  {to_printable(fact.scope)}" if fact.scope and not preview.scope else "", "$dim"),
            )
        )
    more = preview.facts - len(preview.samples)
    if more > 0:
        lines.append(Content.styled(f"  and {display_formats.format_count(more)} more", "$dim"))
    return lines


def fact_purge_lines(plan: FactPurgePlan, all_places: bool) -> list[Content]:
    """Return lines on what a purge of single facts erases besides them, and on what it leaves."""
    lines = [Content("With them: " + ", ".join(erased_amounts(plan)))]
    for turn in plan.turns[:MAX_SIDE_EFFECTS]:
        content = display_formats.shortened_text(to_printable(" ".join(turn.content.split())), 100)
        lines.append(Content.assemble(("  ✕ ", "$error"), (f"{turn.role}  ", "bold"), content))
    if len(plan.turns) > MAX_SIDE_EFFECTS:
        rest = display_formats.pluralise(len(plan.turns) - MAX_SIDE_EFFECTS, "more message")
        lines.append(Content.styled(f"  and {rest}", "$dim"))
    if plan.others:
        places = places_of_same_words(plan)
        seen = places if all_places else places[:FEW_PLACES]
        more = len(plan.others) - MAX_SIDE_EFFECTS
        rest = f", and {display_formats.pluralise(more, 'more fact')}" if more > 0 and all_places else ""
        if len(seen) < len(places):
            rest = f", and {len(places) - len(seen)} more; ctrl+o shows them"
        lines.append(Content.styled(f"The same words stand in: {', '.join(seen)}{rest}", "$warning"))
    return lines


def erased_amounts(plan: FactPurgePlan) -> list[str]:
    amounts = (
        (plan.versions, "present or former wording", "present and former wordings"),
        (len(plan.turns), "captured message", "captured messages"),
        (plan.records, "recorded question, answer or origin", "recorded questions, answers and origins"),
        (plan.backups, "backup", "backups"),
        (plan.team_rows, "row of the team database", "rows of the team database"),
    )
    return [display_formats.pluralise(number, singular, plural) for number, singular, plural in amounts if number]


def places_of_same_words(plan: FactPurgePlan) -> list[str]:
    """Return the facts that hold the same words by name, each name once, with the scope or in how many it stands."""
    places: dict[str, dict[tuple[str, str | None], None]] = {}
    for fact in plan.others[:MAX_SIDE_EFFECTS]:
        places.setdefault(display_formats.fact_name(fact), {})[fact.theme, fact.scope] = None
    own = {(fact.theme, fact.scope) for fact in plan.facts}
    lines = []
    for name, scopes in places.items():
        if len(scopes) > 1:
            lines.append(f"{name} in {len(scopes)} {'scopes' if own & scopes.keys() else 'other scopes'}")
            continue
        ((theme, scope),) = scopes
        place = scope or "no scope"
        is_elsewhere = theme not in {other for other, _ in own}
        lines.append(f"{name} ({to_printable(f'{theme} › {place}' if is_elsewhere else place)})")
    return lines


def side_effect_line(change: Change, names: Mapping[str, str]) -> Content:
    """Return the line on a side effect: a change of something that was not selected. :param names: by uid"""
    name = names.get(change.uid, f"{change.entity} {short_uid(change.uid)}")
    return Content.assemble(
        ("  ↷ ", "$warning"), f"{to_printable(name)} ", (find_operation(change.op).done, "$warning")
    )


def preview_gauge_line(word: str, gauge: Gauge) -> Content:
    return Content.assemble(gauge_line(word, gauge), (f"  {to_printable(gauge.theme)}", "$dim"))


def gauge_line(word: str, gauge: Gauge, bar: int = BAR) -> Content:
    """Format a gauge as one line. :param bar: its cells"""
    return Content.assemble(
        (f"{word:<6}", "$dim"),
        *styled_bar_parts(gauge.pct, bar, gauge.level.value),
        f" {gauge.pct:.0f}%",
        (
            f"  {display_formats.pluralise(gauge.facts, 'hot fact')}, {display_formats.pluralise(gauge.tokens, 'token')}",
            "$dim",
        ),
    )
