"""Authors, turns and context records carry the session's name for a person."""

from __future__ import annotations

from hermes_memory_store.context.context_records import ContextRecords
from hermes_memory_store.items.project_rows import insert_project
from hermes_memory_store.model import Actor, Origin, Way
from hermes_memory_store.store import Store

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
