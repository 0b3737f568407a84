"""All that a store says, in words: for comparing two of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from hermes_memory_store.journal import transaction_log
from hermes_memory_store.store import Store

FACTS = """
    SELECT f.id, f.uid, t.name, s.label, f.type, f.target, f.content, f.tier, f.pinned, f.chars, f.tokens, a.kind, a.name,
      f.created_at, f.updated_at, f.superseded_by, f.cooled_by, hex(o.digest), f.origin_detail, f.verdict
    FROM facts f JOIN themes t ON t.id = f.theme_id JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id
    LEFT JOIN origins o ON o.id = f.origin_id
    ORDER BY f.id
"""

SCOPES = """
    SELECT s.uid, t.name, s.label, s.status, s.opened_at, s.closed_at, s.closed_by
    FROM scopes s JOIN themes t ON t.id = s.theme_id WHERE s.label <> '' ORDER BY s.uid
"""

TALLIES = """
    SELECT t.name, s.label, y.tier, y.type, y.facts
    FROM tallies y JOIN themes t ON t.id = y.theme_id JOIN scopes s ON s.id = y.scope_id
    WHERE y.facts <> 0 ORDER BY 1, 2, 3, 4
"""

GAUGES = "SELECT name, last_fact, hot_facts, hot_chars, hot_tokens, pinned_chars FROM themes ORDER BY name"

TOMBSTONES = "SELECT uid, purged_at FROM tombstones ORDER BY uid"


RULES = """
    SELECT t.name, r.source, r.rule, r.at FROM source_rules r JOIN themes t ON t.id = r.theme_id ORDER BY 1, 2
"""


def portrait(store: Store) -> dict[str, list[Any]]:
    """Facts, scopes, tallies, gauges, tombstones, rules, the words of the full-text index, and the journal hash by hash."""
    store.db.conn.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab (main, facts_text, instance)")
    return {
        "facts": store.db.rows(FACTS),
        "scopes": store.db.rows(SCOPES),
        "tallies": store.db.rows(TALLIES),
        "gauges": store.db.rows(GAUGES),
        "tombstones": store.db.rows(TOMBSTONES),
        "rules": store.db.rows(RULES),
        "words": store.db.rows(
            "SELECT term, doc, col, offset FROM temp.words WHERE col <> 'facets' ORDER BY 1, 2, 3, 4"
        ),
        "journal": list(transaction_log.transaction_log_lines(store)),
    }


def dump(path: Path) -> list[str]:
    """Every row of a database as SQL, virtual tables left out."""
    with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True) as conn:
        return [line for line in conn.iterdump() if "facts_fts" not in line and "facts_text" not in line]
