"""Detectors: each reads a text on its way in, and says where something stands that the policy may not let in as it is.

A module of `detectors/` with a `DETECTOR` is one; nothing else lists them. What becomes of a finding is the intake's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from hermes_memory_store.intake.origins import SessionWords, TextOrigin, find_origin
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.model import Suspicion

DETECTORS = Path(__file__).with_name("detectors")

MASKING = "secret*.py"
"""The detectors that mask what they find: a name is masked without the others, which take milliseconds to import."""

LONGEST_READ = 4_000
"""Characters of a write that are read, from each end: ten times the longest fact by default."""


class TextKind(Enum):
    """What a text is, by which detectors choose what they read."""

    WRITE = "write"  # a single write of an agent
    RULED = "ruled"  # the same, on which the rules were asked before
    FACT = "fact"  # any other fact
    UPGRADE = "upgrade"  # a fact of an older memory, of which none may be refused
    TURN = "turn"  # a captured message
    NAME = "name"  # a target, scope or session, on its way in
    GIVEN_NAME = "given name"  # the same, on its way to an agent


class Passage:
    """A text on its way in."""

    def __init__(
        self,
        kind: TextKind,
        content: str,
        target: str = "",
        load_words: Callable[[], SessionWords] = SessionWords,
        *,
        origin: TextOrigin | None = None,
        source: str = "",
    ) -> None:
        """:param target: what it is about; empty for a name
        :param load_words: loads what was said in its session, for detectors that must know
        :param origin: whose words it is; without it, what its session's words say
        :param source: where it was heard, as a person reads it: `read on https://…, 14:02`
        """
        self.kind = kind
        self.content = content
        self.target = target
        self.excerpt = content
        """The beginning and the end of a long content."""
        if len(content) > 2 * LONGEST_READ:
            self.excerpt = f"{content[:LONGEST_READ]} {content[-LONGEST_READ:]}"
        self._load_words = load_words
        self._origin = None if origin is None else (origin, source)

    @cached_property
    def words(self) -> SessionWords:
        return self._load_words()

    @property
    def origin(self) -> TextOrigin:
        return self._found_origin[0]

    @property
    def source(self) -> str:
        """Where it was heard; empty where that is not known."""
        return self._found_origin[1]

    @cached_property
    def _found_origin(self) -> tuple[TextOrigin, str]:
        return self._origin or find_origin(self.words, self.excerpt)

    def locate(self, reading: str, span: tuple[int, int]) -> TextSpan:
        """Return the part of the content that a part of a reading stands for: all of it, where it was folded or decoded."""
        if self.content.isascii() and reading == self.content.lower():
            return TextSpan(*span)
        return TextSpan(0, len(self.content))


class Finding(NamedTuple):
    """Something in a text that the policy may not let in as it is."""

    span: TextSpan
    reason: Suspicion
    weight: float = 1.0
    """How surely it is what the reason says; of a score, the score."""


class Detector(Protocol):
    """Reads texts for one reason not to let them in as they are."""

    rank: int
    """Detectors are asked in this order, and the first that finds something says why a text must wait."""
    masks: bool = False
    """Whether what it finds is masked, instead of being a reason to wait; its file is one of `MASKING` then."""
    reads: frozenset[TextKind]

    def find(self, passage: Passage) -> Iterable[Finding]:
        """Return what is found, the first of several reasons first."""

    def explain(self, rule: str) -> str | None:
        """Explain in words what a text does that waits for a rule; None for a rule of another detector."""
        return None


@cache
def load_detectors(files: str = "[a-z]*.py") -> tuple[Detector, ...]:
    """Return the detectors in these files, imported at the first text: who only reads a store needs none."""
    modules = [import_module(f"{__package__}.{DETECTORS.name}.{file.stem}") for file in DETECTORS.glob(files)]
    detectors = [module.DETECTOR for module in modules if hasattr(module, "DETECTOR")]
    return tuple(sorted(detectors, key=lambda detector: detector.rank))


@cache
def find_detectors(kind: TextKind, *, masks: bool) -> tuple[Detector, ...]:
    detectors = load_detectors(MASKING) if masks else load_detectors()
    return tuple(detector for detector in detectors if kind in detector.reads and detector.masks is masks)


def find_suspicions(passage: Passage) -> Iterator[Suspicion]:
    """Yield every reason why a text must wait for a person, the first one first; none for his own words."""
    for detector in find_detectors(passage.kind, masks=False):
        for finding in detector.find(passage):
            # Whose words it is, is asked last: hardly any text gets here.
            if passage.origin is TextOrigin.SAID:
                return
            yield finding.reason


def find_suspicion(passage: Passage) -> Suspicion | None:
    """Return why a text must wait for a person: the first finding; None for an ordinary one."""
    return next(find_suspicions(passage), None)


def find_masked_spans(passage: Passage) -> list[TextSpan]:
    """Return the parts of a text that are masked, in order and without overlaps."""
    return [finding.span for detector in find_detectors(passage.kind, masks=True) for finding in detector.find(passage)]


def is_known_rule(rule: str) -> bool:
    """Check whether a detector of this version can name this rule."""
    return any((detector.explain(rule) or rule) != rule for detector in load_detectors())


def explain_rule(rule: str) -> str:
    """Explain in words what a text does that waits for a rule; the rule itself where no detector of this version has it."""
    explanations = (detector.explain(rule) for detector in load_detectors())
    return next((text for text in explanations if text is not None), rule)


def explain_names(rule: str, meanings: Mapping[str, str]) -> str:
    """Explain a rule that names several findings: `order:hide+pay`, `score:authority+send`."""
    names = rule.partition(":")[2].split("+")
    return "; ".join(dict.fromkeys(meanings.get(name, name) for name in names if name)) or "reads like known attacks"
