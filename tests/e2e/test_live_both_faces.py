"""The main job: an agent writes over MCP, a person sees it, finds it, edits it and takes the edit back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.store import Store

from .faces import Person, agent, inspector, remember, told


async def test_what_an_agent_writes_shows_by_itself(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    async with agent(db) as client, inspector(db).run_test(size=(140, 40)) as pilot:
        person = Person(pilot)
        for number in range(12):
            await remember(client, f"V[port.{number}]: {5400 + number}", scope="network")
            shown = partial(person.sees, f"port.{number} ", f"{5400 + number}")
            await person.until(shown, f"port.{number}")


async def test_a_burst_of_several_agents_shows_completely(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    async with agent(db) as one, agent(db, "marketing") as two, inspector(db).run_test(size=(140, 40)) as pilot:
        person = Person(pilot)
        for number in range(40):
            await remember(one, f"V[one.{number}]: {number}")
            await remember(two, f"V[two.{number}]: {number}")

        await person.until(lambda: person.main.overview.seq >= 80 and len(person.main.table.keys) == 80, "80 facts")

        assert [theme.name for theme in person.main.overview.themes] == ["default", "marketing"]


async def test_a_person_finds_edits_and_undoes_what_an_agent_wrote_and_the_agent_sees_it(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    async with agent(db) as client, inspector(db).run_test(size=(140, 40)) as pilot:
        person = Person(pilot)
        await remember(client, "C[db.id]: UUID mandatory", scope="schema")
        uid = await remember(client, "D[auth]: JWT for 7 days", scope="login")
        await remember(client, "V[srv.prod]: api.example.com", scope="login")
        await person.until(lambda: len(person.rows()) == 3, "three facts")

        await pilot.press("slash")
        await person.types("auth type:decision")
        await pilot.press("enter")
        await person.until(lambda: len(person.rows()) == 1 and person.sees("auth", "JWT for 7 days"), "the one found")

        await pilot.press("e")
        await pilot.press("ctrl+u")
        await person.types("JWT for 2 days")
        await pilot.press("ctrl+s")
        await person.until(lambda: person.sees("auth", "JWT for 2 days"), "the edit")
        assert parse_fenced_text(await told(client, "memory_search", query="auth")) == "D[auth]: JWT for 2 days"

        await pilot.press("u")
        await person.until(lambda: person.sees("auth", "JWT for 7 days"), "the undo")
        assert parse_fenced_text(await told(client, "memory_search", query="auth")) == "D[auth]: JWT for 7 days"
        assert "D[auth]: JWT for 7 days" in await told(client, "memory_status")

        await pilot.press("escape")
        await person.until(lambda: len(person.rows()) == 3, "everything again")

    with Store.open(db) as store:
        told_of = [(change.actor.kind, change.op) for change in store.facts.history(uid)]
        assert told_of == [("session", "create"), ("person", "edit"), ("person", "undo")]
        assert [check.name for check in examine_store(store) if not check.ok] == []


async def test_an_agents_newer_decision_shows_while_a_person_edits_and_is_not_overwritten(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    async with agent(db) as client, inspector(db).run_test(size=(140, 40)) as pilot:
        person = Person(pilot)
        await remember(client, "D[auth]: JWT for 7 days")
        await person.until(lambda: person.sees("JWT for 7 days"), "the fact")
        await pilot.press("e", "ctrl+u")
        await person.types("sessions in redis")

        await remember(client, "D[auth]: passkeys only")
        await person.until(lambda: person.sees("passkeys only"), "the newer one behind the editor")
        await pilot.press("ctrl+s")
        await pilot.pause()

        assert parse_fenced_text(await told(client, "memory_search", query="auth")) == "D[auth]: passkeys only"


async def test_an_agents_session_shows_and_leaves_with_it(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    async with inspector(db).run_test(size=(140, 40)) as pilot:
        person = Person(pilot)
        async with agent(db) as client:
            await told(client, "memory_status")
            await person.until(lambda: len(person.main.agents_pane.sessions) == 1, "the agent among the agents")

        await person.until(lambda: not person.main.agents_pane.sessions, "no agent any more")
