"""Nothing is stored under a name that no agent can have, whichever way it comes; what older versions stored stays readable."""

from __future__ import annotations

import shutil
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
    UnknownScope,
    UnknownSession,
    UnknownTheme,
    export_jsonl,
    export_spec,
    import_file,
    import_foreign_memory,
    relieve_files,
    upgrade_hermes_030,
)
from hermes_memory_themes import Policies, ThemeError, normalise_theme

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


def write_fact(store: Store, theme: str, _: Path) -> None:
    store.facts.write(theme, "V[port]: 5432", scope="setup")


def write_many_facts(store: Store, theme: str, _: Path) -> None:
    store.facts.write_many(theme, [("V[port]: 5432", None)], actor=Actor("import"))


def quarantine_fact(store: Store, theme: str, _: Path) -> None:
    store.facts.quarantine(theme, "V[port]: 5432", why="test")


def capture_turn(store: Store, theme: str, _: Path) -> None:
    assert store.turns.add(theme, "user", "The port is 5432.").theme == normalise_theme(theme)


def open_session(store: Store, theme: str, _: Path) -> None:
    session = store.sessions.open(theme, "one")
    store.facts.write(session.theme, "V[port]: 5432", session=session)
    store.sessions.tick(session, 1, "go on")


def set_source_rule(store: Store, theme: str, _: Path) -> None:
    store.sources.set_rule(theme, "cursor", "never")


def add_token(store: Store, theme: str, _: Path) -> None:
    made, _secret = store.credentials.add("laptop", theme, Rights())
    assert made.theme == normalise_theme(theme)


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


def track_for_team(store: Store, theme: str, _: Path) -> None:
    store.sync.pending_rows(theme)


WAYS = [
    write_fact, write_many_facts, quarantine_fact, capture_turn, open_session, set_source_rule, add_token, save_answer,
    import_spec_lines, import_jsonl_lines, import_foreign_file, relieve_host_files, track_for_team,
]  # fmt: skip


def normal_form(name: str) -> str | None:
    try:
        return normalise_theme(name)
    except ThemeError:
        return None


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without anything in it, to be copied: that takes a tenth of the time that creating one takes."""
    made = tmp_path_factory.mktemp("empty") / "memory.db"
    Store.open(made, clock=HandClock()).close()
    return made


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@settings(max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(name=NAMES)
@example(name="Marketing")
@example(name="日本")
def test_whatever_stores_something_stores_it_under_the_normal_form_or_refuses(
    empty: Path, way: Callable[[Store, str, Path], None], name: str
) -> None:
    expected = normal_form(name)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copy(empty, place / "memory.db")
        with Store.open(place / "memory.db", policies=Policies.load(place / "themes.toml"), clock=HandClock()) as store:
            if expected is None:
                with pytest.raises(ThemeInvalid) as refused:
                    way(store, name, place)
                assert refused.value.code == "theme.invalid"
                assert isinstance(refused.value, ThemeError)
                assert store.names.all_themes() == []
                assert store.journal.last_seq() == 0
            else:
                way(store, name, place)
                assert store.names.all_themes() in ([expected], [])
                assert {fact.theme for fact in store.facts.page(FactFilter()).facts} <= {expected}
                assert bool(store.names.all_themes()) == (way is not save_answer)


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
    "context block": lambda store, theme: store.injection.status(theme, record=False),
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
    for way in (write_fact, quarantine_fact, capture_turn, open_session, set_source_rule):
        way(store, "marketing", tmp_path)
    return store


@pytest.mark.parametrize("read", READERS)
def test_what_is_read_is_read_under_any_form_of_the_name(marketing: Store, read: str) -> None:
    assert READERS[read](marketing, " MARKETING ") == READERS[read](marketing, "marketing")
    assert READERS[read](marketing, "marketing") != {}


@pytest.mark.parametrize("read", READERS)
def test_a_name_that_no_theme_can_have_is_an_unknown_one(marketing: Store, read: str) -> None:
    with suppress(UnknownTheme, UnknownScope, UnknownSession):
        assert not READERS[read](marketing, "日本") or read in {"gauge", "context block", "history of the gauge"}
