"""Previews of a theme for each project, and of a theme's split, as lines of a question."""

from __future__ import annotations

from textual.content import Content

from hermes_memory_store.projects.place_themes import AdoptionPlan
from hermes_memory_store.projects.theme_moves import SplitPlan
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.widgets.text_panel import Line, labelled_value

SHOWN_FACTS = 6
"""Facts of each group that are listed."""


def adoption_lines(plan: AdoptionPlan) -> list[Line]:
    lines: list[Line] = [
        Content("Where nobody names a theme, an agent has that of the project it works in. No fact is moved:"),
        Content("what default says is still given where it was written, the rest in every project."),
        Content(""),
    ]
    for place in plan.places:
        lines.append(
            labelled_value(to_printable(place.project), f"theme {place.theme}, {pluralise(place.facts, 'fact')}")
        )
    lines += [labelled_value("(no known place)", pluralise(plan.unplaced, "fact")), Content("")]
    return [*lines, Content.styled("J shows how default would be split then.", "$dim")]


def split_lines(plan: SplitPlan) -> list[Line]:
    """Return which facts go to which theme, and why, and how many are left."""
    lines: list[Line] = []
    for group in plan.groups:
        lines.append(Content.assemble((group.theme, "bold"), f"  {pluralise(len(group.moves), 'fact')}"))
        for move in group.moves[:SHOWN_FACTS]:
            lines.append(Content.assemble(f"  {to_printable(move.notation)}", (f"  {move.reason}", "$dim")))
        if len(group.moves) > SHOWN_FACTS:
            lines.append(Content.styled(f"  and {len(group.moves) - SHOWN_FACTS} more", "$dim"))
    lines += [
        Content(""),
        Content(f"{pluralise(len(plan.left), 'fact')} stay in {plan.source}, and are given in every project."),
    ]
    return [*lines, Content.styled("Can be undone with u.", "$dim")]
