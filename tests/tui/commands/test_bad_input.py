"""What bad input gets: one sentence with the value and the way out, exit code 1 or 2, and a store as it was."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_tui.cli import COMMANDS
from tests.tui.commands.conftest import Answer, Ask, Tell

UNKNOWN_UID = "ffffffff-ffff-7fff-bfff-ffffffffffff"

REFUSED = [
    # arguments, code of the error, what its sentence must say
    (("optimize", "--undo"), "undo.nothing", "no relief"),
    (("write", "nonsense"), "notation.invalid", "TYPE[target]: content"),
    (("write", "X[a]: b"), "notation.invalid", "X[a]: b"),
    (("write", "C[]: b"), "notation.invalid", "target"),
    (("write", "C[a]:"), "notation.invalid", "C[a]:"),
    (("write", "C[a]: " + "x" * 401), "content.too_long", "401"),
    (("write", "C[a]: x\u202ey"), "text.unsafe", "U+202E"),
    (("write", "C[a]: x\x07y"), "text.unsafe", "U+0007"),
    (("write", "C[a]: x\udcffy"), "text.unsafe", "U+DCFF"),
    (("write", "C[a]: b", "--scope", "s\u202e"), "text.unsafe", "U+202E"),
    (("write", "C[a]: b", "--scope", "x" * 5000), "argument.invalid", ""),
    (("write", "C[a]: b", "--theme", "…"), "theme.invalid", "…"),
    (("search", "x", "--scope", "logn"), "scope.unknown", "'login'"),
    (("search", "x", "--theme", "defualt"), "theme.unknown", "'default'"),
    (("search", "x", "--scope", "\udcff"), "scope.unknown", ""),
    (("search", "scope:logn x"), "scope.unknown", "'login'"),
    (("search", "type:descision"), "query.invalid", "decision"),
    (("search", "before:soon"), "query.invalid", "soon"),
    (("search", "by:nobody"), "session.unknown", "nobody"),
    (("facts", "tier:warm"), "query.invalid", "warm"),
    (("facts", "--scope", "logn"), "scope.unknown", "'login'"),
    (("facts", "--theme", "ops"), "theme.unknown", "ops"),
    (("fact", UNKNOWN_UID), "fact.unknown", UNKNOWN_UID),
    (("fact", "zz"), "fact.unknown", "zz"),
    (("fact", "abc"), "fact.unknown", "6"),
    (("fact", "%%%%%%"), "fact.unknown", "%"),
    (("fact", "\udcff\udcff\udcff"), "fact.unknown", ""),
    (("history", UNKNOWN_UID), "fact.unknown", UNKNOWN_UID),
    (("edit", UNKNOWN_UID, "x"), "fact.unknown", UNKNOWN_UID),
    (("edit", "{uid}", "x" * 401), "content.too_long", "401"),
    (("edit", "{uid}", "x\u2066y"), "text.unsafe", "U+2066"),
    (("edit", "{uid}", " "), "notation.invalid", ""),
    (("pin", "{uid}", UNKNOWN_UID), "fact.unknown", UNKNOWN_UID),
    (("archive", "{uid}", UNKNOWN_UID), "fact.unknown", UNKNOWN_UID),
    (("restore", UNKNOWN_UID), "fact.unknown", UNKNOWN_UID),
    (("archive", "{uid}", "--theme", "ops"), "theme.unknown", "ops"),
    (("undo", "--change", "999"), "change.unknown", "999"),
    (("undo", "--change", "9" * 30), "argument.invalid", ""),
    (("undo", "--session", "nobody"), "session.unknown", "nobody"),
    (("undo", "--session", "\udcff"), "text.unsafe", "U+DCFF"),
    (("redo",), "undo.nothing", "redo"),
    (("scope", "close", "logn"), "scope.unknown", "'login'"),
    (("scope", "reopen", "logn"), "scope.unknown", "'login'"),
    (("scope", "rename", "logn", "x"), "scope.unknown", "'login'"),
    (("scope", "close", "\udcff"), "text.unsafe", "U+DCFF"),
    (("scope", "rename", "login", "x\u202e"), "text.unsafe", "U+202E"),
    (("scope", "rename", "login", "schema"), "scope.exists", "schema"),
    (("purge", "--scope", "logn", "--yes"), "scope.unknown", "'login'"),
    (("purge", "--theme", "ops", "--yes"), "theme.unknown", "ops"),
    (("purge", "--older-than", "soon", "--yes"), "argument.invalid", "soon"),
    (("purge", "--scope", "login"), "argument.invalid", "--yes"),
    (("export", "--scope", "logn"), "scope.unknown", "'login'"),
    (("export", "{db}"), "argument.invalid", "store itself"),
    (("export", "{home}/no/such/folder/x"), "file", "/no/such/folder/x: "),
    (("import", "{home}/missing.txt"), "import.invalid", "missing.txt"),
    (("import", "{home}"), "import.invalid", "directory"),
    (("import", "{db}"), "import.invalid", "database"),
    (("replay", "{home}/missing.txt"), "import.invalid", "missing.txt"),
    (("replay", "{home}/log.txt"), "argument.invalid", "empty"),
    (("at", "soon", "facts"), "argument.invalid", "soon"),
    (("at", "99999-01-01", "facts"), "argument.invalid", "99999"),
    (("at", "2999-01-01", "facts"), "argument.invalid", "2999-01-01 has not come yet; the latest change is #"),
    (("at", "1h", "log", "--follow"), "argument.invalid", "--follow"),
    (("backup", "{db}"), "argument.invalid", "memory"),
    (("backup", "{home}/log.txt"), "argument.invalid", "--overwrite"),
    (("backup", "{home}/pipe", "--overwrite"), "argument.invalid", "pipe"),
    (("export", "{home}"), "file", "directory"),
    (("backup", "--restore", "{home}/log.txt"), "store.unreadable", "log.txt"),
    (("backup", "--restore", "{home}/missing.db"), "store.unreadable", "missing.db"),
    (("backup", "{home}/no/such/folder/x.db"), "store.unreadable", "folder"),
]

MISUSED = [
    # arguments, the value that the error must repeat
    (("serach", "x"), "serach"),
    (("facts", "--limit", "-1"), "-1"),
    (("facts", "--limit", "abc"), "abc"),
    (("search", "x", "--limit=99999999999999999999"), "99999999999999999999"),
    (("facts", "--sort", "colour"), "colour"),
    (("log", "--since", "1.5"), "1.5"),
    (("log", "--since", "9" * 40), "9" * 40),
    (("undo", "--last", "0"), "0"),
    (("undo", "--change", "1", "--last", "1"), None),
    (("purge", "--tier", "warm"), "warm"),
    (("purge", "--scope", ""), ""),
    (("search", "x", "--theme", ""), ""),
    (("export", "--scope", " "), " "),
    (("export", "--format", "xml"), "xml"),
    (("completion", "tcsh"), "tcsh"),
    (("optimize", "--threshold", "500"), "500"),
    (("optimize", "--undo", "--dry-run"), None),
    (("at", "1h", "write", "C[a]: b"), None),
    (("at", "1h"), None),
    (("write",), None),
    (("facts", "login", "--sort", "target"), None),
    (("edit", "abcdef", "--5"), "--5"),
    (("--json",), None),
    (("--read-only", "facts"), None),
]


@pytest.fixture
def uid(tell: Tell, home: Path) -> str:
    """A store with a fact in each of two scopes, whose uid this is, and a file that is no store."""
    tell("write", "C[db.id]: UUID mndtry", "--scope", "schema")
    (home / "log.txt").write_text("{}\n")
    os.mkfifo(home / "pipe")
    return str(tell("write", "D[auth]: JWT 7d", "--scope", "login")["uid"])


def portrait(ask: Ask) -> tuple[str, str]:
    return ask("log", "--json").out, ask("facts", "tier:all", "--json", "--sort", "created").out


@pytest.mark.parametrize(("args", "code", "said"), REFUSED, ids=[" ".join(args)[:40] for args, _, _ in REFUSED])
def test_what_is_refused_is_said_in_a_sentence_and_changes_nothing(
    ask: Ask, uid: str, home: Path, db: Path, args: tuple[str, ...], code: str, said: str
) -> None:
    before = portrait(ask)
    given = [arg.format(uid=uid, home=home, db=db) if "{" in arg else arg for arg in args]

    answer = ask(*given, "--json")

    assert answer.code == 1
    assert answer.out == ""
    assert answer.error["code"] == code
    assert said in answer.error["message"]
    assert len(answer.error["message"]) < 600
    assert portrait(ask) == before
    for_people = ask(*given)
    assert for_people.code == 1
    assert for_people.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in for_people.err


@pytest.mark.parametrize(("args", "value"), MISUSED, ids=[" ".join(args)[:40] for args, _ in MISUSED])
def test_wrong_usage_exits_2_and_repeats_the_value(
    ask: Ask, uid: str, args: tuple[str, ...], value: str | None
) -> None:
    before = portrait(ask)

    answer = ask(*args, "--json")

    assert answer.code == 2
    assert answer.error["code"] == "usage"
    if value is not None:
        assert answer.error["value"] == value
        assert value.strip() in answer.error["message"]
    assert portrait(ask) == before
    if args != ("--json",):
        for_people = ask(*args)
        assert for_people.code == 2
        assert for_people.err.startswith("Usage: ")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("add", "hermes-memory-tui write"),
        ("Remember", "hermes-memory-tui write"),
        ("list", "hermes-memory-tui facts"),
        ("delete", "hermes-memory-tui archive UID"),
        ("install", "hermes-memory-tui connect"),
        ("team", "hermes-memory-bridge"),
        ("serach", "'search'"),
    ],
)
def test_a_word_of_another_program_is_answered_with_the_right_command(ask: Ask, word: str, hint: str) -> None:
    answer = ask(word, "something", "--json")

    assert answer.code == 2
    assert hint in answer.error["message"]


LINES = (
    '"', '"x', "*", "a*", "NEAR(a b)", "NEAR(", "content:x", "col:", "a AND", "OR", "NOT", "(", ")", "^x", "{a}", "a+b",
    "%", "_", "'", "';--", "\\", "-", "--", "\x00", "\x1b[31m", "\u202e", "😀", "x" * 100_000, "a " * 20_000, "-x", "\udcff",
)  # fmt: skip


@pytest.mark.parametrize("command", ["search", "facts"])
def test_no_search_line_is_an_error(ask: Ask, uid: str, command: str) -> None:
    for line in LINES:
        answer = ask(command, "--json", "--", line)
        assert answer.code == 0, (line[:40], answer.err)
        assert set(answer.document) >= {"facts", "total"}


def test_text_of_ten_megabytes_is_refused_with_its_length(ask: Ask, tell: Tell, uid: str) -> None:
    answer = ask("write", "-", "--json", stdin=b"C[a]: " + b"x" * 10_000_000 + b"\n")

    assert answer.code == 1
    assert answer.error["code"] == "content.too_long"
    assert "1000000" in answer.error["message"]
    assert len(answer.err) < 1000
    report = tell("import", "-", stdin=b"C[ok]: fine\nC[a]: " + b"x" * 10_000_000 + b"\n")
    assert (report["created"], len(report["errors"])) == (1, 1)
    several = ask("write", "-", "--json", stdin=b"C[b]: one\nC[a]: " + b"x" * 10_000 + b"\nnonsense\nC[c]: three\n")
    assert (several.code, [one["line"] for one in several.document["errors"]]) == (1, [2, 3])
    assert [one["notation"] for one in several.document["written"]] == ["C[b]: one", "C[c]: three"]


def test_an_import_of_which_every_line_is_refused_fails(ask: Ask, uid: str) -> None:
    answer = ask("import", "-", "--json", stdin=b"V[key ghp_16C7e42F292c6912E7710c838347Ae178B4a]: x\n")
    assert (answer.code, answer.document["created"], len(answer.document["errors"])) == (1, 0, 1)


def test_a_broken_policy_file_names_its_line(ask: Ask, home: Path) -> None:
    (home / ".hermes").mkdir()
    (home / ".hermes" / "memory-themes.toml").write_text("[defaults]\nhot_chars = 'many'\n")

    answer = ask("status", "--json")

    assert answer.code == 1
    assert "memory-themes.toml" in answer.error["message"]
    assert "2" in answer.error["message"]


def test_an_unexpected_error_leaves_a_report_without_the_facts_text(
    ask: Ask, uid: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said_in_it = "".join(["J", "W", "T"])

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(said_in_it)

    monkeypatch.setattr("hermes_memory_store.context.context_block.ContextBlocks.status", broken)

    answer = ask("status", "--json")

    assert answer.code == 1
    assert answer.error["code"] == "internal"
    (report,) = (home / ".hermes" / "logs").iterdir()
    assert str(report) in answer.error["message"]
    said = report.read_text()
    assert "RuntimeError" in said
    assert "theme_commands.py" in said
    assert "JWT" not in said + answer.err


def test_a_crash_report_has_what_sqlite_says_without_what_it_quotes(
    ask: Ask, uid: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        with closing(sqlite3.connect(":memory:")) as conn:
            conn.execute("CREATE TABLE t (a)")
            conn.execute("CREATE INDEX i ON t (a) WHERE a = 1")
            try:
                conn.execute("SELECT * FROM t INDEXED BY i WHERE a = 1 AND 0")
            except sqlite3.Error:
                conn.execute('SELECT "a" "b" "JWT" FROM t')

    monkeypatch.setattr("hermes_memory_store.context.context_block.ContextBlocks.status", broken)

    ask("status")

    (report,) = (home / ".hermes" / "logs").iterdir()
    assert "OperationalError: no query solution\n" in report.read_text()
    assert "OperationalError: near \n" in report.read_text()


def test_only_the_newest_crash_reports_are_kept(
    ask: Ask, uid: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("hermes_memory_store.context.context_block.ContextBlocks.status", broken)
    for _ in range(12):
        ask("status")

    assert len(list((home / ".hermes" / "logs").iterdir())) == 10


def test_a_report_that_cannot_be_written_is_no_second_error(
    ask: Ask, uid: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("hermes_memory_store.context.context_block.ContextBlocks.status", broken)
    monkeypatch.setenv("HERMES_HOME", "/dev/null")

    answer: Answer = ask("status", "--json")

    assert answer.code == 1
    assert answer.error["code"] == "internal"


def test_every_command_explains_itself_and_takes_the_common_options(ask: Ask) -> None:
    for command in COMMANDS:
        answer = ask(command, "--help")
        assert answer.code == 0
        for option in ("--db", "--theme", "--json"):
            assert option in answer.out, command


def test_errors_in_json_are_one_document_alone(ask: Ask, uid: str) -> None:
    answer = ask("search", "x", "--scope", "logn", "--json")

    assert json.loads(answer.err) == {"error": answer.error}
    assert answer.err.count("\n") == 1


def harm(path: Path, index: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(f"UPDATE {index}_data SET block = randomblob(length(block))")


def test_facts_are_written_found_and_the_index_repaired(ask: Ask, db: Path) -> None:
    ask("write", "V[a]: zebra")
    harm(db, "facts_text")

    written = ask("write", "V[b]: zebra", "--json")
    found = ask("search", "zebra", "--json")
    shown = ask("search", "zebra")
    ill, mended, well = (ask("doctor", *words, "--json") for words in ((), ("--repair",), ()))

    assert json.loads(written.out)["status"] == "created"
    assert (json.loads(found.out)["total"], "doctor --repair" in json.loads(found.out)["note"]) == (2, True)
    assert shown.err.startswith("note: the full-text index of facts is damaged")
    checks = {check["name"]: check for check in json.loads(ill.out)["checks"]}
    assert (ill.code, checks["full-text"]["ok"]) == (1, False)
    assert "doctor --repair" in checks["full-text"]["detail"]
    assert (mended.code, well.code) == (0, 0)
    assert set(json.loads(ask("search", "zebra", "--json").out)) == {"facts", "total", "more", "ranked_by"}
