"""A token of one theme against every door of the bridge: no word of another theme comes out, and nothing there changes."""

from __future__ import annotations

import itertools
import json
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hermes_memory_bridge.surface.prompts import PROMPTS
from hermes_memory_bridge.surface.resources import TEMPLATES
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.trust.vault import Vault
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import Door, door
from tests.bridge.running import INITIALIZE, INITIALIZED, dial

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

ALL_BUT_OTHERS = Rights(purge=True, secrets=True)
"""Everything a token can have but the right to other themes."""

TABLES = ("facts", "scopes", "turns", "sessions", "journal")


@dataclass(frozen=True)
class Victim:
    """What stands in the theme that must stay sealed."""

    names: dict[str, str]
    """By kind, what an attacker may have learnt elsewhere and names."""
    canaries: tuple[str, ...]
    """Words, in small letters, that stand there and that no attacker gives."""


@dataclass(frozen=True)
class House:
    """A running bridge with two themes, and a token of one of them."""

    door: Door
    db: Path
    token: str
    """Of the theme `mine`, to which the tests write the names they try."""
    quiet: str
    """Of the theme `quiet`, to which they write nothing."""
    victim: Victim
    home: Path


def build_victim(store: Store, vault: Vault) -> Victim:
    session = store.sessions.open("hr", "zebrasession", client="OKAPIclient 1", lease_ms=DAY_MS)
    store.sessions.open("hr", "yaksession", lease_ms=DAY_MS)
    first = store.facts.write("hr", "V[zebratarget]: giraffe OKAPI one", scope="zebrascope", session=session).fact
    store.facts.write("hr", "V[zebratarget]: giraffe OKAPI two", scope="zebrascope", session=session)
    store.facts.write("hr", "V[yaktarget]: giraffe OKAPI three", scope="yakscope", session=session)
    held = store.facts.quarantine(
        "hr", "D[OKAPIheld]: giraffe OKAPI", why="rule", session=session, source="OKAPIsource"
    )
    store.turns.add("hr", "user", "giraffe OKAPI was said", session=session)
    vault.keep("hr", "zebrasecret", "OKAPIvalue")
    vault.keep("hr", "yaksecret", "OKAPIother")
    seq = store.journal.last_seq()
    names = {
        "theme": "hr",
        "scope": "zebrascope",
        "near scope": "yakscop",
        "session": "zebrasession",
        "near secret": "yaksecre",
        "near session": "yaksessio",
        "uid": first.uid,
        "beginning": first.uid[:8],
        "end": first.uid[-8:],
        "held": held.uid,
        "target": "zebratarget",
        "secret": "zebrasecret",
        "placeholder": "‹secret:zebrasecret›",
        "climbing secret": "../hr/zebrasecret",
        "seq": str(seq),
        "filter": "giraffe scope:zebrascope by:zebrasession target:zebratarget tier:quarantined",
        "words": "giraffe",
        "quoted": "zebrasession' OR '1'='1",
        "path": "../../memories/MEMORY.md",
    }
    return Victim(names, ("okapi", "yakscope", "yaksession", "yaktarget", "yaksecret", "canaryfile"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("sealed")
    db = home / "memory.db"
    memories = home / "memories"
    memories.mkdir(mode=0o700)
    (memories / "MEMORY.md").write_text("D[x]: CANARYFILE\n" * 90)
    (memories / "USER.md").write_text("D[y]: CANARYFILE\n" * 40)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HERMES_MEMORY_SECRETS", "file")
        with Store.open(db) as store:
            victim = build_victim(store, Vault(Path(BridgePaths.of(db).folder) / "secrets.json", "file"))
            store.facts.write("mine", "D[own]: ours", scope="work")
            tokens = [store.credentials.add(theme, theme, ALL_BUT_OTHERS)[1] for theme in ("mine", "quiet")]
        with door(db) as made:
            yield House(made, db, *tokens, victim, home)


class PortSpeaker:
    """Speaks 2026-07-28 over the port, with the token and all tools."""

    def __init__(self, house: House, token: str | None = None) -> None:
        headers = {"authorization": f"Bearer {token or house.token}", "x-hermes-tools": "all"}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{house.door.port}", headers=headers, timeout=60)
        self.number = 0

    def ask(self, method: str, **params: Any) -> str:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, "_meta": MODERN}}
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
        }
        name = params.get("name") or params.get("uri")
        if isinstance(name, str) and name.isascii() and name.isprintable():
            headers["mcp-name"] = name
        return self.http.post("/mcp", json=message, headers=headers).text

    def close(self) -> None:
        self.http.close()


class LineSpeaker:
    """Speaks the handshake era on the line socket, with the token and all tools."""

    def __init__(self, house: House, token: str | None = None) -> None:
        self.socket = dial(house.door.places)
        self.number = 0
        self.heard = self.socket.makefile("rb")
        self.say({"hermes-memory": 1, "token": token or house.token, "tools": "all", "home": str(house.home)})
        self.heard.readline()
        self.say(INITIALIZE)
        self.heard.readline()
        self.say(INITIALIZED)

    def say(self, message: dict[str, Any]) -> None:
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, method: str, **params: Any) -> str:
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:  # word of a change may come before the answer
            line = self.heard.readline().decode()
            if json.loads(line).get("id") == self.number:
                return line

    def close(self) -> None:
        self.heard.close()
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@pytest.fixture(params=[PortSpeaker, LineSpeaker], ids=["port", "line"])
def speaker(request: pytest.FixtureRequest, house: House) -> Iterator[PortSpeaker | LineSpeaker]:
    made = request.param(house)
    yield made
    made.close()


@pytest.fixture(params=[PortSpeaker, LineSpeaker], ids=["port", "line"])
def quiet_speaker(request: pytest.FixtureRequest, house: House) -> Iterator[PortSpeaker | LineSpeaker]:
    made = request.param(house, house.quiet)
    yield made
    made.close()


def rows_of(db: Path, theme: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a theme, whatever its columns; but for heartbeats, which the bridge moves when its process was held up."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as conn:
        conn.row_factory = sqlite3.Row
        key = conn.execute("SELECT id FROM themes WHERE name = ?", (theme,)).fetchone()[0]
        rows = {table: conn.execute(f"SELECT * FROM {table} WHERE theme_id = ?", (key,)).fetchall() for table in TABLES}
    return {
        table: [tuple(row[name] for name in row.keys() if name != "heartbeat_at") for row in found]  # noqa: SIM118
        for table, found in rows.items()
    }


def assert_sealed(victim: Victim, given: object, answer: str) -> None:
    """No canary stands in an answer: none was ever given."""
    said = answer.casefold()
    assert not [canary for canary in victim.canaries if canary in said], (given, answer[:600])


def hostile_arguments(tool: str, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The tool's arguments with each of the sealed theme's names in each place, and in two places at once."""
    spec = TOOLS[tool]
    usual = {
        "content": "D[new]: x", "query": "giraffe", "topic": "giraffe", "turn": 1, "role": "user",
        "message": "giraffe", "uid": names["uid"], "scope": names["scope"], "name": names["secret"],
        "session_id": names["session"],
    }  # fmt: skip
    required = {name: usual[name] for name in spec.required}
    texts = [name for name, schema in spec.arguments.items() if schema["type"] == "string"]
    for name, value in itertools.product(texts, names.values()):
        content = f"D[{value}]: {value}" if name == "content" and tool == "memory_write" else value
        yield {**required, name: content}
    for name, other in itertools.combinations(texts, 2):
        yield {**required, name: usual.get(name, names["theme"]), other: usual.get(other, names["theme"])}
    flags = {name: True for name, schema in spec.arguments.items() if schema["type"] == "boolean" and name != "dry_run"}
    yield {**required, **{name: "all" for name in texts if name == "scope"}, **flags}
    yield {**required, **({"threshold_pct": 0} if "threshold_pct" in spec.arguments else {})}


@pytest.mark.parametrize("tool", TOOLS)
def test_no_tool_tells_or_changes_anything_of_another_theme(
    house: House, speaker: PortSpeaker | LineSpeaker, tool: str
) -> None:
    before = rows_of(house.db, "hr")
    files = {file: file.read_bytes() for file in (house.home / "memories").iterdir()}
    step = 1 if isinstance(speaker, LineSpeaker) else 4  # the port takes six times as long a call
    for given in itertools.islice(hostile_arguments(tool, house.victim.names), 0, None, step):
        assert_sealed(house.victim, given, speaker.ask("tools/call", name=tool, arguments=given))
    assert rows_of(house.db, "hr") == before
    assert {file: file.read_bytes() for file in (house.home / "memories").iterdir()} == files


def test_no_resource_tells_anything_of_another_theme(house: House, speaker: PortSpeaker | LineSpeaker) -> None:
    names = [*house.victim.names.values(), "mine", "%68r", "HR", "hr%2F", "../hr", "*", "%"]
    for template in TEMPLATES:
        holes = template.uri.count("{")
        for values in {(theme, name)[-holes:] for name in names for theme in ("hr", "mine", name)}:
            uri = template.uri
            for value in values:
                uri = uri[: uri.index("{")] + value + uri[uri.index("}") + 1 :]
            answer = speaker.ask("resources/read", uri=uri)
            assert_sealed(house.victim, uri, answer)
    for method in ("resources/list", "resources/templates/list", "prompts/list", "tools/list"):
        assert_sealed(house.victim, "", speaker.ask(method))
    assert_sealed(house.victim, "zebrascope", speaker.ask("resources/list", cursor="zebrascope"))


def test_no_prompt_and_no_completion_tells_anything_of_another_theme(
    house: House, quiet_speaker: PortSpeaker | LineSpeaker
) -> None:
    speaker = quiet_speaker
    for prompt, value in itertools.product(PROMPTS.values(), house.victim.names.values()):
        given = dict.fromkeys(prompt.arguments, value)
        assert_sealed(house.victim, given, speaker.ask("prompts/get", name=prompt.name, arguments=given))
    references: list[dict[str, str]] = [
        *({"type": "ref/prompt", "name": name} for name in PROMPTS),
        *({"type": "ref/resource", "uri": template.uri} for template in TEMPLATES),
    ]
    for reference, argument, begun in itertools.product(
        references[-2:], ("scope", "theme", "topic", "target", "uid"), ("", "yak", "h")
    ):
        answer = speaker.ask("completion/complete", ref=reference, argument={"name": argument, "value": begun})
        assert_sealed(house.victim, "", answer)
        assert '"hr"' not in answer


def test_a_sealed_name_is_answered_like_one_that_does_not_exist(
    house: House, quiet_speaker: PortSpeaker | LineSpeaker
) -> None:
    """What exists elsewhere and what exists nowhere give the same words."""
    speaker = quiet_speaker
    uid = house.victim.names["uid"]
    nowhere = uid[:14] + "7fff-8fff-ffffffffffff"[:22]
    pairs: list[tuple[Callable[[str], str], str, str]] = [
        (lambda name: speaker.ask("resources/read", uri=f"memory://fact/{name}"), uid, nowhere),
        (lambda name: speaker.ask("resources/read", uri=f"memory://theme/{name}"), "hr", "xy"),
        (lambda name: speaker.ask("resources/read", uri=f"memory://scope/quiet/{name}"), "zebrascope", "xebrascope"),
    ]
    for tool, argument in (
        ("memory_history", "uid"), ("memory_archive", "uid"), ("session_heartbeat", "session_id"),
        ("session_close", "session_id"), ("memory_close_scope", "scope"), ("memory_export", "scope"),
        ("memory_reveal", "name"), ("recall_memory", "scope"),
    ):  # fmt: skip
        there, not_there = {
            "uid": (uid, nowhere),
            "session_id": ("zebrasession", "xebrasession"),
            "scope": ("hr", "xy") if tool == "recall_memory" else ("zebrascope", "xebrascope"),
            "name": ("zebrasecret", "xebrasecret"),
        }[argument]

        def answer_to(name: str, tool: str = tool, argument: str = argument) -> str:
            given = {argument: name, **({"query": "a"} if tool == "recall_memory" else {})}
            return speaker.ask("tools/call", name=tool, arguments=given)

        pairs.append((answer_to, there, not_there))
    for ask, there, not_there in pairs:
        heard = [json.loads(only_data(ask(name)).replace(name, "#")) for name in (there, not_there)]
        for one in heard:
            one.pop("id")
        assert heard[0] == heard[1]


def only_data(answer: str) -> str:
    """The message of an answer, whether it came whole or as an event."""
    lines = [line[5:] for line in answer.splitlines() if line.startswith("data:") and line[5:].strip()]
    return lines[-1] if lines else answer


def test_a_change_elsewhere_is_told_to_nobody(house: House) -> None:
    speaker = LineSpeaker(house)
    try:
        for uri in ("memory://theme/hr", "memory://scope/hr/zebrascope", f"memory://fact/{house.victim.names['uid']}"):
            speaker.ask("resources/subscribe", uri=uri)
        speaker.ask("resources/subscribe", uri="memory://theme/mine")
        with Store.open(house.db) as store:
            store.facts.write("hr", "V[zebratarget]: giraffe OKAPI one", scope="zebrascope")
            store.facts.write("mine", "D[own]: something else", scope="work")
        told = [json.loads(speaker.heard.readline())]
        assert [one["params"]["uri"] for one in told if "uri" in one.get("params", {})] == ["memory://theme/mine"]
    finally:
        speaker.close()


def test_the_numbers_of_a_token_do_not_move_when_another_theme_does(house: House) -> None:
    speaker = PortSpeaker(house)
    try:

        def numbers() -> str:
            shown = speaker.http.get("/metrics").text
            status = speaker.ask("tools/call", name="memory_status", arguments={})
            told = json.loads(only_data(status))["result"]["structuredContent"]
            # Which of its own facts fit changes with their age and use, how many there are does not.
            own = {"gauge": told["gauge"], "facts": len(told["facts"]) + told["left_out"]}
            return shown.partition("hermes_memory_call")[0] + json.dumps(own)

        before = numbers()
        with Store.open(house.db) as store:
            for number in range(30):
                store.facts.write("hr", f"V[n{number}]: {number}")
                store.sessions.open("hr")
        assert numbers() == before
        written = json.loads(
            only_data(speaker.ask("tools/call", name="memory_write", arguments={"content": "D[seq]: a"}))
        )["result"]["structuredContent"]
        history = speaker.ask("tools/call", name="memory_history", arguments={"uid": written["uid"]})
        assert [one["seq"] for one in json.loads(only_data(history))["result"]["structuredContent"]["changes"]] == [
            None
        ]
    finally:
        speaker.close()


@pytest.mark.parametrize("tools", ["memory_search", "all"])
def test_a_restricted_token_is_given_its_tools_and_nothing_beside(tmp_path: Path, tools: str) -> None:
    """Whatever it asks to be offered, by any spelling of a name, over any door."""
    db = tmp_path / "memory.db"
    with Store.open(db) as store:
        store.facts.write("mine", "D[own]: zebraown", scope="work")
        uid = store.facts.write("mine", "D[other]: zebraother").fact.uid
        rights = Rights(purge=True, secrets=True, tools=frozenset({"memory_turn", "session_open"}))
        _, token = store.credentials.add("narrow", "mine", rights)
    with door(db) as made:
        house = House(made, db, token, token, Victim({}, ()), tmp_path)
        port = PortSpeaker(house)
        port.http.headers["x-hermes-tools"] = tools
        line = LineSpeaker(house)
        before = rows_of(db, "mine")["facts"]
        for speaker in (port, line):
            offered = json.loads(only_data(speaker.ask("tools/list")))["result"]["tools"]
            assert {one["name"] for one in offered} <= {"memory_turn", "session_open"}
            for name in set(TOOLS) - {"memory_turn", "session_open"}:
                others = (name.upper(), f"/{name}", name.replace("_", "-"), f"mcp__hermes_memory__{name}")
                for spelt in (name, *(others if speaker is line else ())):
                    given = {"content": "D[a]: b", "query": "zebraown", "uid": uid, "scope": "work", "confirm": True}
                    answer = speaker.ask("tools/call", name=spelt, arguments=given)
                    assert "tool.unknown" in answer, (spelt, answer[:300])
                    assert "zebra" not in answer
            for uri in ("memory://status", "memory://theme/mine", "memory://scope/mine/work", f"memory://fact/{uid}"):
                assert "zebra" not in speaker.ask("resources/read", uri=uri)
            for prompt in PROMPTS.values():
                given = dict.fromkeys(prompt.arguments, "work")
                assert "zebra" not in speaker.ask("prompts/get", name=prompt.name, arguments=given)
            for method in ("resources/list", "resources/templates/list", "prompts/list"):
                assert "memory://" not in speaker.ask(method)
            for argument in ("scope", "target"):
                reference = {"type": "ref/prompt", "name": "review_scope"}
                answer = speaker.ask("completion/complete", ref=reference, argument={"name": argument, "value": ""})
                assert json.loads(only_data(answer))["result"]["completion"]["values"] == []
        assert rows_of(db, "mine")["facts"] == before
        port.close()
        line.close()


OPENED: list[str] | None = None
"""Paths that Python code opened or listed, while somebody listens."""


def note_opened_path(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what is opened. An audit hook stays for good, so it looks first whether anybody listens."""
    if OPENED is not None and event in ("open", "os.listdir", "os.scandir", "os.rename", "os.remove", "os.chmod"):
        OPENED.append(str(arguments[0]))


def test_a_tool_that_declares_no_file_opens_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a token no tool opens anything but the store's own files and Python's modules."""
    import asyncio

    from hermes_memory_bridge.runtime.call_dispatch import dispatch_call
    from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
    from hermes_memory_bridge.runtime.store_worker import StoreWorker
    from hermes_memory_bridge.toolkit.connection import LeaseTimes
    from hermes_memory_bridge.toolkit.tool_results import ConsentRequired
    from hermes_memory_store.items.journal_receipt import outer_receipt_path

    home = tmp_path / "home"
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "MEMORY.md").write_text("D[x]: CANARYFILE\n" * 90)
    monkeypatch.setenv("HERMES_HOME", str(home))
    db = tmp_path / "store" / "memory.db"
    db.parent.mkdir()
    sys.addaudithook(note_opened_path)

    async def run() -> list[str]:
        vault = Vault(db.parent / "memory.db.bridge" / "secrets.json", "file")
        worker = StoreWorker(db, vault=vault)
        registry = ConnectionRegistry(worker, LeaseTimes())
        with Store.open(db) as store:
            victim = build_victim(store, vault)
            _, token = store.credentials.add("mine", "mine", ALL_BUT_OTHERS)
            shown = store.credentials.verify(token)
        assert shown is not None
        connection = registry.admit("mine", rights=shown.rights, tools="all", shown=shown, transport="line", home=home)
        assert worker.metrics  # made with the first call, which reads what the process is
        monkeypatch.setitem(globals(), "OPENED", [])
        try:
            for tool in TOOLS.values():
                for given in itertools.islice(hostile_arguments(tool.name, victim.names), 0, None, 7):
                    try:
                        answer = await dispatch_call(worker, connection, tool, given, None)
                    except ConsentRequired:
                        continue
                    if tool.files:
                        assert answer.data["error"]["code"] == "access.denied"
            assert OPENED is not None
            return list(OPENED)
        finally:
            monkeypatch.setitem(globals(), "OPENED", None)
            await asyncio.to_thread(worker.close)

    opened = asyncio.run(run())
    allowed = (
        str(db.parent),
        str(outer_receipt_path(db)),
        sys.prefix,
        sys.base_prefix,
        str(Path(__file__).parents[3]),
        "/dev/urandom",
    )
    assert [path for path in opened if path.startswith("/") and not path.startswith(allowed)] == []
    assert not any(str(home) in path for path in opened)
