"""What a fact is worth to a session that starts: a sum of parts, each with a name, so that a person sees why it is given.

The value stands for the grade from 0 to 3 that somebody would give the fact who knows what a session there must know. Its numbers
were chosen on the `choosing` sessions of `tests/recall_sets`.
"""

from __future__ import annotations

from hermes_memory_store.fact_types import FactType
from hermes_memory_store.places.place_reading import INHERITED, PERSONAL, PERSONAL_TARGETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    FactText = tuple[Any, frozenset[str], frozenset[str]]
    """Scope, words of the target, words of the content; no words where none of those that are looked for can be in it."""

IN_SCOPE = {kind.value: kind.weights[0] for kind in FactType}
"""What a fact is worth to a session that works in its scope, by type."""

WITHOUT_SCOPE = {kind.value: kind.weights[1] for kind in FactType}
"""What a fact of no scope is worth anywhere."""

ELSEWHERE = {kind.value: kind.weights[2] for kind in FactType}
"""What a fact of another scope is worth."""

PINNED, PINNED_NEAR, PINNED_ELSEWHERE = 3.0, 0.6, 0.3
"""What a pin adds to a fact of no scope, of the session's scope, and of another one. Much that is pinned in a scope is so for
other work there."""

CRITICAL, CRITICAL_ELSEWHERE = 1.3, 0.6
OF_PERSON = 0.4
NAMED = 0.8
"""What it adds that a fact names where the session works."""

FRESH, FRESH_DAYS = 2.0, 10.0
"""What it adds that a fact in the session's scope was written just now, and the days after which half of it is left."""

USED, MOST_USED = 0.25, 3
UNUSED, MOST_UNUSED = 0.07, 8
"""Share of its value that a fact loses with each time it was given, where nobody ever used it."""

INHERITED_LOSS = 0.5
"""Share of its value that a fact of `default` loses in a project with a theme of its own."""

LEAST = 0.01

CERTAIN = 0.5
"""Evidence of a scope from which on others are taken to be somewhere else."""

UNKNOWN_SHARE = 0.3
"""How near every scope is where nothing says what the session works on."""

DAY_MS = 86_400_000

SIGNS = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~→…", " "))

MOST_KNOWN = 20_000

_known_words: dict[str, frozenset[str]] = {}


def to_words(text: str) -> frozenset[str]:
    """Return the words of a text without their endings: `migrations`, `migration` → `migration`."""
    words = _known_words.get(text)
    if words is None:
        if len(_known_words) >= MOST_KNOWN:
            _known_words.clear()
        words = frozenset([to_stem(word) for word in text.translate(SIGNS).casefold().split()])
        _known_words[text] = words
    return words


def to_stem(word: str) -> str:
    """Return an English word without the endings that most of its forms differ in."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 6 and word.endswith("ing"):
        return word[:-3]
    return word[:-2] if len(word) > 6 and word.endswith("ed") else word


def to_probes(words: Iterable[str]) -> tuple[str, ...]:
    """Return what stands in each text that has one of these words, in any of its forms: few texts need be split."""
    return tuple([word[:-1] if word.endswith("y") else word for word in words])


def describe_facts(rows: Iterable[tuple[Any, ...]], probes: tuple[str, ...]) -> dict[int, FactText]:
    """Return the scope and the words of facts, by key.

    The scope of a fact without one is the first part of its target, where that has several.

    :param rows: of `START_FACTS`
    """
    texts: dict[int, FactText] = {}
    nothing: frozenset[str] = frozenset()
    for row in rows:
        target, content = row[10], row[11]
        head, dot, _ = target.partition(".")
        scope = row[8] if row[9] else head.casefold() if dot else None
        folded = f"{target}\n{content}".casefold() if probes else ""
        for probe in probes:
            if probe in folded:
                texts[row[0]] = scope, to_words(target), to_words(content)
                break
        else:
            texts[row[0]] = scope, nothing, nothing
    return texts


class Nearness:
    """How near scopes and single facts are to a situation, from 0 to 1."""

    __slots__ = ("_common", "_texts", "_weights", "evidence", "of_scopes", "probes", "unknown")

    def __init__(
        self,
        weights: Mapping[str, float],
        common: Mapping[Any, frozenset[str]],
        evidence: Mapping[Any, float],
        texts: Mapping[int, FactText],
    ) -> None:
        """:param weights: what a word of the situation counts in a fact that has it
        :param common: by scope, words of the situation that most of its targets have: they tell its facts not apart
        :param evidence: how much speaks for each scope
        :param texts: of facts, by key; others are described when they are valued
        """
        self._weights = weights
        self._common = common
        self._texts = texts
        self.probes = to_probes(weights)
        best = max(evidence.values(), default=0.0)
        self.evidence = min(1.0, best / CERTAIN)
        self.unknown = UNKNOWN_SHARE * (1.0 - self.evidence)
        top = max(best, CERTAIN)
        self.of_scopes = {scope: (weight / top) ** 2 for scope, weight in evidence.items() if weight > 0}
        """By scope; those of which nothing is said are missing."""

    def value_facts(
        self, rows: list[tuple[Any, ...]], relations: Mapping[int, str], now: int
    ) -> list[tuple[list[tuple[str, float]], float]]:
        """Return what each fact is worth, part by part, and the sum.

        :param rows: of `START_FACTS`
        :param relations: by key, why facts are read that are not of the agent's own theme
        :param now: UTC milliseconds
        """
        texts = {**self._texts, **describe_facts([row for row in rows if row[0] not in self._texts], self.probes)}
        return [self._value(row, texts[row[0]], relations, now) for row in rows]

    def _value(
        self, row: tuple[Any, ...], text: FactText, relations: Mapping[int, str], now: int
    ) -> tuple[list[tuple[str, float]], float]:
        key, kind, pinned, updated_at, _, _, _, _, _, label, target, content, _, _, given, used = row
        relation, scope = relations.get(key), text[0]
        close = max(self.unknown, self.of_scopes.get(scope, 0.0))
        value = ELSEWHERE[kind] if label else WITHOUT_SCOPE[kind]
        parts = [("type", value)]
        if close:
            part = (IN_SCOPE[kind] - value) * close
            parts.append(("unknown" if kind == "?" else "scope", part))
            days = (now - updated_at) / DAY_MS
            fresh = FRESH * close * FRESH_DAYS / (FRESH_DAYS + (days if days > 0 else 0.0))
            parts.append(("age", fresh))
            value += part + fresh
        if self.probes and kind not in "✓~":
            named = self._measure_words(text)
            if named > LEAST:
                parts.append(("words", NAMED * named))
                value += NAMED * named
        if pinned:
            part = PINNED_ELSEWHERE + (PINNED_NEAR - PINNED_ELSEWHERE) * close if label and self.evidence else PINNED
            parts.append(("pinned", part))
            value += part
        is_rule = bool(pinned) or kind == "C"
        if is_critical(target, content):
            is_rule = True
            part = CRITICAL_ELSEWHERE + (CRITICAL - CRITICAL_ELSEWHERE) * close if label else CRITICAL
            parts.append(("critical", part))
            value += part
        if relation == PERSONAL or target.partition(".")[0].casefold() in PERSONAL_TARGETS:
            parts.append(("person", OF_PERSON))
            value += OF_PERSON
        if used:
            part = USED * min(used, MOST_USED)
            parts.append(("used", part))
            value += part
        elif given and not is_rule:  # who obeys a rule need not speak of it
            part = -UNUSED * min(given, MOST_UNUSED) * value
            parts.append(("unused", part))
            value += part
        if relation == INHERITED:
            part = -INHERITED_LOSS * value
            parts.append(("inherited", part))
            value += part
        return parts, value

    def _measure_words(self, text: FactText) -> float:
        """Return how much of the situation a fact names itself, beyond what its scope does."""
        scope, target, content = text
        near = 0.0
        common = self._common.get(scope, ())
        for word, weight in self._weights.items():
            if word in target:
                if word not in common:
                    near += weight
            elif word in content:
                near += 0.5 * weight
        return near if near < 1.0 else 1.0


def is_critical(target: str, content: str) -> bool:
    """Check whether a fact is marked as critical: `!` begins or ends its target or content, or stands alone in it.

    >>> is_critical("deploy", "never on friday !"), is_critical("id", "a != b"), is_critical("css", "no !important")
    (True, False, False)
    """
    if "!" not in content and "!" not in target:
        return False
    if target[0] == "!" or target[-1] == "!" or content[-1] == "!":
        return True
    return (content[0] == "!" and content[1:2] not in ("=", "")) or " ! " in content
