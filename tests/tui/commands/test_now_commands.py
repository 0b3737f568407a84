"""`watch` says what *Now* shows, and follows it; `stats` counts what is there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from hermes_memory_store.clock import system_clock
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store
from tests.tui.commands.conftest import COMMAND, Ask, Tell


def write(path: Path) -> None:
    with Store.open(path) as store:
        who = store.sessions.open("shop", "a1", client="claude-code")
        store.facts.write("shop", "C[db.id]: UUID", session=who)
        store.facts.write("shop", "V[port]: 8443", session=who)
        store.facts.write("ops", "D[on.call]: weekly")
        store.search.find("shop", "port", session=who)
        store.reads.flush()


def test_watch_says_how_it_is(db: Path, ask: Ask, tell: Tell) -> None:
    write(db)
    said = ask("watch", "--once").out
    assert said.startswith("1 agent at work. ")
    assert "claude-code #1 wrote C[db.id]: UUID" in said
    (only,) = ask("watch", "--once", "--plain").out.splitlines()
    document = tell("watch", "--once")
    assert document["sentence"] == only
    assert document["agents"][0]["calls"] == 3
    assert [sum(one["written"]) for one in document["themes"]] == [1, 2]


def test_watch_says_who_is_not_heard(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db, clock=lambda: Millis(system_clock() - 540_000)) as store:
        for number in range(3):
            store.sessions.open("shop", f"s{number}", client="codex")
    write(db)
    said = ask("watch", "--once").out
    assert said.startswith("1 agent at work, 3 stale. ")
    assert said.count("\nstale ") == 3
    assert ask("watch", "--once", "--plain").out.startswith("1 agent at work, 3 stale. ")
    document = tell("watch", "--once")
    assert (document["at_work"], document["stale"], document["agents"][0]["status"]) == (1, 3, "open")


def test_watch_follows_a_lease_that_passes(db: Path) -> None:
    with Store.open(db) as store:
        store.sessions.open("shop", "a1", client="codex", lease_ms=1_500)
    args = [*COMMAND, "watch", "--plain", "--db", str(db)]
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        if lines[0].startswith("1 agent at work"):  # unless the lease passed while it began
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert lines[-1].startswith("no agent at work, 1 stale. ")


def test_watch_follows_other_processes_until_it_is_interrupted(db: Path) -> None:
    write(db)
    args = [*COMMAND, "watch", "--json", "--db", str(db)]
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        with Store.open(db) as store:
            store.facts.write("ops", "V[late]: 1")
        event = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert (event["verb"], event["text"], event["theme"]) == ("wrote", "V[late]: 1", "ops")


def test_stats_count_each_theme(db: Path, ask: Ask, tell: Tell) -> None:
    write(db)
    shop = next(one for one in tell("stats", "--days", "2")["themes"] if one["theme"] == "shop")
    assert (shop["facts"], shop["hot"], shop["types"]["C"], shop["written"], shop["written_a_day"]) == (2, 2, 1, 2, 1.0)
    assert (shop["read"], shop["never_read"]) == (1, 1)
    assert shop["given_tokens"] > 0
    head, row = ask("stats", "-o", "csv", "--fields", "theme,types.V", "--theme", "ops").out.splitlines()
    assert (head, row) == ("theme,types.V", "ops,0")


def test_an_empty_store_has_nothing_to_count(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db):
        pass
    assert tell("stats")["themes"] == []
    assert ask("watch", "--once").out.strip() == "no agent at work. nothing waits."
