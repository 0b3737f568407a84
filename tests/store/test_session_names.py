"""A session is found by the names a person knows, and its authors, turns and records carry its title."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.context.context_records import ContextRecords
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.items.project_rows import insert_project
from hermes_memory_store.model import PERSON, Actor, FactFilter, Origin, Session, Way, is_opaque_name
from hermes_memory_store.store import Store


@pytest.fixture
def sessions(store: Store) -> list[Session]:
    """Four sessions of three clients in two projects, each with a fact of its own."""
    with store.db.write_transaction() as conn:
        insert_project(conn, "shop", 0)
        insert_project(conn, "my site", 0)
    opened = [
        store.sessions.open("default", name, client=client, project=project)
        for name, client, project in (
            ("0199aaaa-0000-7000-8000-000000000001", "claude-code 2.1", "shop"),
            ("0199aaaa-0000-7000-8000-000000000002", "claude-code 2.2", "shop"),
            ("0199bbbb-0000-7000-8000-000000000003", "codex", "my site"),
            ("night-shift", "hermes-agent 0.19", None),
        )
    ]
    for number, session in enumerate(opened):
        store.facts.write("default", f"V[n{number}]: x", session=session, origin=Origin(way=Way.TOOL))
    return opened


def targets(store: Store, line: str) -> list[str]:
    wanted = parse_query(line, theme="default", now=store.clock()).filter
    page = store.facts.page(wanted).facts
    assert len(page) == store.facts.count(wanted)
    assert {fact.uid for fact in store.search.find("default", f"x {line}").facts} == {fact.uid for fact in page}
    return sorted(fact.target for fact in page)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("claude-code · shop #2", 1),
        ("Claude-Code shop 2", 1),
        ("claude-code/shop#1", 0),
        ("0199aaaa-0000-7000-8000-000000000002", 1),
        ("0199b", 2),
        ("codex", 2),
        ("cod", 2),
        ("night", 3),
        ("hermes-agent", 3),
        ("hermes-agent #1", 3),
    ],
)
def test_a_session_is_found_by_any_name(store: Store, sessions: list[Session], said: str, number: int) -> None:
    assert store.sessions.find(said) == sessions[number]
    assert store.sessions.find(said, theme="default") == sessions[number]
    assert targets(store, f'by:"{said}"') == [f"n{number}"]
    assert {change.actor.name for change in store.journal.changes(actor=said)} == {sessions[number].name}
    store.undo.session(said)
    assert targets(store, "") == sorted({"n0", "n1", "n2", "n3"} - {f"n{number}"})


@pytest.mark.parametrize("said", ["claude", "claude-code", "0199", "0199aaaa", "claude-code · shop"])
def test_an_ambiguous_name_is_refused_with_the_candidates(store: Store, sessions: list[Session], said: str) -> None:
    with pytest.raises(errors.AmbiguousSession) as error:
        store.undo.session(said)
    assert "claude-code · shop #1" in str(error.value)
    assert "claude-code · shop #2" in str(error.value)
    assert len(targets(store, "")) == 4


def test_an_unknown_name_is_refused_with_the_nearest(store: Store, sessions: list[Session]) -> None:
    for said in ("cluade-code · shop #1", "", "  ", "·"):
        with pytest.raises(errors.UnknownSession):
            store.sessions.find(said)
    with pytest.raises(errors.UnknownSession, match="did you mean 'claude-code · shop #1'"):
        store.undo.session("cluade-code · shop #1")


def test_facts_are_filtered_by_client_way_and_project(store: Store, sessions: list[Session]) -> None:
    store.facts.write("default", "V[cli]: x", origin=Origin(way=Way.COMMAND_LINE, project="my site"))
    store.facts.write("default", "V[web]: x", origin=Origin(way=Way.HOOK, client="claude-code"))
    store.origin = Origin()
    store.facts.write("default", "V[old]: x")
    assert targets(store, "by:claude-code") == ["n0", "n1", "web"]
    assert targets(store, "from:tool") == ["n0", "n1", "n2", "n3"]
    assert targets(store, "from:command-line,hook") == ["cli", "web"]
    assert targets(store, "from:unknown") == ["old"]
    assert targets(store, "in:SHOP") == ["n0", "n1"]
    assert targets(store, 'in:"my site",shop') == ["cli", "n0", "n1", "n2"]
    assert targets(store, 'from:tool in:"my site" by:codex') == ["n2"]
    assert targets(store, "from:team") == []
    assert targets(store, "from:unknown in:shop") == []


def test_a_filter_that_means_nothing_is_refused(store: Store, sessions: list[Session]) -> None:
    with pytest.raises(errors.QueryError, match="command-line"):
        parse_query("from:comand-line", now=store.clock())
    with pytest.raises(errors.QueryError, match="shop"):
        store.facts.page(FactFilter(theme="default", projects=frozenset({"shpo"})))
    with pytest.raises(errors.AmbiguousSession):
        store.facts.page(FactFilter(theme="default", by="0199"))


def test_names_of_another_theme_are_not_disclosed(store: Store, sessions: list[Session]) -> None:
    store.facts.write("other", "V[a]: x")
    for wanted in (FactFilter(theme="other", projects=frozenset({"shop"})), FactFilter(theme="other", by="claude")):
        with pytest.raises(errors.StoreError) as error:
            store.facts.page(wanted)
        assert "claude-code" not in str(error.value).replace("'claude'", "")
        assert "my site" not in str(error.value)
    assert store.names.authors("cla", 9, "other") == []
    told = ["claude-code", "claude-code · shop #2", "claude-code · shop #1"]
    assert store.names.authors("cla", 9, "default") == told
    assert store.names.origins.names_beginning(store.names.theme("other"), "s", 9) == []


@pytest.mark.parametrize(
    ("name", "is_opaque"),
    [
        ("night-shift", False),
        ("Übersetzung 3", False),
        ("nightly-import-2026", False),
        ("店铺 夜班", False),
        ("店铺的夜班工作", False),
        ("018f3b2a-7c1d-7000-8000-0123456789ab", True),
        ("session-018F3B2A-7C1D-7000-8000-0123456789AB", True),
        ("thread_9f8e7d6c5b4a3f2e", True),
        ("20260401_123456_ab", True),
        ("17289345612", True),
        ("a1", True),
    ],
)
def test_names_for_programs_are_told_from_names_for_people(name: str, is_opaque: bool) -> None:
    assert is_opaque_name(name) is is_opaque


def test_a_session_without_a_number_is_shown_by_no_opaque_name(store: Store) -> None:
    named, nameless = store.sessions.open("ops", "night-shift"), store.sessions.open("ops")
    assert (named.title, nameless.title) == ("night-shift", f"session {nameless.uid[-8:]}")
    assert store.sessions.find(nameless.title, theme="ops").uid == nameless.uid
    assert store.sessions.name_actor("ops", Actor("session", nameless.name)) == f"session {nameless.title}"
    assert store.sessions.name_actor("ops", PERSON) == "person"


def test_a_title_finds_its_session_and_nothing_else_does(store: Store) -> None:
    session = store.sessions.open("ops", client="my-agent 1.0")
    assert store.sessions.find_titled("ops", "my-agent #1") == store.sessions.find("my-agent", theme="ops")
    for other in ("my-agent", "my-agent #2", session.name, session.name[:20]):
        assert store.sessions.find_titled("ops", other) is None, other
    assert store.sessions.find_titled("nobody", "my-agent #1") is None
    assert store.sessions.find_title("ops", session.name) == "my-agent #1"
    assert store.sessions.find_title("ops", "none") is None


def test_turns_are_found_by_name_within_their_session(store: Store) -> None:
    own, other = store.sessions.open("ops"), store.sessions.open("ops")
    first, second = (store.turns.add("ops", "user", f"Message number {n} here", session=own).uid for n in range(2))
    foreign = store.turns.add("ops", "user", "Somebody else says this", session=other).uid
    assert store.turns.find_named(own, [second[-6:], first]) == (first, second)
    for wrong in (foreign, foreign[-8:], first[:8], "12345", "no uid", ""):
        with pytest.raises(ArgumentError):
            store.turns.find_named(own, [wrong])
    assert store.turns.find_named(own, [first, foreign[-8:]], in_theme=True) == (first, foreign)


NAME = "0199aaaa-0000-7000-8000-000000000001"


def test_everything_that_names_a_session_has_its_title(store: Store) -> None:
    with store.db.write_transaction() as conn:
        insert_project(conn, "shop", 0)
    session = store.sessions.open("default", NAME, client="claude-code 2.1", project="shop")
    captured = store.turns.add("default", "user", "use a UUID", session=session)
    fact = store.facts.write("default", "C[db.id]: UUID", session=session, origin=Origin(way=Way.TOOL)).fact
    store.context.status("default", session=session)
    store.reads.flush()

    title = "claude-code · shop #1"
    assert fact.actor == Actor("session", NAME)
    assert [fact.actor.title, store.facts.get(fact.uid).actor.title] == [title, title]
    assert {change.actor.title for change in store.journal.changes() if change.actor.kind == "session"} == {title}
    assert captured.title == title
    assert store.turns.by_uids(fact.origin.turns) == [captured]
    assert store.turns.by_uids(["0199aaaa-0000-7000-8000-0000000000ff", captured.uid]) == [captured]
    assert [one.title for one in ContextRecords(store.db, store.names, store.journal).list()] == [title]
    assert [one.title for one in store.reads.readers(fact.uid)] == [title]


def test_a_completion_offers_names_for_people(store: Store) -> None:
    session = store.sessions.open("default", NAME, client="claude-code")
    store.facts.write("default", "V[a]: x", session=session)
    for begun in ("", "claude-code #", "0199"):
        assert "claude-code #1" in store.names.authors(begun, 50)
        assert NAME not in store.names.authors(begun, 50)
    assert store.names.authors("claude", 50, "default") == ["claude-code", "claude-code #1"]


def test_a_title_follows_the_session(store: Store) -> None:
    session = store.sessions.open("default", NAME, client="claude-code")
    uid = store.facts.write("default", "V[a]: x", session=session).fact.uid
    assert store.facts.get(uid).actor.title == "claude-code #1"
    again = store.sessions.open("default", NAME, client="codex")
    assert store.facts.get(uid).actor.title == again.title
    assert again.title.startswith("codex #")


def test_a_session_of_another_theme_of_that_name_is_another(store: Store) -> None:
    for theme, client in (("default", "codex"), ("ops", "cursor")):
        session = store.sessions.open(theme, "main", client=client)
        store.facts.write(theme, "V[a]: x", session=session)
    told = {change.theme: change.actor.title for change in store.journal.changes() if change.entity == "fact"}
    assert told == {"default": "codex #1", "ops": "cursor #1"}


def test_others_have_no_title(store: Store) -> None:
    assert store.facts.write("default", "V[a]: x").fact.actor.title == ""
    assert store.turns.add("default", "user", "hello").title is None


def test_a_session_of_before_is_never_called_by_an_identifier(store: Store) -> None:
    session = store.sessions.open("default", NAME, client="claude-code 2.1")
    uid = store.facts.write("default", "V[a]: x", session=session).fact.uid
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE sessions SET number = NULL, project_id = NULL")
    store.names.forget_titles()
    assert store.facts.get(uid).actor.title == f"claude-code {session.uid[-8:]}"
    assert store.sessions.get("default", NAME).title == f"claude-code {session.uid[-8:]}"
