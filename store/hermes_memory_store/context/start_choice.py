"""The facts worth most for where a session starts, by value per token, within a budget: whoever gives facts chooses here.

A value stands for the grade from 0 to 3 that somebody would give the fact who knows what a session there must know. Its numbers
were chosen on the `choosing` sessions of `tests/recall_sets`.
"""

from __future__ import annotations

from hermes_memory_store.context.packing import LINE_TOKENS, pack_candidates
from hermes_memory_store.context.start_situation import Nearness, Situation, describe_facts, is_number, measure_nearness
from hermes_memory_store.database.written_facts import find_altered_facts
from hermes_memory_store.fact_types import OPEN_TYPES, TYPE_SYMBOLS, FactType
from hermes_memory_store.places.place_reading import INHERITED, OWN, PERSONAL, PERSONAL_TARGETS, format_start_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hermes_memory_store.context.start_situation import FactText
    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_reading import Ask

    Places = Callable[[list[tuple[Any, ...]]], Mapping[int, HotPlace]]
    """Returns how branches change the places of facts, by key, from rows of `START_FACTS`."""

BINDING = {symbol: rank for rank, symbol in enumerate(TYPE_SYMBOLS)}
"""Rank of a fact's type, most binding first, as `FactType` lists them."""

WORTH = {kind.value: kind.weights for kind in FactType}
"""By type, what a fact is worth to a session that works in its scope, what one of no scope anywhere, and one of another scope."""

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

DAY_MS = 86_400_000

NEAR_SCOPE = 0.5
"""How near a scope must be for its cold facts to be candidates."""

COLD_SCOPES, MOST_COLD, MOST_CONSTRAINTS = 3, 24, 40
"""Scopes whose cold facts are candidates; facts of each type of one; cold constraints among which critical ones are found."""

FIRST_WORDS = """
    SELECT CASE WHEN verdict IS NULL AND origin_id IS NOT NULL THEN content ELSE '' END FROM turns
    WHERE session_id = ? AND role = 'user' ORDER BY id LIMIT 1
"""
"""Of a session; empty where they may be kept from agents."""

USES = ("u.given, u.used", "LEFT JOIN fact_uses u ON u.fact_id = f.id")
"""Columns and join that stores before version 9 lack."""

ORIGIN_COLUMNS = ("f.origin_id", "f.origin_detail", "f.verdict", "j.origin_id")
"""Columns that stores before version 7 lack."""

START_FACTS = f"""
    SELECT f.id, f.type, f.pinned, f.updated_at, r.last_at, f.tokens, f.actor_id, f.origin_id,
      f.scope_id, s.label, f.target, f.content, f.verdict, f.uid, {USES[0]}
    FROM facts f JOIN scopes s ON s.id = f.scope_id LEFT JOIN reads r ON r.fact_id = f.id {USES[1]}
    WHERE f.theme_id = ? AND f.tier = 'hot'
"""

COLD_FACTS = START_FACTS.replace("f.theme_id = ? AND f.tier = 'hot'", "f.id IN ({chosen})")

NEWEST_COLD = """
    SELECT id FROM (
      SELECT id, target, content FROM facts
      WHERE {whose} = ? AND tier = 'cold' AND type = '{kind}' AND cooled_by IN ('scope', 'pressure')
      ORDER BY updated_at DESC LIMIT {most})
"""
"""Cold facts of one type that nobody cooled by hand."""

COLD_OF_SCOPE = COLD_FACTS.format(
    chosen=" UNION ALL ".join(NEWEST_COLD.format(whose="scope_id", kind=kind, most=MOST_COLD) for kind in OPEN_TYPES)
)

COLD_CRITICAL = COLD_FACTS.format(
    chosen=NEWEST_COLD.format(whose="theme_id", kind="C", most=MOST_CONSTRAINTS)
    + " WHERE instr(content, '!') OR instr(target, '!')"
)


class StartCandidate:
    """A fact that may be given, with its value."""

    __slots__ = ("cost", "is_first", "is_lowered", "is_of_person", "key", "line", "order", "parts", "uid", "value")

    def __init__(
        self,
        row: tuple[Any, ...],
        parts: list[tuple[str, float]],
        value: float,
        place: HotPlace | None,
        *,
        personal: bool,
    ) -> None:
        self.key: int = row[0]
        self.uid: bytes = row[13]
        self.line = f"{row[1]}[{row[10]}]: {row[11]}"
        self.parts = parts
        """What the value is the sum of."""
        self.value = value if value > LEAST else LEAST
        self.cost = row[5] + LINE_TOKENS + (0 if place is None else place.tokens)
        """Tokens of its line, fence included."""
        self.is_of_person = personal
        self.is_first = row[2] == 1 and ("pinned", PINNED) in parts
        """Whether it comes before all others, however long it is: it is pinned, and not within a scope."""
        self.is_lowered = place is not None and place.is_lowered
        """Whether it comes behind all others: it was written on a branch that is not merged."""
        read_at = row[4] or 0
        self.order = (-row[2], BINDING[row[1]], -(row[3] if row[3] > read_at else read_at), -row[0])
        """Among facts of the same value: pinned, then most binding, then most recently used first."""


class StartChoice:
    __slots__ = ("altered", "given", "held", "left_out", "lines", "places", "tokens")

    def __init__(
        self,
        given: list[StartCandidate],
        left_out: list[StartCandidate],
        tokens: int,
        places: Mapping[int, HotPlace],
        altered: int = 0,
    ) -> None:
        """:param given: those worth most first, the person's own last
        :param left_out: the others, best per token first
        :param places: of facts of other branches, by key
        :param altered: facts that are not what was written, and are not given
        """
        self.altered = altered
        self.given = given
        self.left_out = left_out
        self.tokens = tokens
        self.places = places
        self.held = sum(place.is_held for place in places.values())
        self.lines = [self.to_line(candidate) for candidate in given]
        """Of the facts that are given."""

    def to_line(self, candidate: StartCandidate) -> str:
        """Return the line of a fact, with its labels."""
        place = self.places.get(candidate.key)
        return candidate.line if place is None else f"{candidate.line} {place.labels}"

    def cut(self, count: int) -> None:
        """Leave out all but the first of the facts that were to be given."""
        self.tokens -= sum(candidate.cost for candidate in self.given[count:])
        self.left_out = self.given[count:] + self.left_out
        self.given, self.lines = self.given[:count], self.lines[:count]


def choose_start_facts(
    ask: Ask,
    theme: str,
    theme_id: int | None,
    situation: Situation,
    room: int,
    find_places: Places,
    *,
    personal: bool = True,
    sealed: bool = False,
    count_line: int = 0,
    count: Callable[[list[str]], list[int]] | None = None,
    is_allowed: Callable[[str | None], bool] | None = None,
) -> StartChoice:
    """Choose what a session is given within `room` tokens.

    :param theme_id: None while nothing was written to the theme
    :param room: tokens for lines of facts, without the fence around them
    :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
    :param sealed: it reads no theme but its own
    :param count_line: tokens that stay free where facts are left out, for the line that counts them
    :param count: counts the tokens of facts' lines in their fence; without it, the tokens that the store keeps of the facts count
    :param is_allowed: whether a fact of this verdict may be given
    """
    rows: list[tuple[Any, ...]] = []
    relations: dict[int, str] = {}
    for key, relation, condition in format_start_parts(ask, theme, personal=personal, sealed=sealed):
        part = ask(f"{START_FACTS} AND {condition}", (key,))
        if relation != OWN:
            relations.update((row[0], relation) for row in part)
        rows += part
    near = measure_nearness(ask, theme_id, situation, rows)
    if theme_id is not None:
        rows += read_cold_rows(ask, theme_id, near)
    if is_allowed is not None:
        rows = [row for row in rows if is_allowed(row[12])]
    altered = find_altered_facts(ask, [row[0] for row in rows])
    rows = [row for row in rows if row[0] not in altered]
    places = find_places([row for row in rows if relations.get(row[0]) != PERSONAL])
    rows = [row for row in rows if row[0] not in places or not places[row[0]].is_held]
    texts = dict(near.texts)
    if cold_rows := [row for row in rows if row[0] not in texts]:
        texts |= describe_facts(cold_rows, near.probes)
    candidates = [
        StartCandidate(
            row,
            *value_fact(row, texts[row[0]], near, relations.get(row[0]), situation.now),
            places.get(row[0]),
            personal=relations.get(row[0]) == PERSONAL,
        )
        for row in rows
    ]
    if count is not None:
        for candidate, cost in zip(candidates, count([candidate.line for candidate in candidates]), strict=True):
            candidate.cost = cost + (places[candidate.key].tokens if candidate.key in places else 0)
    return StartChoice(*pack_candidates(candidates, room, count_line), places, len(altered))


def read_cold_rows(ask: Ask, theme_id: int, near: Nearness) -> list[tuple[Any, ...]]:
    """Return cold facts that may be given: those of the scopes the session works in, and critical constraints."""
    rows = [row for row in ask(COLD_CRITICAL, (theme_id,)) if is_critical(row[10], row[11])]
    critical = {row[0] for row in rows}
    scopes = [(nearness, key) for key, nearness in near.of_scopes.items() if nearness >= NEAR_SCOPE]
    keyed = [(nearness, key) for nearness, key in scopes if isinstance(key, int)]
    for _, scope in sorted(keyed, reverse=True)[:COLD_SCOPES]:
        rows += [row for row in ask(COLD_OF_SCOPE, (scope,) * 4) if row[0] not in critical]
    return rows


def value_fact(
    row: tuple[Any, ...], text: FactText, near: Nearness, relation: str | None, now: int
) -> tuple[list[tuple[str, float]], float]:
    """Return what a fact is worth, part by part, and the sum.

    :param row: of `START_FACTS`
    :param relation: why it is read, where it is not of the agent's own theme
    :param now: UTC milliseconds
    """
    _, kind, pinned, updated_at, _, _, _, _, _, label, target, content, _, _, given, used = row
    close = max(near.unknown, near.of_scopes.get(text[0], 0.0))
    in_scope, without_scope, elsewhere = WORTH[kind]
    value = elsewhere if label else without_scope
    parts = [("type", value)]
    if close:
        part = (in_scope - value) * close
        parts.append(("unknown" if kind == "?" else "scope", part))
        days = (now - updated_at) / DAY_MS
        fresh = FRESH * close * FRESH_DAYS / (FRESH_DAYS + (days if days > 0 else 0.0))
        parts.append(("age", fresh))
        value += part + fresh
    if near.probes:
        named = measure_named_words(text, near)
        if named > LEAST:
            parts.append(("words", NAMED * named))
            value += NAMED * named
    if pinned:
        part = PINNED_ELSEWHERE + (PINNED_NEAR - PINNED_ELSEWHERE) * close if label and near.evidence else PINNED
        parts.append(("pinned", part))
        value += part
    is_rule = bool(pinned) or kind == "C"
    if ("!" in content or "!" in target) and is_critical(target, content):
        is_rule = True
        part = CRITICAL_ELSEWHERE + (CRITICAL - CRITICAL_ELSEWHERE) * close if label else CRITICAL
        parts.append(("critical", part))
        value += part
    if relation == PERSONAL or text[3] in PERSONAL_TARGETS:
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


def measure_named_words(text: FactText, near: Nearness) -> float:
    """Return how much of the situation a fact names itself, beyond what its scope does."""
    scope, target, content, _ = text
    common = near.common.get(scope, ())
    named = 0.0
    for word, weight in near.weights.items():
        if is_number(word):
            named += weight * (word in target or word in content)
        elif word in target:
            if word not in common:
                named += weight
        elif word in content:
            named += 0.5 * weight
    return named if named < 1.0 else 1.0


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
