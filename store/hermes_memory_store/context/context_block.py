"""The context block: the facts an agent is given about its memory, packed into a hard token budget."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from hermes_memory_store import uids
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given import (
    MOST_LEFT_OUT,
    FactReasons,
    Given,
    GivenItem,
    GivenReasons,
    RankReason,
    StartSituation,
)
from hermes_memory_store.context.packing import (
    LINE_TOKENS,
    MOST_GIVEN_BYTES,
    count_fitting,
    format_left_out,
    to_given_order,
)
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_choice import StartCandidate, StartChoice, choose_start_facts
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.written_facts import count_missing_facts, describe_doubt
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.journal_receipt import find_lost_end
from hermes_memory_store.items.mutation import FACTS_WITH_READS
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import ContextBlock, Fact, Session
from hermes_memory_store.notation import abbreviations
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.projects.branch_labels import BranchLabels
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.places.place_reading import Ask

SCOPE_TOKENS = 40
"""Tokens the list of open scopes may take."""

SPEC = f"""[MEMORY_SPEC v1.0]

NOTATION
C[t]: constraint  D[t]: decision  V[t]: value
?[t]: unknown     ✓[t]: done      ~[t]: obsolete
-> flows  ! critical  group by key

ABBREVS
{" ".join(abbreviations.TABLE)}

RULES
- call memory_write() for any C/D/V/? detected
- call memory_search() before answering on known topics
- call memory_tick(turn, message) on every user message
- call memory_reflect(topic) when user asks about history
"""
"""The block hermes-memory 0.3.0 hands to agents, word for word."""

SPEC_WITH_HOOKS = SPEC[: SPEC.index("- call memory_tick")]
"""The same for those whose hooks count turns, and who are offered fewer tools."""

SPEC_REFERENCE = (
    "[MEMORY_SPEC v1.0, as given before] C constraint, D decision, V value, ? unknown, ✓ done, ~ obsolete; ! critical"
)
"""What stands for `SPEC` where its reader was given it already."""

OPEN_SCOPES = """
    SELECT label FROM scopes WHERE theme_id = ? AND status IN ('open', 'cooling') AND label <> '' ORDER BY id DESC LIMIT 200
"""


@lru_cache(maxsize=1 << 14)
def count_text(text: str, count: Callable[[str], int] = count_tokens) -> int:
    """Return the tokens of a text that is counted again and again: lines, labels and parts of blocks stay the same for long."""
    return count(text)


def count_fenced_line(line: str) -> int:
    return count_text(f"\n{MARK}{line}")


def count_fence() -> int:
    return count_text(HEAD)


def count_left_out_line() -> int:
    return count_fenced_line(format_left_out(9_999))


class ContextBlocks:
    """Build the context block of a theme, and choose what a session is given at its start."""

    def __init__(
        self,
        db: Db,
        names: Names,
        tiers: Tiers,
        policies: Policies,
        reads: ReadLog,
        branches: BranchLabels,
        clock: Clock = system_clock,
    ) -> None:
        self._db = db
        self._names = names
        self._tiers = tiers
        self._policies = policies
        self._reads = reads
        self._branches = branches
        self._clock = clock

    def status(
        self,
        theme: str,
        *,
        session: Session | None = None,
        record: bool = True,
        personal: bool = True,
        sealed: bool = False,
        situation: Situation | None = None,
        spec: str = SPEC,
        is_spec_known: bool = False,
        sessions: str | None = None,
        count: Callable[[str], int] = count_tokens,
    ) -> ContextBlock:
        """Return the context block for an agent of this theme, and record it: facts, tokens and session.

        It holds what the agent reads of other themes, too: see `PlaceThemes.readable`.

        :param record: False when a person previews what an agent would be given
        :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
        :param sealed: it reads no theme but its own
        :param situation: where it starts; unless given, where the present call comes from (`Store.attribute`)
        :param spec: the rules of the notation, and of the tools that it is offered
        :param is_spec_known: whether its reader was given the rules of the notation already
        :param sessions: what it is told of earlier sessions
        :param count: what counts the tokens of a text
        """
        theme = self._names.find_theme_name(theme)
        policy, theme_id = self._policies.for_theme(theme), self._names.theme_or_none(theme)
        gauge = self._tiers.gauge_by_key(theme, theme_id, policy)
        situation = situation or self.present_situation(session)
        ask = self._db.kept_rows()
        room = policy.injection_tokens
        choice = self._choose(ask, theme, theme_id, situation, room, personal, sealed, 0, None, count)
        chosen = self._load_facts(ask, choice.given)
        labels = [] if theme_id is None else ask(OPEN_SCOPES, (theme_id,))
        scopes: list[str] = [to_given_name(label) for (label,) in labels]
        gauge_line = f"[MEMORY {gauge.pct:.1f}% ({gauge.used}/{gauge.budget})]"
        missing = 0 if theme_id is None else count_missing_facts(ask, theme_id)
        doubt = describe_doubt(choice.altered, missing, find_lost_end(self._db.path, self._db.conn))
        head = [SPEC_REFERENCE if is_spec_known else spec, gauge_line, ""]
        lines, active = choice.lines, format_scope_labels(scopes, count)

        def to_text(fitting: int) -> str:
            left_out = len(choice.left_out) + len(lines) - fitting
            return format_block(head, lines[:fitting], left_out, choice.held, active, doubt and f"({doubt})", sessions)

        text = to_text(len(lines))
        if len(text.encode("utf-8", "replace")) > MOST_GIVEN_BYTES:
            fitting = count_fitting(len(lines), to_text)
            text = to_text(fitting)
            choice.cut(fitting)
            chosen = chosen[:fitting]
        if record:
            reasons = to_given_reasons(choice)
            self._reads.note("status", theme, chosen, session=session, tokens=choice.tokens, reasons=reasons)
        tokens = sum(count_text(f"{part}\n\n", count) for part in text.split("\n\n"))
        placed = ((fact.uid, choice.places[fact.id].mark) for fact in chosen if fact.id in choice.places)
        marks = {uid: mark for uid, mark in placed if mark is not None}
        return ContextBlock(
            text, chosen, choice.tokens, tokens, len(choice.left_out), gauge, scopes, marks, choice.held, doubt
        )

    def give(self, start: StartSituation, budget: int) -> Given:
        """Return the facts that a session in this situation is given within `budget` tokens, fence included.

        It is what its hook gives, and `memory_status` between its other lines.
        """
        situation = Situation(
            self._clock() if start.at is None else start.at,
            folder=start.folder,
            branch=start.branch,
            scope=start.scope,
            session=start.session,
            message=start.message,
        )
        choice = self.choose_fenced(start.theme, situation, budget)
        facts = {fact.id: fact for fact in self.load_facts([*choice.given, *choice.left_out])}

        def to_items(candidates: list[StartCandidate]) -> tuple[GivenItem, ...]:
            return tuple(
                GivenItem(
                    choice.to_line(candidate),
                    candidate.cost,
                    candidate.value,
                    fact=facts[candidate.key],
                    reasons=tuple([RankReason(name, value) for name, value in candidate.parts]),
                )
                for candidate in candidates
                if candidate.key in facts
            )

        given, left_out = to_items(choice.given), to_items(choice.left_out)
        tokens = count_fence() + choice.tokens + (count_left_out_line() if left_out else 0) if given else 0
        return Given(given, left_out, tokens)

    def present_situation(self, session: Session | None = None) -> Situation:
        """Return where the present call comes from, as far as it says so (`Store.attribute`)."""
        origin = self._names.origins.current()
        folder = "/".join(part for part in (origin.root, origin.folder) if part and part != ".")
        name = session.name if session is not None else None
        return Situation(self._clock(), folder=folder, branch=origin.branch, session=name)

    def choose_fenced(
        self,
        theme: str,
        situation: Situation,
        budget: int,
        *,
        is_allowed: Callable[[str | None], bool] | None = None,
    ) -> StartChoice:
        """Choose what a session is given within a budget, the fence and the line that counts the others included."""
        return self.choose(
            theme, situation, budget - count_fence(), count_line=count_left_out_line(), is_allowed=is_allowed
        )

    def choose(
        self,
        theme: str,
        situation: Situation,
        room: int,
        *,
        personal: bool = True,
        sealed: bool = False,
        count_line: int = 0,
        is_allowed: Callable[[str | None], bool] | None = None,
        count: Callable[[str], int] = count_tokens,
    ) -> StartChoice:
        """Choose what a session of this theme is given within `room` tokens: see `choose_start_facts`."""
        theme = self._names.find_theme_name(theme)
        theme_id = self._names.theme_or_none(theme)
        ask = self._db.kept_rows()
        return self._choose(ask, theme, theme_id, situation, room, personal, sealed, count_line, is_allowed, count)

    def _choose(
        self,
        ask: Ask,
        theme: str,
        theme_id: int | None,
        situation: Situation,
        room: int,
        personal: bool,
        sealed: bool,
        count_line: int,
        is_allowed: Callable[[str | None], bool] | None,
        count: Callable[[str], int],
    ) -> StartChoice:
        has_project_themes = self._policies.has_project_themes
        return choose_start_facts(
            ask,
            theme,
            theme_id,
            situation,
            room,
            partial(self._branches.place_hot_facts, theme),
            personal=personal and has_project_themes,
            sealed=sealed or not has_project_themes,
            count_line=count_line,
            count=lambda lines: [count_text(f"\n{MARK}{line}", count) for line in lines],
            is_allowed=is_allowed,
        )

    def ranked_facts(self, theme: str, *, personal: bool = True, sealed: bool = False) -> list[Fact]:
        """Return the facts that a session of a theme may be given where the present call comes from, those worth most first.

        Behind them stands what was written on branches that are not merged, and then the person's own.

        :param personal: sealed; as for `status`
        """
        choice = self.choose(theme, self.present_situation(), 0, personal=personal, sealed=sealed)
        return self.load_facts(sorted(choice.left_out, key=to_given_order))

    def load_facts(self, candidates: list[StartCandidate]) -> list[Fact]:
        """Return the facts of candidates, in their order."""
        return self._load_facts(self._db.kept_rows(), candidates)

    def _load_facts(self, ask: Ask, candidates: list[StartCandidate]) -> list[Fact]:
        keys = tuple([candidate.key for candidate in candidates])
        rows = ask(f"{FACTS_WITH_READS} WHERE f.id IN ({', '.join('?' * len(keys))})", keys)
        facts = {fact.id: fact for fact in to_facts(self._names, rows)}
        return [facts[key] for key in keys if key in facts]


def to_given_reasons(choice: StartChoice) -> GivenReasons:
    candidates = [*choice.given, *choice.left_out[:MOST_LEFT_OUT]]
    reasons = []
    for uid, candidate in zip(uids.to_texts([candidate.uid for candidate in candidates]), candidates, strict=True):
        parts = tuple([(name, round(part, 2)) for name, part in candidate.parts])
        reasons.append(FactReasons(uid, round(candidate.value, 2), candidate.cost, parts))
    return GivenReasons(tuple(reasons[: len(choice.given)]), tuple(reasons[len(choice.given) :]))


def format_block(head: list[str], facts: list[str], left_out: int, held: int, scopes: str, *notes: str | None) -> str:
    lines = head + (facts or ["(no active facts)"])
    if left_out:
        lines.append(format_left_out(left_out))
    if held:
        lines.append(f"(+{held} of unmerged branches held back: memory_search branch:NAME)")
    lines += filter(None, notes)
    if scopes:
        lines += ["", f"active scopes: {scopes}"]
    return "\n".join(lines)


def format_scope_labels(scopes: list[str], count: Callable[[str], int]) -> str:
    """Format scope labels within `SCOPE_TOKENS`, with a count of those left out."""
    shown: list[str] = []
    spent = 0
    for label in scopes:
        spent += count_text(label, count) + LINE_TOKENS
        if spent > SCOPE_TOKENS and shown:
            return f"{', '.join(shown)} (+{len(scopes) - len(shown)} more)"
        shown.append(label)
    return ", ".join(shown)
