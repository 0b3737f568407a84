"""The intake: every text on its way into the store passes it, whoever brings it.

Rows take `AdmittedFact`, `AdmittedTurn` and `AdmittedText` only, which are made here and nowhere else. Detectors say what
stands in a text; who writes decides what happens to it:

- an agent (tools, provider, sync, relief, imports, a command line without a terminal): instructions are quarantined,
  secrets masked, names that hold either are refused, hidden characters are refused;
- a person at a terminal or a screen: never quarantined, and asked about secrets and hidden characters;
- the store's own records (journal, undo, replay, time travel) are repeated as they are, with their verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NewType, Protocol

from hermes_memory_store import errors, safe_text
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.detector import Passage, TextKind, find_masked_spans, find_suspicion, find_suspicions
from hermes_memory_store.intake.origins import SessionWords, TextOrigin
from hermes_memory_store.intake.spans import (
    NOT_KEPT,
    find_mark_names,
    replace_text_spans,
    to_secret_placeholder,
)
from hermes_memory_store.intake.text_folding import to_name_sentence
from hermes_memory_store.model import ALLOWED, APPROVED, Notation, Rule, Suspicion, Uid, format_notation, is_admitted
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.safe_text import lazy_pattern
from hermes_memory_themes import Policies, ThemePolicy

AdmittedText = NewType("AdmittedText", str)
"""A name that may be listed: a scope's label, a session's or a client's name."""

LONG_ENOUGH = 12
"""Characters from which on the first three of a secret give nothing away."""

MOST_MASKED = 20_000
"""Characters of a content that may come within the limit when its secrets are masked: several private keys."""

MOST_REPEATED = 2_000
"""Characters of what is no notation that are looked through; a refusal repeats fewer."""

IMPORT_MARK = lazy_pattern(r"[.~][0-9a-f]{12}(?=[.~]|$)")
"""What an import appends to a name: no secret, although it looks random."""

TURN_TARGET = "turn"
"""The target under which the secrets of captured turns are kept."""

WITHHELD_NAME = "(withheld: it reads like an instruction)"


class Writer(Enum):
    """Who writes through a store."""

    AGENT = "agent"
    PERSON = "person"


class KeptSecret(Protocol):
    @property
    def theme(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def fresh(self) -> bool: ...


class SecretVault(Protocol):
    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> KeptSecret | None:
        """Keep a secret; None when there is no place that may keep it.

        :param wanted: the name to give it, numbered where it is taken
        :param besides: names to avoid
        :raises FileError: it could not be kept
        """

    def reveal(self, theme: str, name: str) -> str | None:
        """Return the secret of that name; None when there is none. :raises FileError: the vault does not answer"""

    def take_back(self, entry: Any) -> None:
        """Erase a `KeptSecret` to which no fact refers, since its write failed; its name may be given again."""

    def gather(self) -> AbstractContextManager[None]:
        """Have what the block takes and takes back written at its end. :raises FileError: it could not be"""

    @property
    def unkept_reason(self) -> str | None:
        """Why the last secret that was offered is not kept, and how to allow it; None when it is."""


@dataclass(frozen=True, slots=True)
class AdmittedFact:
    """A fact that passed the intake."""

    said: Notation
    verdict: str | None = None
    """The rule that matched, with what was decided about it; None when none did."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Return what is stored beside what it says."""
        return {"verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class AdmittedTurn:
    content: str
    verdict: str | None = None
    """Why agents are not given it; None when they are."""

    @property
    def attributes(self) -> dict[str, Any]:
        """Return what is stored beside what it says."""
        return {"verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Masking:
    content: str
    names: tuple[str, ...] = ()
    """Names under which the vault has them."""
    unkept: int = 0
    """Secrets that nothing keeps: they are gone."""


@dataclass(frozen=True, slots=True)
class Admission:
    facts: tuple[AdmittedFact, ...]
    """The fact, or the numbered parts of a long one."""
    suspicion: Suspicion | None = None
    masked_names: tuple[str, ...] = ()
    unkept: int = 0
    origin: TextOrigin = TextOrigin.UNKNOWN
    """Whose words it is."""
    heard: str = ""
    """Where it was heard."""


RULE_SOURCE = "rule:"
"""Begins what a rule of the checks is called where a person rules on it instead of on a source: `rule:score`."""

NEWLY_KEPT: ContextVar[list[KeptSecret] | None] = ContextVar("newly_kept", default=None)
"""Secrets that the vault has since the write began, which is to be taken back when the write fails."""


class Intake:
    """Check what comes into a store by the policy of its theme and by who writes."""

    def __init__(self, policies: Policies, find_rule: Callable[[str, str], Rule | None]) -> None:
        """:param find_rule: finds a person's rule for a theme and a source"""
        self.policies = policies
        self.writer = Writer.AGENT
        """Who writes through this store, where a call does not say otherwise."""
        self.open_vault: Callable[[], SecretVault | None] = lambda: None
        """Opens the vault when the first secret is met."""
        self._vault: SecretVault | None = None
        self.load_session_words: Callable[..., SessionWords] | None = None
        """Loads what was said in a session, by theme and uid, and in turns: with it, single writes of agents are scored."""
        self._find_rule = find_rule

    @property
    def vault(self) -> SecretVault | None:
        """What keeps masked secrets; without a vault they are masked and not kept."""
        if self._vault is None:
            self._vault = self.open_vault()
        return self._vault

    @vault.setter
    def vault(self, vault: SecretVault | None) -> None:
        self._vault, self.open_vault = vault, lambda: vault

    def admit_line(
        self,
        theme: str,
        line: str | Notation,
        policy: ThemePolicy,
        *,
        split: bool = False,
        source: str = "",
        session: str | None = None,
        turns: Sequence[Uid] = (),
        writer: Writer | None = None,
        confirmed: bool = False,
    ) -> Admission:
        """Check a line before it is written.

        Secrets are masked in the original text, before white space is collapsed: a key keeps its lines. The limit on
        characters applies to the stored text, so that a long key is no reason to refuse a fact.

        :param source: the program that writes it
        :param turns: those that it says it comes from
        :param confirmed: a person has agreed that secrets are masked and hidden characters removed
        :raises NotationError: ContentTooLong, UnsafeText; it is no fact
        :raises SecretRefused: NameRefused, SourceRefused, SecretUnconfirmed; it must not be stored as it is
        :raises FileError: it holds a secret that could not be kept
        """
        writer = writer or self.writer
        if isinstance(line, Notation):
            notation, written = line, line.content
        else:
            if confirmed and writer is Writer.PERSON:
                line = safe_text.remove_unsafe_characters(line)
            try:
                notation = memory_spec.parse_notation(line, limit=memory_spec.MAX_LINE)
            except errors.InputError:
                # A refusal repeats the beginning of the line.
                self.admit_name(theme, "this is no notation, and", line[:MOST_REPEATED], policy)
                raise
            written = line.partition("]")[2].partition(":")[2].strip()
        if len(notation.content) > max(policy.fact_chars, MOST_MASKED) and not split:
            memory_spec.refuse_long_content(notation.content, policy.fact_chars)
        self.admit_name(theme, "the target", notation.target, policy, writer=writer)
        passage = self._to_passage(theme, notation.target, written, writer, session, turns)
        masking, suspicion, verdict = self._admit(theme, passage, policy, writer, source=source, confirmed=confirmed)
        if masking.names or masking.unkept:
            notation = memory_spec.parse_notation(
                format_notation(notation.type, notation.target, masking.content), limit=memory_spec.MAX_LINE
            )
        if split:
            parts = memory_spec.split_parsed_notation(notation, policy.fact_chars)
        else:
            memory_spec.refuse_long_content(notation.content, policy.fact_chars)
            parts = [notation]
        facts = tuple(AdmittedFact(part, verdict) for part in parts)
        return Admission(facts, suspicion, masking.names, masking.unkept, passage.origin, passage.source)

    def admit_content(
        self,
        theme: str,
        target: str,
        content: str,
        *,
        source: str = "",
        writer: Writer | None = None,
        policy: ThemePolicy | None = None,
        confirmed: bool = False,
    ) -> tuple[Masking, Suspicion | None, str | None]:
        """Check content under a target that is known: return it masked, why it must wait, and the verdict.

        :raises SecretRefused: SourceRefused, SecretUnconfirmed; it must not be stored as it is
        :raises FileError: it holds a secret that could not be kept
        """
        policy, writer = policy or self.policies.for_theme(theme), writer or self.writer
        passage = self._to_passage(theme, target, content, writer)
        return self._admit(theme, passage, policy, writer, source=source, confirmed=confirmed)

    def admit_record(
        self, theme: str, notation: Notation, *, scope: str | None = None, verdict: str | None = None
    ) -> Admission:
        """Check a fact of another store or program as an agent's; what was let in there by this rule needs no second look.

        :param scope: the label of its scope
        :param verdict: of the store that it comes from
        :raises SecretRefused: NameRefused; it must not come in as it is
        :raises FileError: it holds a secret that could not be kept
        """
        policy = self.policies.for_theme(theme)
        self.admit_name(theme, "the target", notation.target, policy, writer=Writer.AGENT)
        if scope is not None:
            self.admit_name(theme, "the scope", scope, policy, writer=Writer.AGENT)
        masking, suspicion, own_verdict = self.admit_content(
            theme, notation.target, notation.content, writer=Writer.AGENT, policy=policy, confirmed=True
        )
        if suspicion is None or not is_held_by(verdict, suspicion.rule):
            suspicion, own_verdict = None, verdict
        if masking.content != notation.content:
            notation = Notation(notation.type, notation.target, masking.content)
        return Admission((AdmittedFact(notation, own_verdict),), suspicion, masking.names, masking.unkept)

    def admit_upgraded(self, theme: str, notation: Notation) -> Admission:
        """Check a fact of an upgraded memory, of which no row may be lost: nothing is refused; what is suspicious waits.

        :raises FileError: it holds a secret that could not be kept
        """
        passage = Passage(TextKind.UPGRADE, notation.content, notation.target)
        masking, suspicion, verdict = self._admit(theme, passage, self.policies.for_theme(theme), Writer.AGENT)
        fact = AdmittedFact(Notation(notation.type, to_masked_name(notation.target), masking.content), verdict)
        return Admission((fact,), suspicion, masking.names, masking.unkept)

    def find_refusal(self, theme: str, notation: Notation) -> str | None:
        """Return why a fact could not be taken from an agent as it is; None when it could. Nothing is kept anywhere."""
        policy = self.policies.for_theme(theme)
        try:
            self.admit_name(theme, "the target", notation.target, policy, writer=Writer.AGENT)
        except errors.InputError as error:
            return error.message
        passage = Passage(TextKind.FACT, notation.content, notation.target)
        suspicion = find_suspicion(passage) if policy.quarantine else None
        if suspicion is not None:
            return f"it {suspicion.what}; a person has to look at it"
        secrets = find_masked_spans(passage) if policy.secrets != "allow" else []
        if secrets:
            shape = format_secret_shape(notation.content[slice(*secrets[0])])
            return f"it holds a secret ({shape}); move that to a keyring, and name its place instead"
        return None

    def admit_name(
        self, theme: str, what: str, name: str, policy: ThemePolicy | None = None, *, writer: Writer | None = None
    ) -> AdmittedText:
        """Check a name, which is listed in clear text.

        :param what: the subject of a refusal, such as "the scope"
        :raises SecretRefused: it holds a secret
        :raises NameRefused: an agent gives it, and it reads like an instruction
        """
        policy = policy or self.policies.for_theme(theme)
        if policy.quarantine or policy.secrets != "allow":
            secret, suspicion = find_name_faults(name)
            if secret is not None and policy.secrets != "allow":
                raise errors.SecretRefused(f"{what} holds a secret ({secret}); write it as the content", secret)
            if suspicion is not None and policy.quarantine and (writer or self.writer) is Writer.AGENT:
                raise errors.NameRefused(f"{what} {suspicion.what}; name what the fact is about", suspicion.rule)
        return AdmittedText(name)

    def admit_turn(self, theme: str, content: str, *, verdict: str | None = None) -> AdmittedTurn:
        """Check a captured turn: secrets are masked; what agents must not be given is kept for the person.

        :param verdict: what was decided about it elsewhere
        :raises SecretRefused: it holds a secret, and the policy stores none
        :raises FileError: it holds a secret that could not be kept
        """
        passage = Passage(TextKind.TURN, content, TURN_TARGET)
        masking, suspicion, _ = self._admit(
            theme, passage, self.policies.for_theme(theme), Writer.AGENT, confirmed=True
        )
        if suspicion is not None and is_held_by(verdict, suspicion.rule):
            verdict = suspicion.rule
        return AdmittedTurn(masking.content, verdict)

    def gather_secrets(self) -> AbstractContextManager[None]:
        """Have the secrets of the block written to the disk at once at its end, which is before their facts are."""
        return nullcontext() if self.vault is None else self.vault.gather()

    @contextmanager
    def hold_secrets(self, kept: list[KeptSecret] | None = None) -> Iterator[None]:
        """Take the newly kept secrets back when the block fails: no fact refers to them. An outer block does it for all.

        :param kept: is filled with them, for who may have to take them back later
        """
        if NEWLY_KEPT.get() is not None:
            yield
            return
        kept = [] if kept is None else kept
        token = NEWLY_KEPT.set(kept)
        try:
            yield
        except BaseException:
            self.take_back(kept)
            raise
        finally:
            NEWLY_KEPT.reset(token)

    def take_back(self, kept: list[KeptSecret]) -> None:
        """Remove secrets of a failed write from the vault, before the next write might rely on them."""
        if not kept:
            return
        assert self.vault is not None
        with self.vault.gather():
            while kept:
                entry = kept.pop()
                try:
                    self.vault.take_back(entry)
                except Exception:
                    import logging

                    logging.getLogger(__name__).exception(
                        "the secret %r of theme %s is kept although its fact is not", entry.name, entry.theme
                    )

    def _to_passage(self, theme: str, target: str, content: str, writer: Writer, *said_in: Any) -> Passage:
        """:param said_in: as of `load_session_words`, after the theme"""
        if writer is Writer.PERSON or self.load_session_words is None:
            return Passage(TextKind.FACT, content, target)
        return Passage(TextKind.WRITE, content, target, partial(self.load_session_words, theme, *said_in))

    def _admit(
        self,
        theme: str,
        passage: Passage,
        policy: ThemePolicy,
        writer: Writer,
        *,
        source: str = "",
        confirmed: bool = False,
    ) -> tuple[Masking, Suspicion | None, str | None]:
        """Return a text masked, why it must wait, and the verdict."""
        suspicion, verdict = self._judge(theme, source, passage, writer) if policy.quarantine else (None, None)
        return self._mask(theme, passage, policy, writer, confirmed), suspicion, verdict

    def _judge(self, theme: str, source: str, passage: Passage, writer: Writer) -> tuple[Suspicion | None, str | None]:
        """Return why it must wait, if it must, and the verdict to keep. :raises SourceRefused: a person's rule forbids it"""
        suspicions = find_suspicions(passage)
        first = next(suspicions, None)
        if first is None:
            return None, None
        if writer is Writer.PERSON:
            return None, APPROVED + first.rule
        heeded = (reason for reason in chain([first], suspicions) if not self._is_silenced(theme, reason.rule))
        suspicion = next(heeded, None)
        if suspicion is None:
            return None, ALLOWED + first.rule
        rule = self._find_rule(theme, source) if source and not source.startswith(RULE_SOURCE) else None
        if rule == "never":
            raise errors.SourceRefused(
                f"it {suspicion.what}, and a person has ruled that nothing suspicious from {source!r} is kept "
                f"in theme {theme!r}; tell the user if it matters",
                source,
            )
        return (None, ALLOWED + suspicion.rule) if rule == "always" else (suspicion, suspicion.rule)

    def _is_silenced(self, theme: str, rule: str) -> bool:
        return all(self._find_rule(theme, RULE_SOURCE + part) == "always" for part in split_rule(rule))

    def _mask(self, theme: str, passage: Passage, policy: ThemePolicy, writer: Writer, confirmed: bool) -> Masking:
        content = passage.content
        spans = find_masked_spans(passage) if policy.secrets != "allow" else []
        if not spans:
            return Masking(content)
        shape = format_secret_shape(content[slice(*spans[0])])
        if policy.secrets == "refuse" and passage.kind is not TextKind.UPGRADE:
            raise errors.SecretRefused(
                f"this holds a secret ({shape}), and the theme keeps none; write where it is kept instead",
                passage.target,
            )
        if writer is Writer.PERSON and not confirmed:
            raise errors.SecretUnconfirmed(
                f"this holds a secret ({shape}); confirm that it is masked, and kept in the vault where there is one",
                passage.target,
            )
        marked, newly_kept, vault = find_mark_names(content), NEWLY_KEPT.get(), self.vault
        marks, names = [], []
        for start, end in spans:
            entry = None if vault is None else vault.take(theme, passage.target, content[start:end], besides=marked)
            if entry is not None:
                names.append(entry.name)
                if entry.fresh and newly_kept is not None:
                    newly_kept.append(entry)
            marks.append(to_secret_placeholder(NOT_KEPT if entry is None else entry.name))
        masked = replace_text_spans(content, zip(spans, marks, strict=True))
        return Masking(masked, tuple(dict.fromkeys(names)), len(spans) - len(names))


def repeat_fact(notation: Notation) -> AdmittedFact:
    """Return a fact of the store's own records, which passed the intake when it came in, or was there before."""
    return AdmittedFact(notation)


def repeat_text(text: str) -> AdmittedText:
    """Return a name of the store's own records, as `repeat_fact` does a fact."""
    return AdmittedText(text)


def find_turn_rule(content: str) -> str | None:
    suspicion = find_suspicion(Passage(TextKind.TURN, content))
    return None if suspicion is None else suspicion.rule


def is_held_by(verdict: str | None, rule: str) -> bool:
    """Check whether a text that this rule matches must wait: nobody has let it in before.

    A rule may name several orders, each of which must have been let in; a score is one, whatever signals explain it.
    """
    return verdict is None or not is_admitted(verdict) or not split_rule(rule) <= split_rule(verdict.partition(":")[2])


def split_rule(rule: str) -> set[str]:
    """Return what a person decides on apart: each order that a rule names; a score is one, whatever signals explain it."""
    check, _, names = rule.partition(":")
    return {check} if check == "score" or not names else {f"{check}:{name}" for name in names.split("+")}


@lru_cache(maxsize=4096)
def to_listed_name(name: str) -> AdmittedText:
    """Return a name that cannot be refused, such as a client's, as it may be listed: without secrets and instructions."""
    if find_suspicion(Passage(TextKind.FACT, name)) or find_suspicion(Passage(TextKind.NAME, name)):
        return AdmittedText(WITHHELD_NAME)
    return to_masked_name(to_given_name(name))


@lru_cache(maxsize=4096)
def to_given_name(name: str) -> AdmittedText:
    """Return a name that was admitted as agents may be given it: not where it gives an order, or makes a claim."""
    if to_name_sentence(name) and find_suspicion(Passage(TextKind.GIVEN_NAME, name)):
        return AdmittedText(WITHHELD_NAME)
    return AdmittedText(name)


def to_masked_name(name: str) -> AdmittedText:
    """Return a name without secrets and hidden characters, which are shown escaped."""
    spans = find_masked_spans(Passage(TextKind.NAME, name))
    masked = replace_text_spans(name, ((span, to_secret_placeholder()) for span in spans))
    return AdmittedText(safe_text.to_printable(masked))


@lru_cache(maxsize=4096)
def find_name_faults(name: str) -> tuple[str | None, Suspicion | None]:
    """Return the shape of the first secret in a name, and why it reads like an instruction; names repeat."""
    passage = Passage(TextKind.NAME, IMPORT_MARK.sub("", name))
    secrets = find_masked_spans(passage)
    return format_secret_shape(passage.content[slice(*secrets[0])]) if secrets else None, find_suspicion(passage)


def format_secret_shape(secret: str) -> str:
    """Describe a secret safely: its length, and of a long one its beginning."""
    return f"{secret[:3] if len(secret) >= LONG_ENOUGH else ''}…, {len(secret)} characters"
