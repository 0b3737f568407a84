"""The context block: the facts an agent is given about its memory, packed into a hard token budget.

Which facts are worth most where the session starts is decided in `start_choice.py`; a last line counts what was left
out, so that the agent knows that a search is worthwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.context.fact_packing import LINE_TOKENS, MOST_GIVEN_BYTES
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given_reasons import to_given_reasons
from hermes_memory_store.context.hot_context import format_left_out
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_choice import StartCandidate, StartChoice, choose_start_facts, to_given_order
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.items.mutation import FACTS_WITH_READS
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.row_reader import RowReader
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import ContextBlock, Fact, Session
from hermes_memory_store.notation import abbreviations
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.projects.branch_labels import BranchLabels
from hermes_memory_themes import Policies

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


SPEC_REFERENCE = (
    "[MEMORY_SPEC v1.0, as given before] C constraint, D decision, V value, ? unknown, ✓ done, ~ obsolete; ! critical"
)
"""What stands for `SPEC` where its reader was given it already."""


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
        self._reader = RowReader(names)

    def status(
        self,
        theme: str,
        *,
        session: Session | None = None,
        record: bool = True,
        personal: bool = True,
        sealed: bool = False,
        situation: Situation | None = None,
        is_spec_known: bool = False,
        count: Callable[[str], int] = count_tokens,
    ) -> ContextBlock:
        """Return the context block for an agent of this theme, and record it: facts, tokens and session.

        It holds what the agent reads of other themes, too: see `PlaceThemes.readable`.

        :param record: False when a person previews what an agent would be given
        :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
        :param sealed: it reads no theme but its own
        :param situation: where it starts; unless given, where the present call comes from (`Store.attribute`)
        :param is_spec_known: whether its reader was given the rules of the notation already
        :param count: what counts the tokens of a text
        """
        theme = self._names.find_theme_name(theme)
        policy, theme_id = self._policies.for_theme(theme), self._names.theme_or_none(theme)
        gauge = self._tiers.gauge_by_key(theme, theme_id, policy)
        situation = situation or self.present_situation(session)
        choice = self.choose(theme, situation, policy.injection_tokens, personal=personal, sealed=sealed, count=count)
        chosen = self.load_facts(choice.given)
        scopes = self._open_scopes(theme_id)
        marks = {fact.uid: choice.places[fact.id].mark for fact in chosen if fact.id in choice.places}
        lines = [f"{fact.notation} {marks[fact.uid].label}" if fact.uid in marks else fact.notation for fact in chosen]
        gauge_line = f"[MEMORY {gauge.pct:.1f}% ({gauge.used}/{gauge.budget})]"
        spec = SPEC_REFERENCE if is_spec_known else SPEC
        head, active = [spec, gauge_line, ""], format_scope_labels(scopes, count)
        text = format_block(head, lines, len(choice.left_out), choice.held, active)
        while lines and len(text.encode()) > MOST_GIVEN_BYTES:
            lines.pop()
            choice.leave_out(chosen.pop().id)
            text = format_block(head, lines, len(choice.left_out), choice.held, active)
        if record:
            self._reads.note(
                "status",
                theme,
                chosen,
                session=session,
                tokens=choice.tokens,
                reasons=to_given_reasons(choice),
            )
        tokens = sum(count_text(f"{part}\n\n", count) for part in text.split("\n\n"))
        return ContextBlock(
            text, chosen, choice.tokens, tokens, len(choice.left_out), gauge, scopes, marks, choice.held
        )

    def present_situation(self, session: Session | None = None) -> Situation:
        """Return where the present call comes from, as far as it says so (`Store.attribute`)."""
        origin = self._names.origins.current()
        folder = "/".join(part for part in (origin.root, origin.folder) if part and part != ".")
        name = session.name if session is not None else None
        return Situation(self._clock(), folder=folder, branch=origin.branch, session=name)

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
        if not self._policies.has_project_themes:
            personal, sealed = False, True
        return choose_start_facts(
            self._db.kept_rows(),
            theme,
            self._names.theme_or_none(theme),
            situation,
            room,
            lambda rows: self._branches.place_hot_facts(theme, rows),
            personal=personal,
            sealed=sealed,
            count_line=count_line,
            count=partial(count_fenced_line, count=count),
            is_allowed=is_allowed,
        )

    def ranked_facts(self, theme: str, *, personal: bool = True, sealed: bool = False) -> list[Fact]:
        """Return the facts that a session of a theme may be given where the present call comes from, those worth most first.

        Behind them stands what was written on branches that are not merged, and then the person's own.

        :param personal: sealed; as for `status`
        """
        choice = self.choose(theme, self.present_situation(), 0, personal=personal, sealed=sealed)
        ranked = sorted(choice.left_out, key=to_given_order)
        return self.load_facts(ranked)

    def load_facts(self, candidates: list[StartCandidate]) -> list[Fact]:
        """Return the facts of candidates, in their order."""
        keys = [one.key for one in candidates]
        marks = ", ".join("?" * len(keys))
        rows = self._db.kept_rows()(f"{FACTS_WITH_READS} WHERE f.id IN ({marks})", keys)
        found = self._reader.by_id(rows)
        return [found[key] for key in keys if key in found]

    def _open_scopes(self, theme_id: int | None) -> list[str]:
        sql = (
            "SELECT label FROM scopes WHERE theme_id = ? AND status IN ('open', 'cooling') AND label <> ''"
            " ORDER BY id DESC LIMIT 200"
        )
        return [] if theme_id is None else [to_given_name(row[0]) for row in self._db.kept_rows()(sql, (theme_id,))]


@lru_cache(maxsize=1 << 14)
def count_text(text: str, count: Callable[[str], int]) -> int:
    """Return the tokens of a text that is counted again and again: lines, labels and parts of blocks stay the same for long."""
    return count(text)


def count_fenced_line(line: str, count: Callable[[str], int] = count_tokens) -> int:
    """Return what a line costs in its fence."""
    return count_text(f"\n{MARK}{line}", count)


def fence_tokens() -> int:
    """Return what the head of a fence costs."""
    return count_text(HEAD, count_tokens)


def count_left_out_tokens() -> int:
    """Return what the line costs that counts the facts left out."""
    return count_fenced_line(format_left_out(9_999))


def format_block(head: list[str], facts: list[str], left_out: int, held: int, scopes: str) -> str:
    """Format the text of a context block."""
    lines = head + (facts or ["(no active facts)"])
    if left_out:
        lines.append(format_left_out(left_out))
    if held:
        lines.append(f"(+{held} of unmerged branches held back: memory_search branch:NAME)")
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
