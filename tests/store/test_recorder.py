"""The flight recorder: what a session was told stays readable in the words of that moment."""

from __future__ import annotations

import os
from pathlib import Path

from hermes_memory_store import uids
from hermes_memory_store.diagnostics.file_holders import find_holders
from hermes_memory_store.store import Store


def test_what_was_told_is_told_again_in_its_own_words(tmp_path: Path) -> None:
    times = iter(range(1_000, 10_000))
    with Store.open(tmp_path / "m.db", clock=lambda: next(times)) as store:
        session = store.sessions.open("t", "agent")
        fact = store.facts.write("t", "D[cache]: redis", session=session).fact
        store.context.status("t", session=session)
        store.facts.edit(fact.uid, "none")
        store.search.find("t", "cache", session=session)
        store.context.status("t", record=False)
        store.reads.flush()
        newest, first = store.context_records.list("t", "agent")
        assert (newest.kind, newest.why) == ("search", "cache")
        assert (first.kind, first.session) == ("status", "agent")
        assert first.tokens > 0
        (then,) = store.context_records.facts(first)
        assert then.notation == "D[cache]: redis"
        assert then.changed
        assert not store.context_records.facts(newest)[0].changed
        assert store.context_records.list("t", "somebody else") == []
        store.purge.facts({uids.parse_uid(fact.uid)})
        assert store.context_records.facts(first)[0].notation is None


def test_this_process_holds_its_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db") as store:
        mine = [one for one in find_holders(store.path) if one.pid == os.getpid()]
        assert len(mine) == 1
        assert "pytest" in mine[0].program or "python" in mine[0].program
        assert mine[0].started_at > 0
    assert find_holders(tmp_path / "m.db") == []
