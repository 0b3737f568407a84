"""Where a session starts, and how near each scope is to that: by words of its folder, branch and last message, and by what
was written last.
"""

from __future__ import annotations

from math import log

from hermes_memory_store.context.start_value import Nearness, describe_facts, to_probes, to_stem, to_words
from hermes_memory_store.places.place_reading import find_known_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from hermes_memory_store.places.place_reading import Ask

FOLDER_WEIGHT, BRANCH_WEIGHT, MESSAGE_WEIGHT = 1.0, 0.9, 0.5
"""What a word counts, by where it stands."""

LAST_SCOPE_WEIGHT, SESSION_WEIGHT, NAMED_WEIGHT = 0.5, 0.9, 3.0
"""What it counts that the project's last session wrote to a scope, that this one did or spoke of it, that it is named.

These and the weights above were chosen on the `choosing` sessions of `tests/recall_sets/shop_starts.txt`.
"""

MOST_SCOPES = 300
"""Newest scopes of a theme that are compared."""

LEAST_SHARE, CONTENT_SHARE = 0.3, 0.3
"""What a word speaks for a scope at least of which several targets have it, and what one does that its contents have.

The choosing sessions are indifferent to both. They were seen to help a kept one, whose folder and branch do not name its scope.
"""

DEEPEST_FOLDERS = 6
"""Parts of a path, from its end, that are compared."""

LONGEST_MESSAGE = 2_000
"""Characters of a message that are compared."""

GENERIC_WORDS = """
    home users user root src source code work workspace repo project dev lib app package module service component main master
    trunk develop development release feature feat fix bug bugfix hotfix chore refactor task issue wip test tmp internal
    the and for with from into that this what why how when are was were not but can does did has have had its our your you let
    next now all any use make add get set will should would still out off
"""
"""Words of folders, branches and messages that tell nothing of a scope."""

SCOPES = """
    SELECT id, label FROM scopes WHERE theme_id = ? AND label <> '' AND status <> 'withdrawn' ORDER BY id DESC LIMIT ?
"""

LAST_SCOPE = """
    SELECT scope_id FROM (SELECT scope_id FROM sessions WHERE theme_id = ? ORDER BY id DESC LIMIT 50)
    WHERE scope_id IS NOT NULL LIMIT 1
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


GENERIC = frozenset([to_stem(word) for word in GENERIC_WORDS.split()])


def weigh_words(situation: Situation, message: str) -> dict[str, float]:
    """Return the words of a situation with what each counts."""
    weights: dict[str, float] = {}
    parts = [part for part in situation.folder.replace("\\", "/").split("/") if part and part != "."][-DEEPEST_FOLDERS:]
    for text, weight in (
        (message[:LONGEST_MESSAGE], MESSAGE_WEIGHT),
        (situation.branch or "", BRANCH_WEIGHT),
        ("/".join(parts), FOLDER_WEIGHT),
    ):
        for word in to_words(text) if text else ():
            if len(word) > 1 and word not in GENERIC and not word.isdigit():
                weights[word] = max(weights.get(word, 0.0), weight)
    return weights


def measure_nearness(ask: Ask, theme_id: int | None, situation: Situation, rows: Iterable[tuple[Any, ...]]) -> Nearness:
    """Measure how near each scope is to a situation. :param rows: of `START_FACTS`: the facts that are known"""
    message = situation.message
    if not message and situation.session and theme_id is not None:
        message = next((content for (content,) in ask(LAST_MESSAGE, (theme_id, situation.session))), "")
    words = weigh_words(situation, message or "")
    labels: dict[Any, str] = {}
    if theme_id is not None and (words or situation.scope):
        labels = dict(ask(SCOPES, (theme_id, MOST_SCOPES)))
    texts = describe_facts(rows, to_probes(words)) if words else {}
    sizes: dict[Any, int] = {}
    in_scopes: dict[str, dict[Any, int]] = {word: {} for word in words}
    in_content: dict[str, dict[Any, int]] = {word: {} for word in words}
    often = dict.fromkeys(words, 0)
    for scope, target, content in texts.values():
        sizes[scope] = sizes.get(scope, 0) + 1
        for word in words if target or content else ():
            if word in target:
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
            share = count / often[word] * min(1.0, LEAST_SHARE * (count > 1) + 2.0 * count / sizes[scope])
            evidence[scope] = evidence.get(scope, 0.0) + words[word] * share
    for word, where in in_content.items():
        for scope, count in where.items():
            evidence[scope] = evidence.get(scope, 0.0) + CONTENT_SHARE * words[word] * count / often[word]
    for scope, weight in find_recent_scopes(ask, theme_id, situation, labels):
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
    ask: Ask, theme_id: int | None, situation: Situation, labels: Mapping[Any, str]
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
    return [(key, LAST_SCOPE_WEIGHT) for (key,) in ask(LAST_SCOPE, (theme_id,))]
