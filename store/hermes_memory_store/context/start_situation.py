"""Where a session starts, and how near each scope is to that: by words of its folder, branch and last message, and by what
was written last.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

from hermes_memory_store.places.git_files import read_last_work
from hermes_memory_store.places.place_reading import find_known_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from hermes_memory_store.places.place_reading import Ask

    FactText = tuple[Any, frozenset[str], frozenset[str], str]
    """Scope, words of the target and of the content (none where none looked for can be there), and the target's first part."""

FOLDER_WEIGHT, BRANCH_WEIGHT, MESSAGE_WEIGHT, WORK_WEIGHT = 1.0, 0.9, 0.5, 0.4
"""What a word counts, by where it stands; the last in the log of the repository."""

LAST_SCOPE_WEIGHT, SESSION_WEIGHT, NAMED_WEIGHT = 0.5, 0.9, 3.0
"""What it counts that the project's last session wrote to a scope, that this one did or spoke of it, that it is named.

These and the weights above were chosen on the `choosing` sessions of `tests/recall_sets/shop_starts.txt`.
"""

MOST_SCOPES, DEEPEST_FOLDERS, LONGEST_MESSAGE = 300, 6, 2_000
"""What is compared: newest scopes of a theme, parts of a path from its end, characters of a message."""

LEAST_SHARE, CONTENT_SHARE = 0.3, 0.3
"""What a word speaks for a scope at least of which several targets have it, and what one does that its contents have."""

CERTAIN = 0.5
"""Evidence of a scope from which on others are taken to be somewhere else."""

UNKNOWN_SHARE = 0.3
"""How near every scope is where nothing says what the session works on."""

GENERIC_WORDS = """
    home users user root src source code work workspace repo project dev lib app package module service component main master
    trunk develop development release feature feat fix bug bugfix hotfix chore refactor task issue wip test tmp internal
    the and for with from into that this what why how when are was were not but can does did has have had its our your you let
    next now all any use make add get set will should would still out off
    at by in is of on to no as an or if be it we do so up am us my me he
"""
"""Words of folders, branches and messages that tell nothing of a scope."""

DIGITS = "0123456789"
SIGNS = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~→…", " "))

MOST_KNOWN = 20_000
"""Texts whose words are kept."""

SCOPES = """
    SELECT id, label FROM scopes WHERE theme_id = ? AND label <> '' AND status <> 'withdrawn' ORDER BY id DESC LIMIT ?
"""

LAST_SCOPE = """
    SELECT scope_id FROM (SELECT scope_id FROM sessions WHERE theme_id = ?1 ORDER BY id DESC LIMIT 50)
    WHERE scope_id IS NOT NULL
    UNION ALL
    SELECT scope_id FROM (
      SELECT f.scope_id FROM facts f JOIN scopes s ON s.id = f.scope_id
      WHERE f.theme_id = ?1 AND f.tier = 'hot' AND s.label <> '' ORDER BY f.updated_at DESC LIMIT 1)
    LIMIT 1
"""

SESSION_SCOPES = """
    SELECT n.scope_id, 0 FROM sessions n WHERE n.theme_id = ?1 AND n.name = ?2 AND n.scope_id IS NOT NULL
    UNION ALL
    SELECT a.scope_id, n.turn - a.last_turn FROM sessions n JOIN attention a ON a.session_id = n.id
    WHERE n.theme_id = ?1 AND n.name = ?2
"""

LAST_MESSAGE = """
    SELECT t.content FROM sessions n JOIN turns t ON t.session_id = n.id
    WHERE n.theme_id = ? AND n.name = ? AND t.role = 'user' ORDER BY t.id DESC LIMIT 1
"""


_known_words: dict[str, frozenset[str]] = {}


class Situation:
    """Where and when a session starts, as far as it is known."""

    __slots__ = ("branch", "folder", "message", "now", "scope", "session")

    def __init__(
        self,
        now: int,
        *,
        folder: str = "",
        branch: str | None = None,
        scope: str | None = None,
        session: str | None = None,
        message: str = "",
    ) -> None:
        """:param now: UTC milliseconds
        :param folder: absolute, or below the project's root
        :param scope: the label of the scope it is known to work in
        :param session: the name of our session
        :param message: what its user said last; without it, what was captured of the session last
        """
        self.now = now
        self.folder = folder
        self.branch = branch
        self.scope = scope
        self.session = session
        self.message = message


def find_situation(ask: Ask, folder: str, now: int) -> Situation:
    """Return the situation of a session that starts in a folder; its branch as far as the store knows the project."""
    return Situation(now, folder=folder, branch=find_known_folder(ask, folder).branch if folder else None)


def to_words(text: str) -> frozenset[str]:
    """Return the words of a text without their endings: `migrations`, `migration` → `migration`."""
    words = _known_words.get(text)
    if words is None:
        if len(_known_words) >= MOST_KNOWN:
            _known_words.clear()
        said = [to_stem(word) for word in text.translate(SIGNS).casefold().split()]
        words = frozenset(said + [before + word for before, word in pairwise(said) if word.isdigit()])
        _known_words[text] = words
    return words


def is_number(word: str) -> bool:
    """Check whether a word is a number that names one thing: `1842`, or `np77`, as `NP-77` is."""
    return word[-1].isdigit() and len(word) > 2


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
    return tuple([word[:-1] if word.endswith("y") else word[len(word.rstrip(DIGITS)) :] or word for word in words])


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
        head = head.casefold()
        scope = row[8] if row[9] else head if dot else None
        folded = f"{target}\n{content}".casefold() if probes else ""
        for probe in probes:
            if probe in folded:
                texts[row[0]] = scope, to_words(target), to_words(content), head
                break
        else:
            texts[row[0]] = scope, nothing, nothing, head
    return texts


GENERIC = frozenset([to_stem(word) for word in GENERIC_WORDS.split()])


class Nearness:
    """How near scopes are to a situation, from 0 to 1, and which words tell single facts near it."""

    __slots__ = ("common", "evidence", "of_scopes", "probes", "texts", "unknown", "weights")

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
        """
        self.weights = weights
        self.common = common
        self.texts = texts
        self.probes = to_probes(weights)
        best = max(evidence.values(), default=0.0)
        self.evidence = min(1.0, best / CERTAIN)
        self.unknown = UNKNOWN_SHARE * (1.0 - self.evidence)
        top = max(best, CERTAIN)
        self.of_scopes = {scope: (weight / top) ** 2 for scope, weight in evidence.items() if weight > 0}
        """By scope; those of which nothing is said are missing."""


def weigh_words(situation: Situation, message: str, work: str = "") -> dict[str, float]:
    """Return the words of a situation with what each counts. :param work: what was done there last"""
    weights: dict[str, float] = {}
    parts = [part for part in situation.folder.replace("\\", "/").split("/") if part and part != "."][-DEEPEST_FOLDERS:]
    for text, weight in (
        (work, WORK_WEIGHT),
        (message[:LONGEST_MESSAGE], MESSAGE_WEIGHT),
        (situation.branch or "", BRANCH_WEIGHT),
        ("/".join(parts), FOLDER_WEIGHT),
    ):
        for word in to_words(text) if text else ():
            if is_number(word):
                weights[word] = FOLDER_WEIGHT
            elif len(word) > 1 and word not in GENERIC and not word.isdigit():
                weights[word] = max(weights.get(word, 0.0), weight)
    return weights


def measure_nearness(
    ask: Ask, theme_id: int | None, situation: Situation, rows: Collection[tuple[Any, ...]], work: str = ""
) -> Nearness:
    """Measure how near each scope is to a situation.

    :param rows: of `START_FACTS`: the facts that are known
    :param work: what was done last in its repository, which counts where nothing else says enough
    """
    message = situation.message
    if not message and situation.session and theme_id is not None:
        message = next((content for (content,) in ask(LAST_MESSAGE, (theme_id, situation.session))), "")
    words = weigh_words(situation, message or "", work)
    labels: dict[Any, str] = {}
    if theme_id is not None and (words or situation.scope):
        labels = dict(ask(SCOPES, (theme_id, MOST_SCOPES)))
    texts = describe_facts(rows, to_probes(words))
    sizes: dict[Any, int] = {}
    in_scopes: dict[str, dict[Any, int]] = {word: {} for word in words}
    in_content: dict[str, dict[Any, int]] = {word: {} for word in words}
    often = dict.fromkeys(words, 0)
    for scope, target, content, _ in texts.values() if words else ():
        sizes[scope] = sizes.get(scope, 0) + 1
        for word in words if target or content else ():
            if word in target or (word in content and is_number(word)):
                often[word] += 1
                in_scopes[word][scope] = in_scopes[word].get(scope, 0) + 1
            elif word in content:
                often[word] += 1
                in_content[word][scope] = in_content[word].get(scope, 0) + 1
    evidence: dict[Any, float] = {}
    for key, label in labels.items():
        own = to_words(label)
        matched = sum(words[word] for word in own if word in words)
        if matched:
            evidence[key] = matched / max(1, len(own - GENERIC))
    for word, where in in_scopes.items():
        for scope, count in where.items():
            # a word speaks for a scope as far as its facts are there, and as the scope's facts are about it
            about = 1.0 if is_number(word) else min(1.0, LEAST_SHARE * (count > 1) + 2.0 * count / sizes[scope])
            share = count / often[word] * about
            evidence[scope] = evidence.get(scope, 0.0) + words[word] * share
    for word, where in in_content.items():
        for scope, count in where.items():
            evidence[scope] = evidence.get(scope, 0.0) + CONTENT_SHARE * words[word] * count / often[word]
    evidence.pop(None, None)  # what belongs to no scope is not elsewhere
    doubt = max(0.0, 1.0 - max(evidence.values(), default=0.0) / CERTAIN)
    if doubt and not work and situation.folder.startswith("/") and (work := read_last_work(situation.folder)):
        return measure_nearness(ask, theme_id, situation, rows, work)
    for scope, weight in find_recent_scopes(ask, theme_id, situation, labels, doubt * LAST_SCOPE_WEIGHT):
        evidence[scope] = evidence.get(scope, 0.0) + weight
    # as rare as the facts say: a word in one of them counts whole, one in all of them nothing
    total = len(texts) + 1
    weights = {word: words[word] * log(total / count) / log(total) for word, count in often.items() if count}
    common = {
        scope: frozenset(word for word, where in in_scopes.items() if 2 * where.get(scope, 0) >= size)
        for scope, size in sizes.items()
    }
    return Nearness(weights, common, evidence, texts)


def find_recent_scopes(
    ask: Ask, theme_id: int | None, situation: Situation, labels: Mapping[Any, str], last: float
) -> list[tuple[Any, float]]:
    """Return the scopes that the session names, wrote to or spoke of, else the project's last session, with what each counts."""
    if theme_id is None:
        return []
    if situation.scope:
        named = situation.scope.casefold()
        return [(key, NAMED_WEIGHT) for key, label in labels.items() if label.casefold() == named]
    if situation.session:
        recent: dict[Any, float] = {}
        for scope, silence in ask(SESSION_SCOPES, (theme_id, situation.session)):
            recent[scope] = max(recent.get(scope, 0.0), SESSION_WEIGHT / (1 + max(0, silence)))
        if recent:
            return list(recent.items())
    return [(key, last) for (key,) in ask(LAST_SCOPE, (theme_id,))]
