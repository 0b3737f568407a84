"""`FactDetail`: one fact with all that is known of it: where it stands, what happened to it, what it replaced."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from hermes_memory_store.model import Change, Fact, Tier
from hermes_memory_store.reads import Reader
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui import shown
from hermes_memory_tui.matching import Marks, marked

MOST_SHOWN = 40
"""Changes and replaced facts that are listed; the rest is counted."""


QUARANTINE = "quarantine:"
"""What the record of a quarantined fact puts before the reason."""


class FactDetail(VerticalScroll):
    """The fact under the cursor. Scrolls when it is long."""

    BINDING_GROUP_TITLE = "Fact"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="detail.down", tooltip="Scroll down", show=False),
        Binding("k,up", "scroll_up", "Up", id="detail.up", tooltip="Scroll up", show=False),
        Binding("g,home", "scroll_home", "Top", id="detail.top", tooltip="To the top", show=False),
        Binding("G,end", "scroll_end", "End", id="detail.end", tooltip="To the end", show=False),
    ]

    differences: reactive[bool] = reactive(False, init=False)
    """Whether versions are shown as what each changed."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._again: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        yield Static(id="fact-text", markup=False)

    def watch_differences(self) -> None:
        self._again()

    def show(
        self,
        fact: Fact | None,
        history: list[Change],
        chain: list[Fact],
        now: int,
        marks: Marks | None = None,
        readers: Sequence[Reader] = (),
    ) -> None:
        """Show a fact; nothing when None.

        :param marks: words that stand out in it, because they were searched for
        :param readers: who was told it last
        """
        self._again = lambda: self.show(fact, history, chain, now, marks, readers)
        text = self.query_one("#fact-text", Static)
        if fact is None:
            self.border_title = "fact"
            text.update(Content.styled("no fact is chosen", "$dim"))
            return
        self.border_title = f"fact {short(fact.uid)}"
        lines = [
            *head(fact, history, now, marks or Marks(), readers),
            *self._chain(fact, chain, now),
            *self._history(history, now),
        ]
        text.update(Content("\n").join(lines))

    def _chain(self, fact: Fact, chain: list[Fact], now: int) -> list[Content]:
        others = [one for one in chain if one.uid != fact.uid]
        if not others:
            return []
        tip = "= whole" if self.differences else "= differences"
        lines = [Content(""), Content.assemble(("replaced one another", "bold"), (f"  {tip}", "$dim"))]
        older = [None, *chain]
        versions = list(zip(chain, older, strict=False))[-MOST_SHOWN:]
        for one, before in reversed(versions):
            here = one.uid == fact.uid
            style = "bold" if here else "$dim"
            lines.append(
                Content.assemble(
                    (f"{'▸' if here else ' '}{shown.TIER_SHAPES[one.tier]} ", "$accent" if here else "$dim"),
                    (f"{shown.age(one.created_at, now):>4}  ", "$dim"),
                    (f"{shown.who(one.actor)}, {shown.moment(one.created_at, now)}", "$dim"),
                )
            )
            if self.differences and before is not None:
                lines += [
                    marked_difference(before.content, one.content, "-", "$error"),
                    marked_difference(one.content, before.content, "+", "$success"),
                ]
            else:
                lines.append(Content.assemble("    ", (printable(one.content), style)))
        if len(chain) > MOST_SHOWN:
            lines.append(Content.styled(f"  and {len(chain) - MOST_SHOWN} older ones", "$dim"))
        return lines

    def _history(self, history: list[Change], now: int) -> list[Content]:
        if not history:
            return []
        lines = [Content(""), Content.styled("history", "bold")]
        for change in reversed(history[-MOST_SHOWN:]):
            newest = change is history[-1]
            lines.append(
                Content.assemble(
                    ("● " if newest else "○ ", "$success" if newest else "$primary"),
                    (f"{shown.age(change.at, now):>4}  ", "$dim"),
                    told(change),
                    (f"  by {shown.who(change.actor)}", "$dim"),
                    (f"  #{change.seq}", "$dim"),
                )
            )
            lines += difference(change)
        if len(history) > MOST_SHOWN:
            lines.append(Content.styled(f"  and {len(history) - MOST_SHOWN} older changes", "$dim"))
        return lines


def head(fact: Fact, history: list[Change], now: int, marks: Marks, readers: Sequence[Reader]) -> list[Content]:
    """What the fact says and where it stands."""
    scope = printable(fact.scope) if fact.scope is not None else "no scope"
    lines = [
        Content.assemble((f"{fact.type.value}[", "bold"), marked(printable(fact.target), marks, "bold"), ("]", "bold")),
        marked(printable(fact.content), marks),
        Content(""),
        Content.assemble(
            (f"{shown.TIER_SHAPES[fact.tier]} ", TIER_STYLES.get(fact.tier, "$dim")),
            fact.tier.value,
            (" · ", "$dim"),
            fact.type.word,
            (" · pinned" if fact.pinned else "", "$accent"),
        ),
        labelled("theme", printable(fact.theme)),
        labelled("scope", scope),
        labelled("by", f"{shown.who(fact.actor)}, {shown.moment(fact.created_at, now)}"),
        labelled("changed", f"{shown.moment(fact.updated_at, now)} ({shown.age(fact.updated_at, now)})"),
        labelled("costs", f"{fact.chars} characters, {fact.tokens} tokens"),
        labelled("read", reads(fact, now)),
        *(told_to(reader, now) for reader in readers),
        Content.styled(fact.uid, "$dim"),
    ]
    if fact.tier is Tier.QUARANTINED:
        lines.insert(4, labelled("why", quarantined_for(history)))
        lines.insert(4, Content.styled("waits for a person: r lets it in, a puts it away", "$warning"))
    return lines


TIER_STYLES = {Tier.HOT: "$hot", Tier.COLD: "$cold", Tier.QUARANTINED: "$warning"}


def labelled(label: str, value: str) -> Content:
    """One line of what is known."""
    return Content.assemble((f"{label:<8}", "$dim"), value)


def reads(fact: Fact, now: int) -> str:
    """How often agents were told it."""
    if not fact.reads:
        return "never yet"
    last = "" if fact.read_at is None else f", last {shown.age(fact.read_at, now)}"
    return f"{shown.count(fact.reads)}×{last}"


def told_to(reader: Reader, now: int) -> Content:
    """One time an agent was told it: who, when, and what they had asked."""
    why = "" if reader.why is None else f": {printable(reader.why)[:60]}"
    who = "you" if reader.session is None else printable(reader.session)
    return Content.assemble((f"{shown.age(reader.at, now):>5}  ", "$dim"), who, (f", {reader.kind}{why}", "$dim"))


def quarantined_for(history: list[Change]) -> str:
    """The rule a fact fell under, as its record says."""
    for change in reversed(history):
        by = (change.after or {}).get("cooled_by")
        if isinstance(by, str) and by.startswith(QUARANTINE):
            return printable(by.removeprefix(QUARANTINE))
    return "it was not recorded"


def told(change: Change) -> str:
    """A change in words."""
    after = change.after or {}
    if change.op == "undo":
        return f"undo of #{change.undoes}"
    if "tier" in after and change.before is not None and change.op not in ("archive", "cool", "supersede"):
        return f"{change.op} → {after['tier']}"
    if "scope" in after and change.before is not None:
        return f"{change.op} → {printable(after['scope'] or 'no scope')}"
    return change.op


def difference(change: Change) -> list[Content]:
    """What a change did to the text, word by word; nothing when the text stayed."""
    before, after = (change.before or {}).get("content"), (change.after or {}).get("content")
    if before is None or after is None or before == after:
        return []
    return [marked_difference(before, after, "-", "$error"), marked_difference(after, before, "+", "$success")]


def marked_difference(text: str, other: str, sign: str, style: str) -> Content:
    """One side of a difference, the words that the other side lacks standing out."""
    words, others = printable(text).split(" "), printable(other).split(" ")
    parts: list[str | tuple[str, str]] = [(f"  {sign} ", style)]
    for op, start, end, _, _ in difflib.SequenceMatcher(a=words, b=others, autojunk=False).get_opcodes():
        run = " ".join(words[start:end])
        if run:
            parts += [run if op == "equal" else (run, f"{style} bold"), " "]
    return Content.assemble(*parts)
