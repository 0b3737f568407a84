"""Purge of single facts: the words stand nowhere in the store's folder, and what goes is shown first."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.items import origin_rows
from hermes_memory_store.items.origin_rows import origin_digest
from hermes_memory_store.journal import transaction_log
from hermes_memory_store.model import Actor, Origin, Session, Way
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup
from hermes_memory_store.upkeep.erased_words import fold_phrase, holds_phrase, is_distinctive

THEME = "default"

KEY = "k7Rw2Qp9xLeaked"


@pytest.fixture
def agent(store: Store) -> Session:
    return store.sessions.open(THEME, "agent")


def holders(folder: Path, words: str) -> list[str]:
    """Files that hold the words."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.name for file in files if words.encode() in file.read_bytes()]


def test_after_a_purge_of_one_fact_its_words_stand_nowhere(store: Store, agent: Session, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}", session=agent, scope="deploy").fact
    store.facts.write(THEME, "V[port]: 5432", session=agent)
    store.facts.edit(fact.uid, "rotated by hand", actor=Actor("session", agent.name))
    store.turns.add(THEME, "user", f"take {KEY} for the deploy", session=agent)
    store.turns.add(THEME, "assistant", "The port is 5432.", session=agent)
    backup.create_backup(store, path.with_name("copy.bak"))
    store.search.find(THEME, KEY)
    store.reads.note("search", THEME, [store.facts.get(fact.uid)], session=agent, why=f"who has {KEY}?")
    answer = {
        "text": f"stored V[key]: {KEY}",
        "data": {"uid": fact.uid, "notation": f"V[key]: {KEY}", "status": "created"},
    }
    store.idempotency_keys.save_answer(THEME, "call-1", json.dumps(answer))
    backup.create_backup(store, path.with_name("later.bak"))
    assert len(holders(path.parent, KEY)) >= 3

    planned = store.purge.preview_facts(fact.uid[-8:])
    plan = store.purge.execute_facts(fact.uid[-8:])

    assert plan == planned
    assert ([one.uid for one in plan.facts], plan.versions, plan.records, plan.backups) == ([fact.uid], 2, 2, 2)
    assert [turn.content for turn in plan.turns] == [f"take {KEY} for the deploy"]
    assert (plan.team_rows, plan.others, plan.unreached) == (0, (), ())
    assert holders(path.parent, KEY) == []
    assert holders(path.parent, "rotated by hand") == []
    assert [turn.content for turn in store.turns.list(THEME)] == ["The port is 5432."]
    kept = json.loads(store.idempotency_keys.find_answer(THEME, "call-1") or "")
    assert kept["data"] == {"uid": fact.uid, "notation": "(purged)", "status": "created"}
    assert all(check.ok for check in examine_store(store))


def test_a_purge_reaches_what_was_left_where_a_row_stood_before_it_moved_to_another_page(
    store: Store, path: Path
) -> None:
    facts = [store.facts.write(THEME, f"V[k{n}]: word{n}x {100 * 'o'}").fact.uid for n in range(24)]
    moved = dict(list(enumerate(facts))[::2])
    for n, uid in moved.items():
        store.facts.edit(uid, f"word{n}x {380 * 'u'}")  # a page gets full, and rows move to the next

    left = {}
    for n, uid in moved.items():
        assert store.purge.erase([uid]) == (1, ())
        left[n] = holders(path.parent, f"word{n}x")

    assert not any(left.values()), left


def test_a_purge_that_could_not_write_the_file_anew_says_so(store: Store, path: Path) -> None:
    kept, fact = (store.facts.write(THEME, f"V[{key}]: {key}").fact for key in ("port", KEY))
    store.db.lock_timeout_s = 0.05
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.db.conn.set_trace_callback(
            lambda sql: sql == "VACUUM" and not other.in_transaction and other.execute("BEGIN IMMEDIATE")
        )
        left = f"{path} (the unused space of its pages: the next purge clears it)"
        assert store.purge.erase([fact.uid]) == (1, (left,))
        store.db.conn.set_trace_callback(None)
    assert store.purge.erase([kept.uid]) == (1, ())
    assert holders(path.parent, KEY) == []


def test_a_purge_of_a_scope_erases_what_one_of_its_facts_would(store: Store, agent: Session, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}", session=agent, scope="deploy").fact
    store.turns.add(THEME, "user", f"take {KEY} for the deploy", session=agent)
    backup.create_backup(store, path.with_name("copy.bak"))
    store.reads.note("search", THEME, [fact], session=agent, why=f"who has {KEY}?")
    store.idempotency_keys.save_answer(THEME, "call-1", json.dumps({"text": f"stored V[key]: {KEY}"}))

    planned = store.purge.preview(THEME, scope="deploy")
    plan = store.purge.execute(THEME, scope="deploy")

    assert plan == planned
    assert plan.erasure is not None
    assert (plan.total, len(plan.erasure.turns), plan.erasure.records, plan.erasure.backups) == (1, 1, 2, 1)
    assert holders(path.parent, KEY) == []
    assert all(check.ok for check in examine_store(store))


def test_nothing_proves_what_an_erased_turn_said(store: Store, agent: Session, path: Path) -> None:
    said = "my password is swordfish"
    digest = sha256(said.encode()).hexdigest()[:32]
    store.turns.add(THEME, "user", said, session=agent)
    kept = store.turns.add(THEME, "user", "another", session=agent)
    backup.create_backup(store, path.with_name("copy.bak"))
    assert len(holders(path.parent, digest)) >= 2

    store.turns.add(THEME, "user", "later", session=agent)
    uid = store.turns.list(THEME)[-1].uid
    fact = store.facts.write(THEME, f"V[said]: {said}").fact
    assert [turn.uid for turn in store.purge.execute_facts(fact.uid).turns] == [uid]

    assert holders(path.parent, digest) == []
    assert len(holders(path.parent, sha256(kept.content.encode()).hexdigest()[:32])) == 2
    assert all(check.ok for check in examine_store(store))


def test_a_preview_changes_nothing(store: Store, agent: Session) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}", session=agent).fact
    store.turns.add(THEME, "user", KEY, session=agent)
    last = store.journal.last_seq()

    store.purge.preview_facts([fact.uid])

    assert store.journal.last_seq() == last
    assert store.facts.get(fact.uid) == fact


def test_one_ordinary_word_takes_only_turns_of_the_session_that_said_it(store: Store, agent: Session) -> None:
    other = store.sessions.open(THEME, "other")
    fact = store.facts.write(THEME, "D[cache]: redis", session=agent).fact
    store.turns.add(THEME, "user", "We take Redis.", session=agent)
    store.turns.add(THEME, "user", "Is redis down?", session=other)

    assert [turn.session for turn in store.purge.preview_facts(fact.uid).turns] == ["agent"]
    assert store.purge.preview_facts(fact.uid, with_turns=False).turns == ()


def test_turns_of_another_theme_stay(store: Store) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}").fact
    store.turns.add("other", "user", KEY)

    assert store.purge.execute_facts(fact.uid).turns == ()
    assert store.turns.count("other") == 1


def test_facts_that_hold_the_same_words_are_named(store: Store) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}").fact
    twin = store.facts.write(THEME, f"C[deploy]: never print {KEY}").fact

    assert [one.uid for one in store.purge.preview_facts(fact.uid).others] == [twin.uid]
    assert store.purge.preview_facts([fact.uid, twin.uid]).others == ()


def test_what_undo_hid_is_purged_too(store: Store, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}").fact
    store.undo.last()

    store.purge.execute_facts(fact.uid[-8:])

    assert holders(path.parent, KEY) == []


def test_an_unknown_fact_purges_none(store: Store) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}").fact
    last = store.journal.last_seq()
    with pytest.raises(errors.UnknownFact):
        store.purge.execute_facts([fact.uid, "ffffffffffff"])
    assert store.journal.last_seq() == last


def test_a_purge_cannot_be_undone_and_says_so(store: Store) -> None:
    fact = store.facts.write(THEME, f"V[key]: {KEY}").fact
    store.purge.execute_facts(fact.uid)
    with pytest.raises(errors.UndoConflict, match="is a purge, which cannot be undone"):
        store.undo.change(store.journal.last_seq())
    with pytest.raises(errors.NothingToUndo):
        store.undo.last()


def test_a_purge_takes_a_scope_away_that_only_the_purged_fact_held(store: Store) -> None:
    first = store.facts.write(THEME, "V[a]: 1", scope="deploy")
    second = store.facts.write(THEME, f"V[key]: {KEY}", scope="deploy").fact
    store.undo.change(first.seqs[0])
    assert [scope.label for scope in store.scopes.list()] == ["deploy"]

    store.purge.execute_facts(second.uid)

    assert store.scopes.list() == []


@pytest.mark.parametrize(
    ("text", "phrase", "held"),
    [
        ("the key is K7Rw2Qp9x.", "k7rw2qp9x", True),
        ("k7rw2qp9xyz", "k7rw2qp9x", False),
        ("line one\n  line two", "one line", True),
        ("数据库在法兰克福。", "法兰克福", True),
    ],
)
def test_a_phrase_is_found_as_whole_words(text: str, phrase: str, held: bool) -> None:
    assert holds_phrase(fold_phrase(text), phrase) is held


@pytest.mark.parametrize(
    ("word", "distinctive"),
    [("redis", False), ("well-known", False), ("5432", False), ("a1", False), ("hunter2", True), ("482913", True)]
    + [("sk-live-zanzibar", True), ("db.example.org", True), ("correcthorsebatterystaple", True)],
)
def test_what_names_one_thing_only_is_looked_for(word: str, distinctive: bool) -> None:
    assert is_distinctive(word) is distinctive


def test_words_in_an_origin_go_and_the_chain_still_names_it(store: Store, path: Path, tmp_path: Path) -> None:
    told = Origin(
        way=Way.TOOL, title=f"rotate {KEY}", branch=f"fix/{KEY}", file=f"/home/x/{KEY}.md", client="claude-code"
    )
    fact = store.facts.write(THEME, f"V[key]: {KEY}", origin=told).fact
    other = store.facts.write(THEME, "V[port]: 5432", origin=told).fact
    backup.create_backup(store, path.with_name("copy.bak"))
    plan = store.purge.execute_facts(fact.uid)
    assert (plan.records, plan.unreached, plan.lasting) == (1, (), ())
    assert holders(path.parent, KEY) == []
    left = store.facts.get(other.uid).origin
    assert left == Origin(way=Way.TOOL, title="(purged)", branch="(purged)", file="(purged)", client="claude-code")
    assert [check for check in examine_store(store) if not check.ok] == []
    log = list(transaction_log.transaction_log_lines(store))
    assert KEY not in "".join(log)
    with Store.open(tmp_path / "replayed" / "memory.db", clock=store.clock) as again:
        transaction_log.replay_log(iter(log), again)
        assert again.facts.get(other.uid).origin == left
        assert again.journal.verify().ok
    with Store.open(path.with_name("copy.bak"), read_only=True) as kept:
        assert kept.journal.verify().ok


def test_a_digest_of_an_erased_origin_proves_no_guess(store: Store) -> None:
    told = Origin(way=Way.TOOL, branch="fix/k7Rw2Qp9x")
    fact = store.facts.write(THEME, "V[key]: k7Rw2Qp9x", origin=told).fact
    store.purge.execute_facts(fact.uid)
    (digest, salt), *_ = store.db.rows("SELECT digest, salt FROM origins WHERE branch IS NOT NULL")
    assert salt == b""
    assert digest != origin_digest(told, None, b"")


def test_a_writer_elsewhere_gives_no_erased_origin_to_new_facts(store: Store, path: Path) -> None:
    told = Origin(way=Way.TOOL, branch=f"fix/{KEY}")
    with Store.open(path, clock=store.clock) as elsewhere:
        fact = elsewhere.facts.write(THEME, f"V[key]: {KEY}", origin=told).fact
        store.purge.execute_facts(fact.uid)
        again = elsewhere.facts.write(THEME, "V[port]: 5432", origin=told).fact
        assert again.origin == told
        assert elsewhere.journal.verify().ok


def test_an_origin_of_erased_facts_alone_goes_with_them(store: Store, path: Path) -> None:
    store.facts.write(THEME, "V[first]: opens the scope", scope="old")
    store.facts.write(
        THEME, "V[a]: b", scope="old", origin=Origin(way=Way.IMPORT, file="/mnt/acquisition-plans.md", line=3)
    )
    kept = store.facts.write(
        THEME, "V[c]: d", scope="old", origin=Origin(way=Way.IMPORT, file="/mnt/notes.md", line=3)
    ).fact
    store.facts.move([kept.uid], "new")
    store.purge.execute(THEME, scope="old")
    assert holders(path.parent, "acquisition-plans") == []
    assert store.facts.get(kept.uid).origin.file == "/mnt/notes.md"
    assert [check for check in examine_store(store) if not check.ok] == []


def test_names_that_hold_the_words_are_said_and_stay(store: Store) -> None:
    session = store.sessions.open(THEME, f"rotate-{KEY[:4]}")
    fact = store.facts.write(THEME, "V[ticket]: OPS-12345-77", session=session, scope="OPS-12345-77").fact
    plan = store.purge.preview_facts(fact.uid)
    assert plan.lasting == ("the label of a scope",)
    assert plan == replace(store.purge.execute_facts(fact.uid), unreached=())


def test_a_fact_says_as_before_which_erased_turns_it_came_from(store: Store, agent: Session) -> None:
    store.turns.add(THEME, "user", f"take {KEY}", session=agent)
    other = store.facts.write(THEME, "V[port]: 5432", session=agent).fact
    fact = store.facts.write(THEME, f"V[key]: {KEY}", session=agent).fact
    plan = store.purge.execute_facts(fact.uid)
    assert store.facts.get(other.uid).origin.turns == tuple(turn.uid for turn in plan.turns)
    assert store.turns.list(THEME) == []
    assert [check for check in examine_store(store) if not check.ok] == []


def test_a_reader_elsewhere_soon_tells_the_words_no_more(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin_rows, "LOOK_S", -1.0)  # what it would see a second later
    told = Origin(way=Way.TOOL, branch=f"fix/{KEY}")
    fact = store.facts.write(THEME, f"V[key]: {KEY}", origin=told).fact
    other = store.facts.write(THEME, "V[port]: 5432", origin=told).fact
    with Store.open(path, read_only=True) as elsewhere:
        assert elsewhere.facts.get(other.uid).origin.branch == f"fix/{KEY}"
        store.purge.execute_facts(fact.uid)
        assert elsewhere.facts.get(other.uid).origin.branch == "(purged)"


def test_a_fact_that_another_program_purges_while_it_is_read_is_unknown(store: Store) -> None:
    uid = store.facts.write(THEME, "V[port]: 5432").fact.uid
    with Store.open(store.path) as other:

        def purge(sql: str) -> None:
            if "LEFT JOIN reads" in sql:
                store.db.conn.set_trace_callback(None)
                other.purge.execute_facts(uid)

        store.db.conn.set_trace_callback(purge)
        with pytest.raises(errors.UnknownFact):
            store.facts.get(uid)


TARGET = "anna.kowalska.diagnosis"


def test_a_purge_takes_a_target_with_it_that_no_other_fact_has(store: Store, agent: Session, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[{TARGET}]: since 2024", session=agent).fact
    other = store.facts.write(THEME, "V[port]: 5432", session=agent).fact
    data = {"uid": fact.uid, "fact": {"target": TARGET, "content": "since 2024"}}
    store.idempotency_keys.save_answer(THEME, "call-1", json.dumps({"text": "stored", "data": data}))
    listed = f"2 facts\nV[{TARGET}]: since 2024\nV[port]: 5432"
    store.idempotency_keys.save_answer(THEME, "call-2", json.dumps({"text": listed}))
    store.reads.note("search", THEME, [fact, other], session=agent, why="what has kowalska")
    store.reads.note("search", THEME, [other], session=agent, why=f"where is {TARGET} kept")
    store.reads.note("search", THEME, [other], session=agent, why="which port")
    store.reads.flush()
    backup.create_backup(store, path.with_name("copy.bak"))
    assert len(holders(path.parent, "kowalska")) >= 2

    planned = store.purge.preview_facts(fact.uid)
    plan = store.purge.execute_facts(fact.uid)

    assert plan == planned
    assert (plan.records, plan.lasting, plan.unreached) == (4, (), ())
    assert holders(path.parent, "kowalska") == []
    assert json.loads(store.idempotency_keys.find_answer(THEME, "call-2") or "") == {
        "text": "2 facts\n(purged)\nV[port]: 5432"
    }
    assert store.db.rows("SELECT why FROM injections ORDER BY id") == [(None,), (None,), ("which port",)]


def test_a_target_that_another_fact_has_stays(store: Store, agent: Session) -> None:
    fact = store.facts.write(THEME, f"V[{TARGET}]: since 2024", session=agent).fact
    store.facts.write(THEME, f"D[{TARGET}]: ask the ward", session=agent)
    store.idempotency_keys.save_answer(THEME, "call-1", json.dumps({"text": f"stored {TARGET}"}))
    store.purge.execute_facts(fact.uid)
    assert TARGET in (store.idempotency_keys.find_answer(THEME, "call-1") or "")


def test_a_target_of_a_mere_sign_takes_no_line_that_holds_it(store: Store) -> None:
    fact = store.facts.write(THEME, "V[-]: since 2024").fact
    store.idempotency_keys.save_answer(THEME, "call-1", "a draft - not the plan")
    assert store.purge.execute_facts(fact.uid).records == 0
    assert store.idempotency_keys.find_answer(THEME, "call-1") == "a draft - not the plan"


def test_a_name_that_holds_the_target_is_said_to_stay(store: Store) -> None:
    fact = store.facts.write(THEME, f"V[{TARGET}]: since 2024", scope=TARGET).fact
    store.facts.write(THEME, "V[port]: 5432", scope=TARGET)
    assert store.purge.execute_facts(fact.uid).lasting == ("the label of a scope",)


def test_a_question_that_is_noted_after_the_purge_of_what_it_found_is_not_kept(store: Store, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[{TARGET}]: since 2024").fact
    with Store.open(path, clock=store.clock) as elsewhere:
        elsewhere.reads.note("search", THEME, [fact], why="what has kowalska")
        store.purge.execute_facts(fact.uid)
        elsewhere.reads.flush()
    assert store.db.rows("SELECT why FROM injections") == [(None,)]
    assert holders(path.parent, "kowalska") == []


def test_a_purge_by_a_teammate_reaches_answers_and_questions_too(store: Store, path: Path) -> None:
    fact = store.facts.write(THEME, f"V[{TARGET}]: since 2024").fact
    store.idempotency_keys.save_answer(THEME, "call-1", json.dumps({"uid": fact.uid, "target": TARGET}))
    store.reads.note("search", THEME, [fact], why="what has kowalska")
    store.reads.flush()
    with store.db.write_transaction() as conn:
        key = bytes.fromhex(fact.uid.replace("-", ""))
        store.purge.erase_within(conn, store.names.theme(THEME), [key], Actor("sync"))
    store.purge.finish([key])
    assert holders(path.parent, "kowalska") == []
