"""`FactDetail`: one fact with all its details: scope and tier, history, and the facts it replaced."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from hermes_memory_store.context.read_log import FactReading
from hermes_memory_store.items.tier_columns import find_recorded_rule
from hermes_memory_store.model import Change, Fact, Tier, Turn
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.text import display_formats, origin_text
from hermes_memory_tui.text.highlight import SearchHighlighter, highlight_text
from hermes_memory_tui.text.line_differences import diff_lines
from hermes_memory_tui.widgets.text_panel import LabelledText, Line, labelled_value, wrap_lines

if TYPE_CHECKING:
    from hermes_memory_store.conversations.fact_uses import FactUse
    from hermes_memory_store.upkeep.fact_citations import CitedPlace

MOST_SHOWN = 40
"""Changes and replaced facts that are listed; the rest is counted."""

MESSAGE_CHARS = 300
"""Characters of a message that are shown beside the fact that was written from it."""


class FactDetail(VerticalScroll):
    """The fact under the cursor. Scrolls when it is long."""

    BINDING_GROUP_TITLE = "Fact"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="detail.down", tooltip="Scroll down", show=False),
        Binding("k,up", "scroll_up", "Up", id="detail.up", tooltip="Scroll up", show=False),
        Binding("g,home", "scroll_home", "First", id="detail.top", tooltip="To the top", show=False),
        Binding("G,end", "scroll_end", "Last", id="detail.end", tooltip="To the end", show=False),
    ]

    differences: reactive[bool] = reactive(False, init=False)
    """Whether versions are shown as what each changed."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._again: Callable[[int | None], None] = lambda _: None
        self._cited: tuple[str, Sequence[CitedPlace]] = ("", ())
        """The uid of a fact, and what it cites as it stands now."""

    def compose(self) -> ComposeResult:
        yield Static(id="fact-text", markup=False)

    def on_resize(self) -> None:
        """Wrap the lines anew."""
        self._again(None)

    def watch_differences(self) -> None:
        self._again(None)

    def redraw_ages(self, now: int) -> None:
        self._again(now)

    def show_cited(self, uid: str, places: Sequence[CitedPlace]) -> None:
        """Show what a fact cites with its lines, once they were read."""
        if (uid, places) != self._cited:
            self._cited = uid, places
            self._again(None)

    def show(
        self,
        fact: Fact | None,
        history: list[Change],
        chain: list[Fact],
        now: int,
        marks: SearchHighlighter | None = None,
        readers: Sequence[FactReading] = (),
        turns: Sequence[Turn] = (),
        near: Sequence[Fact] = (),
        uses: FactUse | None = None,
    ) -> None:
        """Show a fact; nothing when None.

        :param marks: words to highlight, because they were searched for
        :param readers: the latest sessions that received it
        :param turns: the captured messages it was written from
        :param near: facts that say nearly the same under other targets
        :param uses: what sessions did with it
        """
        self._again = lambda then: self.show(fact, history, chain, then or now, marks, readers, turns, near, uses)
        if fact is None:
            self.border_title = "fact"
            self._update([Content.styled("no fact selected", "$dim")])
            return
        self.border_title = f"fact {short_uid(fact.uid)}"
        self._update(
            [
                *fact_content_lines(fact, marks or SearchHighlighter()),
                Content(""),
                *fact_state_lines(fact, history, now, readers, uses),
                *cited_lines(fact, self._cited[1] if self._cited[0] == fact.uid else None),
                *origin_lines(fact, turns),
                *near_lines(near),
                *self._chain(fact, chain, now),
                *self._history(history, now),
            ]
        )

    def _update(self, lines: Sequence[Line]) -> None:
        text = self.query_one("#fact-text", Static)
        content = wrap_lines(lines, max(1, self.scrollable_content_region.width))
        width, height = text.size
        text.update(content, layout=not width or content.get_height({}, width) != height)

    def _chain(self, fact: Fact, chain: list[Fact], now: int) -> list[Line]:
        if all(version.uid == fact.uid for version in chain):
            return []
        tip = "= full text" if self.differences else "= diff"
        lines: list[Line] = [Content(""), Content.assemble(("versions", "bold"), (f"  {tip}", "$dim"))]
        older = [None, *chain]
        versions = list(zip(chain, older, strict=False))[-MOST_SHOWN:]
        for version, before in reversed(versions):
            here = version.uid == fact.uid
            style = "bold" if here else "$dim"
            lines.append(
                LabelledText(
                    Content.assemble(
                        (
                            f"{'▸' if here else ' '}{display_formats.TIER_SHAPES[version.tier]} ",
                            "$accent" if here else "$dim",
                        ),
                        (f"{display_formats.format_age(version.created_at, now):>4}  ", "$dim"),
                    ),
                    Content.styled(
                        f"{display_formats.author_name(version)}, "
                        f"{display_formats.format_moment(version.created_at, now)}",
                        "$dim",
                    ),
                )
            )
            if self.differences and before is not None:
                lines += [
                    marked_difference(before.content, version.content, "-", "$error"),
                    marked_difference(version.content, before.content, "+", "$success"),
                ]
            else:
                lines.append(LabelledText(Content("    "), Content.styled(to_printable(version.content), style)))
        if len(chain) > MOST_SHOWN:
            lines.append(
                Content.styled(f"  and {display_formats.pluralise(len(chain) - MOST_SHOWN, 'older version')}", "$dim")
            )
        return lines

    def _history(self, history: list[Change], now: int) -> list[Line]:
        if not history:
            return []
        lines: list[Line] = [Content(""), Content.styled("history", "bold")]
        for change in reversed(history[-MOST_SHOWN:]):
            newest = change is history[-1]
            lines.append(
                LabelledText(
                    Content.assemble(
                        ("● " if newest else "○ ", "$success" if newest else "$primary"),
                        (f"{display_formats.format_age(change.at, now):>4}  ", "$dim"),
                    ),
                    Content.assemble(
                        change_phrase(change),
                        (f"  by {display_formats.actor_name(change.actor)}", "$dim"),
                        (f" via {change.origin.way.value}" if change.origin.is_known else "", "$dim"),
                        (f"  #{change.seq}", "$dim"),
                    ),
                )
            )
            lines += content_difference(change)
        if len(history) > MOST_SHOWN:
            lines.append(
                Content.styled(f"  and {display_formats.pluralise(len(history) - MOST_SHOWN, 'older change')}", "$dim")
            )
        return lines


def fact_content_lines(fact: Fact, marks: SearchHighlighter) -> list[Content]:
    return [
        Content.assemble(
            (f"{fact.type.value}[", "bold"), highlight_text(to_printable(fact.target), marks, "bold"), ("]", "bold")
        ),
        highlight_text(to_printable(fact.content), marks),
    ]


def fact_state_lines(
    fact: Fact, history: list[Change], now: int, readers: Sequence[FactReading], uses: FactUse | None = None
) -> list[Line]:
    scope = to_printable(fact.scope) if fact.scope is not None else "no scope"
    lines: list[Line] = [
        Content.assemble(
            (f"{display_formats.TIER_SHAPES[fact.tier]} ", TIER_STYLES.get(fact.tier, "$dim")),
            fact.tier.value,
            (" · ", "$dim"),
            fact.type.word,
            (" · pinned" if fact.pinned else "", "$accent"),
        ),
        labelled_line("theme", to_printable(fact.theme)),
        labelled_line("scope", scope),
        labelled_line(
            "author", f"{display_formats.author_name(fact)}, {display_formats.format_moment(fact.created_at, now)}"
        ),
        labelled_line(
            "changed",
            f"{display_formats.format_moment(fact.updated_at, now)} ({display_formats.format_age(fact.updated_at, now)})",
        ),
        labelled_line(
            "size",
            f"{display_formats.pluralise(fact.chars, 'character')}, {display_formats.pluralise(fact.tokens, 'token')}",
        ),
        labelled_line("reads", format_reads(fact, now)),
        *([] if uses is None else [labelled_value("given", format_uses(uses), 8)]),
        *(reader_line(reader, now) for reader in readers),
        *(labelled_line("guard", to_printable(line)) for line in (fact.guards or "").splitlines()),
    ]
    if fact.tier is Tier.QUARANTINED:
        lines.insert(1, labelled_line("rule", quarantine_reason(history)))
        lines.insert(1, Content.styled("quarantined: 7 reviews it, a archives it", "$warning"))
    return lines


def cited_lines(fact: Fact, places: Sequence[CitedPlace] | None) -> list[Line]:
    """Return what a fact cites, and where lines changed their difference. :param places: None until they were read"""
    if fact.cites is None:
        return []
    from hermes_memory_store.places.citations import parse_citations  # here, not above: few facts cite anything

    lines: list[Line] = [Content(""), Content.styled("cites", "bold")]
    if places is None:
        return [*lines, *(Content(to_printable(citation.label)) for citation in parse_citations(fact.cites))]
    for place in places:
        check = place.check
        notes = [check.state.value, f"line {check.first}" if check.state == "moved" else "", check.note]
        notes += [check.other.label] if check.other else []
        style = "$warning" if check.other or check.state in ("changed", "missing") else "$dim"
        words = to_printable(", ".join(filter(None, notes)))
        lines.append(Content.assemble(to_printable(check.citation.label), (f"  {words}", style)))
        for part in diff_lines(place.present if place.cited is None else place.cited, place.present)[:MOST_SHOWN]:
            sign, ink = (
                ("-", "$error") if part.after is None else ("+", "$success") if part.before is None else (" ", "$dim")
            )
            lines.append(LabelledText(Content.styled(f"  {sign} ", ink), Content.styled(to_printable(part.text), ink)))
    return lines


def origin_lines(fact: Fact, turns: Sequence[Turn]) -> list[Line]:
    """Return where the fact came from, and the captured messages it was written from."""
    lines: list[Line] = [Content(""), Content.styled("origin", "bold")]
    lines += [labelled_line(label, value) for label, value in origin_text.origin_values(fact.origin)]
    if not fact.origin.turns:
        return lines
    erased = len(fact.origin.turns) - len(turns)
    tip = "  O conversation" if turns else ""
    lines += [Content(""), Content.assemble(("written from", "bold"), (tip, "$dim"))]
    for turn in turns:
        content = to_printable(" ".join(turn.content[: 2 * MESSAGE_CHARS].split()))
        more = "…" if len(content) > MESSAGE_CHARS or len(turn.content) > 2 * MESSAGE_CHARS else ""
        lines.append(labelled_value(f"{to_printable(turn.role)}: ", content[:MESSAGE_CHARS] + more, 0))
    if erased:
        lines.append(Content.styled(f"{display_formats.pluralise(erased, 'message')} erased since", "$dim"))
    return lines


TIER_STYLES = {Tier.HOT: "$hot", Tier.COLD: "$cold", Tier.QUARANTINED: "$warning"}


def labelled_line(label: str, value: str) -> LabelledText:
    return labelled_value(label, value, 8)


def format_reads(fact: Fact, now: int) -> str:
    """Format how often agents received the fact."""
    if not fact.reads:
        return "never"
    last = "" if fact.read_at is None else f", last {display_formats.format_age(fact.read_at, now)}"
    return f"{display_formats.format_count(fact.reads)}×{last}"


def format_uses(uses: FactUse) -> Content:
    """Format how often sessions were given a fact, used it, and acted against it."""
    contradicted = Content.styled(f", contradicted {uses.contradicted}", "$warning" if uses.contradicted else "")
    return Content.assemble(f"{uses.given}×, used {uses.used}", contradicted)


def reader_line(reader: FactReading, now: int) -> LabelledText:
    """Return a line on one context that contained it: who received it, when, and for which query."""
    query = "" if reader.why is None else f": {display_formats.shortened_text(to_printable(reader.why), 60)}"
    recipient = "you" if reader.session is None else to_printable(reader.title or reader.session)
    text = Content.assemble(recipient, (f", {reader.kind}{query}", "$dim"))
    return labelled_value(f"{display_formats.format_age(reader.at, now):>6}  ", text, 0)


def quarantine_reason(history: list[Change]) -> str:
    rules = (find_recorded_rule(change.after or {}) for change in reversed(history))
    return next((to_printable(rule) for rule in rules if rule is not None), "not recorded")


def change_phrase(change: Change) -> str:
    after = change.after or {}
    if change.op == "undo":
        return f"undo of #{change.undoes}"
    if "tier" in after and change.before is not None and change.op not in ("archive", "cool", "supersede"):
        return f"{change.op} → {after['tier']}"
    if "scope" in after and change.before is not None:
        return f"{change.op} → {to_printable(after['scope'] or 'no scope')}"
    return change.op


def content_difference(change: Change) -> list[Line]:
    """Return a word-by-word diff of the content, or nothing when it is unchanged."""
    before, after = (change.before or {}).get("content"), (change.after or {}).get("content")
    if before is None or after is None or before == after:
        return []
    return [marked_difference(before, after, "-", "$error"), marked_difference(after, before, "+", "$success")]


def marked_difference(text: str, other: str, sign: str, style: str) -> Line:
    """Return one side of a diff, with the words that the other side lacks highlighted."""
    words, other_words = to_printable(text).split(" "), to_printable(other).split(" ")
    parts: list[str | tuple[str, str]] = []
    for op, start, end, _, _ in difflib.SequenceMatcher(a=words, b=other_words, autojunk=False).get_opcodes():
        run = " ".join(words[start:end])
        if run:
            parts += [run if op == "equal" else (run, f"{style} bold"), " "]
    return LabelledText(Content.styled(f"  {sign} ", style), Content.assemble(*parts))


def near_lines(near: Sequence[Fact]) -> list[Line]:
    """Return the lines about facts that say nearly the same under other targets; none without any."""
    if not near:
        return []
    lines: list[Line] = [Content(""), Content.assemble(("close to", "bold"), ("  archive one of both?", "$dim"))]
    for other in near:
        name = f"  {display_formats.TIER_SHAPES[other.tier]} {short_uid(other.uid)}  "
        lines.append(labelled_value(name, to_printable(other.notation), 0))
    return lines
