"""What a session is given at its start: the facts worth most for where it starts, by value per token, within a budget.

The context block, hooks, the server's instructions, rules files and what is read without a bridge are all chosen here. A
value is a sum of parts, each with a name, so that a person sees why one fact is given and another is not. It stands for the
grade from 0 to 3 that somebody would give the fact who knows what a session there must know.
"""

from __future__ import annotations

from hermes_memory_store.context.fact_packing import BINDING, LINE_TOKENS
from hermes_memory_store.context.start_situation import Nearness, Situation, find_fact_words, measure_nearness
from hermes_memory_store.fact_types import OPEN_TYPES, FactType
from hermes_memory_store.places.place_queries import PERSONAL, is_person_target
from hermes_memory_store.places.place_reading import INHERITED, OWN, PERSONAL_TOKENS, format_start_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_queries import Ask

    Places = Callable[[list[tuple[Any, ...]]], Mapping[int, HotPlace]]
    """Returns how branches change the places of facts, by key, from rows of `START_FACTS`."""

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

LENGTH_POWER = 0.3
"""Facts are chosen by value over tokens to this power: below 1, since a longer fact of the same kind says more.

This, what is fresh, a pin in a scope and what is critical were chosen on the `choosing` sessions of `shop_starts.txt` and
`clinic_starts.txt` in `tests/recall_sets`; the values of types on those of the first alone."""

LEAST = 0.01

NEAR_SCOPE = 0.5
"""How near a scope must be for its cold facts to be candidates."""

COLD_SCOPES, MOST_COLD, MOST_CONSTRAINTS = 3, 24, 40
"""Scopes whose cold facts are candidates; facts of each type of one; cold constraints among which critical ones are found."""

MOST_REPLACING = 30
"""Facts worth most of those left out that may take the place of shorter ones."""

DAY_MS = 86_400_000

USES = ("u.given, u.used", "LEFT JOIN fact_uses u ON u.fact_id = f.id")
"""Columns and join that stores before version 9 lack."""

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

    def __init__(self, row: tuple[Any, ...], parts: list[tuple[str, float]], value: float, relation: str) -> None:
        self.key: int = row[0]
        self.uid: bytes = row[13]
        self.line = f"{row[1]}[{row[10]}]: {row[11]}"
        self.parts = parts
        """What the value is the sum of."""
        self.value = value if value > LEAST else LEAST
        self.cost = row[5] + LINE_TOKENS
        """Tokens of its line, fence included."""
        self.is_of_person = relation == PERSONAL
        self.is_first = row[2] == 1 and ("pinned", PINNED) in parts
        """Whether it comes before all others, however long it is: it is pinned, and not within a scope."""
        self.is_lowered = False
        """Whether it comes behind all others: it was written on a branch that is not merged."""
        read_at = row[4] or 0
        self.order = (-row[2], BINDING[row[1]], -(row[3] if row[3] > read_at else read_at), -row[0])
        """Among facts of the same value: pinned, then most binding, then most recently used first."""


class StartChoice:
    """What is given, and what is not."""

    __slots__ = ("given", "held", "left_out", "places", "tokens")

    def __init__(
        self, given: list[StartCandidate], left_out: list[StartCandidate], places: Mapping[int, HotPlace], tokens: int
    ) -> None:
        """:param given: those worth most first, the person's own last
        :param left_out: the others, best per token first
        :param places: of facts of other branches, by key
        :param tokens: of all lines given
        """
        self.given = given
        self.left_out = left_out
        self.places = places
        self.tokens = tokens
        self.held = sum(place.is_held for place in places.values())

    def leave_out(self, key: int) -> None:
        """Leave out a fact that was to be given."""
        left_out = next(one for one in self.given if one.key == key)
        self.given.remove(left_out)
        self.left_out.insert(0, left_out)
        self.tokens -= left_out.cost


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
    count: Callable[[str], int] | None = None,
    is_allowed: Callable[[str | None], bool] | None = None,
) -> StartChoice:
    """Choose what a session is given within `room` tokens.

    :param theme: the agent's own, and its key; None while nothing was written to it
    :param room: tokens for lines of facts, without the fence around them
    :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
    :param sealed: it reads no theme but its own
    :param count_line: tokens that stay free where facts are left out, for the line that counts them
    :param count: counts the tokens of a fact's line in its fence; without it, the tokens that the store keeps of the fact count
    :param is_allowed: whether a fact of this verdict may be given; all may unless it is said
    """
    candidates, places = list_candidates(
        ask,
        theme,
        theme_id,
        situation,
        find_places,
        personal=personal,
        sealed=sealed,
        count=count,
        is_allowed=is_allowed,
    )
    given, spent = pack_candidates(candidates, room)
    if count_line and len(given) < len(candidates):
        given, spent = pack_candidates(candidates, room - count_line)
    keys = {one.key for one in given}
    given.sort(key=to_given_order)
    return StartChoice(given, [one for one in candidates if one.key not in keys], places, spent)


def to_given_order(one: StartCandidate) -> tuple[Any, ...]:
    """Return by what candidates stand in a text: pinned, then worth most; unmerged branches and the person's own last."""
    return one.is_of_person, one.is_lowered, not one.is_first, -one.value, one.order


def list_candidates(
    ask: Ask,
    theme: str,
    theme_id: int | None,
    situation: Situation,
    find_places: Places,
    *,
    personal: bool,
    sealed: bool,
    count: Callable[[str], int] | None,
    is_allowed: Callable[[str | None], bool] | None,
) -> tuple[list[StartCandidate], Mapping[int, HotPlace]]:
    """Return the facts that may be given, most value per token first, and the places of those of other branches."""
    rows: list[tuple[Any, ...]] = []
    relations: dict[int, str] = {}
    for key, relation, condition in format_start_parts(ask, theme, personal=personal, sealed=sealed):
        found = ask(f"{START_FACTS} AND {condition}", (key,))
        if relation != OWN:
            relations.update((row[0], relation) for row in found)
        rows += found
    near = measure_nearness(ask, theme_id, situation, ((to_fact_scope(row), row[10], row[11]) for row in rows))
    if theme_id is not None:
        rows += read_cold_rows(ask, theme_id, near)
    if is_allowed is not None:
        rows = [row for row in rows if is_allowed(row[12])]
    places = find_places([row for row in rows if relations.get(row[0]) != PERSONAL])
    candidates = []
    for row in rows:
        key = row[0]
        relation = relations.get(key, OWN)
        place = places.get(key)
        if place is not None and place.is_held:
            continue
        parts, value = value_parts(row, near, situation.now, relation)
        one = StartCandidate(row, parts, value, relation)
        if count is not None:
            one.cost = count(one.line)
        if place is not None:
            one.cost += place.tokens
            one.is_lowered = place.is_lowered
        candidates.append(one)
    candidates.sort(key=lambda one: (one.is_lowered, not one.is_first, -one.value / one.cost**LENGTH_POWER, one.order))
    return candidates, places


def to_fact_scope(row: tuple[Any, ...]) -> Any:
    """Return the scope of a row's fact; for one without, the first part of its target where it has several."""
    if row[9]:
        return row[8]
    head, dot, _ = row[10].partition(".")
    return head.casefold() if dot else None


def read_cold_rows(ask: Ask, theme_id: int, near: Nearness) -> list[tuple[Any, ...]]:
    """Return cold facts that may be given: those of the scopes the session works in, and critical constraints."""
    found = [row for row in ask(COLD_CRITICAL, (theme_id,)) if is_critical(row[10], row[11])]
    close = sorted(
        ((near_it, key) for key, near_it in near.of_scopes.items() if near_it >= NEAR_SCOPE and isinstance(key, int)),
        reverse=True,
    )
    seen = {row[0] for row in found}
    for _, scope in close[:COLD_SCOPES]:
        found += [row for row in ask(COLD_OF_SCOPE, (scope,) * 4) if row[0] not in seen]
    return found


def value_parts(row: tuple[Any, ...], near: Nearness, now: int, relation: str) -> tuple[list[tuple[str, float]], float]:
    """Return what a fact is worth in a situation, part by part, and the sum."""
    _, kind, pinned, updated_at, _, _, _, _, _, label, target, content, _, _, given, used = row
    scope = to_fact_scope(row)
    close = near.of_scope(scope)
    away = ELSEWHERE[kind] if label else WITHOUT_SCOPE[kind]
    parts = [("type", away)]
    value = away
    if close:
        part = (IN_SCOPE[kind] - away) * close
        parts.append(("unknown" if kind == "?" else "scope", part))
        days = (now - updated_at) / DAY_MS
        fresh = FRESH * close * FRESH_DAYS / (FRESH_DAYS + (days if days > 0 else 0.0))
        parts.append(("age", fresh))
        value += part + fresh
    if near.probes and kind not in "✓~":
        named = near.of_words(scope, *find_fact_words(target, content, near.probes))
        if named > LEAST:
            parts.append(("words", NAMED * named))
            value += NAMED * named
    if pinned:
        part = PINNED_ELSEWHERE + (PINNED_NEAR - PINNED_ELSEWHERE) * close if label and near.evidence else PINNED
        parts.append(("pinned", part))
        value += part
    is_rule = bool(pinned) or kind == "C"
    if is_critical(target, content):
        is_rule = True
        part = CRITICAL_ELSEWHERE + (CRITICAL - CRITICAL_ELSEWHERE) * close if label else CRITICAL
        parts.append(("critical", part))
        value += part
    if relation == PERSONAL or is_person_target(target):
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


def pack_candidates(candidates: list[StartCandidate], room: int) -> tuple[list[StartCandidate], int]:
    """Return the candidates that fit, in their order, and the tokens they take. One that is too long is skipped."""
    chosen: list[StartCandidate] = []
    left, of_person = room, min(PERSONAL_TOKENS, room)
    for one in candidates:
        if one.cost <= left and (not one.is_of_person or one.cost <= of_person):
            chosen.append(one)
            left -= one.cost
            if one.is_of_person:
                of_person -= one.cost
    left = fill_rest(chosen, candidates, left)
    return chosen, room - left


def fill_rest(chosen: list[StartCandidate], candidates: list[StartCandidate], left: int) -> int:
    """Replace chosen candidates by ones worth more that are only as much longer as is left; return what is left then."""
    keys = {one.key for one in chosen}
    others = [one for one in candidates if one.key not in keys and not one.is_of_person and not one.is_lowered]
    others.sort(key=lambda one: -one.value)
    for other in others[:MOST_REPLACING]:
        room = [
            (one.value, place)
            for place, one in enumerate(chosen)
            if other.cost - one.cost <= left and one.value < other.value and not (one.is_first or one.is_of_person)
        ]
        if room:
            place = min(room)[1]
            left -= other.cost - chosen[place].cost
            chosen[place] = other
    return left
