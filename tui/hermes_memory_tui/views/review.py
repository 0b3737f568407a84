"""Review: what waits for a person's word, because it reads like an instruction to the agent that would recall it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_bridge.places import Places
from hermes_memory_bridge.trust.rules import explained
from hermes_memory_bridge.trust.vault import Vault
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Fact, Rule, Theme, Waiting
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import looks, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.screens.editor import Editor, FactEditor
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.grid import Cell, Column, Grid, Row
from hermes_memory_tui.widgets.line_list import LineList
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair
from hermes_memory_tui.widgets.pick_list import Choice


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, newest first."""

    themes: list[Theme]
    waiting: list[Waiting]
    rules: dict[tuple[str, str], Rule]
    secrets: list[tuple[str, str, Fact | None]]
    """Theme and name of every masked secret, and a fact that stands for it."""


class ReviewView(View[Queue]):
    """One line a fact that waits."""

    NAME = "review"
    TITLE_OF_LIST = "waits for you"
    BINDING_GROUP_TITLE = "Review"
    WRITES = View.WRITES | {"approve", "refuse", "edit", "always", "never", "rules"}
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("ago", 4, right=True),
        Column("", 1),
        Column("from", 18),
        Column("fact"),
        Column("why", 30, least=90),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve", id="review.approve", tooltip="It is a fact: let it into the hot tier"),
        Binding("e", "edit", "Edit", id="review.edit", tooltip="Correct it; it waits on until you approve it"),
        Binding("d", "refuse", "Refuse", id="review.refuse", tooltip="Put it away: told to nobody, erased in the end"),
        Binding("A", "always", "Always", id="review.always", tooltip="Believe this source in this theme from now on"),
        Binding("N", "never", "Never", id="review.never", tooltip="Refuse what looks suspicious from this source"),
        Binding("R", "rules", "Rules", id="review.rules", tooltip="Take back what you ruled about a source"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.secrets = Grid((Column("theme", 16), Column("masked secret", 24), Column("stands in")), id="grid-below")

    def below(self) -> ComposeResult:
        yield self.secrets

    def on_mount(self) -> None:
        self.secrets.border_title = "masked secrets"

    def load(self, store: Store) -> Queue:
        rules = {(one.theme, one.source): one.rule for one in store.sources.list()}
        secrets = [(theme, name, standing_for(store, theme, name)) for theme, name in vault(self.memory.path).known()]
        return Queue(store.themes(), store.facts.waiting(), rules, secrets)

    def draw(self, data: Queue) -> None:
        now = self.memory.now()
        hues = looks.hues(theme.name for theme in data.themes)
        self.grid.empty = (
            "Nothing waits for you.",
            "",
            "a write that reads like an instruction to an agent is kept apart",
            "and shown here; nobody is told it until you approve it",
        )
        self.grid.border_subtitle = shown.plural(len(data.waiting), "fact")
        self.grid.show(
            [
                Row(
                    one.fact.uid,
                    (
                        Cell(shown.age(one.at, now), "dim"),
                        Cell("■", f"mark-{hues.get(one.fact.theme, 0)}"),
                        Cell(printable(one.source or shown.who(one.fact.actor))),
                        Cell(printable(one.fact.notation), bold=True),
                        Cell(printable(explained(one.why)), "warning"),
                    ),
                )
                for one in data.waiting
            ]
        )

        self.secrets.display = bool(data.secrets)
        self.secrets.show(
            [
                Row(
                    (theme, name),
                    (
                        Cell(printable(theme), "dim"),
                        Cell(printable(name), bold=True),
                        Cell(printable(fact.notation) if fact else "no fact that lives", "" if fact else "dim"),
                    ),
                )
                for theme, name, fact in data.secrets
            ]
        )

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        if message.list is self.secrets:
            self._reveal()
        else:
            super().on_line_list_opened(message)

    def _reveal(self) -> None:
        """Show a masked secret to the person, and to nobody else: it is neither logged nor copied."""
        key = self.secrets.key
        if not isinstance(key, tuple):
            return
        theme, name = key
        try:
            secret = vault(self.memory.path).reveal(theme, name)
        except StoreError as error:
            self.say_error(error)
            return
        said = Content.styled("it is no longer in the vault", "$dim") if secret is None else Content(printable(secret))
        self.app.push_screen(Ask(f"secret {printable(name)}", [said]))

    @property
    def waiting(self) -> Waiting | None:
        """What is under the cursor."""
        if self.data is None:
            return None
        return next((one for one in self.data.waiting if one.fact.uid == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        one = self.waiting
        if one is None or self.data is None:
            return "review", self._rules()
        fact, now = one.fact, self.memory.now()
        return "waits for you", [
            Content.styled(f"{fact.type.value}[{printable(fact.target)}]", "bold"),
            Content(printable(fact.content)),
            Content(""),
            pair("why", Content.styled(printable(explained(one.why)), "$warning")),
            pair("from", printable(one.source or "unknown")),
            pair("by", shown.who(fact.actor)),
            pair("theme", printable(fact.theme)),
            pair("scope", printable(fact.scope or "no scope")),
            pair("when", f"{shown.moment(one.at, now)} ({shown.ago(one.at, now)})"),
            Content(""),
            keys(("a", "approves"), ("e", "edits"), ("d", "refuses")),
            keys(("A", f"always believes {printable(one.source)}"), ("N", "never does")) if one.source else Content(""),
            Content(""),
            *self._rules(),
        ]

    def _rules(self) -> Sequence[Line]:
        rules = self.data.rules if self.data is not None else {}
        if not rules:
            return [Content.styled("No source has a rule: each suspicious write is asked about.", "$dim")]
        return [
            heading("what you ruled"),
            *(pair(rule, f"{printable(source)} in {printable(theme)}") for (theme, source), rule in rules.items()),
            keys(("R", "takes a rule back")),
        ]

    # What a person does

    def action_approve(self) -> None:
        one = self.waiting
        if one is not None:
            self._settle(one, lambda store: store.facts.approve([one.fact.uid]), "approved")

    def action_refuse(self) -> None:
        one = self.waiting
        if one is not None:
            self._settle(one, lambda store: store.facts.refuse([one.fact.uid]), "refused: told to nobody")

    def _settle(self, one: Waiting, act: Callable[[Store], object], said: str) -> None:
        self.write(lambda: self.memory.do(act, f"{shown.name(one.fact)} {said}"))

    def action_edit(self) -> None:
        one = self.waiting
        if one is not None:
            editor = FactEditor(one.fact, self.memory.limit(one.fact.theme), None, self._save)
            self.app.push_screen(editor)

    def _save(self, editor: Editor) -> None:
        base, text = editor.base, editor.area.text
        if base is not None:
            self.write(
                lambda: self.memory.edit(base, text),
                lambda: editor.dismiss(None),
                lambda error: editor.refuse(str(error)),
            )

    def action_always(self) -> None:
        self._rule("always", "Suspicious writes of this source are kept without asking you.")

    def action_never(self) -> None:
        self._rule("never", "Suspicious writes of this source are refused without asking you.")

    def _rule(self, rule: Rule, means: str) -> None:
        one = self.waiting
        if one is None:
            return
        if one.source is None:
            self.notify("Nobody knows which program wrote this.", severity="warning", timeout=4)
            return
        source, theme = one.source, one.fact.theme
        lines: list[Line] = [
            Content.assemble((printable(source), "bold"), f" in theme {printable(theme)}: ", (rule, "bold $warning")),
            Content(means),
            Content.styled("R takes the rule back.", "$dim"),
        ]
        said = f"{rule} for {printable(source)} in {printable(theme)}"
        self.ask_then(
            Ask(f"{rule} {printable(source)}", lines),
            lambda _: self.write(
                lambda: self.memory.do(
                    lambda store: store.sources.set(theme, source, rule), said, back="R takes the rule back."
                )
            ),
        )

    def action_rules(self) -> None:
        """Choose a rule, and be asked about its source again."""
        rules = list(self.data.rules.items()) if self.data is not None else []
        if not rules:
            self.notify("No source has a rule.", timeout=4)
            return
        choices = [
            Choice(str(place), f"{rule} {source}", f"in {theme}") for place, ((theme, source), rule) in enumerate(rules)
        ]
        self.ask_then(Picker("take back a rule", choices), lambda place: self._take_back(*rules[int(place)][0]))

    def _take_back(self, theme: str, source: str) -> None:
        said = f"each suspicious fact from {printable(source)} in {printable(theme)} waits for you again"
        self.write(lambda: self.memory.do(lambda store: store.sources.set(theme, source, None), said, back=""))


def vault(store: Path) -> Vault:
    """Where the bridge of this store keeps secrets."""
    return Vault(Path(Places.of(store).folder) / "secrets.json")


def standing_for(store: Store, theme: str, name: str) -> Fact | None:
    """A live fact that holds the place of a secret."""
    found = store.search.find(theme, f'"{name}"', limit=5).facts
    return next((fact for fact in found if f"‹secret:{name}›" in fact.content), None)
