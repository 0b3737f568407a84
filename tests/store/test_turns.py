"""Turns: what was said is found again, whole, and by its own theme only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.conversations.turn_rows import MAX_TURN
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import InputError, UnsafeText
from hermes_memory_store.files.export_import import export_jsonl, import_jsonl
from hermes_memory_store.find import ranking
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep.backup import create_backup


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as opened:
        yield opened


def said(store: Store, query: str, **more: object) -> list[str]:
    return [hit.turn.content for hit in store.turns.search("default", query, **more)]  # type: ignore[arg-type]


def test_a_turn_is_found_by_its_words_stems_and_abbreviations(store: Store) -> None:
    store.turns.add("default", "user", "Let us deploy the authentication service on Friday")
    store.turns.add("default", "assistant", "Lunch is at noon.")
    for query in ("deploying", "auth", "When do we deploy?", "friday authentication"):
        assert said(store, query)[:1] == ["Let us deploy the authentication service on Friday"], query
    assert said(store, "kubernetes") == []


def test_a_turn_with_more_of_the_words_comes_first(store: Store) -> None:
    store.turns.add("default", "user", "the redis cache is slow")
    store.turns.add("default", "user", "the cache")
    assert said(store, "redis cache") == ["the redis cache is slow", "the cache"]
    (first, second) = store.turns.search("default", "redis cache")
    assert first.score == 1.0 > second.score


def test_an_answer_is_found_by_its_question_though_it_shares_no_word_with_what_is_asked(store: Store) -> None:
    store.turns.add("default", "user", "Lunch is at noon.")
    store.turns.add("default", "user", "What day will the studio open?")
    store.turns.add("default", "assistant", "Tomorrow night.")
    store.turns.add("default", "user", "The studio has a new floor.")
    assert said(store, "When will the studio be open?")[:2] == ["Tomorrow night.", "What day will the studio open?"]


def test_a_question_whose_only_hits_are_beside_what_shares_no_word_is_answered(store: Store) -> None:
    for content in ("where did we put the invoices?", "the blue cabinet", "blue cabinet it is"):
        store.turns.add("default", "user", content)
    assert "the blue cabinet" in said(store, "where did we put the invoices?")


def test_what_stands_beside_a_hit_is_no_hit_of_a_look_up_a_phrase_or_an_exclusion(store: Store) -> None:
    store.turns.add("default", "user", "Shall we open the studio?")
    store.turns.add("default", "assistant", "Tomorrow night.")
    for query in ("studio", "open studio", '"the studio" when is it open', "when will the studio open -tomorrow"):
        assert said(store, query) == ["Shall we open the studio?"], query


def test_neighbours_come_from_the_same_session_theme_and_role_only(store: Store) -> None:
    session = store.sessions.open("default", "one")
    store.turns.add("default", "user", "When will the studio open?", session=session)
    store.turns.add("default", "assistant", "Tomorrow night.")
    store.turns.add("hr", "assistant", "Salaries rise.")
    question = "When will the studio open?"
    assert said(store, question, session="one") == said(store, question, roles=("user",)) == [question]
    assert [hit.turn.content for hit in store.turns.search(None, question)][:1] == [question]
    assert "Salaries rise." not in said(store, question)


TALKS = {
    "kiln": "The kiln is in the studio.|Glaze dries in the kiln.|Bring an apron.|Park outside.|The class starts at nine.",
    "gym": "The gym is full.|We row there.|Nobody swims.|Park inside.|The class starts at noon.",
}


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("order", [("kiln", "gym"), ("gym", "kiln")])
def test_of_like_turns_that_of_the_session_about_what_is_asked_comes_first(
    store: Store, order: tuple[str, ...], is_damaged: bool
) -> None:
    for name in order:
        session = store.sessions.open("default", name)
        for content in TALKS[name].split("|"):
            store.turns.add("default", "user", content, session=session)
    if is_damaged:
        with store.db.write_transaction() as conn:
            conn.execute("DELETE FROM turns_text_data")
    found = said(store, "When does the class about glaze and the kiln start?")
    starts = [content for content in found if content.startswith("The class")]
    assert starts[0] == "The class starts at nine."


def test_a_turn_of_no_session_is_found_beside_those_of_sessions(store: Store) -> None:
    for name in ("first", "second"):
        store.turns.add("default", "user", "The kiln is hot.", session=store.sessions.open("default", name))
    store.turns.add("default", "user", "We paid for the kiln and its glaze in May.")
    assert said(store, "When did we pay for the kiln and its glaze?")[0].startswith("We paid")


def test_what_the_one_who_is_named_said_comes_before_what_was_said_to_them(store: Store) -> None:
    store.turns.add("default", "user", "Bob: Ann, is the lake by the old mill nice")
    store.turns.add("default", "user", "Eve: lunch is at noon, as ever.")
    store.turns.add("default", "user", "Eve: and supper at eight.")
    store.turns.add("default", "user", "Ann: we swam in the lake by the old mill")
    assert said(store, "Where is the lake that Ann swam in?")[0].startswith("Ann:")
    assert said(store, "What did Ann say of the lake by the mill?")[0].startswith("Ann:")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("When did we swim in the lake?", "We swam in the lake in June, and it was cold"),
        ("What day was it that we swam in the lake?", "Last Sunday we swam in the lake, so cold"),
        ("Quand avons-nous vu le lac ?", "Nous avons vu le lac dimanche dernier"),
        ("Wann waren wir an dem See?", "Gestern waren wir am See, kalt"),
        ("¿Cuándo nadamos en el lago?", "Nadamos en el lago el año pasado"),
    ],
)
def test_what_tells_of_a_time_answers_when(store: Store, question: str, told: str) -> None:
    store.turns.add("default", "user", told)
    for word in ("We swam in the lake", "Nous avons vu le lac", "Wir waren am See", "Nadamos en el lago"):
        store.turns.add("default", "user", f"{word}.")
    assert said(store, question)[0] == told


def test_line_breaks_and_languages_are_kept(store: Store) -> None:
    text = "Première ligne :\n\tdéploiement\n数据库迁移"
    store.turns.add("default", "user", text)
    assert said(store, "deploiement") == said(store, "数据库") == [text]


def test_no_theme_finds_what_another_said(store: Store) -> None:
    store.turns.add("hr", "user", "the salary of Bob")
    assert said(store, "salary") == []
    assert [hit.turn.theme for hit in store.turns.search(None, "salary")] == ["hr"]


def test_a_session_finds_only_its_own_when_asked(store: Store) -> None:
    session = store.sessions.open("default", "one")
    store.turns.add("default", "user", "redis here", session=session)
    store.turns.add("default", "user", "redis there")
    assert said(store, "redis", session="one") == ["redis here"]
    assert said(store, "redis", roles=("assistant",)) == []


@pytest.mark.parametrize("query", ['"', "NEAR(a", "content:x", "*", "a AND", "-", "", " ", "tier:nothing", "\x00"])
def test_no_query_is_an_error(store: Store, query: str) -> None:
    store.turns.add("default", "user", "redis")
    store.turns.search("default", query)


@pytest.mark.parametrize(
    ("role", "content"), [("robot", "a"), ("user", " \n"), ("user", "x" * (MAX_TURN + 1)), ("user", "half \ud800")]
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(store: Store, role: str, content: str) -> None:
    with pytest.raises((InputError, UnsafeText)):
        store.turns.add("default", role, content)
    assert store.turns.count("default") == 0


def test_the_journal_knows_of_a_turn_but_not_what_it_says(store: Store) -> None:
    store.turns.add("default", "user", "the password is swordfish")
    (change,) = store.journal.changes()
    assert (change.entity, change.op) == ("turn", "capture")
    assert "swordfish" not in str(change)
    assert store.journal.verify().ok


def test_purged_turns_are_gone_from_the_file(store: Store) -> None:
    store.turns.add("default", "user", "the password is swordfish")
    assert store.turns.purge("default") == 1
    assert said(store, "swordfish") == []
    store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"swordfish" not in store.path.read_bytes()


def test_turns_are_listed_newest_first_page_by_page(store: Store) -> None:
    for number in range(5):
        store.turns.add("default", "user", f"turn {number}", at=1_000 + number)
    page = store.turns.list("default", limit=3)
    assert [turn.content for turn in page] == ["turn 4", "turn 3", "turn 2"]
    assert [turn.content for turn in store.turns.list("default", after=page[-1].uid)] == ["turn 1", "turn 0"]


def test_the_doctor_rebuilds_a_damaged_index_of_turns(store: Store) -> None:
    store.turns.add("default", "user", "the redis cache")
    assert {check.name: check.ok for check in examine_store(store)}["turns"]
    store.db.conn.execute("INSERT INTO turns_text (turns_text) VALUES ('delete-all')")
    assert said(store, "redis") == []
    (found,) = [check for check in examine_store(store) if not check.ok]
    assert found.name == "turns"
    examine_store(store, repair=True)
    assert all(check.ok for check in examine_store(store))
    assert said(store, "redis") == ["the redis cache"]


def test_erased_turns_leave_the_backups_this_program_made(store: Store, tmp_path: Path) -> None:
    store.turns.add("default", "user", "the salary of Bob is zanzibar", at=1_000)
    store.turns.add("default", "user", "lunch is at noon")
    reached, away = tmp_path / "reached", tmp_path / "away"
    for folder in (reached, away):
        folder.mkdir()
        create_backup(store, folder / "kept.db")
    away.rename(tmp_path / "unplugged")

    count, unreached = store.turns.erase("default", older_than_ms=60_000)

    assert (count, unreached) == (1, (str(away / "kept.db"),))
    assert b"zanzibar" not in (reached / "kept.db").read_bytes()
    with Store.open(reached / "kept.db", read_only=True) as copy:
        assert [turn.content for turn in copy.turns.list("default")] == ["lunch is at noon"]
        assert said(copy, "zanzibar") == []
        assert said(copy, "lunch") == ["lunch is at noon"]


def test_undoing_an_import_of_facts_and_turns_takes_back_the_facts_alone(store: Store, tmp_path: Path) -> None:
    store.turns.add("default", "user", "the cache")
    store.facts.write("default", "V[cache]: redis")
    file = tmp_path / "theme.jsonl"
    file.write_text("\n".join(export_jsonl(store, "default", turns=True)), encoding="utf-8")
    with Store.open(tmp_path / "other.db") as other:
        report = import_jsonl(other, file, "default", None, None)
        assert (report.created, report.turns, report.errors) == (1, 1, [])
        created, captured = other.journal.changes(entities=["fact", "turn"])
        assert created.change != captured.change
        other.undo.last()
        assert other.facts.count(FactFilter()) == 0
        assert [turn.content for turn in other.turns.list("default")] == ["the cache"]


def test_what_follows_a_nul_is_kept_and_found(store: Store) -> None:
    kept = store.turns.add("ops", "user", "the words before \0 and the zebra after it")
    assert kept.content == "the words before  and the zebra after it"
    assert store.db.value("SELECT substr(content, -8) FROM turns") == "after it"
    assert [hit.turn.content for hit in store.turns.search("ops", "zebra")] == [kept.content]


def test_sessions_among_whose_turns_others_stand_lend_nothing_of_their_own() -> None:
    def lent(stretches: dict[int, tuple[int, int]]) -> list[float]:
        found = [ranking.Candidate(key, key // 10, "", "", "hot", 0, 0, score=1.0) for key in (10, 20, 30)]
        ranking.add_session_scores(found, [[10, 11, 30]], stretches)
        return [candidate.score for candidate in found]

    apart = lent({1: (10, 14), 2: (20, 24), 3: (30, 34)})
    assert apart[0] > apart[2] > apart[1]
    assert lent({1: (10, 24), 2: (20, 28), 3: (30, 34)}) == [1.0, 1.0, 1.0]
