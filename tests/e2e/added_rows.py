"""What `test_added_rows.py` runs in a copy of the product that has one more attribute, type and operation.

`python added_rows.py FOLDER` writes, changes, undoes, moves, exports, imports, replays and syncs a fact that uses all three,
and leaves `FOLDER/memory.db` with it. What does not hold raises.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from hermes_memory_store import Store, export_jsonl, export_spec, import_file, open_store_at
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.journal.transaction_log import replay_log, transaction_log_lines
from hermes_memory_store.model import PERSON
from hermes_memory_store.uids import parse_uid
from tests.store.conftest import HandClock
from tests.store.team import THEME, Server, converge, joining_members, load_team_policies

NOTATION = "H[cache.theory]: evictions follow deploys"


def flag_fact(store: Store, uid: str, note: str | None) -> None:
    """Set the new attribute by the new operation."""
    with store.db.write_transaction() as conn:
        change = Mutation(conn, store.names, store.journal, PERSON)
        row = change.fact_row(parse_uid(uid))
        assert row is not None
        change.update_fact(row, "flag", note=note)
        change.record()


def note_of(store: Store, uid: str) -> object:
    return store.facts.get(uid).note  # type: ignore[attr-defined]


def main(folder: Path) -> None:
    clock = HandClock(1_790_000_000_000)
    with closing(Store.open(folder / "memory.db", clock=clock)) as store:
        uid = store.facts.write("ops", NOTATION, scope="deploys").fact.uid
        before = clock.now
        clock.forward(60_000)
        flag_fact(store, uid, "seen twice")
        assert note_of(store, uid) == "seen twice"
        assert [(row.op, (row.after or {}).get("note")) for row in store.facts.history(uid)][-1] == (
            "flag",
            "seen twice",
        )
        assert [fact.uid for fact in store.search.find("ops", "type:hypothesis").facts] == [uid]

        store.undo.last()
        assert note_of(store, uid) is None
        store.undo.redo()
        assert note_of(store, uid) == "seen twice"
        clock.forward(60_000)
        with closing(open_store_at(store, before)) as past:
            assert note_of(past, uid) is None

        file = folder / "theme.jsonl"
        file.write_text("\n".join(export_jsonl(store, "ops")), encoding="utf-8")
        assert NOTATION in "\n".join(export_spec(store, "ops"))
        with closing(Store.open(folder / "imported.db", clock=clock)) as imported:
            import_file(imported, file, theme="ops")
            assert note_of(imported, uid) == "seen twice"
        with closing(Store.open(folder / "replayed.db", clock=clock)) as replayed:
            replay_log(transaction_log_lines(store), replayed)
            assert note_of(replayed, uid) == "seen twice"
        moved = store.theme_moves.move(uid, "app").uids
        assert [fact.note for fact in store.facts.get(moved) if fact.theme == "app"] == ["seen twice"]  # type: ignore[attr-defined]
        store.undo.last()
        assert [check for check in examine_store(store) if not check.ok] == []

    with joining_members(folder, load_team_policies(folder)) as join:
        ann, bob, server = join(), join(), Server()
        shared = ann.store.facts.write(THEME, NOTATION).fact.uid
        flag_fact(ann.store, shared, "seen twice")
        converge([ann, bob], server)
        assert note_of(bob.store, shared) == "seen twice"
        flag_fact(bob.store, shared, "seen thrice")
        converge([bob, ann], server)
        assert note_of(ann.store, shared) == "seen thrice"
        flag_fact(ann.store, shared, None)
        converge([ann, bob], server)
        assert note_of(bob.store, shared) is None


if __name__ == "__main__":
    main(Path(sys.argv[1]))
