"""Themes that older versions stored under names that no agent can have, and the move of their facts to the normal form.

The chain of the journal covers the names of themes, so a theme is never renamed in place: its scopes and facts are restored
under the normal name by the rules of an import, and the originals are withdrawn, which can be undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_memory_store import errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.files.fact_restore import Restorer
from hermes_memory_store.files.jsonl_format import PortableFact, parse_jsonl_line, theme_jsonl_lines
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.model import HOLD_OPERATION, UNKNOWN_ORIGIN, Actor, ScopeStatus, Tier
from hermes_memory_store.safe_text import pluralise
from hermes_memory_themes import ThemeName
from hermes_memory_themes.theme_identity import find_normal_form

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

LONGEST = 1_000_000
"""Characters of a stored fact: what was accepted once moves, whatever the policy says by now."""

HELD = """
    SELECT t.id,
      (SELECT count(*) FROM facts WHERE theme_id = t.id AND tier <> 'withdrawn'),
      (SELECT count(*) FROM turns WHERE theme_id = t.id),
      EXISTS (SELECT 1 FROM sync_themes WHERE theme_id = t.id)
    FROM themes t WHERE t.name = ?
"""

FACTS_OF_THEME = f"SELECT {FACT_COLUMNS} FROM facts f WHERE theme_id = ? AND tier <> 'withdrawn'"

SCOPES_OF_THEME = "SELECT id FROM scopes WHERE theme_id = ? AND label <> '' AND status <> 'withdrawn'"


class MisnamedTheme:
    """A theme that holds something under a name that no agent can have."""

    def __init__(self, name: str, normal: ThemeName | None, key: int, facts: int, turns: int, shared: bool) -> None:
        self.name, self.normal, self.key, self.facts = name, normal, key, facts
        self.obstacle: str | None = None
        """Why it cannot be moved safely."""
        if normal is None:
            self.obstacle = "its name has no normal form; export it with the library and import it under another name"
        elif shared:
            self.obstacle = "it is exchanged with the team under this name"
        elif turns:
            self.obstacle = f"it holds {turns} captured turns, which cannot be moved"

    def __str__(self) -> str:
        return f"{self.name[:60]!r} ({pluralise(self.facts, 'fact')})"


def find_misnamed_themes(store: Store) -> list[MisnamedTheme]:
    misnamed = []
    for name in store.names.all_themes():
        normal = find_normal_form(name)
        if normal != name:
            key, facts, turns, shared = store.db.row(HELD, (name,)) or (0, 0, 0, 0)
            if facts or turns:
                misnamed.append(MisnamedTheme(name, normal, key, facts, turns, bool(shared)))
    return misnamed


def move_misnamed_theme(store: Store, misnamed: MisnamedTheme, actor: Actor) -> None:
    """Move scopes and facts to the normal form of the name, all of them or none.

    :raises StoreError: a fact cannot be restored; nothing was changed then
    """
    assert misnamed.normal is not None
    lines = theme_jsonl_lines(store, misnamed.name, None)
    items = list(enumerate((parse_jsonl_line(line, limit=LONGEST) for line in lines), 1))
    exported = {(item.uid, item.updated_at) for _, item in items if isinstance(item, PortableFact)}
    with store.db.write_transaction() as conn:
        rows = [FactRow(*row) for row in conn.execute(FACTS_OF_THEME, (misnamed.key,)).fetchall()]
        if {(row.uid, row.updated_at) for row in rows} != exported:
            raise errors.FactConflict("somebody else wrote to it; run the doctor again", misnamed.name)
        restorer = Restorer(store, misnamed.normal, None, origin=UNKNOWN_ORIGIN)
        for some in in_chunks(items):
            for _, error in restorer.restore_batch(some):
                raise error
        restorer.link_superseded()
        change = Mutation(conn, store.names, store.journal, actor)
        for row in rows:
            change.update_fact(row, HOLD_OPERATION, tier=Tier.WITHDRAWN.value)
        for (scope_id,) in conn.execute(SCOPES_OF_THEME, (misnamed.key,)).fetchall():
            change.update_scope(scope_id, "merge", status=ScopeStatus.WITHDRAWN)
        change.record()
