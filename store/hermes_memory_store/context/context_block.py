"""The context block: the facts an agent is given about its memory, packed into a hard token budget.

The most binding and most recently used facts come first; a last line counts what was left out, so that the agent
knows that a search is worthwhile.
"""

from __future__ import annotations

from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database.db import Db
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import ContextBlock, Fact, Session, notation_lines
from hermes_memory_store.notation import abbreviations, token_estimate
from hermes_memory_store.places.place_reading import PERSONAL_TOKENS, format_hot_parts
from hermes_memory_store.projects.branch_labels import BranchLabels
from hermes_memory_store.quick.branch_marks import HotPlace
from hermes_memory_store.quick.fact_packing import HOT_FACTS, LINE_TOKENS, lower_marked, pack_facts, rank_facts
from hermes_memory_store.quick.hot_context import format_left_out
from hermes_memory_store.rows.mutation import FACTS_WITH_READS
from hermes_memory_store.rows.name_keys import Names
from hermes_memory_store.rows.row_reader import RowReader
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


class ContextBlocks:
    """Build the context block of a theme."""

    def __init__(
        self, db: Db, names: Names, tiers: Tiers, policies: Policies, reads: ReadLog, branches: BranchLabels
    ) -> None:
        self._db = db
        self._names = names
        self._tiers = tiers
        self._policies = policies
        self._reads = reads
        self._branches = branches
        self._reader = RowReader(names)

    def status(
        self,
        theme: str,
        *,
        session: Session | None = None,
        record: bool = True,
        personal: bool = True,
        sealed: bool = False,
    ) -> ContextBlock:
        """Return the context block for an agent of this theme, and record it: facts, tokens and session.

        It holds what the agent reads of other themes, too: see `PlaceThemes.readable`.

        :param record: False when a person previews what an agent would be given
        :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
        :param sealed: it reads no theme but its own
        """
        theme = self._names.find_theme_name(theme)
        policy, theme_id = self._policies.for_theme(theme), self._names.theme_or_none(theme)
        gauge = self._tiers.gauge_by_key(theme, theme_id, policy)
        ranked, of_person, places = self._ranked_keys(theme, personal=personal, sealed=sealed)
        own_keys, taken = pack_facts(of_person, min(PERSONAL_TOKENS, policy.injection_tokens))
        keys, spent = pack_facts(ranked, policy.injection_tokens - taken)
        chosen, spent = self._facts(keys + own_keys), spent + taken
        held = sum(place.is_held for place in places.values())
        left_out = len(ranked) + len(of_person) - len(chosen)
        scopes = self._open_scopes(theme_id)
        marks = {fact.uid: places[fact.id].mark for fact in chosen if fact.id in places}
        held = sum(place.is_held for place in places.values())
        lines = [
            f"{line} {marks[fact.uid].label}" if fact.uid in marks else line
            for line, fact in zip(notation_lines(chosen), chosen, strict=True)
        ]
        text = self._text(lines, left_out, held, scopes, f"[MEMORY {gauge.pct:.1f}% ({gauge.used}/{gauge.budget})]")
        if record:
            self._reads.note("status", theme, chosen, session=session, tokens=spent)
        tokens = token_estimate.estimate_tokens(text)
        return ContextBlock(text, chosen, spent, tokens, left_out, gauge, scopes, marks, held)

    def ranked_facts(self, theme: str, *, personal: bool = True, sealed: bool = False) -> list[Fact]:
        """Return the hot facts that agents of a theme are given, in context order, then the person's own.

        First those that are pinned, then the most binding, then the most recently used; behind them what was written on
        branches that are not merged.

        :param personal: sealed; as for `status`
        """
        ranked, of_person, _ = self._ranked_keys(self._names.find_theme_name(theme), personal=personal, sealed=sealed)
        return self._facts([key for key, _ in ranked + of_person])

    def _ranked_keys(
        self, theme: str, *, personal: bool, sealed: bool
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]], dict[int, HotPlace]]:
        """Return (key, tokens) pairs in context order, of what the agent reads and of the person's own facts.

        What is held back is in neither; the places of facts with a mark come last.
        """
        if not self._policies.has_project_themes:
            personal, sealed = False, True
        parts = format_hot_parts(self._db.rows, theme, personal=personal, sealed=sealed)
        whose, of_person = (
            [row for key, condition in part for row in self._db.rows(f"{HOT_FACTS} AND {condition}", (key,))]
            for part in parts
        )
        places = self._branches.place_hot_facts(theme, whose)
        return lower_marked(rank_facts(whose), places), rank_facts(of_person), places

    def _facts(self, keys: list[int]) -> list[Fact]:
        marks = ", ".join("?" * len(keys))
        rows = self._db.rows(f"{FACTS_WITH_READS} WHERE f.id IN ({marks})", tuple(keys))
        found = self._reader.by_id(rows)
        return [found[key] for key in keys if key in found]

    def _open_scopes(self, theme_id: int | None) -> list[str]:
        sql = (
            "SELECT label FROM scopes WHERE theme_id = ? AND status IN ('open', 'cooling') AND label <> ''"
            " ORDER BY id DESC LIMIT 200"
        )
        return [] if theme_id is None else [row[0] for row in self._db.rows(sql, (theme_id,))]

    def _text(self, facts: list[str], left_out: int, held: int, scopes: list[str], gauge_line: str) -> str:
        lines = [SPEC, gauge_line, ""]
        lines += facts or ["(no active facts)"]
        if left_out:
            lines.append(format_left_out(left_out))
        if held:
            lines.append(f"(+{held} of unmerged branches held back: memory_search branch:NAME)")
        if scopes:
            lines += ["", f"active scopes: {format_scope_labels(scopes)}"]
        return "\n".join(lines)


def format_scope_labels(scopes: list[str]) -> str:
    """Format scope labels within `SCOPE_TOKENS`, with a count of those left out."""
    shown: list[str] = []
    spent = 0
    for label in scopes:
        spent += token_estimate.estimate_tokens(label) + LINE_TOKENS
        if spent > SCOPE_TOKENS and shown:
            return f"{', '.join(shown)} (+{len(scopes) - len(shown)} more)"
        shown.append(label)
    return ", ".join(shown)
