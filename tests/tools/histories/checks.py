"""What must hold after a step, and what when the machines have exchanged everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hermes_memory_store import uids
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.store import Store
from hermes_memory_store.sync.team_origins import origin_formatter
from hermes_memory_store.sync.wire_format import SyncRow, comparable_content
from hermes_memory_store.upkeep.erased_words import fold_phrase
from tests.store.team import THEME, Member, shown

if TYPE_CHECKING:
    from tests.tools.histories.player import Player

Row = tuple[Any, ...]

FACTS = """
    SELECT hex(f.uid), s.label, f.type, f.target, f.content, f.tier, f.pinned, hex(f.superseded_by), f.cooled_by
    FROM facts f JOIN scopes s ON s.id = f.scope_id
"""

SCOPES = "SELECT hex(uid), label, status, opened_at, closed_at, closed_by FROM scopes WHERE label <> ''"

TOUCHED = f"""
    {FACTS} WHERE f.tier NOT IN ('withdrawn', 'superseded') AND EXISTS (
      SELECT 1 FROM journal j JOIN actors a ON a.id = j.actor_id
      WHERE j.uid = f.uid AND j.before IS NOT NULL AND (a.kind = 'person' AND (
        (j.op = 'pin' AND f.pinned) OR (j.op = 'move' AND s.label = coalesce(j.after ->> 'scope', ''))
          OR (j.op = 'edit' AND f.content = j.after ->> 'content'))
        OR a.kind = 'sync' AND f.updated_at = j.after ->> 'updated_at')
        AND NOT EXISTS (SELECT 1 FROM journal u WHERE u.undoes = j.change)
        AND j.seq > (SELECT max(k.seq) FROM journal k JOIN actors b ON b.id = k.actor_id
          WHERE k.uid = f.uid AND b.kind = 'session'))
"""
"""Facts that a session wrote or changed, that a person or a teammate pinned, moved or edited after it, and that are so still.

What was taken back since is left aside: a fact may say the same words again that an edit gave it which was undone.
"""

HIDDEN = """
    SELECT hex(f.uid), s.label, f.tier FROM facts f JOIN scopes s ON s.id = f.scope_id
    WHERE s.status = 'withdrawn' AND f.tier <> 'withdrawn'
"""


OUTPLACED = """
    SELECT l.uid, w.uid, l.content, w.content FROM sync_rows r JOIN facts l USING (uid) JOIN facts w ON w.uid = l.superseded_by
    WHERE l.tier = 'superseded' AND r.shadow ->> '$[2].tier' IN ('hot', 'cold', 'archived')
"""
"""Facts that stand by their version and are shown behind another one here."""


def portrait(store: Store) -> tuple[list[Row], list[Row]]:
    """Facts and scopes as they stand; a scope that is not there is none."""
    scopes = [row for row in store.db.rows(f"{SCOPES} ORDER BY uid") if row[2] != "withdrawn"]
    return store.db.rows(f"{FACTS} WHERE f.tier <> 'withdrawn' ORDER BY f.uid"), scopes


def touched_by_person(store: Store) -> list[Row]:
    """What an undo of a session must leave."""
    return store.db.rows(TOUCHED)


def check_untouched(store: Store, before: list[Row]) -> None:
    """What a person touched is as it was."""
    after = set(store.db.rows(FACTS))
    assert not (changed := [row for row in before if row not in after]), f"undone beneath a person: {changed}"


def check_purged(member: Member) -> None:
    """Nothing that was purged is back, and nothing hides in a scope that is gone."""
    db = member.store.db
    back = db.rows("SELECT hex(uid) FROM tombstones JOIN facts USING (uid)")
    assert not back, f"purged facts are back: {back}"
    assert not (hidden := db.rows(HIDDEN)), f"facts in scopes that are gone: {hidden}"


def check_at_rest(team: Player) -> None:
    """All machines and the server say the same, no doctor finds anything, and nothing is lost."""
    first = team.members[0].store
    digests = first.sync.standing.digests(THEME)
    for number, member in enumerate(team.members):
        store = member.store
        assert store.sync.standing.digests(THEME) == digests, f"machine {number} has other versions than machine 0"
        if member.screen is team.members[0].screen:  # who checks contents is shown something else
            here, there = shown(store), shown(first)
            assert here == there, f"machine {number} shows {set(here) - set(there)}, machine 0 {set(there) - set(here)}"
        bad = [check for check in examine_store(store) if not check.ok and check.name != "team"]
        assert not bad, f"doctor on machine {number}: {bad}"
        check_erased(team, number, member)
        check_origins(team, number, member)
        check_places(number, store)
    assert {uid: row.digest for uid, (_, row) in team.server.rows.items()} == digests, "the server has other versions"
    check_nothing_is_lost(team)


def check_places(number: int, store: Store) -> None:
    """Who stands in the place of a fact that says something else is listed with it, and nobody else is."""
    behind = store.db.rows(OUTPLACED)
    expected = {(one, other) for one, other, lost, stands in behind if fold_phrase(lost) != fold_phrase(stands)}
    listed = set(store.db.rows("SELECT uid, other FROM sync_conflicts WHERE why = 'two heads'"))
    assert listed == expected, f"machine {number} lists {listed - expected} for nothing, and not {expected - listed}"


def check_origins(team: Player, number: int, member: Member) -> None:
    """Each fact comes from where the team says, in the words of the machine that wrote it, and nothing is kept twice."""
    db, names = member.store.db, member.store.names
    told = {uid: {**row.origin} for uid, (_, row) in team.server.rows.items() if row.origin is not None}
    to_words = origin_formatter(names)
    for uid, *columns in db.rows("SELECT uid, origin_id, origin_detail, NULL FROM facts"):
        said = to_words(*columns)
        name = uids.format_uid(uid)
        for words in (said, told.get(name)):
            (words or {}).pop("verdict", None)  # a person's decision may come later, on one machine
        assert name not in told or said == told[name], f"machine {number} says {said} of {name}, the team {told[name]}"
    kept = db.rows("SELECT hex(uid) FROM sync_origins JOIN facts USING (uid)")
    kept += db.rows("SELECT hex(uid) FROM sync_origins JOIN tombstones USING (uid)")
    assert not kept, f"machine {number} keeps the origins of facts that are shown, or purged: {kept}"


def check_erased(team: Player, number: int, member: Member) -> None:
    """What only purged facts said is nowhere in the file of a machine."""
    there = {uids.format_uid(uid) for (uid,) in member.store.db.rows("SELECT uid FROM facts")}
    assert not there & team.purged, f"machine {number} still has purged facts: {there & team.purged}"
    if not (gone := erased_words(team)):
        return
    member.store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = member.path.read_bytes()
    left = {word for word in gone if word.encode() in data}
    assert not left, f"machine {number} still holds what was purged: {left}"


def erased_words(team: Player) -> set[str]:
    """What only purged facts said."""
    gone = set().union(*(team.said.get(uid, set()) for uid in team.purged))
    if not gone:
        return gone
    # Of a conflict a fact may have been made that says the same.
    sql = "SELECT content FROM facts UNION ALL SELECT before FROM journal UNION ALL SELECT after FROM journal"
    stays = " ".join(text for one in team.members for (text,) in one.store.db.rows(sql) if text)
    return {word for word in gone if word not in stays}


def check_conflicts(team: Player) -> None:
    """All machines that check contents alike list the same conflicts.

    Of two versions that say the same, knowing one is knowing both: who has seen both need not list what the other one lists.
    """
    alike = [member for member in team.members if member.screen is team.members[0].screen]
    lists = [list_conflicts(member, set()) for member in alike]
    settled = find_settled(team, [row for found in lists for row in found.values() if row])
    lists = [list_conflicts(member, settled) for member in alike]
    for number, found in enumerate(lists):
        here, there = set(found), set(lists[0])
        assert here == there, f"machine {number} lists {here - there} alone, machine 0 {there - here}"
        for name, row in found.items():
            said = lists[0][name]
            assert row is None or said is None or row.digest == said.digest, (
                f"machine {number} says {row}, machine 0 {said}"
            )


def list_conflicts(member: Member, settled: set[Row]) -> dict[Row, SyncRow | None]:
    """What lost, by its name; a fact that lost its place to another lost it in any of its versions."""
    found: dict[Row, SyncRow | None] = {}
    for one in member.store.sync.standing.conflicts(THEME):
        if one.why == "two heads":
            found[one.uid, one.mine.uid] = None
        elif (one.uid, one.theirs.hlc) not in settled:
            found[one.uid, one.theirs.hlc] = one.theirs
    return found


def find_settled(team: Player, lost: list[SyncRow]) -> set[Row]:
    """Which versions somebody knew, or others that say the same, who made what stands or one of these that lost."""
    return find_known(team, {(row.uid, hlc) for row in lost for hlc in row.ancestors})


def find_known(team: Player, known: set[Row], kept: Sequence[SyncRow] = ()) -> set[Row]:
    """What is known to whoever knows these versions and what stands.

    Of two that say the same, knowing one is knowing both, and what each was made from. That holds also of one that the server
    refused for a newer one: its author changed what he knew, and may have come to say what stands.

    :param kept: those of them that need not have been sent to anybody
    """
    made = [*team.server.accepted, *team.server.outdated, *kept]
    for _, row in team.server.rows.values():
        known |= {(row.uid, hlc) for hlc in (row.hlc, *row.ancestors)}
    before: set[Row] = set()
    while known - before:
        before = set(known)
        said = {(row.uid, comparable_content(row)) for row in made if (row.uid, row.hlc) in known}
        for row in made:
            if (row.uid, comparable_content(row)) in said:
                known |= {(row.uid, hlc) for hlc in (row.hlc, *row.ancestors)}
    return known


def check_nothing_is_lost(team: Player) -> None:
    """What the server ever accepted still stands, was known to what stands, is kept as a conflict, or was decided."""
    kept = [met.theirs for member in team.members for met in member.store.sync.standing.conflicts(THEME)]
    known = find_known(team, {(row.uid, hlc) for row in kept for hlc in (row.hlc, *row.ancestors)}, kept)
    stands = {uid: row for uid, (_, row) in team.server.rows.items()}
    for row in team.server.accepted:
        if stands[row.uid].state != 2 and len(stands[row.uid].ancestors) < 16:
            assert (row.uid, row.hlc) in known, f"lost: {row}, {stands[row.uid]}"
