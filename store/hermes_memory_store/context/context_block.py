"""The context block: the facts an agent is given about its memory, packed into a hard token budget.

The most binding and most recently used facts come first; a last line counts what was left out, so that the agent
knows that a search is worthwhile.
"""

from __future__ import annotations

from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database.db import Db
from hermes_memory_store.memory.tiers import BINDING, Tiers
from hermes_memory_store.model import ContextBlock, Fact, Session, notation_lines
from hermes_memory_store.notation import abbreviations, token_estimate
from hermes_memory_store.rows.mutation import FACTS_WITH_READS
from hermes_memory_store.rows.name_keys import Names
from hermes_memory_store.rows.row_reader import RowReader
from hermes_memory_themes import Policies

SCOPE_TOKENS = 40
"""Tokens the list of open scopes may take."""

LINE_TOKENS = 1
"""What the end of a line costs."""

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

HOT = """
    SELECT f.id, f.type, f.pinned, f.updated_at, r.last_at, f.tokens
    FROM facts f LEFT JOIN reads r ON r.fact_id = f.id
    WHERE f.theme_id = ? AND f.tier = 'hot'
"""


class ContextBlocks:
    """Build the context block of a theme."""

    def __init__(self, db: Db, names: Names, tiers: Tiers, policies: Policies, reads: ReadLog) -> None:
        self._db = db
        self._names = names
        self._tiers = tiers
        self._policies = policies
        self._reads = reads
        self._reader = RowReader(names)

    def status(self, theme: str, *, session: Session | None = None, record: bool = True) -> ContextBlock:
        """Return the context block for an agent of this theme, and record it: facts, tokens and session.

        :param record: False when a person previews what an agent would be given
        """
        theme = self._names.find_theme_name(theme)
        policy, theme_id = self._policies.for_theme(theme), self._names.theme_or_none(theme)
        gauge = self._tiers.gauge_by_key(theme, theme_id, policy)
        ranked = self._ranked_keys(theme_id)
        keys, spent = pack_facts(ranked, policy.injection_tokens)
        chosen = self._facts(keys)
        left_out = len(ranked) - len(keys)
        scopes = self._open_scopes(theme_id)
        text = self._text(chosen, left_out, scopes, f"[MEMORY {gauge.pct:.1f}% ({gauge.used}/{gauge.budget})]")
        if record:
            self._reads.note("status", theme, chosen, session=session, tokens=spent)
        return ContextBlock(text, chosen, spent, token_estimate.estimate_tokens(text), left_out, gauge, scopes)

    def ranked_facts(self, theme: str) -> list[Fact]:
        """Return a theme's hot facts in context order: pinned, then most binding, then most recently used."""
        return self._facts([key for key, _ in self._ranked_keys(self._names.theme_or_none(theme))])

    def _ranked_keys(self, theme_id: int | None) -> list[tuple[int, int]]:
        """Return (key, tokens) pairs in context order."""
        rows = [] if theme_id is None else self._db.rows(HOT, (theme_id,))
        rows.sort(key=lambda row: (-row[2], BINDING[row[1]], -max(row[3], row[4] or 0), -row[0]))
        return [(row[0], row[5]) for row in rows]

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

    def _text(self, facts: list[Fact], left_out: int, scopes: list[str], gauge_line: str) -> str:
        lines = [SPEC, gauge_line, ""]
        lines += notation_lines(facts) or ["(no active facts)"]
        if left_out:
            lines.append(f"(+{left_out} more: memory_search)")
        if scopes:
            lines += ["", f"active scopes: {format_scope_labels(scopes)}"]
        return "\n".join(lines)


def pack_facts(ranked: list[tuple[int, int]], budget: int) -> tuple[list[int], int]:
    """Return the keys of the facts that fit into `budget` tokens, in order.

    A fact that is too long is skipped in favour of shorter ones after it.
    """
    chosen, spent = [], 0
    for key, cost in ranked:
        if spent + cost + LINE_TOKENS <= budget:
            chosen.append(key)
            spent += cost + LINE_TOKENS
    return chosen, spent


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
