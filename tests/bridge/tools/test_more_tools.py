"""The tools beyond hermes-memory's eight, called as the server calls them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_bridge.runtime.call_dispatch import dispatch_call
from hermes_memory_bridge.runtime.connection_registry import MOST_OF_A_TOKEN, ConnectionRegistry, purge_expired_data
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult
from hermes_memory_bridge.tools import TOOLS, select_tools
from hermes_memory_bridge.tools.acknowledgements import is_acknowledgement
from hermes_memory_bridge.trust import Vault
from hermes_memory_bridge.wire.messages import KEY
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.capture_settings import pause_capture, resume_capture
from hermes_memory_store.model import FactFilter, Rights, Tier
from tests.examples import example_count


class Desk:
    def __init__(self, hub: StoreWorker, theme: str = "default", rights: Rights = Rights()) -> None:
        self.hub = hub
        self.connection = Connection(hub.store, theme, rights=rights, later=hub.write_in_background, tools="all")

    async def __call__(self, tool: str, key: str | None = None, **arguments: Any) -> ToolResult:
        return await dispatch_call(self.hub, self.connection, TOOLS[tool], arguments, {KEY: key})


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[StoreWorker]:
    made = StoreWorker(tmp_path / "memory.db")
    yield made
    await asyncio.to_thread(made.close)


@pytest.fixture
def ask(hub: StoreWorker) -> Desk:
    return Desk(hub)


async def test_what_was_said_is_recalled_with_the_keys_of_pgvector(ask: Desk) -> None:
    await ask("memory_turn", role="user", content="Deploy on Friday at noon")
    answer = await ask("recall_conversation", query="when do we deploy")
    (result,) = json.loads(parse_fenced_text(answer.text))["results"]
    assert list(result) == ["id", "agent_identity", "session_id", "role", "ts", "score", "content"]
    assert (result["agent_identity"], result["role"], result["content"]) == (
        "default",
        "user",
        "Deploy on Friday at noon",
    )
    assert answer.data == json.loads(parse_fenced_text(answer.text))


async def test_facts_are_recalled_with_the_keys_of_pgvector(ask: Desk) -> None:
    await ask("memory_write", content="C[db.id]: UUID mndtry")
    await ask("memory_write", content="V[user.name]: Ada")
    (result,) = json.loads(parse_fenced_text((await ask("recall_memory", query="uuid")).text))["results"]
    assert list(result) == ["id", "agent_identity", "target", "ts", "score", "content"]
    assert result["content"] == "C[db.id]: UUID mndtry"
    assert json.loads(parse_fenced_text((await ask("recall_memory", query="Ada", target="user")).text))["count"] == 1
    assert json.loads(parse_fenced_text((await ask("recall_memory", query="Ada", target="memory")).text))["count"] == 0


async def test_another_theme_is_recalled_only_with_the_right_to(hub: StoreWorker, ask: Desk) -> None:
    other = Desk(hub, "hr")
    await other("memory_turn", role="user", content="the salary of Bob")
    await other("memory_write", content="V[salary.bob]: secret")
    for tool in ("recall_conversation", "recall_memory"):
        for scope in ("current", "all"):
            assert (await ask(tool, query="salary", scope=scope)).data["count"] == 0
        refused = await ask(tool, query="salary", scope="hr")
        nobody = await ask(tool, query="salary", scope="nx")
        assert refused.data["error"]["code"] == nobody.data["error"]["code"] == "theme.unknown"
        assert refused.text.replace("hr", "nx") == nobody.text
        trusted = Desk(hub, "default", Rights(other_themes=True))
        assert (await trusted(tool, query="salary", scope="hr")).data["count"] == 1
        assert (await trusted(tool, query="salary", scope="all")).data["count"] == 1


async def test_the_session_scope_never_means_no_filter(hub: StoreWorker, ask: Desk) -> None:
    await Desk(hub, "hr")("memory_turn", role="user", content="the salary of Bob")
    await Desk(hub)("memory_turn", role="user", content="the salary of Ann")
    assert (await ask("recall_conversation", query="salary", scope="session")).data["count"] == 0
    await ask("memory_turn", role="user", content="my own salary")
    found = await ask("recall_conversation", query="salary", scope="session")
    assert [one["content"] for one in found.data["results"]] == ["my own salary"]


async def test_a_fact_is_corrected_in_place_and_its_history_tells(ask: Desk) -> None:
    uid = (await ask("memory_write", content="V[port]: 8080")).data["uid"]
    edited = await ask("memory_edit", uid=uid[:18], content="8081")
    assert edited.data["fact"]["notation"] == "V[port]: 8081"
    history = await ask("memory_history", uid=uid)
    assert [one["op"] for one in history.data["changes"]] == ["create", "edit"]
    assert history.data["changes"][1]["before"]["content"] == "8080"


async def test_a_uid_of_another_theme_answers_like_none(hub: StoreWorker, ask: Desk) -> None:
    uid = (await Desk(hub, "hr")("memory_write", content="V[salary.bob]: 1")).data["uid"]
    none = "0" * 8 + uid[8:]
    for tool, more in (("memory_edit", {"content": "2"}), ("memory_history", {})):
        theirs, nobodys = await ask(tool, uid=uid, **more), await ask(tool, uid=none, **more)
        assert theirs.data["error"]["code"] == nobodys.data["error"]["code"] == "fact.unknown"
        assert theirs.text.replace(uid, none) == nobodys.text


async def test_a_scope_is_closed(ask: Desk) -> None:
    await ask("memory_write", content="D[a]: b", scope="done")
    assert (await ask("memory_close_scope", scope="done")).text.startswith("closed: done")
    assert "dome" in (await ask("memory_close_scope", scope="dome")).text


async def test_a_session_without_a_connection_is_opened_kept_closed_and_resumed(hub: StoreWorker, ask: Desk) -> None:
    opened = (await ask("session_open", ttl=60)).data
    name = opened["session_id"]
    await ask("memory_write", content="D[a]: b", scope="work", session_id=name)
    await ask("memory_tick", turn=3, session_id=name)
    assert (await ask("session_heartbeat", session_id=name)).data["turn"] == 3
    session = await hub.read(lambda store: store.sessions.get("default", name))
    assert session.lease_ms == 60_000, "a call with the session's id must not change its lease"
    closed = (await ask("session_close", session_id=name)).data
    assert (closed["status"], closed["checkpoint"]["scope"]) == ("closed", "work")
    resumed = (await ask("session_open", resume=name)).data
    assert (resumed["session_id"], resumed["turn"], resumed["scope"]) == (name, 3, "work")
    assert resumed["checkpoint"]["turn"] == 3
    assert (await ask("session_open", resume="nobody")).data["error"]["code"] == "session.unknown"
    assert (await ask("session_open", ttl=0)).data["error"]["code"] == "argument.invalid"


async def test_a_wider_purge_needs_consent_and_can_be_taken_back(hub: StoreWorker, ask: Desk) -> None:
    await ask("memory_write", content="D[a]: b", scope="old")
    await ask("memory_write", content="D[c]: d", scope="new")
    with pytest.raises(ConsentRequired, match=r"scope 'old': 1 hot, .* 7 days"):
        await ask("memory_purge", scope="old", everything=True)
    purged = await ask("memory_purge", scope="old", everything=True, confirm=True)
    assert purged.data["purged"]["hot"] == 1
    everywhere = FactFilter(theme="default", tiers=frozenset(Tier) - {Tier.WITHDRAWN})
    assert await hub.read(lambda store: store.facts.count(everywhere)) == 1
    await hub.write(lambda store: store.undo.last(1))
    assert await hub.read(lambda store: store.facts.count(everywhere)) == 2


async def test_a_call_with_a_key_is_carried_out_once(ask: Desk) -> None:
    first = await ask("memory_turn", key="k1", role="user", content="once")
    again = await ask("memory_turn", key="k1", role="user", content="once")
    assert again == first
    assert await ask.hub.read(lambda store: store.turns.count("default")) == 1
    await ask("memory_turn", key="k2", role="user", content="once")
    assert await ask.hub.read(lambda store: store.turns.count("default")) == 2


async def test_a_refusal_leaves_nothing_behind_and_its_key_free(ask: Desk) -> None:
    refused = await ask("memory_write", key="k", content="no notation")
    assert refused.data["error"]["code"] == "notation.invalid"
    assert (await ask("memory_write", key="k", content="D[a]: b")).data["status"] == "created"


@pytest.mark.parametrize(
    ("rights", "tool"), [("read", "memory_write"), ("write", "memory_search"), ("read,write", "memory_purge")]
)
async def test_a_missing_right_is_named(hub: StoreWorker, rights: str, tool: str) -> None:
    answer = await Desk(hub, rights=Rights.parse(rights))(tool, query="a", content="D[a]: b")
    assert answer.data["error"]["code"] == "access.denied"
    assert rights in answer.text


def test_the_default_tools_are_at_most_twelve() -> None:
    assert len(select_tools("core")) == 12
    assert set(select_tools("all")) > set(select_tools("core"))
    assert list(select_tools("memory_search, memory_write")) == ["memory_search", "memory_write"]
    with pytest.raises(ArgumentError, match="memory_search"):
        select_tools("memory_serch")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@settings(
    max_examples=example_count(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_arguments_break_a_tool_or_touch_another_theme(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    async def run() -> None:
        hub = StoreWorker(tmp_path_factory.mktemp("any") / "memory.db")
        try:
            await Desk(hub, "hr")("memory_write", content="V[salary]: 1", scope="pay")
            before = await hub.read(lambda store: store.journal.changes(theme="hr"))
            ask = Desk(hub)
            for _ in range(6):
                spec = data.draw(st.sampled_from(list(TOOLS.values())))
                names = st.sampled_from([*spec.arguments, "unknown"])
                arguments = data.draw(st.dictionaries(names, JSON, max_size=4))
                try:
                    answer = await ask(spec.name, **arguments)
                except ConsentRequired:
                    continue
                assert answer.data.get("error", {}).get("code") != "internal", (spec.name, arguments)
                json.dumps(answer.data)
                assert "salary" not in answer.text
            assert await hub.read(lambda store: store.journal.changes(theme="hr")) == before
        finally:
            await asyncio.to_thread(hub.close)

    asyncio.run(run())


async def test_a_secret_is_revealed_to_who_may_and_to_its_theme_only(tmp_path: Path, hub: StoreWorker) -> None:
    vault = Vault(tmp_path / "secrets.json", "file")
    vault.keep("default", "stripe", "the secret itself")
    hub.store.intake.vault = vault
    for rights, theme, seen in (
        (Rights(secrets=True), "default", True),
        (Rights(), "default", False),
        (Rights(secrets=True), "hr", False),
    ):
        desk = Desk(hub, theme, rights)
        answer = await desk("memory_reveal", name="‹secret:stripe›")
        assert ("the secret itself" in answer.text) is seen


async def test_a_token_holds_so_many_sessions_and_no_more(hub: StoreWorker) -> None:
    agents = ConnectionRegistry(hub, LeaseTimes())
    one, _ = hub.store.credentials.add("one", "default", Rights())
    two, _ = hub.store.credentials.add("two", "default", Rights())
    for _ in range(MOST_OF_A_TOKEN):
        agents.admit("default", shown=one)
    with pytest.raises(ArgumentError, match="64 sessions"):
        agents.admit("default", shown=one)
    agents.admit("default", shown=two)
    agents.admit("default")


async def test_one_fact_is_put_away_and_no_other(ask: Desk, hub: StoreWorker) -> None:
    first = (await ask("memory_write", content="D[db.id]: UUID")).data["uid"]
    await ask("memory_write", content="C[db.id]: never serial")
    assert (await ask("memory_archive", uid=first)).text.startswith(f"archived: {first[-8:]}")
    assert (await ask("memory_archive", uid=first)).data["uid"] == first, "twice is once"
    assert (await ask("memory_search", query="UUID")).text == "no results"
    assert hub.store.facts.get(first).tier is Tier.ARCHIVED
    assert parse_fenced_text((await ask("memory_search", query="serial")).text) == "C[db.id]: never serial"
    assert (await ask("memory_archive", uid="ffffffff")).data["error"]["code"] == "fact.unknown"


async def test_a_fact_of_another_theme_is_not_put_away(hub: StoreWorker, ask: Desk) -> None:
    uid = (await Desk(hub, "hr")("memory_write", content="V[a]: b")).data["uid"]
    assert (await ask("memory_archive", uid=uid)).data["error"]["code"] == "fact.unknown"
    assert hub.store.facts.get(uid).tier is Tier.HOT


ONLY_HEARD = (
    "ok", "OK!!", "thanks", "ok thanks, that is great", "Got it.", "👍", "...", "danke, passt!", "Merci beaucoup",
    "¡Muchas gracias!", "perfeito, obrigado", "好的，谢谢", "はい、了解です", "네, 감사합니다", "да, спасибо большое",
    "teşekkürler", "tamam", "sounds good, go ahead", "d’accord",
)  # fmt: skip

WORTH_KEEPING = (
    "Use port 5433, never 5432", "no tabs", "yes, deploy it", "ok /srv/x", "ok 5433", "the great migration",
    "nein, nur Postgres", "使用 PostgreSQL", "はい、金曜日に", "right-pad it", "stop the canary", "please rename `a` to `b`",
)  # fmt: skip


@pytest.mark.parametrize("content", ONLY_HEARD)
def test_a_message_that_only_acknowledges_is_known(content: str) -> None:
    assert is_acknowledgement(content)


@pytest.mark.parametrize("content", WORTH_KEEPING)
def test_a_short_message_that_says_something_is_no_acknowledgement(content: str) -> None:
    assert not is_acknowledgement(content)


async def test_an_acknowledgement_is_not_kept_and_the_agent_is_told(ask: Desk) -> None:
    answer = await ask("memory_turn", role="user", content="ok, thanks!")
    assert answer.text == "not kept: an acknowledgement"
    assert answer.data == {"kept": False, "why": "an acknowledgement", "role": "user"}
    assert ask.hub.store.turns.list("default") == []
    assert (await ask("memory_turn", role="user", content="Use port 5433")).data["kept"] is True


async def test_while_capture_is_stopped_nothing_is_kept_and_the_agent_is_told(ask: Desk) -> None:
    store = ask.hub.store
    pause_capture(store.path)
    answer = await ask("memory_turn", role="user", content="Use port 5433")
    assert answer.text == "not kept: capture is paused until resumed"
    assert answer.data == {"kept": False, "why": "capture is paused until resumed", "role": "user"}
    assert store.turns.list("default") == []
    resume_capture(store.path)
    assert (await ask("memory_turn", role="user", content="Use port 5433")).data["kept"] is True


async def test_an_agent_in_a_folder_without_capture_keeps_nothing(ask: Desk, tmp_path: Path) -> None:
    (tmp_path / ".hermes-memory-off").touch()
    ask.connection.folder = str(tmp_path / "deep")
    assert (await ask("memory_turn", role="user", content="Use port 5433")).data["kept"] is False
    ask.connection.folder = None
    assert (await ask("memory_turn", role="user", content="Use port 5433")).data["kept"] is True


@pytest.mark.parametrize(
    ("policy", "content", "said"),
    [
        ('turns = "all"', "ok", "captured"),
        ('turns = "none"', "Deploy on Friday", "not kept: this theme keeps no conversations"),
        ("turn_min_chars = 40", "use vim", "not kept: 7 characters, and this theme keeps messages from 40"),
        ("turn_min_chars = 7", "use vim", "captured"),
    ],
)
async def test_what_is_kept_is_the_themes_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, content: str, said: str
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    (tmp_path / "memory-themes.toml").write_text(f"[themes.default]\n{policy}\n", encoding="utf-8")
    hub = StoreWorker(tmp_path / "memory.db")
    try:
        assert (await Desk(hub)("memory_turn", role="user", content=content)).text.startswith(said)
        refused = await Desk(hub)("memory_turn", role="nobody", content=content)
        assert "role" in refused.text, "a mistake is told as one, whatever is kept"
    finally:
        await asyncio.to_thread(hub.close)


async def test_messages_are_erased_when_their_theme_keeps_them_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    (tmp_path / "memory-themes.toml").write_text("[themes.brief]\nturn_days = 30\n", encoding="utf-8")
    hub = StoreWorker(tmp_path / "memory.db")
    try:
        now = hub.store.clock()
        for theme in ("brief", "lasting"):
            hub.store.turns.add(theme, "user", "said long ago", at=now - 31 * DAY_MS)
            hub.store.turns.add(theme, "user", "said lately", at=now - 29 * DAY_MS)
        await hub.write(purge_expired_data, alone=True)
        await hub.write(purge_expired_data, alone=True)
        assert [turn.content for turn in hub.store.turns.list("brief")] == ["said lately"]
        assert len(hub.store.turns.list("lasting")) == 2
        (told,) = (change for change in hub.store.journal.changes(theme="brief") if change.op == "purge")
        assert (str(told.actor), told.entity, (told.after or {})["turns"]) == ("relief", "turn", 1)
    finally:
        await asyncio.to_thread(hub.close)


@pytest.mark.parametrize("chosen", [None, "memory_search", "core"])
async def test_a_tool_hidden_from_a_connection_does_not_run_however_it_is_reached(
    hub: StoreWorker, chosen: str | None
) -> None:
    desk = Desk(hub)
    desk.connection.tools = chosen
    offered = select_tools(chosen or "core")
    for tool in TOOLS.keys() - offered.keys():
        answer = await desk(tool, content="D[a]: hidden", name="x", session_id="x", scope="a", uid="a" * 8, query="a")
        assert (answer.data["error"]["code"], answer.text) == ("tool.unknown", f"unknown tool: {tool}")
    assert await hub.read(lambda store: (store.sessions.list(), store.journal.last_seq())) == ([], 0)
