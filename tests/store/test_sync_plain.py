"""Facts that meet nothing are shown at once: everything stands as if they had been looked at one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store import uids
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.sync import apply
from hermes_memory_store.sync.wire_format import PullCursor, SyncRow, scope_sync_uid

from .team import THEME, Member, joining_members, load_team_policies

BEGIN = 1_790_000_000_000
NODE = "6c1f8f5e-9a52-4b0e-8a3c-3d1a7f0f2c11"

TABLES = (
    "SELECT id, uid, scope_id, type, target, content, tier, pinned, chars, tokens, actor_id, created_at, updated_at,"
    " superseded_by, cooled_by FROM facts ORDER BY id",
    "SELECT label, status, opened_at, closed_at, closed_by FROM scopes ORDER BY label",
    "SELECT * FROM sync_rows ORDER BY uid",
    "SELECT * FROM sync_conflicts ORDER BY uid, hlc",
    "SELECT * FROM sync_changed",
    "SELECT op, entity, uid, before, after FROM journal WHERE entity = 'fact' ORDER BY seq",
    "SELECT hot_facts, hot_chars, hot_tokens, pinned_chars, last_fact FROM themes",
    "SELECT facts_text, rowid FROM facts_text('w3') ORDER BY rowid",
)


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[[], Member]]:
    """Makes a member of the team."""
    with joining_members(tmp_path, load_team_policies(tmp_path), begin=BEGIN, apart_ms=0) as member:
        yield member


def fact(chance: random.Random, number: int, known: list[str]) -> SyncRow:
    """A fact as any machine may send it: mostly ordinary, sometimes in somebody's place, odd, or of a newer program."""
    uid = uids.format_uid(uids.new_uid(BEGIN + number))
    known.append(uid)
    tier = chance.choice(["hot", "hot", "cold", "archived", "superseded"])
    odd = chance.random() < 0.3
    attrs: dict[str, Any] = {
        "type": chance.choice("CDV?"),
        "target": chance.choice([f"t{number}", f"t{number}", f"t{number % 3}", f"T{number % 3}", "café", "cafe\u0301"]),
        "scope": chance.choice([None, "speed", "Speed", "closed"]),
        "tier": tier,
        "pinned": tier == "hot" and chance.random() < 0.1,
        "created_at": BEGIN + number,
        "updated_at": BEGIN + number + chance.randint(0, 5),
        "superseded_by": None,
        "cooled_by": "relief" if tier == "cold" else None,
        "by": chance.choice(["person", "session:one", "session:", "sync"]),
    }
    if tier == "superseded" or (odd and chance.random() < 0.3):
        attrs["superseded_by"] = chance.choice([None, *known, uids.format_uid(uids.new_uid(BEGIN + 999))])
    content = f"w{number} w{number % 7}"
    if odd:
        change, value = chance.choice(
            [("extra", 1), ("pinned", 1), ("created_at", True), ("target", 7), ("tier", "withdrawn"), ("by", 3)]
        )
        attrs[change] = value
    if chance.random() < 0.1:
        content = chance.choice(["two\nlines w3", "e\u0301 w3", "  w3", "‹w3›", "hidden\u202e w3"])
    return SyncRow(THEME, uid, "fact", content, attrs, 0, BEGIN + number << 16, NODE)


def scope(label: str, status: str) -> SyncRow:
    attrs = {"status": status, "opened_at": BEGIN - 5, "closed_at": None, "closed_by": None}
    if status == "closed":
        attrs |= {"closed_at": BEGIN, "closed_by": "person"}
    return SyncRow(THEME, scope_sync_uid(THEME, label), "scope", label, attrs, 0, BEGIN << 16, NODE)


def pages(seed: int) -> list[list[SyncRow]]:
    """What a server may hand out: some of it twice, and some facts in later versions."""
    chance = random.Random(seed)
    known: list[str] = []
    rows: list[SyncRow] = [scope("speed", "open"), scope("closed", "closed")]
    for number in range(60):
        rows.append(fact(chance, number, known))
        if chance.random() < 0.15:
            old = chance.choice(rows)
            new = fact(chance, number, [])
            gone: dict[str, Any] = {"state": 1, "content": None, "attrs": {}}
            said = gone if chance.random() < 0.3 else {"content": new.content, "attrs": new.attrs}
            if old.kind == "fact":
                rows.append(replace(old, hlc=BEGIN + 100 + number << 16, ancestors=(old.hlc,), **said))
        if chance.random() < 0.1:
            rows.append(chance.choice(rows))
    chance.shuffle(rows)
    return [rows[:5], rows[5:40], rows[40:]]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_shown_as_it_says_for_certain_is_shown_as_if_it_were_looked_up(
    seed: int, join: Callable[[], Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    known_at_once, looked_up = join(), join()
    found, sent = [], pages(seed)

    def noted(*given: Any) -> bool:
        found.append(is_shown_as_it_says(*given))
        return found[-1]

    is_shown_as_it_says = apply.is_shown_as_it_says
    for member, way in ((looked_up, lambda *_: False), (known_at_once, noted)):
        monkeypatch.setattr(apply, "is_shown_as_it_says", way)
        member.store.db.conn.execute("INSERT INTO sync_store (id, node) VALUES (1, zeroblob(16))")
        member.store.sync.themes()
        for n, page in enumerate(sent):
            member.store.sync.inbox.apply(THEME, list(enumerate(page, n * 100)), cursor=PullCursor(n * 100 + 100))
    assert any(found)
    for sql in TABLES:
        assert known_at_once.store.db.rows(sql) == looked_up.store.db.rows(sql), sql
    assert [check for check in examine_store(known_at_once.store) if not check.ok and check.name != "team"] == []


@pytest.mark.parametrize(
    "odd", [{"by": None}, {"by": 7}, {"type": "no type"}, {"superseded_by": "no uid"}, {"tier": 3}]
)
def test_a_row_that_is_odd_hinders_no_other(join: Callable[[], Member], odd: dict[str, Any]) -> None:
    ann, bob = join(), join()
    for line in ("V[a]: 1", "V[b]: 2"):
        ann.clock.forward(1000)
        ann.store.facts.write(THEME, line)
    one, two = ann.store.sync.outbox.pending_rows(THEME)
    bob.store.sync.inbox.apply(THEME, [(1, replace(one, attrs={**one.attrs, **odd})), (2, two)], cursor=PullCursor(2))
    assert bob.store.facts.get(two.uid).content == "2"
    assert bob.store.sync.inbox.cursor(THEME).seq == 2
