"""`backfill` shows a plan, asks, and brings in what hosts keep on this disk."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.clock import system_clock
from hermes_memory_store.store import Store
from hermes_memory_tui.model.now_state import read_events
from hermes_memory_tui.text.display_formats import author_name
from tests.bridge.backfill.test_actions import claude_call, write_claude_calls
from tests.bridge.backfill.test_backfill import ID, write_claude
from tests.bridge.backfill.test_git_commits import commit, make_repository
from tests.tools.small_disk import small_disk
from tests.tui.commands.conftest import Ask, Tell


@pytest.fixture(autouse=True)
def sessions(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "QWEN_HOME"):
        monkeypatch.delenv(name, raising=False)
    (home / "shop" / ".git").mkdir(parents=True)
    return write_claude(home, str(home / "shop"), "which port is the shop on", "it is on 8443 here")


def test_a_plan_creates_nothing_and_nobody_is_brought_in_unasked(ask: Ask, db: Path) -> None:
    plan = ask("backfill", "--dry-run").out
    assert "Claude Code, shop: 1 session, 2 messages, 2026-03-01 to 2026-03-01, 2 KB\n" in plan
    assert "of 2 looked at, 0 would have secrets masked and 0 be kept from agents" in plan
    refused = ask("backfill")
    assert (refused.code, "pass --yes" in refused.err) == (2, True)
    assert not db.exists()


def test_a_run_brings_everything_in_once(ask: Ask, tell: Tell) -> None:
    assert "brought in 2 messages of 1 session\n" in ask("backfill", "--yes").out
    assert (
        ask("backfill", "--yes").out
        == "no sessions of hosts on this disk to bring in; 1 session there bring nothing new\n"
    )
    document = tell("backfill", "--yes")
    assert (document["messages"], document["known"], document["plan"]) == (0, 1, [])
    found = tell("recall", "ask", "which port is the shop on", "--theme", "shop")
    assert "8443" in str(found)


def test_projects_hosts_and_age_narrow_it(ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tell("backfill", "--dry-run", "--host", "codex")["plan"] == []
    assert tell("backfill", "--dry-run", "--since", "1d")["plan"] == []
    assert tell("backfill", "--dry-run", "--here")["plan"] == []
    assert len(tell("backfill", "--dry-run", "--project", "shop")["plan"]) == 1
    monkeypatch.chdir(home / "shop")
    assert len(tell("backfill", "--dry-run", "--here")["plan"]) == 1
    assert ask("backfill", "--here", "--project", "shop").code == 1
    unknown = ask("backfill", "--project", "nosuch", "--yes")
    assert (unknown.code, unknown.out) == (1, "")
    assert "no project is called 'nosuch'; those of sessions on this disk: shop" in unknown.err
    assert ask("backfill", "--project", "shop", "--since", "1d", "--yes").out.startswith("no sessions")
    assert "write a number and a unit" in ask("backfill", "--since", "soon").err


def test_what_a_run_proposes_is_shown_as_proposed_by_it(ask: Ask, tell: Tell, home: Path, db: Path) -> None:
    ask("write", "V[port]: 8443")
    assert "proposed" not in tell("status")
    write_claude(home, str(home / "shop"), "we use stripe as the payment provider, not adyen", name=ID.format(2))
    ask("backfill", "--yes")
    status = ask("status", "--theme", "shop").out
    assert "\n1 fact proposed: hermes-memory-tui review\n" in status
    assert tell("status", "--theme", "shop")["proposed"] == 1
    assert "  propose    D[stripe.payment]" in ask("log", "--fold", "--theme", "shop").out
    with Store.open(db) as store:
        events, _ = read_events(store)
        (waiting,) = store.facts.quarantine_queue("shop")
    assert [(event.who, event.verb) for event in events if event.uid == waiting.fact.uid] == [("backfill", "proposed")]
    assert author_name(waiting.fact) == "backfill"


def test_a_session_that_does_not_answer_is_not_offered_beside_a_fact_that_does(
    ask: Ask, tell: Tell, home: Path
) -> None:
    write_claude(home, str(home / "shop"), "which provider hosts the staging machine", name=ID.format(2))
    write_claude(home, str(home / "shop"), "payment of the invoice fails", name=ID.format(3))
    ask("backfill", "--yes", "--no-propose")
    ask("write", "D[payments]: we use stripe as the payment provider, not adyen", "--theme", "shop")
    shown = ask("recall", "ask", "which payment provider do we use?", "--theme", "shop").out
    assert "stripe" in shown
    assert "--resume" not in shown
    document = tell("recall", "ask", "which port is the shop on?", "--theme", "shop")
    assert [hit["resume"] for hit in document["by_session"]] == [f"claude --resume {ID.format(1)}"]


def test_commit_messages_come_in_where_they_are_asked_for(
    ask: Ask, tell: Tell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_repository(home / "payments")
    commit(folder, "Charge the card before the parcel leaves")
    commit(folder, "Refund a parcel that never came")
    monkeypatch.chdir(folder)
    plan = ask("backfill", "--git", "--here", "--dry-run").out
    assert "git, payments: 2 commits, 2026-03-01 to 2026-03-01" in plan
    assert "brought in 2 messages of 1 session\n" in ask("backfill", "--git", "--here", "--yes").out
    assert "no sessions" in ask("backfill", "--git", "--project", "payments", "--yes").out
    assert "git, payments" in ask("turns", "when is the card charged", "--theme", "payments").out
    commit(folder, "Count the parcels of each day")
    assert tell("backfill", "--git", "--project", "payments", "--yes")["messages"] == 1
    assert "leave what narrows a run out" in ask("backfill", "--undo", "--git").err
    assert tell("backfill", "--undo", "--yes")["erased"] == 1
    write_claude(home, str(folder), "how are parcels counted", "once a day here", name=ID.format(2))
    hosts = {group["host"]: group["messages"] for group in tell("backfill", "--git", "--dry-run")["plan"]}
    assert hosts == {"claude-code": 2, "git": 1}
    monkeypatch.chdir(home)
    assert "it is in no Git repository" in ask("backfill", "--git", "--here", "--dry-run").err
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(home))
    assert "Git is not installed" in ask("backfill", "--git", "--here", "--dry-run").err


def test_a_run_is_taken_back_once_asked(ask: Ask, tell: Tell, db: Path) -> None:
    assert ask("backfill", "--undo", "--yes").code == 1
    assert not db.exists()
    ask("backfill", "--yes")
    assert "would be erased: 2 messages of 1 session" in ask("backfill", "--undo", "--dry-run").out
    assert "pass --yes" in ask("backfill", "--undo").err
    assert "leave what narrows a run out" in ask("backfill", "--undo", "--here").err
    assert tell("backfill", "--undo", "--yes")["erased"] == 2
    assert "no backfill is left to take back" in ask("backfill", "--undo", "--yes").err
    assert tell("backfill", "--yes")["messages"] == 2


def test_undo_of_a_backfill_asks_and_takes_it_back_whole(
    ask: Ask, tell: Tell, db: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home / "shop")
    ask("write", "V[port]: 5432")
    (home / "desk" / ".git").mkdir(parents=True)
    write_claude(home, str(home / "desk"), "which desk is mine", "the one at the door", name=ID.format(2))
    ask("backfill", "--yes")
    entries = ask("log", "--fold").out.splitlines()
    assert [entry.split()[3:] for entry in entries] == [
        ["person", "create", "V[port]:", "5432"],
        ["person", "backfill", "4", "messages"],
    ]
    what = "4 messages of 2 sessions that the backfill of"
    for options in ([], ["--json"], ["--last", "2"]):
        refused = ask("undo", *options).err
        assert what in refused
        assert "run hermes-memory-tui backfill --undo --yes for that" in refused
    assert f"would be erased: {what}" in ask("undo", "--dry-run").out
    assert f"would be erased: {what}" in ask("undo", "--change", "3", "--dry-run").out
    assert f"erased: {what}" in at_terminal(db, "y\n", "undo")
    assert "create V[port]: 5432" in ask("undo").out
    assert tell("backfill", "--yes")["messages"] == 4


def test_later_sessions_are_brought_in_only_after_a_yes(ask: Ask, tell: Tell, db: Path, home: Path) -> None:
    ask("backfill", "--yes")
    assert "daily" not in ask("capture", "status").out
    assert "is for all projects" in ask("backfill", "--keep", "--here").err
    ask("backfill", "--keep", "--dry-run")
    assert tell("capture", "status")["history"] == {}
    ask("backfill", "--keep", "--host", "codex")
    assert "brought in daily, where no hook does: codex\n" in ask("capture", "status").out
    ask("capture", "off", "--host", "codex")
    assert tell("capture", "status")["history"] == {"codex": None}
    for answer, shown in (("y", True), ("", False)):
        db.with_name("memory.db.capture.json").unlink()
        ask("backfill", "--undo", "--yes")
        assert ("Bring in later" in at_terminal(db, f"y\n{answer}\n")) is True
        assert bool(tell("capture", "status")["history"]["claude-code"]) is shown


def at_terminal(db: Path, typed: str, *words: str) -> str:
    """Run a command for somebody at a terminal; return what is printed."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    command = [sys.executable, "-m", "hermes_memory_tui", *(words or ("backfill",)), "--db", str(db)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        parts: list[bytes] = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            pass  # the terminal ends with its last process
        os.close(ours)
    assert process.returncode == 0
    return b"".join(parts).decode()


def test_what_a_host_deletes_soon_is_told(ask: Ask, tell: Tell, home: Path, sessions: Path) -> None:
    ask("write", "V[port]: 5432")
    soon = system_clock() / 1000 - 25 * 86_400
    os.utime(sessions, (soon, soon))
    os.utime(
        write_claude(home, str(home / "shop"), "said in another one", "and there", name=ID.format(2)), (soon, soon)
    )
    write_claude(home, str(home / "shop"), "said in a new one", "and there", name=ID.format(3)).touch()
    said = (
        "Claude Code deletes 2 sessions within 7 days of which nothing is kept here: "
        "`hermes-memory-tui backfill` brings them in"
    )
    assert f"{said}\n" in ask("status").out
    assert tell("status")["expiring"] == [said]
    assert said in " ".join(ask("doctor").out.split())
    ask("backfill", "--yes")
    assert "expiring" not in tell("status")


def test_of_many_files_that_a_host_deletes_soon_few_are_read(ask: Ask, home: Path) -> None:
    ask("write", "V[port]: 5432")
    soon = system_clock() / 1000 - 25 * 86_400

    def write(*numbers: int) -> list[Path]:
        names = [f"{ID.format(0)[:-3]}{number:03}" for number in numbers]
        paths = [write_claude(home, str(home / "shop"), "said", "and there", name=name) for name in names]
        for path in paths:
            os.utime(path, (soon, soon))
        return paths

    paths = write(*range(100, 230))
    assert "deletes at least 100 sessions within 7 days" in ask("status").out
    ask("backfill", "--yes")
    for path in paths:  # their names say that they are kept, whatever stands in them
        path.write_text(path.read_text().replace(path.stem, "another name"))
        os.utime(path, (soon, soon))
    assert "deletes" not in ask("status").out
    write(230)
    assert "deletes 1 session within 7 days" in ask("status").out


def test_a_full_disk_is_told_and_what_came_in_stays_and_comes_once(
    ask: Ask, tell: Tell, home: Path, tmp_path: Path
) -> None:
    for number in range(2, 20):
        texts = [f"message {number} {place} " + "of many words " * 500 for place in range(8)]
        write_claude(home, str(home / "shop"), *texts, name=ID.format(number))
    with small_disk(tmp_path / "disk", "size=2m") as disk:
        db = str(disk / "memory.db")
        stopped = ask("backfill", "--yes", "--db", db)
        assert stopped.code != 0
        assert "no space" in stopped.err.lower() or "full" in stopped.err.lower(), stopped.err
        subprocess.run(["mount", "-o", "remount,size=30m", str(disk)], check=True)
        kept = len(tell("turns", "--db", db, "--theme", "shop", "--limit", "1000")["turns"])
        assert 0 < kept < 146
        assert tell("backfill", "--yes", "--db", db)["messages"] == 146 - kept
        assert all(check["ok"] for check in tell("doctor", "--db", db)["checks"])


def test_actions_are_kept_after_a_yes_of_their_own_alone(ask: Ask, tell: Tell, db: Path, home: Path) -> None:
    script = "for x in 1 2\ndo false; done"
    failed = claude_call(10, "Bash", "Exit code 1\nfirst\nlast of it", failed=True, command=script)
    write_claude_calls(home, str(home / "shop"), failed, claude_call(11, "Read", "x", file_path="app.py"))
    assert tell("backfill", "--yes")["actions"] == 0
    assert "is not kept; allow it with: hermes-memory-tui capture actions on\n" in ask("capture", "status").out
    assert "Keep what was run and edited: 2 actions, and later ones?" in at_terminal(db, "n\nn\n")
    assert tell("capture", "status")["actions"] is False
    assert "Keep what" not in at_terminal(db, "n\n")
    assert "and 2 actions: what was run, read and edited\n" in ask("backfill", "--actions", "--dry-run").out
    assert tell("capture", "status")["actions"] is False
    db.with_name("memory.db.capture.json").unlink()
    assert "brought in 0 messages and 2 actions of 1 session" in at_terminal(db, "y\nn\n")
    lines = ask("sessions", ID.format(1)).out.splitlines()[2:]
    assert [line.partition("Z  ")[2] or line for line in lines] == [
        "run   for x in 1 2 do false; done  (exit 1)",
        "    last of it",
        "read  app.py",
    ]
    first, second = tell("sessions", ID.format(1))["actions"]
    assert (first["what"], first["exit_code"], first["error"]) == (script, 1, "Exit code 1\nfirst\nlast of it")
    assert (second["kind"], second["what"], second["folder"]) == ("read", "app.py", str(home / "shop"))
    assert "would be erased: 0 messages and 2 actions of 1 session" in ask("backfill", "--undo", "--dry-run").out
    assert tell("backfill", "--undo", "--yes")["erased"] == 2
    assert tell("backfill", "--yes", "--no-actions")["actions"] == 0
    assert tell("backfill", "--yes", "--actions")["actions"] == 2
    assert tell("turns", "--purge", "--theme", "shop", "--yes")["actions"] == 2
    assert tell("sessions", ID.format(1))["actions"] == []


def test_the_answer_to_actions_is_changed_for_later(ask: Ask, tell: Tell) -> None:
    assert tell("capture", "actions", "on")["actions"] is True
    assert "what agents run, read and edit may be kept\n" in ask("capture", "status").out
    assert tell("capture", "off")["actions"] is True
    assert tell("capture", "actions", "off")["actions"] is False
    assert tell("capture", "status")["notices"] is True
    assert tell("capture", "notices", "off")["notices"] is False
    assert "what an agent was given at a start is not told in the chat" in ask("capture", "status").out
    for wrong in (("actions",), ("notices",), ("actions", "on", "--here"), ("on", "off")):
        assert "go together" in ask("capture", *wrong).err
