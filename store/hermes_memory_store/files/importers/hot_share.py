"""The share of the hot tier that memories of another program may fill, so that the next write finds room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.files.importers.import_batch import ImportItem
from hermes_memory_store.files.jsonl_format import PortableFact
from hermes_memory_store.items.mutation import count_notation_chars
from hermes_memory_store.items.tier_columns import COOLED_BY_PRESSURE, cold_columns
from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store

SHARE_PCT = 50
"""How full an import may make the hot tier, in percent: relief begins at 70, and the other half is for what agents write."""

PRESENT = "SELECT uid FROM facts WHERE theme_id = ? AND uid IN ({marks})"


def limit_hot_share(
    store: Store, theme: str, items: Sequence[ImportItem], scope: str | None
) -> tuple[list[ImportItem], int]:
    """Let facts be hot up to the share, pinned ones first, then the newest; return all items and how many became cold.

    Facts that are there already stay what they are, and so do those that a later one of the source replaces.

    :param scope: of facts that name none
    """
    present = find_present_uids(store, theme, [item.said.uid for item in items if isinstance(item.said, PortableFact)])
    standing: dict[tuple[str | None, str, str], tuple[int, PortableFact]] = {}
    for number, item in sorted(enumerate(items), key=lambda entry: to_change_time(entry[1])):
        fact = item.said
        if isinstance(fact, PortableFact) and fact.tier is Tier.HOT and fact.uid not in present:
            standing[fact.scope or scope, fact.said.type.value, fact.said.target.casefold()] = number, fact
    gauge = store.tiers.gauge(theme)
    room = gauge.budget * SHARE_PCT // 100 - gauge.used
    limited, cooled = list(items), 0
    for number, fact in sorted(
        standing.values(), key=lambda entry: (entry[1].pinned, entry[1].updated_at), reverse=True
    ):
        chars = count_notation_chars(fact.said.target, fact.said.content)
        if chars <= room:
            room -= chars
            continue
        cold = replace(fact, **cold_columns(COOLED_BY_PRESSURE) | {"tier": Tier.COLD, "pinned": False})
        limited[number] = replace(items[number], said=cold)
        cooled += 1
    return limited, cooled


def to_change_time(item: ImportItem) -> int:
    """Return when a fact was changed last; 0 for anything else."""
    return item.said.updated_at if isinstance(item.said, PortableFact) else 0


def find_present_uids(store: Store, theme: str, uids: Sequence[bytes]) -> set[bytes]:
    """Find which facts a theme holds already."""
    theme_id = store.names.theme_or_none(theme)
    if theme_id is None:
        return set()
    present: set[bytes] = set()
    for some in in_chunks(uids):
        rows = store.db.rows(PRESENT.format(marks=",".join("?" * len(some))), (theme_id, *some))
        present.update(uid for (uid,) in rows)
    return present
