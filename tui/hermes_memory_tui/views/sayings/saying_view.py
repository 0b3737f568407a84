"""Why did it say that? An agent's sentence word by word, and the facts that it most likely came from, best first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.journal.change_folds import ChangeFolds
from hermes_memory_store.journal.saying_sources import (
    Saying,
    SayingExplanation,
    SayingSource,
    explain_saying,
)
from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.tokenizer import is_unspaced
from hermes_memory_store.memory_tests.memory_case import CaseStart
from hermes_memory_store.model import Fact, Tier, Turn
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.picker import NEW
from hermes_memory_tui.dialogs.saying_picker import SayingPicker
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.view_catalog import FACTS
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.screens.memory_test_dialog import CaseDraft, ask_for_test, to_test_binding
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.highlight import STYLE, Span, merge_match_spans, split_at_spans, split_words
from hermes_memory_tui.text.origin_text import origin_values
from hermes_memory_tui.views.base_view import BaseView, bar_cell
from hermes_memory_tui.views.conversations_view import ConversationsView
from hermes_memory_tui.views.session_actions import confirm_undo_fold
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.pick_list import Choice
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

MESSAGES_OFFERED = 200
"""Newest captured messages of a theme among which those of agents are offered."""

BAR_CELLS = 6
"""Cells of the bar that shows how likely a fact is, beside the likeliest."""

CONTEXTS_SHOWN = 8
"""Contexts that are listed with their age."""

TURNS_BEFORE = 10
"""Messages before the sentence among which the person's question is looked for."""


@dataclass(frozen=True, slots=True)
class SayingData:
    """What a sentence came from, and what was asked before it."""

    explanation: SayingExplanation
    question: str | None
    """The person's last message before it."""
    who: str | None
    """The session's name for a person."""


class SayingView(BaseView[SayingData]):
    """The sentence above, one row for each fact it may come from."""

    CSS_PATH = "../../screens/view.tcss"  # Textual looks from the folder of the class
    NAME = "why"
    TITLE_OF_LIST = "most likely came from"
    BINDING_GROUP_TITLE = "Why did it say that?"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("likely", BAR_CELLS),
        GridColumn("given", 9, right=True, least=50),
        GridColumn("fact, in the words of then"),
        GridColumn("shares", 9, right=True, least=70),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding(
            "U", "undo_source", "Undo its change", id="why.undo", tooltip="Undo the change that wrote this fact"
        ),
        Binding("l,right", "show_detail", "Detail", id="why.detail", tooltip="Show the detail", show=False),
        to_test_binding("why"),
    ]

    def __init__(self, memory: Memory, saying: Saying) -> None:
        super().__init__(memory)
        self._saying = saying
        self._said = Static("", markup=False)
        self.grid.can_sort = False

    def above_list(self) -> ComposeResult:
        with VerticalScroll(id="saying", can_focus=False):
            yield self._said

    def explain(self, saying: Saying) -> None:
        self._saying = saying
        self.grid.cursor = 0
        self.reload()

    def title_place(self) -> str:
        saying = self._saying if self.data is None else self.data.explanation.saying
        return f"{to_printable(saying.theme)} › why" if saying.theme is not None else "why"

    def load(self, store: Store) -> SayingData:
        explanation = explain_saying(store, self._saying)
        theme, session = explanation.saying.theme, explanation.saying.session
        title = None if theme is None else store.names.title_in_theme(theme, session)
        return SayingData(explanation, find_question(store, explanation.saying), title or session)

    def draw(self, data: SayingData) -> None:
        explanation, now = data.explanation, self.memory.now()
        self.grid.empty = (
            "Nothing in this memory shares rare words with it.",
            "",
            "It may come from the model, or from what the agent read elsewhere.",
            context_note(explanation),
        )
        self.grid.set_subtitle(context_note(explanation))
        self.grid.show([source_row(source, explanation, now) for source in explanation.sources])
        self._show_saying()

    @property
    def source(self) -> SayingSource | None:
        sources = () if self.data is None else self.data.explanation.sources
        return next((source for source in sources if source.fact.uid == self.grid.key), None)

    def _show_saying(self) -> None:
        """Draw the sentence: words of the fact under the cursor stand out, those of other facts less."""
        if self.data is None:
            return
        explanation = self.data.explanation
        here = self.source.words if self.source is not None else ()
        distant = {word for source in explanation.sources for word in source.words}.difference(here)
        text = to_printable(" ".join(explanation.saying.text.split()))
        parts: list[Content | tuple[str, str] | str] = []
        for part, is_here in split_at_spans(text, find_word_places(text, here)):
            if is_here:
                parts.append((part, STYLE))
                continue
            spans = find_word_places(part, distant)
            parts += [(piece, "underline" if hit else "$dim") for piece, hit in split_at_spans(part, spans)]
        self._said.update(Content.assemble(*parts))
        self.query_one("#saying").border_title = to_speaker(self.data, self.memory.now())

    def show_text(self) -> None:
        super().show_text()
        self._show_saying()

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        source, data = self.source, self.data
        if data is None or source is None:
            return "why", [] if data is None else unexplained_lines(data.explanation, self.memory.now())
        explanation, now = data.explanation, self.memory.now()
        wrote = source.then.wrote
        lines: list[Line] = [
            highlight_words(source.then.notation, source.words),
            *state_lines(source),
            Content(""),
            heading_line("why this one"),
            labelled_value("shares", ", ".join(map(to_printable, source.words))),
            labelled_value("given", describe_given(source, explanation, now)),
            Content(""),
            heading_line("where it came from"),
            labelled_value("by", display_formats.actor_name(wrote.actor)),
            labelled_value("when", display_formats.format_when(wrote.at, now)),
            labelled_value("change", f"#{wrote.change}, {wrote.op}"),
            *(labelled_value(label, value) for label, value in origin_values(source.fact.origin)),
            Content(""),
            *unexplained_lines(explanation, now),
            Content(""),
            key_hint_line(("enter", "the fact"), ("U", "undo its change"), ("T", "make a test"), ('"', "another")),
        ]
        return "where it came from", lines

    def open(self, key: object) -> None:
        if self.source is not None:
            self.app.call_later(self._go_to_fact, self.source.fact)

    async def _go_to_fact(self, fact: Fact) -> None:
        self.inspector.open_view(FACTS)
        await self.inspector.main.show_fact(fact)

    def action_show_detail(self) -> None:
        super().open(self.grid.key)

    def action_undo_source(self) -> None:
        source = self.source
        if source is not None:
            seq = source.then.wrote.seq
            confirm_undo_fold(self, self.memory.read_now(lambda store: ChangeFolds(store).of_row(seq)))

    def action_make_test(self) -> None:
        ask_for_test(self, self._draft_case())

    def _draft_case(self) -> CaseDraft | None:
        """Return what the person asked before the sentence, or its session's start, with the facts it came from."""
        if self.data is None:
            return None
        explanation = self.data.explanation
        first = self.source
        sources = sorted(explanation.sources, key=lambda source: source is not first)
        lines = tuple(dict.fromkeys(source.then.notation for source in sources))
        theme = explanation.saying.theme or (first.fact.theme if first is not None else None)
        if theme is None:
            return None
        if self.data.question is not None:
            return CaseDraft(theme, ask=self.data.question, lines=lines)
        return CaseDraft(theme, start=CaseStart(None), lines=lines)

    def action_back(self) -> None:
        if self.focused is self.pages or self.has_class("-show-text"):
            super().action_back()
        elif not self.list_tools.clear():
            self.app.pop_screen()


def ask_why(app: App[Any], memory: Memory) -> None:
    """Explain the message of an agent that is under the cursor; elsewhere let the person paste or choose one."""
    screen = app.screen
    turn = screen.turn if isinstance(screen, ConversationsView) else None
    if turn is not None and turn.role == "assistant":
        app.push_screen(SayingView(memory, to_saying(turn)))
        return
    turns = {str(turn.uid): turn for turn in memory.read_now(load_messages)}
    now = memory.now()
    choices = [
        Choice(
            turn.uid,
            " ".join(turn.content.split())[:400],
            f"{to_printable(turn.title or turn.session or '')} {display_formats.format_ago(turn.at, now)}",
        )
        for turn in turns.values()
    ]

    def explain(chosen: str | None) -> None:
        if chosen is None:
            return
        saying = Saying(chosen.removeprefix(NEW)) if chosen.startswith(NEW) else to_saying(turns[chosen])
        if isinstance(app.screen, SayingView):
            app.screen.explain(saying)
        else:
            app.push_screen(SayingView(memory, saying))

    app.push_screen(SayingPicker(choices), explain)


def load_messages(store: Store) -> list[Turn]:
    """Load the newest captured messages of agents, newest first."""
    turns = [turn for theme in store.themes() for turn in store.turns.list(theme.name, limit=MESSAGES_OFFERED)]
    return sorted((turn for turn in turns if turn.role == "assistant"), key=lambda turn: -turn.at)


def to_saying(turn: Turn) -> Saying:
    """Return a captured message as a sentence to explain."""
    return Saying(turn.content, turn.theme, turn.session, turn.at)


def find_question(store: Store, saying: Saying) -> str | None:
    """Find what the person said last before a sentence; None where no session is known, or nothing was captured."""
    if saying.theme is None or saying.session is None:
        return None
    before = None if saying.at is None else saying.at + 1
    turns = store.turns.list(saying.theme, session=saying.session, before=before, limit=TURNS_BEFORE)
    return next((" ".join(turn.content.split()) for turn in turns if turn.role == "user"), None)


def source_row(source: SayingSource, explanation: SayingExplanation, now: int) -> GridRow:
    if source.given is not None:
        context = GridCell(
            f"● {display_formats.format_age(source.given.at, now)}", "success", value=now - source.given.at
        )
    elif source.is_own:
        context = GridCell("✎ own", "accent")
    else:
        context = GridCell("○ never" if explanation.saying.session is not None else "? unknown", "dim")
    text = to_printable(source.then.notation)
    parts = tuple(
        (piece, "accent" if hit else "", "")
        for piece, hit in split_at_spans(text, find_word_places(text, source.words))
    )
    note = state_note(source)
    return GridRow(
        source.fact.uid,
        (
            bar_cell(100 * source.likelihood / explanation.sources[0].likelihood, BAR_CELLS, "accent"),
            context,
            GridCell("", parts=((f"({note}) ", "warning", ""), *parts) if note else parts),
            GridCell(display_formats.pluralise(len(source.words), "word"), "dim"),
        ),
    )


def state_note(source: SayingSource) -> str:
    """Return in a word what became of a fact since; empty where it still says the same."""
    if source.fact.tier is Tier.WITHDRAWN:
        return "undone"
    if not source.then.is_current:
        return "changed"
    return source.fact.tier.value if source.fact.tier not in (Tier.HOT, Tier.COLD) else ""


def state_lines(source: SayingSource) -> list[Line]:
    """Return what became of a fact since it was given; nothing where it still says the same."""
    note = state_note(source)
    if note == "changed":
        return [Content.assemble(("since changed to ", "$warning"), to_printable(source.fact.notation))]
    return [Content.styled(f"since {note}", "$warning")] if note else []


def describe_given(source: SayingSource, explanation: SayingExplanation, now: int) -> str:
    """Say whether and when the session was given a fact before it said the sentence."""
    if source.given is not None:
        return f"{display_formats.format_ago(source.given.at, now)}, in {describe_context(source.given)}"
    own = "no, but the session wrote it itself" if source.is_own else ""
    if explanation.saying.session is None:
        return own or "not known: no captured message has this text, so its session is unknown"
    return own or "never to this session, as far as is recorded"


def describe_context(record: ContextRecord) -> str:
    """Return a context in a few words: its kind and the question."""
    return to_printable(f"{record.kind} {record.why!r}" if record.why else record.kind)


def unexplained_lines(explanation: SayingExplanation, now: int) -> list[Line]:
    """Return the words that nothing explains, and what the session was given before."""
    lines: list[Line] = []
    if explanation.unknown:
        lines += [heading_line("nothing here has"), Content(to_printable(", ".join(explanation.unknown))), Content("")]
    if explanation.purged:
        facts = display_formats.pluralise(explanation.purged, "fact")
        lines += [Content.styled(f"{facts} given before were purged: they may have said it.", "$warning"), Content("")]
    lines.append(heading_line("given before", display_formats.pluralise(len(explanation.contexts), "context")))
    for record in explanation.contexts[:CONTEXTS_SHOWN]:
        size = display_formats.pluralise(len(record.facts), "fact")
        lines.append(
            Content.assemble(
                (f"{display_formats.format_age(record.at, now):>4}  ", "$dim"),
                describe_context(record),
                (f"  {size}", "$dim"),
            )
        )
    return lines


def context_note(explanation: SayingExplanation) -> str:
    """Say how often the session was given something before the sentence."""
    if explanation.saying.session is None:
        return "session unknown"
    if not explanation.contexts:
        return "given nothing before"
    return f"{display_formats.pluralise(len(explanation.contexts), 'context')} given before"


def to_speaker(data: SayingData, now: int) -> Content:
    """Return who said a sentence, and when, as far as it is known."""
    at = data.explanation.saying.at
    if data.who is None or at is None:
        return Content("said, by whom is not known")
    return Content(f"{to_printable(data.who)} said, {display_formats.format_ago(at, now)}")


def highlight_words(text: str, words: Collection[str]) -> Content:
    """Highlight words in a text; nothing in it is parsed as markup."""
    printable = to_printable(text)
    spans = find_word_places(printable, words)
    return Content.assemble(*((part, STYLE if hit else "") for part, hit in split_at_spans(printable, spans)))


def find_word_places(text: str, words: Iterable[str]) -> list[Span]:
    """Find where words stand in a text, in any of their forms."""
    folded = set(words)
    terms = {stem_word(word) for word in folded}
    spans: list[Span] = []
    for piece in split_words(text):
        if piece.folded in folded or piece.term in terms:
            spans.append((piece.start, piece.end))
        elif is_unspaced(piece.folded) and len(piece.folded) == piece.end - piece.start:
            for word in folded:
                place = piece.folded.find(word)
                if place >= 0:
                    spans.append((piece.start + place, piece.start + place + len(word)))
    return merge_match_spans(spans)
