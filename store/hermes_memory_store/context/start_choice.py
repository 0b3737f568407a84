"""The facts worth most for where a session starts, by value per token, within a budget.

The context block, hooks, the server's instructions, rules files and what is read without a bridge are all chosen here.
"""

from __future__ import annotations

from hermes_memory_store.context.packing import LINE_TOKENS, pack_candidates
from hermes_memory_store.context.start_situation import Situation, measure_nearness
from hermes_memory_store.context.start_value import LEAST, PINNED, Nearness, is_critical
from hermes_memory_store.fact_types import OPEN_TYPES, TYPE_SYMBOLS
from hermes_memory_store.places.place_reading import OWN, PERSONAL, format_start_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_reading import Ask

    Places = Callable[[list[tuple[Any, ...]]], Mapping[int, HotPlace]]
    """Returns how branches change the places of facts, by key, from rows of `START_FACTS`."""

BINDING = {symbol: rank for rank, symbol in enumerate(TYPE_SYMBOLS)}
"""Rank of a fact's type, most binding first, as `FactType` lists them."""

NEAR_SCOPE = 0.5
"""How near a scope must be for its cold facts to be candidates."""

COLD_SCOPES, MOST_COLD, MOST_CONSTRAINTS = 3, 24, 40
"""Scopes whose cold facts are candidates; facts of each type of one; cold constraints among which critical ones are found."""

USES = ("u.given, u.used", "LEFT JOIN fact_uses u ON u.fact_id = f.id")
"""Columns and join that stores before version 9 lack."""

ORIGIN_COLUMNS = ("f.origin_id", "f.verdict")
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
    """What is given, and what is not."""

    __slots__ = ("given", "held", "left_out", "places", "tokens")

    def __init__(
        self, given: list[StartCandidate], left_out: list[StartCandidate], tokens: int, places: Mapping[int, HotPlace]
    ) -> None:
        """:param given: those worth most first, the person's own last
        :param left_out: the others, best per token first
        :param tokens: of all lines given
        :param places: of facts of other branches, by key
        """
        self.given = given
        self.left_out = left_out
        self.tokens = tokens
        self.places = places
        self.held = sum(place.is_held for place in places.values())

    @property
    def lines(self) -> list[str]:
        """The lines of the facts that are given."""
        return [self.to_line(candidate) for candidate in self.given]

    def to_line(self, candidate: StartCandidate) -> str:
        """Return the line of a fact, with the label of its branch."""
        return (
            candidate.line
            if candidate.key not in self.places
            else f"{candidate.line} {self.places[candidate.key].mark.label}"
        )

    def cut(self, count: int) -> None:
        """Leave out all but the first of the facts that were to be given."""
        self.tokens -= sum(candidate.cost for candidate in self.given[count:])
        self.left_out = self.given[count:] + self.left_out
        self.given = self.given[:count]


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

    :param theme: the agent's own, and its key; None while nothing was written to it
    :param room: tokens for lines of facts, without the fence around them
    :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
    :param sealed: it reads no theme but its own
    :param count_line: tokens that stay free where facts are left out, for the line that counts them
    :param count: counts the tokens of facts' lines in their fence; without it, the tokens that the store keeps of the facts count
    :param is_allowed: whether a fact of this verdict may be given; all may unless it is said
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
    places = find_places([row for row in rows if relations.get(row[0]) != PERSONAL])
    rows = [row for row in rows if row[0] not in places or not places[row[0]].is_held]
    candidates = [
        StartCandidate(row, parts, value, places.get(row[0]), personal=relations.get(row[0]) == PERSONAL)
        for row, (parts, value) in zip(rows, near.value_facts(rows, relations, situation.now), strict=True)
    ]
    if count is not None:
        for candidate, cost in zip(candidates, count([candidate.line for candidate in candidates]), strict=True):
            candidate.cost = cost + (places[candidate.key].tokens if candidate.key in places else 0)
    return StartChoice(*pack_candidates(candidates, room, count_line), places)


def read_cold_rows(ask: Ask, theme_id: int, near: Nearness) -> list[tuple[Any, ...]]:
    """Return cold facts that may be given: those of the scopes the session works in, and critical constraints."""
    rows = [row for row in ask(COLD_CRITICAL, (theme_id,)) if is_critical(row[10], row[11])]
    scopes = sorted(
        (
            (nearness, key)
            for key, nearness in near.of_scopes.items()
            if nearness >= NEAR_SCOPE and isinstance(key, int)
        ),
        reverse=True,
    )
    critical = {row[0] for row in rows}
    for _, scope in scopes[:COLD_SCOPES]:
        rows += [row for row in ask(COLD_OF_SCOPE, (scope,) * 4) if row[0] not in critical]
    return rows
