"""Facts that are not what the journal says was written: no model is given them.

The doctor compares whole tables (`journal_comparison.py`). This reads by index what is to be given, each time it is given, and
imports nothing, since hooks without a bridge run it too.
"""

from __future__ import annotations

import json
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from hermes_memory_store.places.place_reading import Ask

NAMES = ["theme_id", "origin_id", "type", "target", "content", "tier", "pinned", "created_at", "updated_at", "verdict"]
"""Links are not compared: a purge takes out what they led to."""

HELD = f"""
    SELECT f.id, f.uid, s.uid, s.label, f.origin_detail, f.actor_id, a.kind, a.kind || ':' || a.name,
      {", ".join(f"f.{name}" for name in NAMES)}
    FROM facts f JOIN scopes s ON s.id = f.scope_id JOIN actors a ON a.id = f.actor_id WHERE f.id IN ({{marks}})
"""

WRITTEN = """
    SELECT j.uid, j.at, j.before IS NULL AND j.digest IS NULL, j.digest IS NOT NULL, j.after, j.theme_id, j.actor_id, j.origin_id
    FROM journal j WHERE j.uid IN ({marks}) ORDER BY j.uid, j.seq
"""

MISSING = """
    SELECT last_fact - (SELECT coalesce(sum(facts), 0) FROM tallies WHERE theme_id = t.id)
      - (SELECT count(*) FROM tombstones WHERE theme_id = t.id)
    FROM themes t WHERE id = ?
"""

AT_ONCE = 400
"""Facts compared by one statement: with their scopes not more parameters than the oldest SQLite takes."""


def find_altered_facts(ask: Ask, keys: Sequence[int]) -> set[int]:
    """Return which of these facts are not what the journal says of them, or were made by no row of it."""
    altered = set(keys)
    for start in range(0, len(keys), AT_ONCE):
        some = tuple(keys[start : start + AT_ONCE])
        held = ask(HELD.format(marks=", ".join("?" * len(some))), some)
        uids = tuple({uid for row in held for uid in row[1:3]})
        written = fold_written(ask(WRITTEN.format(marks=", ".join("?" * len(uids))), uids))
        for row in held:
            key, uid, scope, label, detail = row[:5]
            words = written.get(uid)
            labels = written.get(scope, {}).get("labels", ())
            if (
                words is not None
                and row[8:] == tuple([words.get(name) for name in NAMES])
                and words["actor"] in row[5:8]
                and (words.get("scope") in labels if label else not words.get("scope"))
                and parse_words(detail).items() <= words.items()
            ):
                altered.discard(key)
    return altered


def count_missing_facts(ask: Ask, theme_id: int) -> int:
    """Return how many facts of a theme are gone that nobody purged: facts are numbered, and a purge leaves a tombstone each."""
    return max(0, *(int(missing) for (missing,) in ask(MISSING, (theme_id,))))


def describe_doubt(altered: int, missing: int = 0, lost: str | None = None) -> str | None:
    """Say what of a memory is not as it was written; None when all is. :param lost: see `find_lost_end`"""
    parts = [f"{altered} left out, not what the journal says was written"] if altered else []
    parts += [f"{missing} gone that nobody purged"] if missing else []
    parts += [lost] if lost else []
    return f"facts changed behind the memory's back: {'; '.join(parts)}: hermes-memory-tui doctor" if parts else None


def fold_written(rows: Sequence[tuple[Any, ...]]) -> dict[bytes, dict[str, Any]]:
    """Fold rows of the journal by uid, without what was purged. `labels` holds all that a scope was ever called."""
    folded: dict[bytes, dict[str, Any]] = {}
    for uid, at, begins, is_redacted, after, theme_id, actor_id, origin_id in rows:
        said = parse_words(after)
        if is_redacted:
            folded.pop(uid, None)
            continue
        if begins or uid not in folded:
            folded[uid] = {"created_at": at, "updated_at": at, "pinned": 0, "labels": set(), "theme_id": theme_id}
            folded[uid]["actor"], folded[uid]["origin_id"] = said.get("by", actor_id), said.get("origin", origin_id)
        folded[uid].update(said)
        if "label" in said:
            folded[uid]["labels"].add(said["label"])
    return folded


@lru_cache(maxsize=2048)
def parse_words(text: str | None) -> dict[str, Any]:
    """Return the words of a journal row, which are kept, since each answer reads them again; none for damaged text, which the
    chain reveals."""
    try:
        words = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return words if isinstance(words, dict) else {}
