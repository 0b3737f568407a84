"""Review: quarantined facts that read like an instruction to the agent that would recall them, proposed ones, and those that
their cited lines contradict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_store.errors import StoreError
from hermes_memory_store.intake.detector import explain_rule
from hermes_memory_store.intake.intake import RULE_SOURCE
from hermes_memory_store.items.tier_columns import PROPOSED
from hermes_memory_store.memory.quarantine import MOST_ALIKE, fold_waiting
from hermes_memory_store.model import ChangeResult, Fact, LiftedRule, QuarantinedFact, Rule, ThemeSummary, Uid
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep.fact_citations import FactCheck
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.fact_editor import Editor, FactEditor
from hermes_memory_tui.screens.memory_screen import WriteBinding, gather_binding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.fold_phrases import explain_waiting
from hermes_memory_tui.text.origin_text import format_voice
from hermes_memory_tui.views.base_view import BaseView, ago_cell
from hermes_memory_tui.widgets.lists.grid import Grid, GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.lists.pick_list import Choice
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The quarantined facts, newest first."""

    themes: list[ThemeSummary]
    waiting: list[QuarantinedFact]
    rules: dict[tuple[str, str], Rule]
    lifted: list[LiftedRule]
    secrets: list[tuple[str, str, Fact | None]]
    """Theme and name of every masked secret, and a fact that stands for it."""
    contradicted: list[FactCheck]
    """Facts whose cited lines have another value."""


RULES: dict[Rule, str] = {
    "always": "its suspicious writes are accepted",
    "never": "its suspicious writes are rejected",
}
"""What a rule does with what a source writes."""


class WaitingKind(tuple[str, str, str, bool]):
    """The key of a row that stands for all facts that wait for the same."""

    def __new__(cls, entry: QuarantinedFact) -> WaitingKind:
        return super().__new__(cls, entry.kind)


class Contradicted(NamedTuple):
    """The key of a row of a fact whose cited lines have another value."""

    uid: Uid


MOST_OF_KIND = 20
"""Facts of a kind that are shown beside the list."""


class ReviewView(BaseView[ReviewQueue]):
    """One row per quarantined fact."""

    NAME = "review"
    TITLE_OF_LIST = "quarantined"
    BINDING_GROUP_TITLE = "Review"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("ago", 4, right=True, value=lambda entry, view: ago_cell(entry.at, view.memory.now())),
        GridColumn("", 1, value=lambda entry, view: GridCell("■", f"mark-{view.hues.get(entry.fact.theme, 0)}")),
        GridColumn(
            "source",
            18,
            value=lambda entry, _: GridCell(to_printable(entry.source or display_formats.author_name(entry.fact))),
        ),
        GridColumn("fact", value=lambda entry, view: view.notation_cell(entry.fact)),
        GridColumn(
            "rule", 30, least=90, value=lambda entry, _: GridCell(to_printable(explain_waiting(entry)), "warning")
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding(
            "A",
            "approve",
            "Approve",
            id="review.approve",
            tooltip="Approve: move to the hot tier, or take the file's value",
        ),
        WriteBinding("e", "edit", "Edit", id="review.edit", tooltip="Edit; stays quarantined"),
        WriteBinding(
            "D",
            "refuse",
            "Reject",
            id="review.refuse",
            tooltip="Reject: hidden, later purged, or keep the fact's value",
        ),
        gather_binding("review"),
        WriteBinding(
            "R", "rules", "Rules", id="review.rules", tooltip="Always trust or reject this source, or remove a rule"
        ),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.hues: dict[str, int] = {}
        self._unfolded: set[WaitingKind] = set()
        self.secrets = Grid(
            (GridColumn("theme", 16), GridColumn("masked secret", 24), GridColumn("used in")), id="grid-below"
        )

    def below_list(self) -> ComposeResult:
        yield self.secrets

    def on_mount(self) -> None:
        self.secrets.border_title = "masked secrets"

    def load(self, store: Store) -> ReviewQueue:
        rules = {(source.theme, source.source): source.rule for source in store.sources.list()}
        secrets = [
            (theme, name, secret_fact(store, theme, name))
            for theme, name in open_store_vault(self.memory.path).list_names()
        ]
        contradicted = [check for check in store.citations.check_newest() if check.other is not None]
        return ReviewQueue(
            store.themes(), store.facts.quarantine_queue(), rules, store.sources.lifted(), secrets, contradicted
        )

    def draw(self, data: ReviewQueue) -> None:
        self.hues = palettes.theme_hues(theme.name for theme in data.themes)
        self.grid.empty = (
            "Quarantine is empty.",
            "",
            "writes that look like prompt injection are quarantined here",
            "and stay out of every context until approved",
        )
        self.grid.set_subtitle(display_formats.pluralise(len(data.waiting) + len(data.contradicted), "fact"))
        contradicted = [self._to_contradicted_row(check) for check in data.contradicted]
        self.grid.show([*contradicted, *(row for alike in fold_waiting(data.waiting) for row in self._to_rows(alike))])
        self.secrets.display = bool(data.secrets)
        self.secrets.show(
            [
                GridRow(
                    (theme, name),
                    (
                        GridCell(to_printable(theme), "dim"),
                        GridCell(to_printable(name), bold=True),
                        GridCell(to_printable(fact.notation) if fact else "unused", "" if fact else "dim"),
                    ),
                )
                for theme, name, fact in data.secrets
            ]
        )

    def _to_contradicted_row(self, check: FactCheck) -> GridRow:
        fact, other = check.fact, check.other
        cited = next(cited for cited in check.checks if cited.other is not None)
        cells = (
            ago_cell(fact.updated_at, self.memory.now()),
            GridCell("■", f"mark-{self.hues.get(fact.theme, 0)}"),
            GridCell(to_printable(cited.citation.label)),
            self.notation_cell(fact),
            GridCell(to_printable(other.label if other else ""), "warning"),
        )
        return GridRow(Contradicted(fact.uid), cells)

    def _to_rows(self, alike: Sequence[QuarantinedFact]) -> list[GridRow]:
        """Return facts that wait for the same as a row each, below one for all where there are many."""
        rows = [to_row(self.COLUMNS, entry.fact.uid, entry, self) for entry in alike]
        is_proposed = alike[0].why == PROPOSED
        if len(alike) <= MOST_ALIKE and not is_proposed:
            return rows
        kind = WaitingKind(alike[0])
        is_open = (kind in self._unfolded) is not is_proposed
        ago, hue, source, _, rule = rows[0].cells
        title = f"proposed for {to_printable(alike[0].fact.theme)}" if is_proposed else "alike"
        text = f"{'▾' if is_open else '▸'} {display_formats.pluralise(len(alike), 'fact')} {title}"
        return [GridRow(kind, (ago, hue, source, GridCell(text, bold=True), rule)), *(rows if is_open else ())]

    def notation_cell(self, fact: Fact) -> GridCell:
        text = to_printable(fact.notation)
        return self.pending_cell(fact.uid, text) or GridCell(text, bold=True)

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        if message.list is self.secrets:
            self._reveal()
        elif isinstance(self.grid.key, WaitingKind):
            self._unfolded ^= {self.grid.key}
            self.show_pending()
        else:
            super().on_line_list_opened(message)

    def _reveal(self) -> None:
        """Show a masked secret on the screen only: it is neither logged nor copied."""
        key = self.secrets.key
        if not isinstance(key, tuple):
            return
        theme, name = key
        try:
            secret = open_store_vault(self.memory.path).reveal(theme, name)
        except StoreError as error:
            self.show_error(error)
            return
        value = Content.styled("not in the vault", "$dim") if secret is None else Content(to_printable(secret))
        self.app.push_screen(Question(f"secret {to_printable(name)}", [value]))

    @property
    def selected_entry(self) -> QuarantinedFact | None:
        if self.data is None:
            return None
        key = self.grid.key
        return next((entry for entry in self.data.waiting if key in (entry.fact.uid, WaitingKind(entry))), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        if isinstance(key, Contradicted) and self.data is not None:
            check = next((check for check in self.data.contradicted if check.fact.uid == key.uid), None)
            return "contradicted", [] if check is None else self._describe_contradicted(check)
        entry = self.selected_entry
        if entry is None or self.data is None:
            return "review", self._rules()
        fact, now = entry.fact, self.memory.now()
        heading = "proposed" if entry.why == PROPOSED else "quarantined"
        if isinstance(key, WaitingKind):
            alike = [entry.fact for entry in self.data.waiting if WaitingKind(entry) == key]
            return heading, [
                Content.styled(f"{display_formats.pluralise(len(alike), 'fact')} alike", "bold"),
                labelled_value("rule", Content.styled(to_printable(explain_waiting(entry)), "$warning")),
                labelled_value("source", to_printable(entry.source or "unknown")),
                labelled_value("theme", to_printable(fact.theme)),
                Content(""),
                *(Content(to_printable(fact.notation)) for fact in alike[:MOST_OF_KIND]),
                Content(""),
                key_hint_line(("enter", "unfold"), ("A", "approve all"), ("D", "reject all")),
            ]
        return heading, [
            Content.styled(f"{fact.type.value}[{to_printable(fact.target)}]", "bold"),
            Content(to_printable(fact.content)),
            Content(""),
            labelled_value("rule", Content.styled(to_printable(explain_waiting(entry)), "$warning")),
            labelled_value("source", to_printable(entry.source or "unknown")),
            *([labelled_value("said", to_printable(entry.said))] if entry.said else []),
            *([labelled_value("session", to_printable(fact.origin.title or ""))] if entry.said else []),
            labelled_value("author", display_formats.author_name(fact)),
            labelled_value("words", to_printable(format_voice(fact.origin) or "unknown")),
            labelled_value("theme", to_printable(fact.theme)),
            labelled_value("scope", to_printable(fact.scope or "no scope")),
            labelled_value("when", display_formats.format_when(entry.at, now)),
            Content(""),
            key_hint_line(("A", "approve"), ("e", "edit"), ("D", "reject"), ("R", "source rules")),
            Content(""),
            *self._rules(),
        ]

    def _describe_contradicted(self, check: FactCheck) -> Sequence[Line]:
        fact = check.fact
        return [
            Content.styled(f"{fact.type.value}[{to_printable(fact.target)}]", "bold"),
            Content(to_printable(fact.content)),
            Content(""),
            *(
                labelled_value(
                    to_printable(cited.citation.label),
                    f"says {to_printable(cited.other.ours)}, {to_printable(cited.other.label)}",
                )
                for cited in check.checks
                if cited.other is not None
            ),
            Content(""),
            key_hint_line(("A", "take the file's value"), ("D", "keep the fact's")),
        ]

    def _rules(self) -> Sequence[Line]:
        if self.data is None:
            return []
        rules = self.data.rules
        lifted: list[Line] = [
            labelled_value(str(row.count), f"{to_printable(explain_rule(row.rule))} in {to_printable(row.theme)}")
            for row in self.data.lifted
        ]
        if lifted:
            lifted = [heading_line("approved all the same"), *lifted, Content("")]
        if not rules:
            return [*lifted, Content.styled("No source rules: every suspicious write is quarantined.", "$dim")]
        return [
            *lifted,
            heading_line("source rules"),
            *(
                labelled_value(rule, f"{to_printable(source)} in {to_printable(theme)}")
                for (theme, source), rule in rules.items()
            ),
        ]

    # What a person does

    def action_approve(self) -> None:
        if not self._settle_contradiction(
            "has the file's value", lambda store, uid: store.citations.take_file_value(store.facts, uid)
        ):
            self._settle(lambda store, uids: store.facts.approve(uids), "approved")

    def action_refuse(self) -> None:
        if not self._settle_contradiction(
            "keeps its value until the cited lines change again",
            lambda store, uid: store.citations.keep_own_value(store.facts, uid),
        ):
            self._settle(lambda store, uids: store.facts.refuse(uids), "rejected")

    def _settle_contradiction(self, done: str, act: Callable[[Store, Uid], ChangeResult]) -> bool:
        """Decide on the fact under the cursor whose cited lines have another value; return whether it is one."""
        contradicted = self.data.contradicted if self.data is not None else []
        fact = next((check.fact for check in contradicted if Contradicted(check.fact.uid) == self.grid.key), None)
        if fact is None or len(self.grid.selected_keys) > 1:
            return False
        name = display_formats.fact_name(fact)
        self.writes.run(lambda: self.memory.run_write(lambda store: act(store, fact.uid), f"{name} {done}"))
        return True

    def show_pending(self) -> None:
        if self.data is not None:
            self.draw(self.data)

    def _settle(self, act: Callable[[Store, list[str]], object], outcome: str) -> None:
        """Decide on the marked facts, else on the one under the cursor, in one change."""
        keys, waiting = self.grid.selected_keys, self.data.waiting if self.data is not None else []
        facts = [entry.fact for entry in waiting if entry.fact.uid in keys or WaitingKind(entry) in keys]
        uids: list[str] = [fact.uid for fact in facts]
        if not facts:
            return
        if self.gathering.is_on:
            self.gathering.add_change(
                "approve" if outcome == "approved" else "reject", facts, then=self.grid.action_unmark
            )
            return
        subject = display_formats.fact_name(facts[0])
        if len(facts) > 1:
            subject = display_formats.pluralise(len(facts), "fact")
        self.writes.run(lambda: self.memory.run_write(lambda store: act(store, uids), f"{subject} {outcome}"))

    def action_edit(self) -> None:
        entry = self.selected_entry
        if entry is not None:
            editor = FactEditor(
                entry.fact, self.memory.store.policies.for_theme(entry.fact.theme).fact_chars, None, self._save
            )
            self.app.push_screen(editor)

    def _save(self, editor: Editor) -> None:
        assert isinstance(editor, FactEditor)
        base, text, cites = editor.base, editor.area.text, editor.cites
        if base is not None:
            self.writes.run_text(
                lambda agreed: self.memory.edit_fact(base, text, confirmed=agreed, cites=cites),
                lambda: editor.dismiss(None),
                lambda error: editor.show_refusal(str(error)),
            )

    def action_rules(self) -> None:
        """Choose a rule for the source under the cursor, or one to remove, so that its source is quarantined again."""
        entry = self.selected_entry
        choices, rules = [], list(self.data.rules) if self.data is not None else []
        if entry is not None and entry.source is not None:
            source = to_printable(entry.source)
            choices += [Choice(rule, f"{rule} {source}", RULES[rule]) for rule in RULES]
        choices += [
            Choice(str(place), f"remove the rule of {to_printable(source)}", f"in {to_printable(theme)}")
            for place, (theme, source) in enumerate(rules)
        ]
        lifted = [row for row in self.data.lifted if not row.is_silenced] if self.data is not None else []
        choices += [
            Choice(
                f"silence {place}",
                f"let in what {to_printable(explain_rule(row.rule))}",
                f"in {to_printable(row.theme)}",
            )
            for place, row in enumerate(lifted)
        ]
        if not choices:
            self.notify("No source rules, and the source of this fact is unknown.", timeout=4)
            return

        def choose(chosen: str) -> None:
            if chosen.isdecimal():
                self._set_rule(*rules[int(chosen)], None)
            elif chosen.startswith("silence "):
                row = lifted[int(chosen.removeprefix("silence "))]
                self._set_rule(row.theme, RULE_SOURCE + row.rule, "always")
            elif entry is not None and entry.source is not None:
                self._set_rule(entry.fact.theme, entry.source, "always" if chosen == "always" else "never")

        self.ask_then(Picker("source rules", choices), choose)

    def _set_rule(self, theme: str, source: str, rule: Rule | None) -> None:
        where = f"{to_printable(source)} in {to_printable(theme)}"
        done = f"{rule} for {where}" if rule else f"suspicious facts from {where} are quarantined again"
        back = "R removes the rule." if rule else ""
        self.writes.run(
            lambda: self.memory.run_write(lambda store: store.sources.set_rule(theme, source, rule), done, back=back)
        )


def secret_fact(store: Store, theme: str, name: str) -> Fact | None:
    facts = store.search.find(theme, f'"{name}"', limit=5).facts
    return next((fact for fact in facts if f"‹secret:{name}›" in fact.content), None)
