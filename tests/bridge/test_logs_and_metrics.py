"""What the bridge tells of itself: logs a program can read, numbers Prometheus can, and nothing that is nobody's business."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from hermes_memory_bridge.daemon.logs import format_log_line, tail_bridge_log
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import FactFilter, Rights
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import bearer, call, door
from tests.bridge.running import Shim, bridge, environment, run_command


def test_the_log_is_json_lines_without_what_facts_say(db: Path) -> None:
    with bridge(db) as places, Shim(db) as shim:
        shim.open()
        shim.call("memory_write", content="D[plan]: swordfish")
        shim.close()
    documents = [json.loads(line) for line in Path(places.log).read_text().splitlines()]
    assert {"at", "level", "logger", "message"} <= documents[0].keys()
    assert "swordfish" not in Path(places.log).read_text()
    shown = run_command("logs", "-n", "1", "--db", str(db), **environment(db.parent))
    assert "stopping" in shown.stdout
    assert len(shown.stdout.splitlines()) == 1


def test_a_log_is_followed_through_its_replacement(tmp_path: Path) -> None:
    log = tmp_path / "bridge.log"
    log.write_text("one\ntwo\n")
    lines = tail_bridge_log(log, 1, follow=True)
    assert next(lines) == "two"
    with log.open("a") as file:
        file.write("three\n")
    assert next(lines) == "three"
    log.rename(tmp_path / "bridge.log.1")
    log.write_text("new\n")
    assert next(lines) == "new"


def test_a_line_that_is_no_document_is_shown_as_it_stands() -> None:
    assert format_log_line("Traceback") == "Traceback"
    document = json.dumps({"at": "2026-01-01T00:00:00.000Z", "level": "info", "logger": "x", "message": "hello"})
    assert format_log_line(document) == "2026-01-01T00:00:00.000Z info    hello"


def test_numbers_show_a_token_only_its_own_theme(db: Path) -> None:
    with Store.open(db) as store:
        store.facts.write("hr", "V[salary]: 1")
        _, secret = store.credentials.add("one", "marketing", Rights())
    with door(db) as made:
        made.ask(body=call("memory_write", content="no notation"), **bearer(secret))
        made.ask(body=call("memory_search", query="x"), **bearer(secret))
        theirs = made.ask("GET", "/metrics", **bearer(secret))[2]
        assert 'hermes_memory_calls_total{outcome="notation.invalid",tool="memory_write"} 1.0' in theirs
        assert 'hermes_memory_calls_total{outcome="ok",tool="memory_search"} 1.0' in theirs
        assert 'theme="marketing"' in theirs
        assert "hr" not in theirs.replace("three", "")
        ours = made.ask("GET", "/metrics", tcp=False)[2]
        assert 'hermes_memory_pressure_ratio{theme="hr"}' in ours
        assert "hermes_memory_store_bytes" in ours
        made.ask(body=call("memory_status"), **bearer("hmt_wrong"))
        refused = made.ask("GET", "/metrics", tcp=False)[2]
        assert 'hermes_memory_refused_requests_total{code="token.invalid"} 1.0' in refused


def test_a_connection_that_ends_with_its_token_says_why(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("one", "default", Rights())
        with bridge(db), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(30)
            line.connect(BridgePaths.of(db).line)
            line.sendall(json.dumps({"hermes-memory": 1, "token": secret, "ends": 1}).encode() + b"\n")
            said = line.makefile()
            assert "session" in json.loads(said.readline())
            store.credentials.revoke("one")
            assert "revoked" in json.loads(said.readline())["why"]
            assert said.readline() == ""


def test_a_token_revoked_in_mid_session_does_no_more(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("one", "default", Rights())
        with bridge(db), Shim(db, "--token", secret) as shim:
            shim.open()
            assert "error" not in shim.call("memory_search", query="x")["result"]["structuredContent"]
            store.credentials.revoke("one")
            assert "revoked" in json.dumps(shim.call("memory_write", content="D[a]: b"))
            assert not store.facts.count(FactFilter(theme="default"))
            shim.close()
    assert os.path.exists(db)
