"""Memories of other programs come in whole, say what they became, and come in once however often they are imported."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.files.export_import import export_jsonl, import_file
from hermes_memory_store.files.importers import KINDS, ForeignImportReport, detect_format, import_foreign_memory
from hermes_memory_store.files.importers.import_batch import join_target_parts, parse_source_time, to_target
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store
from tests.examples import example_count
from tests.store.conftest import HandClock
from tests.store.test_exchange import fresh

FIXTURES = Path(__file__).parent / "fixtures"
MADE = FIXTURES / "importers"
OLD = FIXTURES / "hermes_memory_0_3_0.db"

SOURCES = {
    "memory.jsonl": "mcp-memory",
    "mem0.json": "mem0",
    "engram.json": "engram",
    "pgvector-inserts.sql": "pgvector",
    "pgvector-copy.sql": "pgvector",
    "pgvector.json": "pgvector",
    "pgvector.csv": "pgvector",
    "basic-memory": "basic-memory",
    "../hermes_memory_0_3_0.db": "hermes-memory",
}

EVERYTHING = FactFilter(tiers=frozenset(Tier))


def facts(store: Store, theme: str = "default") -> list[Any]:
    wanted = FactFilter(theme=theme, tiers=frozenset(Tier))
    return store.facts.by_ids(store.facts.ids(wanted))


def said(store: Store, theme: str = "default") -> set[tuple[str | None, str]]:
    return {(fact.scope, fact.notation) for fact in facts(store, theme)}


def all_that_is_said(store: Store) -> list[str]:
    """Everything an export of every theme says, but for when it was made."""
    return [line for theme in store.names.all_themes() for line in [*export_jsonl(store, theme, turns=True)][1:]]


def refused(report: ForeignImportReport) -> list[tuple[int, str]]:
    return [(one.place.line, one.error.code) for one in report.errors]


@pytest.mark.parametrize(("file", "kind"), SOURCES.items(), ids=SOURCES)
def test_a_source_is_recognised(file: str, kind: str) -> None:
    assert detect_format(MADE / file) == kind
    assert kind in KINDS


@pytest.mark.parametrize("file", SOURCES)
def test_a_source_comes_in_once_and_as_a_dry_run_says(store: Store, file: str) -> None:
    store.facts.write("default", "V[kept]: as it is")
    before = all_that_is_said(store)
    tried = import_foreign_memory(store, MADE / file, theme="default", dry_run=True)
    assert all_that_is_said(store) == before

    first = import_foreign_memory(store, MADE / file, theme="default")

    assert refused(tried) == refused(first)
    assert replace(tried, errors=[]) == replace(first, errors=[])
    assert first.created > 2
    counted: Counter[str] = Counter()
    for mapping in first.mapping:
        counted[mapping.becomes if mapping.becomes in ("turn", "scope") else "fact"] += mapping.count
        assert mapping.example
        assert mapping.theme
    assert counted["fact"] == first.created + first.deduplicated + first.purged
    assert counted["turn"] == first.turns + first.turns_there
    actors = {str(fact.actor) for theme in store.names.all_themes() for fact in facts(store, theme)}
    assert actors == {"person", f"import:{first.kind}"}
    once = all_that_is_said(store)
    for _ in range(2):
        again = import_foreign_memory(store, MADE / file, theme="default")
        assert (again.created, again.turns, again.superseded) == (0, 0, 0)
        assert again.deduplicated == first.created + first.deduplicated
        assert again.turns_there == first.turns
    assert all_that_is_said(store) == once
    assert all(check.ok for check in examine_store(store))


def test_a_graph_of_the_mcp_server(store: Store) -> None:
    report = import_foreign_memory(store, MADE / "memory.jsonl", theme="default")
    assert {notation.partition("]")[2] for _, notation in said(store)} == {
        ": person", ": Works at Acme", ": Prefers short answers", ": decision", ": SQLite in WAL mode", ": note",
        ": John Smith decided on Store engine",
    }  # fmt: skip
    assert (None, "V[John Smith]: person") in said(store)
    assert [fact.type.word for fact in facts(store) if "SQLite" in fact.content] == ["decision"]
    assert refused(report) == [(3, "import.invalid"), (6, "import.invalid"), (7, "import.invalid")]
    assert [(one.place.line, "U+202E" in one.why) for one in report.skips] == [(4, True)]


def test_memories_of_mem0(store: Store) -> None:
    report = import_foreign_memory(store, MADE / "mem0.json", theme="default")
    by_content = {fact.content: fact for fact in facts(store)}
    assert set(by_content) == {
        "Likes to play cricket #sports #hobbies",
        "Never deploy on a Friday",
        "alice works at acme",
    }
    cricket, friday = by_content["Likes to play cricket #sports #hobbies"], by_content["Never deploy on a Friday"]
    assert cricket.target.startswith("alice.")
    assert (format_iso_time(cricket.created_at), format_iso_time(cricket.updated_at)) == (
        "2026-02-01T17:00:00.000Z",
        "2026-03-01T17:00:00.000Z",
    )
    assert (friday.type.word, friday.scope) == ("constraint", "release-bot")
    assert refused(report) == [(9, "import.invalid"), (10, "import.invalid")]
    assert [(one.place.line, one.why) for one in report.skips] == [(8, "it expired there on 2026-01-01")]
    assert report.notes == ["left out of the memories, because a fact has no place for it: hash (1)"]


def test_a_memory_that_changed_at_mem0_replaces_what_it_said_before(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    for number, text in enumerate(("Lives in Rome", "Lives in Oslo")):
        memory = {"id": "b1", "memory": text, "user_id": "eve", "updated_at": f"2026-03-0{number + 1}T00:00:00Z"}
        file.write_text(json.dumps([memory | {"created_at": "2026-02-01T00:00:00Z"}]))
        report = import_foreign_memory(store, file, theme="default", kind="mem0")
        assert (report.created, report.superseded) == (1, number)
    (standing,) = store.facts.by_ids(store.facts.ids(FactFilter(theme="default")))
    assert standing.content == "Lives in Oslo"


def test_an_export_of_engram(store: Store) -> None:
    report = import_foreign_memory(store, MADE / "engram.json", theme="default")
    by_content = {fact.content: fact for fact in facts(store)}
    payments, tabs = by_content["Payments: Stripe, not Adyen"], by_content["Tabs: Spaces, four of them"]
    assert (payments.scope, payments.notation) == ("shop", "D[architecture/payments]: Payments: Stripe, not Adyen")
    assert (format_iso_time(payments.created_at), format_iso_time(payments.updated_at)) == (
        "2026-04-01T08:10:00.000Z",
        "2026-04-01T08:40:00.000Z",
    )
    assert (tabs.scope, tabs.pinned) == (None, True)
    assert by_content["Moved the checkout to Stripe"].scope == "shop"
    (prompt,) = store.turns.list("default", session="s-1")
    assert (prompt.role, prompt.content) == ("user", "Move the checkout to Stripe\nplease")
    assert [one.why for one in report.skips] == ["it was deleted there"]
    assert refused(report) == [(19, "import.invalid")]
    assert report.notes == ["1 of relations are left out: no fact says the same"]


@pytest.mark.parametrize("file", [name for name, kind in SOURCES.items() if kind == "pgvector"])
def test_the_tables_of_pgvector(store: Store, file: str) -> None:
    report = import_foreign_memory(store, MADE / file, theme="default")
    (boss,) = facts(store, "marketing")
    assert boss.content == "The boss's port is 5433; not 5432"
    assert boss.target.startswith("memory.")
    assert (format_iso_time(boss.created_at), format_iso_time(boss.updated_at)) == (
        "2026-03-01T12:00:00.123Z",
        "2026-03-02T12:00:00.000Z",
    )
    assert {"D[auth]: JWT 7d", "V[port]: 3005"} < {notation for _, notation in said(store)}
    assert "Likes tea and quiet" in {fact.content for fact in facts(store)}
    assert len(report.errors) == 1
    if file != "pgvector.csv":
        assert [turn.content for turn in store.turns.list("default", session="sess-1")] == [
            "Never on a Friday",
            "Deploy on Friday?",
        ]
        assert [hit.turn.content for hit in store.turns.search("default", "never friday", limit=1)] == [
            "Never on a Friday"
        ]


def test_the_same_rows_in_another_form_are_the_same_facts(store: Store) -> None:
    import_foreign_memory(store, MADE / "pgvector-inserts.sql", theme="default")
    once = all_that_is_said(store)
    for file in ("pgvector-copy.sql", "pgvector.csv"):
        report = import_foreign_memory(store, MADE / file, theme="default")
        assert (report.created, report.superseded) == (0, 0)
    assert [line for line in all_that_is_said(store) if '"kind":"fact"' in line] == [
        line for line in once if '"kind":"fact"' in line
    ]


def test_one_theme_takes_what_many_held(store: Store) -> None:
    import_foreign_memory(store, MADE / "pgvector.json", theme="ops", one_theme=True)
    assert store.names.all_themes() == ["ops"]


def test_a_folder_of_basic_memory(store: Store) -> None:
    report = import_foreign_memory(store, MADE / "basic-memory", theme="default")
    assert {(fact.scope, fact.type.word, fact.content) for fact in facts(store)} == {
        (None, "value", "Pour over provides more clarity #brewing (personal experience)"),
        (None, "decision", "Water at 205 F"),
        (None, "value", "Grind just before #freshness"),
        (None, "value", "Coffee Brewing Methods relates to Coffee Bean Origins"),
        (None, "value", "Coffee Brewing Methods contrasts with Tea Brewing Methods (by taste)"),
        ("projects/api", "constraint", "At most 100 requests a minute"),
        ("projects/api", "unknown", "Who owns the quota?"),
    }
    water = next(fact for fact in facts(store) if fact.content == "Water at 205 F")
    assert water.target.startswith("coffee-brewing-methods.decision.")
    assert (format_iso_time(water.created_at), format_iso_time(water.updated_at)) == (
        "2026-01-05T08:00:00.000Z",
        "2026-01-06T08:00:00.000Z",
    )
    assert [(one.place.file, one.why) for one in report.skips] == [
        ("coffee.md", "6 lines are neither observations nor relations")
    ]
    assert "coffee.md, line 12" in str(report.skips[0].place)


def test_a_hermes_memory_file_comes_into_a_store_that_is_there(store: Store, tmp_path: Path) -> None:
    from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030

    store.facts.write("default", "V[kept]: as it is")
    file = tmp_path / "old.db"
    shutil.copy(OLD, file)
    report = import_foreign_memory(store, file, theme="default")
    assert file.read_bytes() == OLD.read_bytes()

    upgrade_hermes_030(file)
    with Store.open(file) as upgraded:
        wanted = {fact.uid: (fact.notation, fact.created_at, fact.scope, fact.reads) for fact in facts(upgraded)}
    found = {fact.uid: (fact.notation, fact.created_at, fact.scope, fact.reads) for fact in facts(store)}
    assert found.items() >= wanted.items() or report.deduplicated + report.split + len(report.skips) > 0
    assert (None, "V[kept]: as it is") in said(store)
    assert report.notes


def test_what_is_longer_than_a_fact_comes_in_numbered_parts_and_whole(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    text = " ".join(f"word{number}" for number in range(20_000))
    file.write_text(json.dumps([{"id": "1", "memory": text, "user_id": "u" * 300}]))
    report = import_foreign_memory(store, file, theme="default", kind="mem0")
    parts = sorted(facts(store), key=lambda fact: int(fact.target.rpartition(".")[2]))
    assert report.split == 1
    assert report.created == len(parts) > 100
    assert " ".join(fact.content for fact in parts) == text
    assert import_foreign_memory(store, file, theme="default", kind="mem0").created == 0


def test_what_was_purged_here_stays_purged(store: Store) -> None:
    import_foreign_memory(store, MADE / "memory.jsonl", theme="default")
    one = next(fact for fact in facts(store) if "Acme" in fact.content)
    store.purge.erase([one.uid])
    report = import_foreign_memory(store, MADE / "memory.jsonl", theme="default")
    assert (report.created, report.purged) == (0, 1)
    assert "Acme" not in "".join(all_that_is_said(store))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cut.sql", (MADE / "pgvector-copy.sql").read_text()[:600], "not whole"),
        ("cut.sql", (MADE / "pgvector-inserts.sql").read_text()[:700], "not whole"),
        ("cut.json", (MADE / "engram.json").read_text()[:900], "not whole JSON"),
        ("cut.json", (MADE / "mem0.json").read_text()[:400], "not whole JSON"),
        ("cut.csv", (MADE / "pgvector.csv").read_text()[:190], "not whole"),
    ],
)
def test_a_source_that_was_cut_off_changes_nothing(
    store: Store, tmp_path: Path, name: str, content: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(errors.ImportFileError, match=said):
        import_foreign_memory(store, file, theme="default")
    assert store.names.all_themes() == []


def test_an_import_that_was_stopped_goes_on_where_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory_store.files.importers.import_run.BATCH", 10)
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"id": str(n), "memory": f"fact {n}", "user_id": "u"} for n in range(45)]))

    def stop(done: int, total: int) -> None:
        assert total == 45
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_foreign_memory(store, file, theme="default", kind="mem0", progress=stop)
    assert len(facts(store)) == 20
    report = import_foreign_memory(store, file, theme="default", kind="mem0")
    assert (report.created, report.deduplicated) == (25, 20)


def test_turns_make_the_round_trip(store: Store, clock: HandClock, tmp_path: Path) -> None:
    session = store.sessions.open("default", "one")
    store.turns.add("default", "user", "deploy\non Friday", session=session, at=1_000)
    store.turns.add("default", "assistant", "noted")
    file = tmp_path / "export.jsonl"
    lines = [*export_jsonl(store, "default", turns=True)]
    assert [json.loads(line)["kind"] for line in lines] == ["header", "turn", "turn"]
    assert not any('"kind":"turn"' in line for line in export_jsonl(store, "default"))
    file.write_text("\n".join(lines), encoding="utf-8")
    with fresh(clock) as other:
        for new in (2, 0, 0):
            assert import_file(other, file, theme="default").turns == new
        assert [*export_jsonl(other, "default", turns=True)][1:] == lines[1:]
        assert import_file(other, file, theme="second").turns == 2
        assert import_file(other, file, theme="second").turns == 0
        assert [turn.content for turn in other.turns.list("second", session="one")] == ["deploy\non Friday"]
        assert all(check.ok for check in examine_store(other))


@pytest.mark.parametrize(
    ("value", "when"),
    [
        ("2026-03-01 12:00:00", 1_772_366_400_000),
        ("2026-03-01 12:00:00.5+00", 1_772_366_400_500),
        ("2026-03-01T14:00:00+02:00", 1_772_366_400_000),
        (1_772_366_400, 1_772_366_400_000),
        (1_772_366_400_000, 1_772_366_400_000),
        ("soon", None),
        (True, None),
        (float("inf"), None),
        (float("nan"), None),
        ("0001-01-01", None),
    ],
)
def test_times_are_read_as_programs_write_them(value: object, when: int | None) -> None:
    assert parse_source_time(value) == when


@given(st.text(), st.text())
def test_any_name_makes_a_target_that_has_room_for_numbers(name: str, last: str) -> None:
    for made in (to_target(name), to_target(join_target_parts(name, last[:40], "0123abcd"))):
        assert 0 < len(made) <= 120
        assert not set("[]") & set(made)


KEYS = """
    type name entityType observations from to relationType id memory user_id results created_at sessions prompts content title
    agent_identity role target session_id memory_entries conversations relations deleted_at topic_key project summary categories
"""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=6),
    max_leaves=25,
)

BROKEN = [path.read_text() for path in (MADE / name for name in SOURCES) if path.is_file() and path.suffix != ".db"]


def mangled(text: str) -> st.SearchStrategy[str]:
    """The text with a part of it taken out or replaced."""
    places = st.tuples(st.integers(0, len(text)), st.integers(0, 40), st.text(max_size=8))
    return places.map(lambda cut: text[: cut[0]] + cut[2] + text[cut[0] + cut[1] :])


def tried(kind: str, content: bytes, folder: Path, opened: Callable[[], Any]) -> None:
    """Import a source: it comes in, twice alike, or it is refused with an error of ours and nothing was changed."""
    file = folder / "source.md"
    file.write_bytes(content)
    with opened() as store:
        try:
            first = import_foreign_memory(store, file, theme="default", kind=kind)
        except errors.StoreError as error:
            assert error.message
            assert store.names.all_themes() == []
            return
        once = all_that_is_said(store)
        again = import_foreign_memory(store, file, theme="default", kind=kind)
        assert (again.created, again.turns) == (0, 0), first
        assert all_that_is_said(store) == once


FUZZ = settings(
    max_examples=example_count(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(st.sampled_from([kind for kind in KINDS if kind != "hermes-memory"]), JSON.map(json.dumps) | st.text())
def test_any_text_is_read_or_refused(tmp_path: Path, kind: str, content: str) -> None:
    tried(kind, content.encode("utf-8", "surrogatepass"), tmp_path, fresh)


@FUZZ
@given(
    st.sampled_from([kind for kind in KINDS if kind not in ("hermes-memory", "basic-memory")]),
    st.sampled_from(BROKEN).flatmap(mangled),
)
def test_a_source_that_was_damaged_is_read_or_refused(tmp_path: Path, kind: str, content: str) -> None:
    tried(kind, content.encode("utf-8", "surrogatepass"), tmp_path, fresh)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("pgvector", "INSERT INTO memory_entries (id) VALUES ('" + "a b" * 300_000),
        ("pgvector", "INSERT INTO memory_entries (id) VALUES (E'" + "a\\\\''" * 200_000),
        ("pgvector", "INSERT INTO memory_entries (id" + " " * 500_000),
        ("basic-memory", "---\n" + "a" + " " * 300_000 + "b\n---\n- " + " " * 300_000 + "[" * 300_000),
        ("basic-memory", "- x [[" + "[[" * 200_000 + '\n- "' + "'\"" * 200_000),
        ("mem0", "[" * 100_000),
        ("mem0", '{"results": ' * 50_000),
    ],
)
def test_what_was_made_to_keep_it_busy_is_read_at_once(store: Store, tmp_path: Path, kind: str, content: str) -> None:
    file = tmp_path / "source.md"
    file.write_text(content)
    began = time.process_time()
    with contextlib.suppress(errors.ImportFileError):
        import_foreign_memory(store, file, theme="default", kind=kind)
    detect_format(file)
    assert time.process_time() - began < 5


ENTRY = st.tuples(
    st.sampled_from(["a", "b"]),
    st.sampled_from(["D[t]: x", "D[t]: y", "D[t]: z", "V[t]: x", "D[u]: x", "plain"]),
    st.integers(1, 4),
    st.integers(1, 4),
)


@settings(FUZZ, max_examples=example_count(60))
@given(st.lists(ENTRY, max_size=12), st.booleans())
def test_what_says_the_same_or_otherwise_at_its_source_comes_in_once(
    tmp_path: Path, entries: list[tuple[str, str, int, int]], one_theme: bool
) -> None:
    file = tmp_path / "entries.json"
    rows = [
        {"agent_identity": who, "target": "memory", "content": content}
        | {"created_at": f"2026-03-0{made}T00:00:00Z", "updated_at": f"2026-03-0{changed}T00:00:00Z"}
        for who, content, made, changed in entries
    ]
    file.write_text(json.dumps(rows))
    with fresh() as store:
        first = (
            import_foreign_memory(store, file, theme="default", kind="pgvector", one_theme=one_theme) if rows else None
        )
        once = all_that_is_said(store)
        for _ in range(2 if rows else 0):
            again = import_foreign_memory(store, file, theme="default", kind="pgvector", one_theme=one_theme)
            assert (again.created, again.superseded) == (0, 0), first
            assert all_that_is_said(store) == once


@settings(FUZZ, max_examples=example_count(15))
@given(st.integers(0, 60_000), st.binary(min_size=1, max_size=200))
def test_a_damaged_database_is_read_or_refused(tmp_path: Path, place: int, junk: bytes) -> None:
    whole = OLD.read_bytes()
    tried("hermes-memory", whole[:place] + junk + whole[place + len(junk) :], tmp_path, fresh)
