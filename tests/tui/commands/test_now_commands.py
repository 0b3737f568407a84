"""`watch` says what *Now* shows, and follows it; `stats` counts what is there; `status --why` says why a fact is given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from hermes_memory_store.clock import system_clock
from hermes_memory_store.context.fence import MARK
from hermes_memory_store.model import Millis, Origin, Way
from hermes_memory_store.notation.token_count import count_tokens, estimate_from_pieces
from hermes_memory_store.places.citations import cite_lines
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import send_event
from tests.bridge.running import bridge
from tests.processes import PATIENCE_S
from tests.store.test_projects import make_repository
from tests.tui.commands.conftest import COMMAND, Ask, Tell


def write(path: Path) -> None:
    with Store.open(path) as store:
        who = store.sessions.open("shop", "a1", client="claude-code")
        store.facts.write("shop", "C[db.id]: UUID", session=who)
        store.facts.write("shop", "V[port]: 8443", session=who)
        store.facts.write("ops", "D[on.call]: weekly")
        store.search.find("shop", "port", session=who)
        store.reads.flush()


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
        assert process.wait(PATIENCE_S) == 0
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
        assert process.wait(PATIENCE_S) == 0
    assert (event["verb"], event["text"], event["theme"]) == ("wrote", "V[late]: 1", "ops")


def test_an_empty_store_has_nothing_to_count(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db):
        pass
    assert tell("stats")["themes"] == []
    assert ask("watch", "--once").out.strip() == "no agent at work. nothing waits."


def test_what_is_given_depends_on_the_working_folder_and_says_why(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_MEMORY_THEME", "ops")
    for scope in ("billing", "mobile"):
        for number in range(12):
            ask("write", f"D[{scope}.part{number}]: the decision about part number {number} of it", "--scope", scope)
    folder = home / "services" / "billing"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    told = tell("status", "--why")
    given = [one for one in told["why"] if one["given"]]
    assert [one["uid"] for one in given] == told["told"]
    assert {one["notation"][2:9] for one in given} == {"billing"}
    assert all(one["parts"]["scope"] > 1 for one in given)
    assert sum(one["tokens"] for one in given) == told["fact_tokens"] <= 180
    assert "left out: D[billing.part" in ask("status", "--why").out
    assert "of a scope near where the session works" in ask("status", "--why").out
    assert "why" not in tell("status")
    monkeypatch.chdir(home)
    assert "mobile" in tell("status", "--why")["why"][0]["notation"]


def test_tokens_are_estimated_unless_they_are_to_be_counted(tell: Tell) -> None:
    content = "invoices are rounded half up to two decimals, and never before the tax is added"
    for number in range(3):
        tell("write", f"D[billing.part{number}]: {content}, part {number}")

    estimate, count = tell("status", "--why"), tell("status", "--why", "--exact")

    lines = [f"\n{MARK}D[billing.part{number}]: {content}, part {number}" for number in range(3)]
    assert estimate.keys() == count.keys()
    assert estimate["fact_tokens"] == sum(map(estimate_from_pieces, lines))
    assert count["fact_tokens"] == sum(map(count_tokens, lines))
    assert all(shown["fact_tokens"] == sum(one["tokens"] for one in shown["why"]) for shown in (estimate, count))


def test_stats_says_what_sessions_did_with_each_fact(db: Path, ask: Ask, tell: Tell) -> None:
    with Store.open(db) as store:
        facts = [store.facts.write("shop", text).fact for text in ("V[db.port]: 5433", "D[queue.broker]: rabbitmq")]
        session = store.sessions.open("shop", "a1", client="claude-code")
        store.reads.note("start", "shop", facts, session=session)
        store.fact_uses.note_act(session, "run", "DB_PORT=5432 make dev", "")
        store.fact_uses.note_said(session, "restart the queue broker")
    uses = tell("stats")["uses"]
    assert [(use["target"], use["given"], use["used"], use["contradicted"]) for use in uses] == [
        ("db.port", 1, 0, 1),
        ("queue.broker", 1, 1, 0),
    ]
    assert "shop db.port: given 1, used 0, contradicted 1\n" in ask("stats").out
    assert "contradicted" not in ask("stats", "-o", "csv").out


def test_stats_of_facts_say_what_each_fact_cost_and_was_good_for(
    db: Path, ask: Ask, tell: Tell, tmp_path: Path
) -> None:
    root = make_repository(tmp_path / "shop")
    (root / "app.toml").write_text("[db]\nport = 5433\n")
    (root / "queue.toml").write_text("broker = 'rabbitmq'\n")
    with Store.open(db) as store, store.attribute(store.projects.locate(Origin(way=Way.TOOL), root)):
        lines = ("V[db.port]: 5432", "V[db.port]: 5433", "D[queue.broker]: rabbitmq", "C[commits]: imperative")
        port, port, queue, _ = (store.facts.write("shop", text).fact for text in lines)
        store.facts.edit(port.uid, "5433 on staging")
        for fact, place in ((port, "app.toml:2"), (queue, "queue.toml:1")):
            store.citations.add(fact.uid, [cite_lines(str(root), place)])
        (root / "queue.toml").write_text("broker = 'kafka'\n")
        for name in "ab":
            session = store.sessions.open("shop", name)
            store.reads.note("start", "shop", [port, queue], session=session)
            store.fact_uses.note_act(session, "run", "DB_PORT=5432 make dev", "")
        store.facts.archive(store.facts.write("shop", "D[old]: gone").fact.uid)

    answer = tell("stats", "--facts", "--sort", "contradicted")

    columns = ("given", "used", "contradicted", "corrected", "verified")
    assert [tuple(fact[name] for name in columns) for fact in answer["facts"]] == [
        (2, 0, 2, 2, "true"),
        (2, 0, 0, 0, "contradicted"),
        (0, 0, 0, 0, "not cited"),
    ]
    assert answer["facts"][0]["tokens"] > 2 * 10
    assert answer["facts"][2]["verified_at"] is None
    (project,) = answer["projects"]
    assert (project["facts"], project["given"], project["contradicted"], project["corrected"]) == (3, 4, 2, 2)
    assert project["verified"] == {"true": 1, "contradicted": 1, "not cited": 1}
    assert project["tokens"] == sum(fact["tokens"] for fact in answer["facts"])
    assert len(tell("stats", "--facts", "--project", project["project"])["facts"]) == 3
    assert "not counted: " in ask("stats", "--facts").out
    csv = ask("stats", "--facts", "-o", "csv", "--fields", "given,verified", "--sort", "given").out
    assert csv.split() == ["given,verified", "2,true", "2,contradicted", "0,not", "cited"]
    assert ask("stats", "--sort", "given").code == 2


def test_watch_here_says_each_giving_of_this_project_with_its_reason_as_it_happens(db: Path, tmp_path: Path) -> None:
    shop, garden = (make_repository(tmp_path / "work" / name) for name in ("shop", "garden"))
    with Store.open(db) as store:
        for folder, notation in ((shop, "C[db.id]: UUID always"), (garden, "C[roses]: cut them in March")):
            theme = store.place_themes.theme_of(read_project(folder))
            with store.attribute(store.projects.locate(Origin(way=Way.TOOL), folder)):
                store.facts.write(theme, notation)
                store.facts.write(theme, "V[invoice.prefix]: R-")
    args = [*COMMAND, "watch", "--here", "--json", "--db", str(db)]
    environ = os.environ | {"PYTHONUNBUFFERED": "1"}
    with (
        bridge(db) as places,
        subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env=environ, cwd=shop) as process,
    ):
        assert process.stdout is not None
        send_event(places, "start", host="codex", session="g", source="startup", folder=str(garden))
        send_event(places, "start", source="startup", folder=str(shop))
        started = json.loads(process.stdout.readline())
        send_event(places, "start", session="s2", source="startup", folder=str(shop))
        later = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert (started["kind"], started["theme"], started["who"]) == ("start", "shop", "claude-code · shop #1")
    assert (later["number"] > started["number"], later["who"]) == (True, "claude-code · shop #2")
    assert [fact["target"] for fact in started["facts"]] == ["db.id", "invoice.prefix"]
    assert all(fact["reasons"]["type"] > 0 for fact in started["facts"])
    assert 0 < started["tokens"] < 100


def test_watch_here_is_read_by_a_person_and_says_what_was_purged(
    db: Path, ask: Ask, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = make_repository(tmp_path / "work" / "shop")
    with Store.open(db) as store:
        origin = store.projects.locate(Origin(way=Way.TOOL), shop)
        theme = store.place_themes.theme_of(read_project(shop))
        with store.attribute(origin):
            who = store.sessions.open(theme, "a1", client="claude-code", project=origin.project)
        facts = [store.facts.write(theme, text, session=who).fact for text in ("C[db.id]: UUID", "V[port]: 8443")]
        store.reads.note("start", theme, facts, session=who, tokens=30)
        store.reads.note("moment", theme, facts[1:], session=who, why="after an\x1b edit", tokens=12)
        store.reads.note("search", "ops", facts[:1], why="elsewhere")
        store.reads.flush()
    tell("purge", facts[0].uid, "--yes")
    monkeypatch.chdir(shop)
    first, gone, port, second, again = ask("watch", "--here", "--once").out.splitlines()
    assert first.endswith("start       claude-code · shop #1: 2 facts, 30 tokens, as a session began")
    assert (gone.strip(), port.strip(), again.strip()) == ("(purged)", "port", "port")
    assert second.endswith(r"moment      claude-code · shop #1: 1 fact, 12 tokens, “after an\u{1b} edit”")
    assert ask("watch", "--here", "--plain", "--once").err.endswith("--here prints each giving; leave --plain out\n")
    monkeypatch.chdir(make_repository(tmp_path / "work" / "garden"))
    assert ask("watch", "--here", "--once").out == ""
