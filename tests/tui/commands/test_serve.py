"""`--serve`: the inspector in a browser, for its owner alone."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_memory_tui.system import web_server
from tests.processes import PATIENCE_S, is_alive
from tests.tui.commands.conftest import COMMAND, Ask, Tell

installed = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None, reason="textual-serve is not installed"
)


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[str]
    url: str
    """With the key."""

    @property
    def address(self) -> str:
        return self.url.split("/")[2]

    @property
    def root(self) -> str:
        return f"http://{self.address}/"

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def serving_at(*args: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [*COMMAND, *args, "--serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", said)
        assert found, said + process.stdout.read()
        yield Served(process, found[0])
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@asynccontextmanager
async def browsing(served: Served) -> AsyncIterator[Any]:
    """A browser that has opened the address that was printed."""
    aiohttp = pytest.importorskip("aiohttp")
    # The address is a number: other jars take no cookies from those.
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(served.url) as page:
            assert page.status == 200
            assert str(page.url) == served.root
        yield browser


async def shown(socket: Any, text: str) -> str:
    drawn = ""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while text not in drawn:
                drawn += (await socket.receive()).data.decode()
    except TimeoutError:
        raise AssertionError(f"{text!r} is not in {drawn!r}") from None
    return drawn


async def until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"never came: {what}"
        await asyncio.sleep(0.05)


@pytest.fixture
def memory(db: Path, tell: Tell) -> Path:
    tell("write", "C[db.id]: UUID mndtry", "--theme", "ops")
    tell("write", "V[tone]: plain", "--theme", "copy")
    return db


@installed
async def test_a_browser_sees_the_inspector_and_types_into_it(memory: Path) -> None:
    with serving_at("--db", str(memory), "--theme", "ops", "--read-only") as served:
        async with browsing(served) as browser:
            async with browser.get(served.root) as page:
                assert f'"ws://{served.address}/ws"' in await page.text()
                assert page.headers["Content-Security-Policy"].startswith("default-src 'self'")
                assert page.headers["Referrer-Policy"] == "no-referrer"
            async with browser.get(f"{served.root}static/js/textual.js") as script:
                assert script.status == 200
            async with browser.ws_connect(f"{served.root}ws?width=140&height=40", origin=served.root[:-1]) as page:
                drawn = await shown(page, "UUID mndtry")
                assert "read-only" in drawn
                assert "tone" not in drawn
                await page.send_json(["stdin", "?"])
                await shown(page, "type to find a key")
        await until(lambda: not served.children(), "the end of the inspector whose page was closed")


@installed
async def test_only_who_brings_the_key_comes_in(memory: Path) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    with serving_at("--db", str(memory)) as served:
        async with aiohttp.ClientSession() as stranger:
            for path in ("", "?key=wrong", "?key=%C3%A9", "static/js/textual.js", "ws", "download/x"):
                async with stranger.get(served.root + path) as answer:
                    assert answer.status == 403, path
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await stranger.ws_connect(f"{served.root}ws")
        assert served.children() == []


@installed
async def test_pages_of_other_sites_are_refused_even_with_the_cookie(memory: Path) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    with serving_at("--db", str(memory)) as served:
        async with browsing(served) as browser:
            for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "rebound.example"}):
                async with browser.get(served.root, headers=headers) as answer:
                    assert answer.status == 403, headers
                with pytest.raises(aiohttp.WSServerHandshakeError):
                    await browser.ws_connect(f"{served.root}ws", headers=headers)
        assert served.children() == []


@installed
async def test_it_listens_on_the_loopback_interface_only(memory: Path) -> None:
    with serving_at("--db", str(memory)) as served:
        listening = [
            one.laddr.ip for one in psutil.Process(served.process.pid).net_connections() if one.status == "LISTEN"
        ]
        assert listening == ["127.0.0.1"]


@installed
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_its_end_is_the_end_of_its_pages(memory: Path, number: signal.Signals) -> None:
    with serving_at("--db", str(memory)) as served:
        async with browsing(served) as browser, browser.ws_connect(f"{served.root}ws") as page:
            await shown(page, "UUID mndtry")
            inspectors = served.children()
            assert inspectors
            os.kill(served.process.pid, number)
            await asyncio.to_thread(served.process.wait, PATIENCE_S)
            await until(lambda: not any(map(is_alive, inspectors)), "the end of the inspectors")
        assert served.process.returncode == (-9 if number == signal.SIGKILL else 0)


def test_the_command_of_a_page_is_quoted() -> None:
    said = shlex.split(web_server.page_command(Path("/a b/'$(x)`y`\n;z.db"), "it-s", read_only=True))

    words = ["--db", "/a b/'$(x)`y`\n;z.db", "--theme", "it-s", "--read-only"]
    assert said[:2] == ["export", "PYTHONPATH=;"]
    assert said[2:] == ["exec", sys.executable, "-P", "-m", "hermes_memory_tui", *words]


@installed
async def test_a_path_that_a_shell_would_misread_is_served(tell: Tell, home: Path) -> None:
    strange = home / "a 'b' $(touch x) ;.db"
    tell("--db", str(strange), "write", "V[strange]: path")

    with serving_at("--db", str(strange)) as served:
        async with browsing(served) as browser, browser.ws_connect(f"{served.root}ws") as page:
            await shown(page, "strange")


@installed
def test_what_cannot_be_served_is_said_at_once(ask: Ask, memory: Path, home: Path) -> None:
    (home / "text.db").write_text("this is no database" * 100)
    assert ask("--db", str(home / "text.db"), "--serve").code == 1
    assert ask("--db", str(home / "none.db"), "--serve", "--read-only").code == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = ask("--serve", "--port", str(port))
    assert (answer.code, answer.err) == (1, f"error: port {port} is taken; choose another with --port\n")


def test_without_the_extra_it_says_what_to_install(ask: Ask, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    answer = ask("--serve")

    assert answer.code == 1
    assert "install 'textual-serve>=1.1'" in answer.err


@pytest.mark.parametrize(
    "args", [["--port", "7000"], ["--serve", "status"], ["--port", "1", "status"], ["--serve", "--json"]]
)
def test_what_makes_no_sense_is_refused(ask: Ask, args: list[str]) -> None:
    assert ask(*args).code == 2
