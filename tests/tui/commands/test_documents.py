"""What each document says beside its keys, which `tests/tui/cli` holds."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.model import ChangeResult
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.memory.write_commands import print_masked
from tests.tui.commands.conftest import Ask, Tell

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


FACT_KEYS = {
    "uid", "theme", "scope", "type", "target", "content", "tier", "pinned", "created_at", "updated_at", "notation",
}  # fmt: skip


def test_write_takes_its_notation_as_one_argument_or_as_several(tell: Tell) -> None:
    assert tell("write", "C[db.id]:", "UUID", "mndtry")["notation"] == "C[db.id]: UUID mndtry"


def test_write_says_what_it_did(tell: Tell) -> None:
    first = tell("write", "D[auth]: JWT 7j", "--scope", "login")
    again = tell("write", "D[auth]: JWT 7j", "--scope", "login")
    other = tell("write", "D[auth]: cookies", "--scope", "login")
    assert {"uid", "status", "superseded", "theme", "scope", "gauge"} <= set(first)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first["uid"])
    assert (first["status"], first["theme"], first["scope"]) == ("created", "default", "login")
    assert (again["status"], again["uid"]) == ("deduplicated", first["uid"])
    assert other["superseded"] == [first["uid"]]
    assert {"used", "budget", "pct", "tokens", "level"} <= set(first["gauge"])


def test_search_lists_facts(tell: Tell) -> None:
    tell("write", "C[db.id]: UUID mndtry", "--scope", "schema")
    found = tell("search", "mandatory uuid")
    (fact,) = found["facts"]
    assert (found["total"], set(fact) >= FACT_KEYS) == (1, True)
    assert (fact["type"], fact["tier"], fact["scope"]) == ("constraint", "hot", "schema")
    assert TIME.fullmatch(fact["created_at"])


def test_purge_counts_by_tier_and_erases_only_when_told(ask: Ask, tell: Tell) -> None:
    tell("write", "D[a]: old", "--scope", "s")
    tell("write", "D[a]: secret", "--scope", "s")
    dry = tell("purge", "--scope", "s", "--dry-run")
    assert (dry["purged"]["hot"], dry["purged"]["superseded"], dry["dry_run"]) == (1, 1, True)
    refused = ask("purge", "--scope", "s", "--json")
    assert (refused.code, refused.error["value"]) == (1, 2)
    assert tell("facts", "tier:all")["total"] == 2
    assert tell("purge", "--scope", "s", "--yes")["purged"]["hot"] == 1
    assert tell("facts", "tier:all")["total"] == 0
    assert tell("doctor")["ok"] is True


def test_the_log_replays_into_an_empty_store(ask: Ask, tell: Tell, home: Path) -> None:
    for content in "bc":
        tell("write", f"D[a]: {content}", "--scope", "login")
    log, other = ask("log", "--json").out, ("--db", str(home / "other.db"))
    assert tell("replay", "-", *other, stdin=log.encode())["applied"] == len(log.splitlines())
    assert ask("log", "--json", *other).out == log


def test_optimize_shows_both_files(tell: Tell) -> None:
    report = tell("optimize", "--dry-run")
    assert {"before", "after", "diff", "migrated"} <= set(report["memory"])
    assert set(report["memory"]) == set(report["user"])


def test_write_from_standard_input_names_the_refused_line_and_tells_what_stands(ask: Ask, tell: Tell) -> None:
    answer = ask("write", "-", "--json", stdin=b"C[a]: one\nnonsense\nC[b]: two\n")

    assert answer.code == 1
    assert [one["notation"] for one in answer.document["written"]] == ["C[a]: one", "C[b]: two"]
    assert [(one["line"], one["code"]) for one in answer.document["errors"]] == [(2, "notation.invalid")]
    assert answer.error["code"] == "notation.invalid"
    assert answer.error["message"].startswith("line 2: ")
    assert tell("facts")["total"] == 2


def test_an_over_long_content_is_split_when_asked(tell: Tell) -> None:
    written = tell("write", "V[list]: " + "word " * 200, "--split")

    assert len(written["parts"]) > 1
    assert tell("facts")["total"] == len(written["parts"])


def test_what_is_close_under_another_target_is_named(ask: Ask, tell: Tell) -> None:
    first = tell("write", "D[cache]: redis")
    written = tell("write", "D[caching]: redis 7")

    assert first["near"] == []
    assert written["near"] == [{"uid": first["uid"], "notation": "D[cache]: redis"}]
    assert tell("fact", first["uid"])["near"] == [written["uid"]]
    assert f"close to D[cache] {first['uid']}" in ask("write", "D[caches]: redis 7.2").out
    assert "close to" in ask("fact", first["uid"]).out


@pytest.mark.parametrize(
    ("symbol", "word"),
    [("C", "constraint"), ("D", "decision"), ("V", "value"), ("?", "unknown"), ("✓", "done"), ("~", "obsolete")],
)
def test_types_are_words(tell: Tell, symbol: str, word: str) -> None:
    uid = tell("write", f"{symbol}[t]: x", "--scope", "s")["uid"]

    assert tell("fact", uid)["type"] == word
    assert tell("history", uid)["changes"][0]["after"]["type"] == word


def test_words_that_begin_with_a_dash_are_excluded(tell: Tell) -> None:
    tell("write", "D[a]: deploy staging")
    tell("write", "D[b]: deploy production")

    for args in (
        ("deploy", "-staging"),
        ("-staging", "deploy"),
        ("deploy -staging",),
        ("--limit", "5", "-staging", "deploy"),
    ):
        assert [fact["target"] for fact in tell("search", *args)["facts"]] == ["b"], args


def test_what_the_shell_kept_together_is_a_phrase(tell: Tell) -> None:
    tell("write", "D[a]: blue green deploy")
    tell("write", "D[b]: green deploy of blue")

    assert [fact["target"] for fact in tell("search", "deploy", "blue green")["facts"]][:1] == ["a"]
    assert [fact["target"] for fact in tell("search", '"blue green"')["facts"]] == ["a"]


def test_history_tells_before_and_after_in_the_contracts_words(tell: Tell) -> None:
    uid = tell("write", "V[pool]: 20", "--scope", "db")["uid"]
    edit = tell("edit", uid[:18], "40")
    undone = tell("undo", "--change", str(edit["changes"][0]))
    assert (undone["undone"], tell("fact", uid)["content"]) == (edit["changes"], "20")
    assert tell("redo")["undone"] == undone["changes"]
    tell("pin", uid)
    created, edited, *between, pinned = tell("history", uid)["changes"]
    assert {"seq", "at", "actor", "op", "before", "after"} <= set(created)
    assert (edited["before"]["content"], edited["after"]["content"]) == ("20", "40")
    assert [change["op"] for change in between] == ["undo", "undo"]
    assert pinned["after"]["pinned"] is True
    assert TIME.fullmatch(edited["at"])
    assert edited["actor"] == "person"


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [
        (("edit", "{}", "40"), "content", "40"),
        (("edit", "{}", "V[pool]: 40"), "content", "40"),
        (("pin", "{}"), "pinned", True),
        (("archive", "{}"), "tier", "archived"),
    ],
)
def test_changing_a_fact_tells_what_changed_and_can_be_undone(
    tell: Tell, command: tuple[str, ...], key: str, value: object
) -> None:
    uid = tell("write", "V[pool]: 20")["uid"]
    before = tell("fact", uid)

    done = tell(*(part.format(uid) for part in command))

    assert done["changed"] == [uid]
    assert tell("fact", uid)[key] == value
    assert tell("undo", "--change", str(done["changes"][0]))["undone"] == done["changes"]
    assert tell("fact", uid)[key] == before[key]


def test_pins_come_off_both_ways(tell: Tell) -> None:
    uid = tell("write", "V[pool]: 20")["uid"]

    for off in (("unpin", uid), ("pin", "--off", uid)):
        tell("pin", uid)
        assert tell(*off)["changed"] == [uid]
        assert tell("fact", uid)["pinned"] is False


def test_undo_stays_in_the_theme_that_is_named(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    for theme in ("ops", "marketing", "sales"):
        tell("write", "V[a]: 1", "--theme", theme)

    tell("undo", "--theme", "ops")
    monkeypatch.setenv("HERMES_MEMORY_THEME", "marketing")
    tell("undo")

    left = {theme: tell("facts", "--theme", theme)["total"] for theme in ("ops", "marketing", "sales")}
    assert left == {"ops": 0, "marketing": 0, "sales": 1}


def test_undo_leaves_what_a_person_touched_where_that_is_asked_for(ask: Ask, tell: Tell, db: Path) -> None:
    with Store.open(db) as store:
        agent = store.sessions.open("default", "agent")
        pinned = store.facts.write("default", "V[a]: 1", session=agent).fact.uid
        store.facts.write("default", "V[b]: 1", session=agent)
    tell("pin", pinned)

    refused = ask("undo", "--session", "agent", "--json").error
    assert refused["code"] == "undo.conflict"
    assert pinned in refused["message"]
    done = tell("undo", "--session", "agent", "--leave-conflicts")

    assert [pinned in why for why in done["left"]] == [True]
    assert [fact["uid"] for fact in tell("facts")["facts"]] == [pinned]
    tell("unpin", pinned)
    tell("pin", pinned)
    assert f"({pinned})" in ask("undo", "--session", "agent", "--leave-conflicts").err


def test_leaving_conflicts_goes_with_several_changes_alone(ask: Ask, tell: Tell) -> None:
    change = tell("write", "V[a]: 1")["changes"][0]

    answer = ask("undo", "--change", str(change), "--leave-conflicts")

    assert answer.code == 2
    assert "--session or --last" in answer.err


def test_looking_is_not_recorded_as_an_agents_reading_but_searching_is(tell: Tell) -> None:
    uid = tell("write", "C[db.id]: UUID mndtry")["uid"]

    tell("status")
    tell("fact", uid)
    assert tell("fact", uid)["reads"] == 0
    tell("search", "uuid")
    assert tell("fact", uid)["reads"] == 1


def test_reading_leaves_the_file_as_it_is(tell: Tell, ask: Ask, db: Path) -> None:
    uid = tell("write", "C[db.id]: UUID mndtry")["uid"]
    before = db.read_bytes()

    for args in (
        ["facts"],
        ["fact", uid],
        ["history", uid],
        ["status"],
        ["themes"],
        ["scopes"],
        ["sessions"],
        ["doctor"],
    ):
        tell(*args)
    ask("log")
    ask("export")

    assert db.read_bytes() == before


def test_scopes_are_told_with_their_facts(tell: Tell) -> None:
    tell("write", "D[auth]: JWT", "--scope", "login")

    closed = tell("scope", "close", "login")
    assert (closed["status"], closed["closed_by"], closed["facts"]["cold"]) == ("closed", "person", 1)
    assert TIME.fullmatch(closed["closed_at"])
    reopened = tell("scope", "reopen", "login")
    assert (reopened["status"], reopened["closed_at"], reopened["facts"]["hot"]) == ("open", None, 1)


@pytest.mark.parametrize("form", ["spec", "jsonl"])
def test_what_is_exported_can_be_imported(tell: Tell, home: Path, form: str) -> None:
    tell("write", "C[db.id]: UUID mndtry")
    tell("write", "D[auth]: JWT", "--scope", "login")
    file = home / "facts.txt"

    assert tell("export", "--format", form, str(file))["exported"] == 2
    tried = tell("import", str(file), "--theme", "other", "--dry-run")
    assert (tried["created"], tried["dry_run"]) == (2 if form == "spec" else tried["created"], True)
    assert [theme["name"] for theme in tell("themes")["themes"]] == ["default"]
    other = ("--db", str(home / "other.db"))
    assert tell("import", str(file), *other)["created"] == 2
    assert tell("import", str(file), *other)["deduplicated"] == 2
    assert {fact["notation"] for fact in tell("facts", *other)["facts"]} == {"C[db.id]: UUID mndtry", "D[auth]: JWT"}


def test_an_export_to_standard_output_counts_on_standard_error(ask: Ask, tell: Tell) -> None:
    tell("write", "C[db.id]: UUID mndtry")

    answer = ask("export", "--json")

    assert answer.out == "# MEMORY_SPEC v1.0\nC[db.id]: UUID mndtry\n"
    assert json.loads(answer.err) == {"exported": 1}


def test_the_log_can_be_cut_and_confined(tell: Tell, ask: Ask) -> None:
    tell("write", "V[a]: 1")
    tell("write", "V[a]: 1", "--theme", "ops")
    tell("write", "V[b]: 1")

    def rows(*args: str) -> list[int]:
        return [json.loads(line)["seq"] for line in ask("log", "--json", *args).out.splitlines()]

    assert rows() == [1, 2, 3]
    assert rows("--since", "1") == [2, 3]
    assert rows("--theme", "ops") == [2]
    assert len(ask("log", "--theme", "ops").out.splitlines()) == 1


def test_at_answers_as_the_command_would_have_then(tell: Tell) -> None:
    uid = tell("write", "V[a]: 1")["uid"]
    then = tell("fact", uid)["created_at"]
    tell("edit", uid, "2")
    tell("write", "V[b]: 1")

    assert [fact["content"] for fact in tell("at", then, "facts")["facts"]] == ["1"]
    assert tell("at", then, "--json", "fact", uid)["content"] == "1"
    assert tell("at", "0s", "facts")["total"] == 2
    assert tell("at", "1d", "facts")["total"] == 0
    assert tell("facts")["total"] == 2


def test_facts_with_every_word_stand_above_those_with_some(tell: Tell, ask: Ask) -> None:
    for target, content in (("green", "rollback"), ("blue", "rollback"), ("grey", "canary")):
        tell("write", f"D[{target}.deploy]: {content}")
    asked = ask("facts", "deploy", "rollback", "green")
    assert "green.deploy" in asked.out.splitlines()[0]
    assert len(asked.out.splitlines()) == 3, "into a pipe go facts and nothing else"
    assert asked.err.strip() == "-- 2 match some of the words --"
    assert tell("facts", "deploy", "rollback", "green")["total"] == 3
    assert ask("search", "deploy", "zebra").err.strip() == "-- no fact has every word; 3 match some of the words --"
    assert ask("search", "deploy").err == ""


def test_at_says_what_was_purged_since(tell: Tell, ask: Ask) -> None:
    for theme, number in (("ops", 2), ("shop", 1)):
        uids = [tell("write", f"V[n{one}]: 1", "--theme", theme)["uid"] for one in range(number)]
    then = tell("fact", uids[-1])["created_at"]
    assert "purged" not in ask("at", then, "facts").err
    ask("purge", "--theme", "ops", "--tier", "hot", "--yes")
    asked = ask("at", then, "facts", "--all-themes", "--json")
    assert asked.err.strip() == "note: missing here, because purged since then: 2 facts (ops 2)"
    assert json.loads(asked.out)["total"] == 1


def test_what_a_restore_replaces_is_kept(tell: Tell, home: Path) -> None:
    tell("write", "V[a]: 1")
    file = home / "kept.db"
    tell("backup", str(file))
    tell("write", "V[b]: 1")

    back = tell("backup", "--restore", str(file))

    assert back["facts"] == 1
    assert tell("facts")["total"] == 1
    assert tell("facts", "--db", back["kept"])["total"] == 2


@pytest.mark.parametrize(
    "args",
    [("--json", "status"), ("status", "--json"), ("scope", "--json", "close", "s"), ("scope", "close", "s", "--json")],
)
def test_the_common_options_stand_before_or_after_the_command(ask: Ask, tell: Tell, args: tuple[str, ...]) -> None:
    tell("write", "V[a]: 1", "--scope", "s")

    answer = ask(*args)

    assert answer.code == 0
    assert isinstance(answer.document, dict)


def test_the_last_theme_named_counts(tell: Tell) -> None:
    tell("--theme", "ops", "write", "V[a]: 1", "--theme", "Mark Eting")

    assert [theme["name"] for theme in tell("themes")["themes"]] == ["mark-eting"]


def test_an_export_that_fails_leaves_the_file_as_it_was(
    tell: Tell, ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell("write", "C[db.id]: UUID mndtry")
    file = home / "facts.txt"
    tell("export", str(file))
    before = file.read_text()

    def cut_off(*_: object, **__: object) -> Iterator[str]:
        yield "C[a]: half"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hermes_memory_store.files.export_import.export_spec", cut_off)
    answer = ask("export", str(file), "--json")

    assert answer.code == 1
    assert answer.error["value"] == str(file)
    assert file.read_text() == before
    assert sorted(path.name for path in home.iterdir() if "facts" in path.name) == ["facts.txt"]


def test_an_export_is_for_its_owner_alone_and_does_not_replace_a_device(tell: Tell, home: Path) -> None:
    tell("write", "C[db.id]: UUID mndtry")
    tell("export", str(home / "facts.txt"))

    assert stat.S_IMODE((home / "facts.txt").stat().st_mode) == 0o600
    tell("export", "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.fixture
def seed_file(db: Path) -> Path:
    """A memory of hermes-memory 0.3.0 where the store should be."""
    shutil.copy(Path(__file__).parents[2] / "store" / "fixtures" / "hermes_memory_0_3_0.db", db)
    return db


def test_any_command_upgrades_a_file_of_hermes_memory(tell: Tell, ask: Ask, seed_file: Path) -> None:
    answer = ask("facts")

    assert answer.code == 0
    assert "the old file is kept at" in answer.err
    (kept,) = seed_file.parent.glob("*.bak")
    with closing(sqlite3.connect(kept)) as old:
        rows = old.execute("SELECT count(*) FROM facts").fetchone()[0]
    assert rows > 0
    assert tell("facts", "tier:all")["total"] == rows
    assert tell("upgrade")["upgraded"] is False


def test_upgrade_puts_a_file_into_a_theme(tell: Tell, seed_file: Path) -> None:
    done = tell("upgrade", "--theme", "ops")

    assert done["upgraded"] is True
    assert done["facts"] > 0
    assert Path(done["backup"]).exists()
    assert [theme["name"] for theme in tell("themes")["themes"]] == ["ops"]


def test_an_edit_says_which_secret_was_masked_and_that_one_which_nothing_keeps_is_gone(
    ask: Ask, tell: Tell, capfd: pytest.CaptureFixture[str]
) -> None:
    uid = tell("write", "V[deploy.token]: none yet")["uid"]
    assert "masked ‹secret:deploy-token›" in ask("edit", uid, "--yes", "ghp_016C7f8a9B2c3D4e5F6g7H8i9J0k1L2m3N4o").out
    print_masked(ChangeResult((), (), unkept=1))
    assert "1 masked and NOT kept, the value is gone: keep it yourself" in capfd.readouterr().err
