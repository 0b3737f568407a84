"""Nothing is stored under a name that no agent can have, whichever way it comes; what older versions stored stays readable."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_memory_store import (
    Actor,
    FactFilter,
    Rights,
    Store,
    ThemeInvalid,
    Tier,
    UnknownScope,
    UnknownSession,
    UnknownTheme,
    examine_store,
    export_jsonl,
    export_spec,
    import_file,
    import_foreign_memory,
    relieve_files,
    replay_log,
    transaction_log_lines,
    upgrade_hermes_030,
)
from hermes_memory_store.items import journal
from hermes_memory_store.uids import parse_uid
from hermes_memory_themes import Policies, ThemeError, normalise_theme
from tests.empty_store import put_empty_store

from ..examples import example_count
from .conftest import HandClock

OLD_FILE = Path(__file__).parent / "fixtures" / "hermes_memory_0_3_0.db"

NAMES = (
    st.sampled_from(
        ["Marketing", " ops ", "ＯＰＳ", "ops\u200b", "o\x00ps", "Équipe", "日本", "!!!", "", "x" * 65, "y" * 500]
    )
    | st.sampled_from(
        ["a:b", "agent:main:telegram:dm:491701234567", "call 0170 1234567", "оps", "a--b", "-ops-", "ops\n"]
    )
    | st.text(max_size=80)
)


def capture_turn(store: Store, theme: str, _: Path) -> None:
    assert store.turns.add(theme, "user", "The port is 5432.").theme == normalise_theme(theme)


def open_session(store: Store, theme: str, _: Path) -> None:
    session = store.sessions.open(theme, "one")
    store.facts.write(session.theme, "V[port]: 5432", session=session)
    store.sessions.tick(session, 1, "go on")


def save_answer(store: Store, theme: str, _: Path) -> None:
    store.idempotency_keys.save_answer(theme, "key", "answer")
    assert store.idempotency_keys.find_answer(normalise_theme(theme), "key") == "answer"


def import_spec_lines(store: Store, theme: str, folder: Path) -> None:
    file = folder / "lines.md"
    file.write_text("V[port]: 5432\n", encoding="utf-8")
    import_file(store, file, theme=theme)


def import_jsonl_lines(store: Store, theme: str, folder: Path) -> None:
    file = folder / "lines.jsonl"
    with Store.open(folder / "source.db", policies=store.policies) as source:
        source.facts.write("default", "V[port]: 5432")
        source.turns.add("default", "user", "The port is 5432.")
        file.write_text("\n".join(export_jsonl(source, "default", turns=True)), encoding="utf-8")
    import_file(store, file, theme=theme)


def import_foreign_file(store: Store, theme: str, folder: Path) -> None:
    file = folder / "memory.jsonl"
    file.write_text(
        '{"type":"entity","name":"db","entityType":"service","observations":["It listens on 5432."]}\n',
        encoding="utf-8",
    )
    import_foreign_memory(store, file, theme=theme, kind="mcp-memory")


def relieve_host_files(store: Store, theme: str, folder: Path) -> None:
    (folder / "memories").mkdir()
    (folder / "memories" / "MEMORY.md").write_text(
        "\n§\n".join(f"V[port.{n}]: {n} {'x' * 80}" for n in range(20)), encoding="utf-8"
    )
    relieve_files(store, theme, home=folder)


WAYS: dict[str, Callable[[Store, str, Path], object]] = {
    "fact": lambda store, theme, _: store.facts.write(theme, "V[port]: 5432", scope="setup"),
    "facts": lambda store, theme, _: store.facts.write_many(theme, [("V[port]: 5432", None)], actor=Actor("import")),
    "quarantine": lambda store, theme, _: store.facts.quarantine(theme, "V[port]: 5432", why="test"),
    "turn": capture_turn,
    "session": open_session,
    "rule": lambda store, theme, _: store.sources.set_rule(theme, "cursor", "never"),
    "token": lambda store, theme, _: store.credentials.add("laptop", theme, Rights()),
    "answer": save_answer,
    "import": import_spec_lines,
    "import of JSONL": import_jsonl_lines,
    "import from others": import_foreign_file,
    "relief of files": relieve_host_files,
    "team": lambda store, theme, _: store.sync.outbox.pending_rows(theme),
}


def normal_form(name: str) -> str | None:
    try:
        return normalise_theme(name)
    except ThemeError:
        return None


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=NAMES)
@example(name="Marketing")
@example(name="日本")
def test_whatever_stores_something_stores_it_under_the_normal_form_or_refuses(way: str, name: str) -> None:
    expected = normal_form(name)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        with Store.open(
            put_empty_store(place / "memory.db"), policies=Policies.load(place / "themes.toml"), clock=HandClock()
        ) as store:
            if expected is None:
                with pytest.raises(ThemeInvalid) as refused:
                    WAYS[way](store, name, place)
                assert refused.value.code == "theme.invalid"
                assert isinstance(refused.value, ThemeError)
                assert store.names.all_themes() == []
                assert store.journal.last_seq() == 0
            else:
                WAYS[way](store, name, place)
                assert store.names.all_themes() in ([expected], [])
                assert {fact.theme for fact in store.facts.page(FactFilter()).facts} <= {expected}
                assert {token.theme for token in store.credentials.list()} <= {expected}
                assert bool(store.names.all_themes()) == (way != "answer")


@pytest.mark.parametrize("name", ["Marketing", "日本"])
def test_an_upgraded_file_belongs_to_a_theme_that_an_agent_can_have(name: str, tmp_path: Path) -> None:
    old = tmp_path / "memory.db"
    shutil.copy(OLD_FILE, old)
    before = old.read_bytes()
    if normal_form(name) is None:
        with pytest.raises(ThemeInvalid):
            upgrade_hermes_030(old, theme=name)
        assert old.read_bytes() == before
    else:
        upgrade_hermes_030(old, theme=name)
        with Store.open(old) as store:
            assert store.names.all_themes() == [normalise_theme(name)]


READERS: dict[str, Callable[[Store, str], object]] = {
    "page": lambda store, theme: [fact.uid for fact in store.facts.page(FactFilter(theme=theme)).facts],
    "scoped page": lambda store, theme: store.facts.count(FactFilter(theme=theme, scopes=frozenset({"setup"}))),
    "search": lambda store, theme: [fact.uid for fact in store.search.find(theme, "port").facts],
    "gauge": lambda store, theme: store.tiers.gauge(theme),
    "history of the gauge": lambda store, theme: store.pressure.history(theme, since=0, points=3),
    "plan": lambda store, theme: store.pressure.plan(theme),
    "context block": lambda store, theme: store.context.status(theme, record=False),
    "context records": lambda store, theme: store.context_records.list(theme),
    "scopes": lambda store, theme: store.scopes.list(theme),
    "scope": lambda store, theme: store.scopes.get(theme, "setup"),
    "labels": lambda store, theme: store.names.labels(theme),
    "targets": lambda store, theme: store.names.targets(theme, "p", 5),
    "authors": lambda store, theme: store.names.authors("o", 5, theme),
    "sessions": lambda store, theme: store.sessions.list(theme),
    "session": lambda store, theme: store.sessions.get(theme, "one"),
    "running session": lambda store, theme: store.sessions.find_running(theme, "one"),
    "session counts": lambda store, theme: store.sessions.counts(theme),
    "journal": lambda store, theme: store.journal.changes(theme=theme),
    "quarantine": lambda store, theme: store.facts.quarantine_queue(theme),
    "turns": lambda store, theme: store.turns.list(theme),
    "found turns": lambda store, theme: store.turns.search(theme, "port"),
    "turn count": lambda store, theme: store.turns.count(theme),
    "rules": lambda store, theme: store.sources.list(theme),
    "rule": lambda store, theme: store.sources.rule(theme, "cursor"),
    "purge plan": lambda store, theme: store.purge.preview(theme, scope="setup"),
    "export": lambda store, theme: [*export_spec(store, theme), *export_jsonl(store, theme, turns=True)],
}


@pytest.fixture
def marketing(store: Store, tmp_path: Path) -> Store:
    for way in ("fact", "quarantine", "turn", "session", "rule"):
        WAYS[way](store, "marketing", tmp_path)
    return store


@pytest.mark.parametrize("read", READERS)
def test_what_is_read_is_read_under_any_form_of_the_name(marketing: Store, read: str) -> None:
    assert READERS[read](marketing, " MARKETING ") == READERS[read](marketing, "marketing")
    assert READERS[read](marketing, "marketing") != {}


@pytest.mark.parametrize("read", READERS)
def test_a_name_that_no_theme_can_have_is_an_unknown_one(marketing: Store, read: str) -> None:
    with suppress(UnknownTheme, UnknownScope, UnknownSession):
        assert not READERS[read](marketing, "日本") or read in {"gauge", "context block", "history of the gauge"}


# --- what older versions stored under other names ------------------------------------------------------------------------


@pytest.fixture
def legacy(store: Store, clock: HandClock) -> Store:
    """A store in which an older version wrote to `Marketing`, and this one to `marketing`."""
    store.facts.write("draft", "V[port]: 5432", scope="setup")
    store.facts.write("draft", "D[db]: Postgres")
    clock.forward(1000)
    store.facts.write("draft", "D[db]: SQLite")
    store.facts.quarantine("draft", "V[key]: 1", why="test")
    rename_as_older_version(store, "draft", "Marketing")
    clock.forward(1000)
    store.facts.write("marketing", "V[port]: 6432", scope="setup")
    store.facts.write("marketing", "C[pii]: never in logs")
    return store


def rename_as_older_version(store: Store, name: str, old: str) -> None:
    """Give a theme the name that an older version let it have, with a journal whose chain says so."""
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE themes SET name = ? WHERE name = ?", (old, name))
        store.names.forget()
        rechain(store, conn)


def rechain(store: Store, conn: sqlite3.Connection) -> None:
    link = journal.FIRST_HASH
    for row in conn.execute(f"SELECT {journal.COLUMNS} FROM journal ORDER BY seq").fetchall():
        link = store.journal._link(link, (*row[:-1], None))
        conn.execute("UPDATE journal SET hash = ? WHERE seq = ?", (link, row[0]))


def standing(store: Store, theme: str) -> set[tuple[str | None, str]]:
    return {(fact.scope, fact.notation) for fact in store.facts.page(FactFilter(theme=theme)).facts}


def test_what_an_older_version_stored_is_readable_under_its_name(legacy: Store) -> None:
    assert standing(legacy, "Marketing") == {("setup", "V[port]: 5432"), (None, "D[db]: SQLite")}
    assert standing(legacy, "MARKETING") == {("setup", "V[port]: 6432"), (None, "C[pii]: never in logs")}
    assert legacy.tiers.gauge("Marketing").facts == 2
    assert {summary.name for summary in legacy.themes()} == {"Marketing", "marketing"}


def test_the_doctor_finds_it_and_changes_nothing_unasked(legacy: Store) -> None:
    before = legacy.journal.last_seq()
    (found,) = [check for check in examine_store(legacy) if not check.ok]
    assert found.name == "theme names"
    assert "'Marketing' (4 facts) should be 'marketing'; doctor --repair" in found.detail
    assert legacy.journal.last_seq() == before


def test_the_doctor_moves_it_by_the_rules_of_an_import_and_undo_takes_it_back(legacy: Store) -> None:
    before, seq = standing(legacy, "Marketing"), legacy.journal.last_seq()
    repaired = {check.name: check for check in examine_store(legacy, repair=True)}
    assert repaired["theme names"].repaired
    assert all(check.ok for check in repaired.values())

    expected = {("setup", "V[port]: 6432"), (None, "C[pii]: never in logs"), (None, "D[db]: SQLite")}
    assert standing(legacy, "marketing") == expected
    assert standing(legacy, "Marketing") == expected  # the name means its normal form from now on
    everything = legacy.facts.page(FactFilter(theme="marketing", tiers=frozenset(Tier))).facts
    assert {fact.notation for fact in everything} == {
        "V[port]: 6432", "C[pii]: never in logs", "D[db]: SQLite", "D[db]: Postgres", "V[port]: 5432", "V[key]: 1",
    }  # fmt: skip
    assert len(legacy.facts.quarantine_queue("marketing")) == 1
    assert [check.name for check in examine_store(legacy) if not check.ok] == []

    changes = sorted({change.change for change in legacy.journal.changes(since=seq)}, reverse=True)
    for change in changes:
        legacy.undo.change(change)
    assert standing(legacy, "Marketing") == before
    assert standing(legacy, "marketing") == {("setup", "V[port]: 6432"), (None, "C[pii]: never in logs")}
    assert legacy.journal.verify().ok


@pytest.mark.parametrize("hindrance", ["turns", "team", "name"])
def test_what_cannot_be_moved_safely_is_named_and_left(legacy: Store, hindrance: str) -> None:
    name = "Marketing"
    with legacy.db.write_transaction() as conn:
        key = legacy.names.theme("Marketing")
        if hindrance == "team":
            conn.execute("INSERT INTO sync_themes (theme_id) VALUES (?)", (key,))
        elif hindrance == "turns":
            turn = legacy.turns.add("marketing", "user", "The port is 5432.")
            for table in ("turns", "journal"):
                conn.execute(f"UPDATE {table} SET theme_id = ? WHERE uid = ?", (key, parse_uid(turn.uid)))
            rechain(legacy, conn)
        else:
            name = "日本"
            conn.execute("UPDATE themes SET name = ? WHERE id = ?", (name, key))
            legacy.names.forget()
            rechain(legacy, conn)
    before = standing(legacy, name)
    assert before

    found = {check.name: check for check in examine_store(legacy, repair=True)}["theme names"]

    assert (found.ok, found.repaired) == (False, False)
    assert f"{name!r} (4 facts) is left as it is" in found.detail
    assert standing(legacy, name) == before


def test_a_log_with_such_a_name_replays_hash_for_hash(legacy: Store, tmp_path: Path) -> None:
    with Store.open(tmp_path / "copy.db", clock=legacy.clock) as copy:
        report = replay_log(transaction_log_lines(legacy), copy)
        assert report.head == legacy.journal.get(legacy.journal.last_seq()).hash
        assert standing(copy, "Marketing") == standing(legacy, "Marketing")
        assert [check.name for check in examine_store(copy) if not check.ok] == ["theme names"]
