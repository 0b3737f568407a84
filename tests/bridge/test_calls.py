"""Following agents' calls from outside: what was asked, by whom and how it ended; who is connected; ending a session."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from hermes_memory_bridge import BridgePaths, ask_bridge
from hermes_memory_bridge.daemon.call_follower import follow_calls
from hermes_memory_bridge.runtime.call_log import MOST_CHECKED_CHARS, MOST_SESSIONS, MOST_SUBJECT_CHARS, CallLog
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.model import Millis, Rights, SessionStatus
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import bearer, call, door
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, dial, until
from tests.bridge.test_daemon import command
from tests.bridge.test_fast import call as message
from tests.bridge.test_fast import exchange

KEY = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


def asked(places: BridgePaths, command: str, **arguments: Any) -> dict[str, Any]:
    answer = ask_bridge(places, command, **arguments)
    assert answer is not None
    return answer


def calls_of(places: BridgePaths, **arguments: Any) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = asked(places, "calls", **arguments)["calls"]
    return calls


def greeted(connection: socket.socket, **hello: str) -> str:
    name = exchange(connection, {"hermes-memory": 1, **hello})["session"]
    exchange(connection, INITIALIZE)
    connection.sendall(json.dumps(INITIALIZED).encode() + b"\n")
    return str(name)


def test_a_call_is_told_with_who_made_it_and_how_it_ended(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        name = greeted(agent, theme="marketing")
        exchange(agent, message(1, "memory_write", {"content": "D[cache]: redis"}))
        exchange(agent, message(2, "memory_search", {"query": "cache"}))
        exchange(agent, message(3, "memory_search", {"query": "cache", "scope": "none such"}))
        written, found, refused = calls_of(places)
        assert [one["number"] for one in (written, found, refused)] == [1, 2, 3]
        assert written["theme"] == "marketing"
        assert written["session"] == name
        assert written["client"] == "test 1"
        assert (written["tool"], written["about"], written["hits"]) == ("memory_write", "D[cache]: redis", None)
        assert (found["tool"], found["about"], found["hits"], found["outcome"]) == ("memory_search", "cache", 1, "ok")
        assert (refused["outcome"], refused["hits"]) == ("scope.unknown", None)
        assert 0 < written["ms"] < 20_000
        assert written["at"] <= found["at"] <= refused["at"]


def test_both_ways_to_call_a_tool_are_told_alike(db: Path) -> None:
    """An unknown parameter sends the same call through the SDK."""
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        exchange(agent, message(1, "memory_search", {"query": "cache"}))
        exchange(agent, message(2, "memory_search", {"query": "cache"}, unknown=1))
        fast, slow = calls_of(places)
        for different in ("number", "at", "ms"):
            del fast[different], slow[different]
        assert fast == slow


async def test_an_mcp_client_is_followed(server: StdioServerParameters, db: Path) -> None:
    async with Client(stdio_client(server, sys.stderr)) as client:
        await client.call_tool("memory_write", {"content": "D[cache]: redis"})
        (told,) = await asyncio.to_thread(calls_of, BridgePaths.of(db))
        assert told["about"] == "D[cache]: redis"
        (session,) = (await asyncio.to_thread(asked, BridgePaths.of(db), "sessions"))["sessions"]
        assert session["session"] == told["session"]


def test_calls_are_told_from_a_number_on_and_by_theme_and_session(db: Path) -> None:
    with bridge(db) as places, dial(places) as one, dial(places) as other:
        name = greeted(one, theme="one")
        greeted(other, theme="other")
        for number in range(3):
            exchange(one, message(number, "memory_search", {"query": str(number)}))
            exchange(other, message(number, "memory_search", {"query": str(number)}))
        nothing_new = asked(places, "calls", since=6)
        assert (nothing_new["calls"], nothing_new["last"]) == ([], 6)
        assert [told["number"] for told in calls_of(places, since=4)] == [5, 6]
        assert [told["number"] for told in calls_of(places, theme="other")] == [2, 4, 6]
        assert [told["number"] for told in calls_of(places, session=name)] == [1, 3, 5]
        assert [told["number"] for told in calls_of(places, theme="one", limit=2)] == [3, 5], "the newest"


def test_a_secret_an_agent_writes_or_asks_for_is_not_told(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_MEMORY_SECRETS", "file")
    with bridge(db) as places, Shim(db, "--tools", "all") as shim:
        shim.open()
        written = shim.call("memory_write", content=f"V[stripe]: {KEY}")["result"]["structuredContent"]
        assert written["masked"]
        for tool, arguments in (
            ("memory_write", {"content": "D[cache]: redis", "scope": KEY}),
            ("memory_write", {"content": f"no notation {KEY}"}),
            ("memory_write", {"content": f"V[{KEY}]: the key"}),
            ("memory_edit", {"uid": written["uid"], "content": f"it is {KEY}"}),
            ("memory_edit", {"uid": KEY, "content": "x"}),
            ("memory_search", {"query": f"whose is {KEY} ?"}),
            ("memory_search", {"query": " " * (MOST_CHECKED_CHARS - 20) + KEY}),
            ("memory_search", {"query": f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END"}),
            ("memory_reflect", {"topic": KEY}),
            ("memory_turn", {"role": "user", "content": f"my key is {KEY}"}),
            ("memory_turn", {"role": KEY, "content": "hello"}),
            ("memory_tick", {"turn": 1, "message": f"my key is {KEY}"}),
            ("memory_tick", {"turn": KEY}),
            ("memory_purge", {"scope": KEY}),
            ("memory_close_scope", {"scope": KEY}),
            ("memory_reveal", {"name": KEY}),
        ):
            shim.call(tool, **arguments)
        said = json.dumps(asked(places, "calls"), ensure_ascii=False)
        assert "sk_live_" not in said
        assert KEY[8:20] not in said
        about = [told["about"] for told in calls_of(places)]
        assert about[0].startswith("V[stripe]: ‹secret:stripe")
        assert "whose is ‹secret› ?" in about


def test_what_a_call_is_about_is_short_and_printable(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        exchange(agent, message(1, "memory_search", {"query": "a\u202eb\x1b[31m\n" + "word " * 50_000}))
        exchange(agent, message(2, "memory_search", {"query": "w" * 50_000}))
        exchange(agent, message(3, "memory_search", {"query": ["no text"]}))
        long, endless, wrong = calls_of(places)
        assert long["about"].startswith("a\\u{202e}b\\u{1b}[31m word word")
        assert len(long["about"]) == MOST_SUBJECT_CHARS
        assert long["about"].endswith("…")
        assert (endless["about"], wrong["about"]) == (None, None)


def test_a_wider_purge_is_told_before_anybody_agreed(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        exchange(agent, message(1, "memory_purge", {"everything": True}))
        exchange(agent, message(2, "memory_purge", {"everything": True, "confirm": True}))
        assert [told["outcome"] for told in calls_of(places)] == ["consent.needed", "ok"]


def test_a_token_and_its_transport_stand_beside_its_session(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("ci", "marketing", Rights(write=False))
    with door(db) as http:
        http.ask(body=call("memory_search", query="a"), **bearer(secret))
        http.ask(body=call("memory_write", content="D[a]: b"), **bearer(secret))
        http.ask(body=call("memory_status"), tcp=False)
        assert [told["outcome"] for told in calls_of(http.places)] == ["ok", "access.denied", "ok"]
        by_token, by_user = asked(http.places, "sessions")["sessions"]
        assert by_token["session"] == calls_of(http.places)[0]["session"]
        assert (by_token["theme"], by_token["credential"], by_token["transport"]) == ("marketing", "ci", "tcp")
        assert (by_token["calls"], by_token["reads"], by_token["writes"]) == (2, 1, 1)
        assert (by_user["credential"], by_user["transport"]) == (None, "http")


def test_sessions_are_told_with_their_calls(db: Path) -> None:
    with bridge(db) as places, Shim(db) as shim, dial(places) as silent:
        quiet = greeted(silent, theme="quiet")
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        for _ in range(3):
            shim.call("memory_search", query="cache")
        own, other = sorted(asked(places, "sessions")["sessions"], key=lambda one: -one["calls"])
        assert (own["theme"], own["client"], own["transport"]) == ("default", "test 1", "line")
        assert own["pid"] == shim.process.pid
        assert (own["calls"], own["reads"], own["writes"], own["calls_per_minute"]) == (4, 3, 1, 4)
        assert own["connected_at"] <= calls_of(places)[0]["at"]
        assert (other["session"], other["theme"], other["calls"]) == (quiet, "quiet", 0)
        shim.close()
        until(lambda: len(asked(places, "sessions")["sessions"]) == 1, "one agent left")


def test_ending_a_session_frees_it_and_closes_its_connection(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        name = greeted(agent)
        exchange(agent, message(1, "memory_write", {"content": "D[cache]: redis", "scope": "speed"}))
        assert asked(places, "end", theme="default", session=name)["ended"] is True
        assert agent.recv(1) == b"", "the connection is closed"
        with Store.open(db) as store:
            session = store.sessions.get("default", name)
            assert session.status is SessionStatus.CLOSED
            assert session.checkpoint is not None
            assert session.checkpoint["scope"] == "speed"
            (ended,) = [change for change in store.journal.changes() if change.op == "closed"]
            assert str(ended.actor) == "person"
        until(lambda: asked(places, "sessions")["sessions"] == [], "nobody")
        again = asked(places, "end", theme="default", session=name)
        assert again["ended"] is False
        assert "ended already" in again["why"]


def test_a_host_whose_session_was_ended_goes_on_with_its_next_call(db: Path) -> None:
    with bridge(db) as places, Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[cache]: redis")
        name = calls_of(places)[0]["session"]
        assert asked(places, "end", theme="default", session=name)["ended"] is True
        with Store.open(db) as store:
            until(lambda: asked(places, "status")["connections"] == 1, "the shim again")
            assert store.sessions.get("default", name).status is SessionStatus.CLOSED, "until it calls"
            assert "redis" in shim.call("memory_search", query="cache")["result"]["content"][0]["text"]


def test_ending_a_session_of_a_client_without_a_connection_leaves_the_connection_alone(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent, tools="all")
        exchange(agent, message(1, "session_open", {"name": "worker"}))
        exchange(agent, message(2, "memory_write", {"content": "D[a]: b", "session_id": "worker"}))
        exchange(agent, message(3, "memory_status", {}))
        assert {one["session"] for one in asked(places, "sessions")["sessions"]} > {"worker"}
        assert asked(places, "end", theme="default", session="worker")["ended"] is True
        with Store.open(db) as store:
            assert store.sessions.get("default", "worker").status is SessionStatus.CLOSED
            beat = exchange(agent, message(4, "session_heartbeat", {"session_id": "worker"}))["result"]
            assert beat["structuredContent"]["status"] == "closed", "a heartbeat alone does not bring it back"
            exchange(agent, message(5, "memory_write", {"content": "D[a]: c", "session_id": "worker"}))
            assert store.sessions.get("default", "worker").status is not SessionStatus.CLOSED, "work does"


def test_ending_a_connections_own_session_leaves_those_opened_by_name(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        own = greeted(agent, tools="all")
        exchange(agent, message(1, "session_open", {"name": "worker"}))
        exchange(agent, message(2, "memory_write", {"content": "D[a]: b", "session_id": "worker"}))
        exchange(agent, message(3, "memory_status", {}))
        assert asked(places, "end", theme="default", session=own)["ended"] is True
        until(lambda: asked(places, "sessions")["sessions"] == [], "nobody")
        with Store.open(db) as store:
            assert store.sessions.get("default", own).status is SessionStatus.CLOSED
            assert store.sessions.get("default", "worker").ended_at is None


def test_ending_a_client_that_speaks_http_ends_its_session(db: Path) -> None:
    with door(db) as http:
        http.ask(body=call("memory_status"), tcp=False)
        name = calls_of(http.places)[0]["session"]
        assert asked(http.places, "end", theme="default", session=name)["ended"] is True
        assert asked(http.places, "sessions")["sessions"] == []
        with Store.open(db) as store:
            assert store.sessions.get("default", name).status is SessionStatus.CLOSED


def test_an_agent_that_never_called_can_be_sent_away(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        name = greeted(agent, theme="quiet")
        assert asked(places, "end", theme="default", session=name)["ended"] is False, "another theme's"
        assert asked(places, "end", theme="quiet", session=name)["ended"] is True
        assert agent.recv(1) == b""


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("dance", {}, "'dance' is no command"),
        ("calls", {"since": "yesterday"}, "since"),
        ("calls", {"since": -1}, "since"),
        ("calls", {"limit": 0}, "limit"),
        ("calls", {"theme": ["a"]}, "theme"),
        ("calls", {"foo": 1}, "'foo'"),
        ("sessions", {"theme": "a"}, "'theme'"),
        ("status", {"theme": "a"}, "'theme'"),
        ("end", {"theme": "default"}, "session is required"),
        ("end", {"session": "a"}, "theme is required"),
        ("end", {"theme": 5, "session": "a"}, "theme"),
    ],
)
def test_what_cannot_be_meant_is_answered_with_an_error_that_names_it(
    shared: BridgePaths, name: str, arguments: dict[str, Any], named: str
) -> None:
    answer = asked(shared, name, **arguments)
    assert answer["error"]["code"] == "argument.invalid"
    assert named in answer["error"]["message"]


def test_arguments_that_are_none_are_answered_too(shared: BridgePaths) -> None:
    for said in (["since"], "since", 5):
        with dial(shared) as stranger:
            answer = exchange(stranger, {"hermes-memory": 1, "command": "calls", "arguments": said})
            assert "arguments" in answer["error"]["message"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One bridge for tests that change nothing."""
    with bridge(tmp_path_factory.mktemp("shared") / "memory.db") as places:
        yield places


def test_a_session_that_never_was_is_said_so(shared: BridgePaths) -> None:
    answer = asked(shared, "end", theme="default", session="nobody")
    assert answer["ended"] is False
    assert "nobody" in answer["why"]


class Ticking:
    now = 1_000_000

    def __call__(self) -> Millis:
        return Millis(self.now)


def noted(log: CallLog, session: str = "a", tool: str = "memory_search", query: str = "q") -> None:
    agent = Connection(None, "default", resume=session)  # type: ignore[arg-type]
    log.note(agent, TOOLS[tool], {"query": query}, None, "ok", 0.001)


def test_the_log_is_bounded() -> None:
    log = CallLog(most=10)
    for number in range(25):
        noted(log, query=str(number))
    assert [call.about() for call in log.since(0)] == [str(number) for number in range(15, 25)]
    assert log.last == 25
    for number in range(MOST_SESSIONS + 50):
        noted(log, session=f"s{number}")
    assert log.session_counts("default", "s0").calls == 0, "the counts of sessions are bounded, too"
    assert log.session_counts("default", f"s{MOST_SESSIONS + 49}").calls == 1


def test_a_secret_that_a_theme_allows_to_be_kept_is_not_told_either() -> None:
    log = CallLog()
    agent = Connection(None, "default")  # type: ignore[arg-type]
    fact = {"notation": "V[db.password]: hunter2X!yz", "target": "db.password", "content": "hunter2X!yz"}
    log.note(agent, TOOLS["memory_write"], {}, {"fact": fact}, "ok", 0.001)
    assert [call.about() for call in log.since(0)] == ["V[db.password]: ‹secret›"]


def test_calls_of_the_last_minute_are_counted() -> None:
    clock = Ticking()
    log = CallLog(clock=clock)
    for _ in range(90):
        clock.now += 1_000
        noted(log)
    counts = log.session_counts("default", "a")
    assert (counts.calls, counts.calls_per_minute) == (90, 60)
    clock.now += 600_000
    assert log.session_counts("default", "a").calls_per_minute == 0


def test_many_threads_may_note_at_once() -> None:
    log = CallLog(most=100_000)

    def many() -> None:
        for _ in range(500):
            noted(log)

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call.number for call in log.since(0)] == list(range(1, 4001))
    assert log.session_counts("default", "a").calls == 4000


def test_a_purged_fact_is_told_no_more_by_the_calls_that_wrote_or_found_it(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent, theme="ours")
        exchange(agent, message(1, "memory_write", {"content": "V[anna.kowalska]: has morbus crohn"}))
        exchange(agent, message(2, "memory_search", {"query": "what has kowalska"}))
        exchange(agent, message(3, "memory_write", {"content": "V[port]: 5432"}))
        exchange(agent, message(4, "recall_conversation", {"query": "kowalska"}))
        with Store.open(db) as store:  # another program purges it
            (fact,) = store.search.find("ours", "kowalska").facts
            store.purge.execute_facts(fact.uid)
        exchange(agent, message(5, "memory_search", {"query": "nothing"}))
        written, found, other, missed, later = calls_of(places)
        assert (written["about"], found["about"], missed["about"]) == ("(purged)", "(purged)", "(purged)")
        assert (other["about"], later["about"]) == ("V[port]: 5432", "nothing")


def test_the_command_prints_them(db: Path) -> None:
    assert command(db, "calls").returncode == 1
    with bridge(db) as places, dial(places) as one, dial(places) as other:
        name = greeted(one)
        greeted(other, theme="other")
        exchange(one, message(1, "memory_write", {"content": "D[cache]: redis"}))
        exchange(other, message(1, "memory_search", {"query": "cache"}))
        exchange(one, message(2, "memory_search", {"query": "cache"}))
        for_people = command(db, "calls").stdout.splitlines()
        assert len(for_people) == 3
        assert all(
            word in for_people[0] for word in ("default", "test #1", "test 1", "memory_write", "ok", "D[cache]: redis")
        )
        assert "1 found" in for_people[2]
        documents = [json.loads(line) for line in command(db, "calls", "--json", "--session", name).stdout.splitlines()]
        assert documents == calls_of(places, session=name)
        assert len(command(db, "calls", "-n", "1", "--theme", "default").stdout.splitlines()) == 1


def test_the_command_follows_through_another_bridge(db: Path) -> None:
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        exchange(agent, message(1, "memory_search", {"query": "before"}))
        lines = follow_calls(places, 1, follow=True)
        assert next(lines)["about"] == "before"
        exchange(agent, message(2, "memory_search", {"query": "meanwhile"}))
        assert next(lines)["about"] == "meanwhile"
    with bridge(db) as places, dial(places) as agent:
        greeted(agent)
        for number in range(3):
            exchange(agent, message(number, "memory_search", {"query": f"after {number}"}))
        assert [next(lines)["about"] for _ in range(3)] == ["after 0", "after 1", "after 2"]
