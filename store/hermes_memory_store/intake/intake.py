"""The intake: every text on its way into the store passes it, whoever brings it.

Rows take `AdmittedFact`, `AdmittedTurn` and `AdmittedText` only, which are made here and nowhere else. Who writes decides
what happens to what the rules find:

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
from functools import lru_cache
from typing import Any, NewType, Protocol

from hermes_memory_store import errors, safe_text
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.injection_check import (
    find_name_suspicion,
    find_suspicion,
    is_plain_fact,
    to_name_sentence,
)
from hermes_memory_store.intake.spans import (
    NOT_KEPT,
    TextSpan,
    find_mark_names,
    replace_text_spans,
    to_secret_placeholder,
)
from hermes_memory_store.model import Notation, Rule, Suspicion, format_notation
from hermes_memory_store.notation import memory_spec
from hermes_memory_themes import Policies, ThemePolicy

AdmittedText = NewType("AdmittedText", str)
"""A name that may be listed: a scope's label, a session's or a client's name."""

LONG_ENOUGH = 12
"""Characters from which on the first three of a secret give nothing away."""

MOST_MASKED = 20_000
"""Characters of a content that may come within the limit when its secrets are masked: several private keys."""

MOST_REPEATED = 2_000
"""Characters of what is no notation that are looked through; a refusal repeats fewer."""

HIDDEN_RULE = "hidden"
"""The verdict on a captured turn with characters that a person cannot see."""

APPROVED = "approved:"
"""Begins the verdict on a text that a person let in although this rule matched."""

ALLOWED = "allowed:"
"""Begins the verdict on a text that a person's rule on its source let in."""

WITHHELD_NAME = "(withheld: it reads like an instruction)"


class Writer(Enum):
    """Who writes through a store."""

    AGENT = "agent"
    PERSON = "person"


class KeptSecret(Protocol):
    """A secret in a vault."""

    @property
    def theme(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def fresh(self) -> bool:
        """Whether it was not there before."""


class SecretVault(Protocol):
    """Keep masked secrets outside of the store."""

    def take(self, theme: str, wanted: str, secret: str, *, besides: Collection[str] = ()) -> KeptSecret | None:
        """Keep a secret and return its name; None when there is no place that may keep it.

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


@dataclass(frozen=True, slots=True)
class AdmittedTurn:
    """The text of a captured turn that passed the intake."""

    content: str
    verdict: str | None = None
    """Why agents are not given it; None when they are."""


@dataclass(frozen=True, slots=True)
class Masking:
    """A text without its secrets."""

    content: str
    names: tuple[str, ...] = ()
    """Names under which the vault has them."""
    unkept: int = 0
    """Secrets that nothing keeps: they are gone."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The result of a write's checks."""

    facts: tuple[AdmittedFact, ...]
    """The fact, or the numbered parts of a long one."""
    suspicion: Suspicion | None = None
    """Why it must wait for a person."""
    masked_names: tuple[str, ...] = ()
    unkept: int = 0


@dataclass(frozen=True, slots=True)
class Submission:
    """A fact on its way in, as extra checks see it."""

    theme: str
    target: str
    content: str
    source: str
    session: str | None
    """Uid of the session that writes, if any."""


SuspicionCheck = Callable[[Submission], Suspicion | None]
"""An extra check of agents' writes besides the rules, such as a scorer."""

RuleFinder = Callable[[str, str], Rule | None]
"""Returns a person's rule for a theme and a source."""

NEWLY_KEPT: ContextVar[list[KeptSecret] | None] = ContextVar("newly_kept", default=None)
"""Secrets that the vault has since the write began, which is to be taken back when the write fails."""


class Intake:
    """Check what comes into a store by the policy of its theme and by who writes."""

    def __init__(self, policies: Policies, find_rule: RuleFinder) -> None:
        """:param find_rule: finds a person's rule for a source"""
        self.policies = policies
        self.writer = Writer.AGENT
        """Who writes through this store, where a call does not say otherwise."""
        self.open_vault: Callable[[], SecretVault | None] = lambda: None
        """Opens the vault when the first secret is met."""
        self._vault: SecretVault | None = None
        self.suspicion_checks: list[SuspicionCheck] = []
        """Run after the rules on what agents write; on pages (imports, sync) before their transaction begins."""
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
        writer: Writer | None = None,
        confirmed: bool = False,
    ) -> Admission:
        """Check a line before it is written.

        Secrets are masked in the original text, before white space is collapsed: a key keeps its lines. The limit on
        characters applies to the stored text, so that a long key is no reason to refuse a fact.

        :param source: the program that writes it
        :param confirmed: a person has agreed that secrets are masked and hidden characters removed
        :raises NotationError: ContentTooLong, UnsafeText; it is no fact
        :raises SecretRefused: NameRefused, SourceRefused, SecretUnconfirmed; it must not be stored as it is
        :raises FileError: it holds a secret that could not be kept
        """
        writer = writer or self.writer
        if isinstance(line, Notation):
            said, written = line, line.content
        else:
            if confirmed and writer is Writer.PERSON:
                line = safe_text.remove_unsafe_characters(line)
            try:
                said = memory_spec.parse_notation(line, limit=memory_spec.MAX_LINE)
            except errors.InputError:
                # A refusal repeats the beginning of the line.
                self.admit_name(theme, "this is no notation, and", line[:MOST_REPEATED], policy)
                raise
            written = line.partition("]")[2].partition(":")[2].strip()
        if len(said.content) > max(policy.fact_chars, MOST_MASKED) and not split:
            memory_spec.refuse_long_content(said.content, policy.fact_chars)
        # Most facts hold nothing that any rule looks for, neither in the target nor in the content, which one look tells.
        plain = is_plain_fact(said.target, written)
        from hermes_memory_store.intake.secrets import may_hold_secret  # compiles patterns: readers need none

        secret = may_hold_secret(f"{said.target} {written}")
        if not plain or (secret and may_hold_secret(said.target)):
            self.admit_name(theme, "the target", said.target, policy, writer=writer)
        submission = Submission(theme, said.target, written, source, session)
        suspicion = self._find_suspicion(submission, policy, writer, plain=plain)
        masking = Masking(written)
        if secret:
            masking = self._mask(submission, policy, writer, confirmed)
        if masking.names or masking.unkept:
            said = memory_spec.parse_notation(
                format_notation(said.type, said.target, masking.content), limit=memory_spec.MAX_LINE
            )
        suspicion, verdict = self._judge(submission, suspicion, writer)
        if split:
            parts = memory_spec.split_parsed_notation(said, policy.fact_chars)
        else:
            memory_spec.refuse_long_content(said.content, policy.fact_chars)
            parts = [said]
        return Admission(tuple(AdmittedFact(part, verdict) for part in parts), suspicion, masking.names, masking.unkept)

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
        submission = Submission(theme, target, content, source, None)
        suspicion = self._find_suspicion(submission, policy, writer)
        suspicion, verdict = self._judge(submission, suspicion, writer)
        return self._mask(submission, policy, writer, confirmed), suspicion, verdict

    def admit_record(
        self, theme: str, said: Notation, *, scope: str | None = None, verdict: str | None = None
    ) -> Admission:
        """Check a fact of another store or program as an agent's; what was let in there by this rule needs no second look.

        :param scope: the label of its scope
        :param verdict: of the store that it comes from
        :raises SecretRefused: NameRefused; it must not come in as it is
        :raises FileError: it holds a secret that could not be kept
        """
        policy = self.policies.for_theme(theme)
        self.admit_name(theme, "the target", said.target, policy, writer=Writer.AGENT)
        if scope is not None:
            self.admit_name(theme, "the scope", scope, policy, writer=Writer.AGENT)
        masking, suspicion, found = self.admit_content(
            theme, said.target, said.content, writer=Writer.AGENT, policy=policy, confirmed=True
        )
        if suspicion is None or not is_held_by(verdict, suspicion.rule):
            suspicion, found = None, verdict
        if masking.content != said.content:
            said = Notation(said.type, said.target, masking.content)
        return Admission((AdmittedFact(said, found),), suspicion, masking.names, masking.unkept)

    def admit_upgraded(self, theme: str, said: Notation) -> Admission:
        """Check a fact of an upgraded memory, of which no row may be lost: nothing is refused; what is suspicious waits.

        :raises FileError: it holds a secret that could not be kept
        """
        policy = self.policies.for_theme(theme)
        masking = Masking(said.content)
        if policy.secrets != "allow":
            spans = find_secrets_behind(said.target, said.content)
            masking = self._mask_spans(theme, said.target, said.content, spans)
        suspicion = find_suspicion(said.target, said.content) or find_name_suspicion(said.target)
        if suspicion is None and safe_text.has_unsafe_characters(said.content):
            suspicion = Suspicion(HIDDEN_RULE, "holds characters that a person cannot see")
        suspicion = suspicion if policy.quarantine else None
        fact = AdmittedFact(
            Notation(said.type, to_masked_name(said.target), masking.content),
            None if suspicion is None else suspicion.rule,
        )
        return Admission((fact,), suspicion, masking.names, masking.unkept)

    def find_refusal(self, theme: str, said: Notation) -> str | None:
        """Return why a fact could not be taken from an agent as it is; None when it could. Nothing is kept anywhere."""
        policy = self.policies.for_theme(theme)
        try:
            self.admit_name(theme, "the target", said.target, policy, writer=Writer.AGENT)
        except errors.InputError as error:
            return error.message
        suspicion = find_suspicion(said.target, said.content) if policy.quarantine else None
        if suspicion is not None:
            return f"it {suspicion.what}; a person has to look at it"
        secrets = find_secrets_behind(said.target, said.content) if policy.secrets != "allow" else []
        if secrets:
            shape = format_secret_shape(said.content[slice(*secrets[0])])
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
        policy = self.policies.for_theme(theme)
        rule = find_turn_rule(content) if policy.quarantine else None
        if rule is not None and is_held_by(verdict, rule):
            verdict = rule
        masking = self._mask(Submission(theme, "turn", content, "", None), policy, Writer.AGENT, True)
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
                one = kept.pop()
                try:
                    self.vault.take_back(one)
                except Exception:
                    import logging

                    logging.getLogger(__name__).exception(
                        "the secret %r of theme %s is kept although its fact is not", one.name, one.theme
                    )

    def _find_suspicion(
        self, submission: Submission, policy: ThemePolicy, writer: Writer, *, plain: bool = False
    ) -> Suspicion | None:
        if not policy.quarantine:
            return None
        suspicion = None if plain else find_suspicion(submission.target, submission.content)
        for check in self.suspicion_checks if writer is Writer.AGENT else ():
            suspicion = suspicion or check(submission)
        return suspicion

    def _judge(
        self, submission: Submission, suspicion: Suspicion | None, writer: Writer
    ) -> tuple[Suspicion | None, str | None]:
        """Return why it must wait, if it must, and the verdict to keep. :raises SourceRefused: a person's rule forbids it"""
        if suspicion is None:
            return None, None
        if writer is Writer.PERSON:
            return None, APPROVED + suspicion.rule
        rule = self._find_rule(submission.theme, submission.source) if submission.source else None
        if rule == "never":
            raise errors.SourceRefused(
                f"it {suspicion.what}, and a person has ruled that nothing suspicious from {submission.source!r} is kept "
                f"in theme {submission.theme!r}; tell the user if it matters",
                submission.source,
            )
        return (None, ALLOWED + suspicion.rule) if rule == "always" else (suspicion, suspicion.rule)

    def _mask(self, submission: Submission, policy: ThemePolicy, writer: Writer, confirmed: bool) -> Masking:
        theme, target, content = submission.theme, submission.target, submission.content
        if policy.secrets == "allow":
            return Masking(content)
        spans = find_secrets_behind(target, content)
        if not spans:
            return Masking(content)
        shape = format_secret_shape(content[slice(*spans[0])])
        if policy.secrets == "refuse":
            raise errors.SecretRefused(
                f"this holds a secret ({shape}), and the theme keeps none; write where it is kept instead", target
            )
        if writer is Writer.PERSON and not confirmed:
            raise errors.SecretUnconfirmed(
                f"this holds a secret ({shape}); confirm that it is masked, and kept in the vault where there is one",
                target,
            )
        return self._mask_spans(theme, target, content, spans)

    def _mask_spans(self, theme: str, target: str, content: str, spans: Sequence[TextSpan]) -> Masking:
        known, newly_kept, vault = find_mark_names(content), NEWLY_KEPT.get(), self.vault if spans else None
        marks, names = [], []
        for start, end in spans:
            kept = None if vault is None else vault.take(theme, target, content[start:end], besides=known)
            if kept is not None:
                names.append(kept.name)
                if kept.fresh and newly_kept is not None:
                    newly_kept.append(kept)
            marks.append(to_secret_placeholder(NOT_KEPT if kept is None else kept.name))
        masked = replace_text_spans(content, zip(spans, marks, strict=True))
        return Masking(masked, tuple(dict.fromkeys(names)), len(spans) - len(names))


def repeat_fact(said: Notation, verdict: str | None = None) -> AdmittedFact:
    """Return a fact of the store's own records, which passed the intake when it came in, or was there before."""
    return AdmittedFact(said, verdict)


def repeat_text(text: str) -> AdmittedText:
    """Return a name of the store's own records, as `repeat_fact` does a fact."""
    return AdmittedText(text)


def find_turn_rule(content: str) -> str | None:
    """Return the rule for which a captured turn is not given to agents, if there is one."""
    from hermes_memory_store.intake.scoring.score_check import find_sentence_suspicion

    suspicion = find_suspicion("", content) or find_sentence_suspicion(content)
    if suspicion is not None:
        return suspicion.rule
    return HIDDEN_RULE if safe_text.has_hidden_characters(content) else None


def is_held_by(verdict: str | None, rule: str) -> bool:
    """Check whether a text that this rule matches must wait: nobody has let it in before."""
    return verdict is None or not is_admitted(verdict) or not split_rule(rule) <= split_rule(verdict.partition(":")[2])


def split_rule(rule: str) -> set[str]:
    """Return the findings that a rule names: each of several orders; a score is one, whatever signals explain it."""
    check, _, names = rule.partition(":")
    return {check} if check == "score" else {f"{check}:{name}" for name in names.split("+")}


def is_admitted(verdict: str) -> bool:
    """Check whether a verdict says that a person let a text in, or a person's rule."""
    return verdict.startswith((APPROVED, ALLOWED))


@lru_cache(maxsize=4096)
def to_listed_name(name: str) -> AdmittedText:
    """Return a name that cannot be refused, such as a client's, as it may be listed: without secrets and instructions."""
    if find_suspicion("", name) is not None or find_name_suspicion(name) is not None:
        return AdmittedText(WITHHELD_NAME)
    return to_masked_name(to_given_name(name))


@lru_cache(maxsize=4096)
def to_given_name(name: str) -> AdmittedText:
    """Return a name that was admitted as agents may be given it: not where it gives an order, or makes a claim."""
    if to_name_sentence(name):
        from hermes_memory_store.intake.scoring.score_check import find_name_orders

        return AdmittedText(WITHHELD_NAME if find_name_orders(name) else name)
    return AdmittedText(name)


def to_masked_name(name: str) -> AdmittedText:
    """Return a name without secrets and hidden characters, which are shown escaped."""
    spans = find_secrets_behind("", name)
    masked = replace_text_spans(name, ((span, to_secret_placeholder()) for span in spans))
    return AdmittedText(safe_text.to_printable(masked))


@lru_cache(maxsize=4096)
def find_name_faults(name: str) -> tuple[str | None, Suspicion | None]:
    """Return the shape of the first secret in a name, and why it reads like an instruction; names repeat."""
    secrets = find_secrets_behind("", name)
    return format_secret_shape(name[slice(*secrets[0])]) if secrets else None, find_name_suspicion(name)


def find_secrets_behind(target: str, content: str) -> list[TextSpan]:
    """Return the spans of secrets as `find_secrets` does, also where hidden characters stand within one."""
    from hermes_memory_store.intake.secrets import find_secrets

    hidden = set() if content.isascii() else safe_text.find_hidden_places(content)
    if not hidden:
        return find_secrets(target, content)
    places = [place for place in range(len(content)) if place not in hidden]
    shown = "".join(content[place] for place in places)
    return [TextSpan(places[start], places[end - 1] + 1) for start, end in find_secrets(target, shown)]


def format_secret_shape(secret: str) -> str:
    """Describe a secret safely: its length, and of a long one its beginning."""
    return f"{secret[:3] if len(secret) >= LONG_ENOUGH else ''}…, {len(secret)} characters"
