"""Where the calls of agents come from: real clients in real repositories, through the shim and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from hermes_memory_bridge.client import MemoryClient
from hermes_memory_bridge.runtime.project_reader import ProjectReader
from hermes_memory_bridge.toolkit.declared_folder import (
    choose_folder,
    parse_folder,
    parse_folder_header,
    parse_root_folders,
)
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import Fact, FactFilter, Origin, Rights, Way
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, data, dial, free_port, text, until
from tests.store.test_projects import git

REMOTE = "https://anna:s3cret-pass@example.org/team/shop.git"


def repository(folder: Path, remote: str | None = REMOTE) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text(folder.name, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


class ThemedShim(Shim):
    """A shim whose theme is named, so that the facts of several folders are in one."""

    def __init__(self, db: Path, *, cwd: Path) -> None:
        super().__init__(db, "--theme", "default", cwd=cwd)


def fact_named(db: Path, target: str) -> Fact:
    with Store.open(db, read_only=True) as store:
        (fact,) = store.facts.page(FactFilter(target=target)).facts
        return fact


def test_a_client_in_a_worktree(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "work" / "shop")
    tree = tmp_path / "work" / "shop-pay"
    git(shop, "worktree", "add", "-q", "-b", "pay", str(tree))
    (tree / "src").mkdir()
    with ThemedShim(served, cwd=tree / "src") as shim:
        shim.open("claude-code")
        said = shim.call("memory_write", content="D[cache]: redis")
        assert data(said)["fact"]["origin"] == {"way": "tool", "session": "claude-code · shop #1", "branch": "pay"}
        origin = fact_named(served, "cache").origin
        pid = shim.process.pid
    assert (origin.way, origin.client, origin.client_version) == (Way.TOOL, "claude-code", "2.1.0")
    assert (origin.project, origin.root, origin.folder) == ("shop", str(tree), "src")
    assert (origin.branch, origin.commit) == ("pay", git(shop, "rev-parse", "HEAD"))
    assert origin.peer == f"user {os.getuid()}, process {pid}"
    assert origin.program == os.path.realpath(sys.executable), "the program that started the shim"
    assert b"s3cret-pass" not in served.read_bytes() + Path(f"{served}-wal").read_bytes()


def test_a_branch_that_is_switched_shows_in_the_next_write(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    with ThemedShim(served, cwd=shop) as shim:
        shim.open("claude-code")
        shim.call("memory_write", content="V[one]: 1")
        git(shop, "switch", "-q", "-c", "fix/größe")
        shim.call("memory_write", content="V[two]: 2")
        git(shop, "commit", "-q", "--allow-empty", "-m", "next")
        shim.call("memory_write", content="V[three]: 3")
    assert [fact_named(served, name).origin.branch for name in ("one", "two", "three")] == ["main", *["fix/größe"] * 2]
    assert fact_named(served, "two").origin.commit != fact_named(served, "three").origin.commit


def test_two_sessions_of_one_client_in_one_repository(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    with (
        ThemedShim(served, cwd=shop) as one,
        ThemedShim(served, cwd=shop) as two,
        ThemedShim(served, cwd=shop) as other,
    ):
        titles = []
        for shim, client in ((one, "claude-code"), (two, "claude-code"), (other, "codex")):
            shim.open(client)
            titles.append(
                data(shim.call("memory_write", content=f"V[from.{len(titles)}]: x"))["fact"]["origin"]["session"]
            )
        assert titles == ["claude-code · shop #1", "claude-code · shop #2", "codex · shop #1"]
        one.close()
        with ThemedShim(served, cwd=shop) as third:
            third.open("claude-code")
            said = data(third.call("memory_write", content="V[last]: y"))
            assert said["fact"]["origin"]["session"] == "claude-code · shop #3", (
                "no number comes back while others live"
            )


def test_a_fork_is_a_project_of_its_own(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    fork = tmp_path / "fork" / "shop"
    git(tmp_path, "clone", "-q", str(shop), str(fork))
    git(fork, "remote", "set-url", "origin", "git@example.org:anna/shop.git")
    for number, folder in enumerate((shop, fork)):
        with ThemedShim(served, cwd=folder) as shim:
            shim.open("claude-code")
            shim.call("memory_write", content=f"V[from.{number}]: x")
    assert [fact_named(served, f"from.{number}").origin.project for number in (0, 1)] == ["shop", "shop-2"]


def test_of_two_clones_without_a_remote_each_is_a_project_and_a_moved_one_stays_itself(
    served: Path, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "shop", remote=None)
    copy = tmp_path / "other" / "copy"
    git(tmp_path, "clone", "-q", str(shop), str(copy))
    git(copy, "remote", "remove", "origin")
    root = git(shop, "rev-parse", "HEAD")
    with ThemedShim(served, cwd=shop) as one, ThemedShim(served, cwd=copy) as two:
        one.open("claude-code")
        one.call("memory_write", content="V[one]: x")
        with Store.open(served, read_only=True) as store:
            until(lambda: store.projects.get("shop").roots == (root,), "the first commit")
            two.open("claude-code")
            two.call("memory_write", content="V[two]: x")
            until(lambda: not store.projects.lacks_root(str(copy / ".git")), "the first commit of the copy")
            assert store.projects.get("copy").name == "copy"
        assert {fact["target"] for fact in data(two.call("memory_search", query="in:copy"))["facts"]} == {"two"}
    shutil.copytree(copy, tmp_path / "moved")
    shutil.rmtree(shop)
    shop.symlink_to(tmp_path / "moved")
    copy.rename(tmp_path / "again")
    with ThemedShim(served, cwd=tmp_path / "again") as three, ThemedShim(served, cwd=tmp_path / "moved") as four:
        for shim in (three, four):
            shim.open("claude-code")
            shim.call("memory_write", content="V[three]: x")
        with Store.open(served, read_only=True) as store:
            names = [store.projects.recognise(read_project(tmp_path / name)) for name in ("again", "moved")]
        assert names == ["copy", "moved"]


def test_a_folder_that_is_gone(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    (shop / "sub").mkdir()
    with ThemedShim(served, cwd=shop / "sub") as shim:
        shim.open("claude-code")
        shim.call("memory_write", content="V[before]: 1")
        shutil.rmtree(shop)
        shim.call("memory_write", content="V[after]: 2")
        origin = fact_named(served, "after").origin
        assert (origin.project, origin.branch, origin.commit) == ("shop", None, None), "nothing is guessed"
    gone = tmp_path / "gone"
    gone.mkdir()
    with ThemedShim(served, cwd=gone) as shim:
        gone.rmdir()
        shim.open("claude-code")
        assert "stored" in text(shim.call("memory_write", content="V[nowhere]: 3"))


def test_a_hostile_repository_runs_nothing(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", remote=None)
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n", encoding="utf-8")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "uploadpack.packObjectsHook",
        "alias.rev-list",
    ):
        git(shop, "config", key, f"!{trap}" if key.startswith("alias") else str(trap))
    git(shop, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        shutil.copy(trap, tmp_path / "hooks" / hook)
    (tmp_path / "sprung").unlink(missing_ok=True)  # `git config` itself may have sprung it
    with ThemedShim(served, cwd=shop) as shim:
        shim.open("claude-code")
        shim.call("memory_write", content="V[one]: 1")
        with Store.open(served, read_only=True) as store:
            until(lambda: store.projects.get("shop").roots, "the first commit")
    assert fact_named(served, "one").origin.branch == "main"
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["магазин", "店铺", "متجر", "shop & co 'x' \"y\"", "b\udcffytes"])
def test_folders_in_any_script(served: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    with ThemedShim(served, cwd=folder) as shim:
        shim.open("claude-code")
        said = data(shim.call("memory_write", content="V[one]: 1"))["fact"]["origin"]["session"]
    shown = name if "\udcff" not in name else fact_named(served, "one").origin.project
    assert said == f"claude-code · {shown} #1"


def test_the_home_folder_is_no_project(served: Path) -> None:
    with ThemedShim(served, cwd=served.parent) as shim:  # where a desktop starts its programs
        shim.open("claude-desktop")
        said = data(shim.call("memory_write", content="V[one]: 1"))["fact"]["origin"]
        assert said == {"way": "tool", "session": "claude-desktop #1"}


def test_turns_before_a_write_and_turns_that_are_named(served: Path) -> None:
    with Shim(served) as one, Shim(served) as two:
        one.open("claude-code")
        two.open("claude-code")
        said = [
            data(one.call("memory_turn", role="user", content=f"The port of number {n} is {n}."))["uid"]
            for n in range(5)
        ]
        other = data(two.call("memory_turn", role="user", content="Another session says this."))["uid"]
        assert data(one.call("memory_write", content="V[e]: 1", turns=[other]))["fact"]["origin"]["turns"] == [other]
        with Store.open(served) as store:
            foreign = store.turns.add("secret", "user", "Nothing of the kind was said here.").uid
        assert data(one.call("memory_write", content="V[a]: 1"))["fact"]["origin"]["turns"] == said[-3:]
        named = one.call("memory_write", content="V[b]: 1", turns=[said[1][-8:], said[0]])
        assert data(named)["fact"]["origin"]["turns"] == said[:2]
        assert data(one.call("memory_write", content="V[c]: 1", turns=said[4]))["fact"]["origin"]["turns"] == [said[4]]
        for wrong in ([foreign], ["018f"], ["zzzzzzzz"], [said[0][:8]], [said[0]] * 21, [7], {"a": 1}):
            refused = one.call("memory_write", content="V[d]: 1", turns=wrong)
            assert data(refused)["error"]["code"] == "argument.invalid", wrong
            assert "NOT stored" not in text(refused)
        with Store.open(served, read_only=True) as store:
            assert not store.facts.page(FactFilter(theme="default", target="d")).facts


def test_sessions_are_named_and_found(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop")
    with Shim(served, "--tools", "all", cwd=shop) as shim:
        shim.open("claude-code")
        written = data(shim.call("memory_write", content="V[own]: 1"))
        opened = shim.call("session_open", ttl=600)
        title, name = data(opened)["title"], data(opened)["session_id"]
        assert title == "claude-code · shop #2"
        assert text(opened).splitlines()[0] == f"session: {title}"
        assert name not in text(opened)
        said = data(shim.call("memory_write", content="V[other]: 1", session_id=title))["fact"]["origin"]
        assert said["session"] == title, "a session is taken by its name for people"
        history = text(shim.call("memory_history", uid=written["uid"]))
        assert "by session claude-code · shop #1 (main)" in history
        shim.call("memory_turn", role="user", content="What do we deploy on Friday?")
        recalled = data(shim.call("recall_conversation", query="deploy"))
        assert recalled["sessions"] == {recalled["results"][0]["session_id"]: "claude-code · shop #1"}
        origins = data(shim.call("recall_memory", query="own"))["origins"]
        assert origins[written["uid"]]["session"] == "claude-code · shop #1"
        number = shim.request("resources/read", {"uri": f"memory://fact/{written['uid']}"})
        read = shim.hear()
        assert read["id"] == number
        assert "by session claude-code · shop #1" in read["result"]["contents"][0]["text"]
        assert data(shim.call("session_heartbeat", session_id=name[:30]))["session_id"] == name
        assert data(shim.call("session_heartbeat", session_id="claude-code"))["error"]["code"] == "session.ambiguous"
        assert data(shim.call("session_close", session_id="claude-code/shop#2"))["session_id"] == name
        assert data(shim.call("session_open", resume="claude-code · shop #2"))["session_id"] == name
        assert data(shim.call("session_heartbeat", session_id="no such"))["error"]["code"] == "session.unknown"


def test_a_name_that_begins_another_opens_a_session_of_its_own(served: Path) -> None:
    with Shim(served, "--tools", "all") as shim:
        shim.open("gateway")
        shim.call("session_open", name="worker-12")
        shim.call("memory_write", content="V[one]: 1", session_id="worker-1")
    assert fact_named(served, "one").origin.session == "worker-1"


def test_roots_say_where_a_host_works(served: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "a shop")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with ThemedShim(served, cwd=elsewhere) as shim:
        shim.say({**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": {"roots": {"listChanged": True}}}})  # type: ignore[dict-item]
        shim.hear()
        for cause in (INITIALIZED, {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}):
            shim.say(cause)
            asked = shim.hear()
            assert asked["method"] == "roots/list"
            shim.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": shop.as_uri(), "name": "x"}]}})
        shim.call("memory_write", content="V[one]: 1")
    assert fact_named(served, "one").origin.root == str(shop)


def test_a_shim_of_before_says_no_folder(served: Path) -> None:
    with dial(BridgePaths.of(served)) as line:
        file = line.makefile("rwb")
        for message in ({"hermes-memory": 1}, INITIALIZE, INITIALIZED):
            file.write(json.dumps(message).encode() + b"\n")
        call = {"name": "memory_write", "arguments": {"content": "V[one]: 1"}}
        file.write(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}).encode() + b"\n")
        file.flush()
        while json.loads(file.readline()).get("id") != 9:
            pass
    origin = fact_named(served, "one").origin
    assert (origin.way, origin.client, origin.project, origin.root) == (Way.TOOL, "test", None, None)
    assert origin.title == "test #1"


def test_a_token_reads_no_folder_but_its_own(db: Path, tmp_path: Path) -> None:
    private, own = repository(tmp_path / "private"), repository(tmp_path / "own", remote=None)
    with Store.open(db) as store:
        _, token = store.credentials.add("ci", "default", Rights())
    port = free_port()
    with bridge(db, "--tcp", str(port)):
        with Shim(db, "--token", token, cwd=own) as shim:
            shim.open("claude-code")
            assert data(shim.call("memory_write", content="V[own]: 1"))["fact"]["origin"]["branch"] == "main"
            meta = {"io.hermes-memory/folder": str(private)}
            number = shim.request(
                "tools/call", {"name": "memory_write", "arguments": {"content": "V[line]: 1"}, "_meta": meta}
            )
            assert shim.hear()["id"] == number
        over_port(port, token, private)
    for name, root in (("line", None), ("tcp", str(private))):
        origin = fact_named(db, name).origin
        assert (origin.branch, origin.commit, origin.root) == (None, None, root), name
        assert origin.project in (None, "own")
    assert fact_named(db, "tcp").origin.peer == "127.0.0.1, token 'ci'"
    with Store.open(db, read_only=True) as store:
        known = {name for (name,) in store.db.rows("SELECT name FROM projects")}
    assert known == {"own"}


def over_port(port: int, token: str, folder: Path) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"authorization": f"Bearer {token}"}) as client:
        write_over_http(client, "V[tcp]: 1", folder)


def write_over_http(client: httpx.Client, content: str, folder: Path) -> None:
    """Write a fact, saying in the header that one works in a folder."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "remote", "version": "nightly"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "memory_write", "arguments": {"content": content}, "_meta": envelope}
    said = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "memory_write",
            "x-hermes-folder": quote(str(folder)),
        },
    )
    assert "stored" in said.text, said.text


def test_clients_over_http_declare_their_folders(served: Path, tmp_path: Path) -> None:
    folders = [repository(tmp_path / "shop"), repository(tmp_path / "магазин", remote=None)]
    transport = httpx.HTTPTransport(uds=BridgePaths.of(served).http)
    with httpx.Client(base_url="http://localhost", transport=transport) as client:
        for number, folder in enumerate(folders):
            write_over_http(client, f"V[from.{number}]: x", folder)
    origins = [fact_named(served, f"from.{number}").origin for number in (0, 1)]
    assert [origin.title for origin in origins] == ["remote · shop #1", "remote · магазин #1"]
    assert (origins[0].client, origins[0].client_version, origins[0].branch) == ("remote", "nightly", "main")
    assert origins[0].peer == f"user {os.getuid()}, process {os.getpid()}"
    assert origins[0].program == os.path.realpath(sys.executable)


def test_a_python_client_is_told_from_its_folder(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path / "shop"))
    with MemoryClient(f"unix://{BridgePaths.of(served).http}") as client:
        client.write("V[one]: 1")
    origin = fact_named(served, "one").origin
    assert (origin.client, origin.project, origin.branch) == ("hermes-memory-client", "shop", "main")


@pytest.mark.parametrize(
    ("said", "way"),
    [("hook", Way.HOOK), ("host-file", Way.HOST_FILE), ("screen", Way.TOOL), ("team", Way.TOOL), (7, Way.TOOL)],
)
def test_only_ways_a_client_can_know_are_taken_from_it(served: Path, said: object, way: Way) -> None:
    with Shim(served) as shim:
        shim.open()
        meta = {"io.hermes-memory/way": said}
        shim.request("tools/call", {"name": "memory_write", "arguments": {"content": "V[one]: 1"}, "_meta": meta})
        shim.hear()
    assert fact_named(served, "one").origin.way is way


async def test_a_folder_that_never_answers_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from hermes_memory_bridge.runtime import project_reader

    release = threading.Event()
    real = project_reader.read_project

    def hang(folder: str) -> Any:
        if folder.endswith("dead"):
            release.wait(30)  # as a read of a mount does whose server is gone
        return real(folder)

    monkeypatch.setattr(project_reader, "read_project", hang)
    monkeypatch.setattr(project_reader, "WAIT_S", 0.02)
    (tmp_path / "dead").mkdir()
    reader = ProjectReader()
    assert await reader.read(str(tmp_path / "dead")) is None
    monkeypatch.setattr(project_reader, "WAIT_S", 5.0)
    seen = await reader.read(str(repository(tmp_path / "shop")))
    assert seen is not None
    assert seen.branch == "main"
    release.set()
    while reader._reading:
        await asyncio.sleep(0)
    assert (await reader.read(str(tmp_path / "dead"))) is not None


def test_folders_are_parsed() -> None:
    assert (
        parse_folder("relative")
        is parse_folder("")
        is parse_folder("/a\0b")
        is parse_folder(7)
        is parse_folder("/" * 5_000)
        is None
    )
    assert parse_folder_header("/home/a/%E5%BA%97") == "/home/a/店"
    assert parse_root_folders({"roots": [{"uri": "file:///a%20b"}, {"uri": "https://x"}, {"uri": 7}, 8]}) == ["/a b"]
    assert parse_root_folders({"roots": "x"}) == parse_root_folders(None) == []
    assert choose_folder("/a/b", ["/c", "/a"]) == "/a/b"
    assert choose_folder("/ab", ["/a"]) == "/a"
    assert choose_folder("/ab", []) == "/ab"
    assert choose_folder(None, ["/a"]) == "/a"


def test_unknown_origins_stay_unknown(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store, store.attribute(Origin()):
        assert not store.facts.write("default", "V[one]: 1").fact.origin.is_known
