"""Where the system has a part in a command: exit codes, pipes, signals, terminals, and files that cannot be used."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import resource
import select
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest

from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_runner import COMPLETING, run_command_line
from hermes_memory_tui.cli.table_output import FORMATS
from hermes_memory_tui.cli.terminal_output import cell_width
from tests.processes import PATIENCE_S
from tests.tools.small_disk import fill_disk, small_disk
from tests.tui.commands.conftest import COMMAND, Answer, Ask, Show, Tell

FEW_PAGES = 200_000
"""Bytes a file may grow to where the disk is to be full: an empty store fits, many facts do not."""


def test_exit_codes(process: Ask) -> None:
    assert process("write", "C[a]: b").code == 0
    assert process("write", "nonsense").code == 1
    assert process("wriet", "x").code == 2


def test_a_reader_that_goes_away_is_no_error(process: Ask, tell: Tell, db: Path) -> None:
    tell("import", "-", stdin="".join(f"V[v{n}]: {'x' * 300}\n" for n in range(1000)).encode())

    listed = [f"{command} -o {form}" for command in ("log", "facts --limit 1000") for form in FORMATS]
    for command in (*listed, "log", "log --json", "facts --limit 1000", "export", "facts --limit 1000 --json"):
        piped = f"{sys.executable} -m hermes_memory_tui --db {db} {command} | head -c 1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", piped], capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, b""), command


def test_an_answer_that_finds_no_room_is_an_error(tell: Tell, db: Path) -> None:
    tell("write", "C[a]: b")

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "--db", str(db), "facts"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )

    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_follow_shows_what_others_write_and_ends_on_ctrl_c(tell: Tell, process: Ask, db: Path) -> None:
    tell("write", "C[a]: first")
    following = subprocess.Popen(
        [*COMMAND, "--db", str(db), "log", "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert following.stdout is not None
    try:
        assert json.loads(following.stdout.readline())["after"]["content"] == "first"
        process("write", "C[b]: second")
        assert json.loads(following.stdout.readline())["after"]["content"] == "second"
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=20)
    finally:
        following.kill()

    assert following.returncode == 130
    assert "Traceback" not in said


def test_arguments_that_are_no_text_are_refused(process: Ask) -> None:
    answer = process("write", b"C[a]: \xff\xfe", "--json")

    assert answer.code == 1
    assert answer.error["code"] == "text.unsafe"
    assert process("facts", "--json").error["code"] == "store.unreadable"  # nothing was kept, not even a memory


def test_a_path_that_is_no_text_is_a_path(process: Ask, home: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(home) + b"/m\xff.db"))

    assert process("write", "C[a]: b", db=strange).code == 0
    assert process("facts", "--json", db=strange).document["total"] == 1
    assert "m\\u{dcff}.db" in process("write", "C[a]: b", db=strange / "x").err


def test_files_that_are_no_store_are_left_alone(ask: Ask, home: Path) -> None:
    (home / "text.db").write_text("this is not a database\n" * 100)
    with closing(sqlite3.connect(home / "other.db")) as other:
        other.execute("CREATE TABLE songs (title)")
    (home / "folder.db").mkdir()
    before = {name: (home / name).read_bytes() for name in ("text.db", "other.db")}
    for name in ("text.db", "other.db", "folder.db", "text.db/below.db"):
        for command in (["write", "C[a]: b"], ["status"], ["facts"], ["doctor"]):
            answer = ask(*command, "--json", "--db", str(home / name))
            assert (answer.code, answer.error["code"]) == (1, "store.unreadable"), name
            assert name in answer.error["message"]
    assert {name: (home / name).read_bytes() for name in before} == before


def test_a_store_of_a_newer_version_is_refused_untouched(ask: Ask, tell: Tell, db: Path) -> None:
    tell("write", "C[a]: b")
    with closing(sqlite3.connect(db)) as conn:
        conn.execute("PRAGMA user_version = 999")
    before = db.read_bytes()
    for command in (["write", "C[a]: c"], ["facts"], ["doctor", "--repair"], ["purge", "--yes"]):
        answer = ask(*command, "--json")
        assert (answer.code, answer.error["code"]) == (1, "store.too_new")
        assert "999" in answer.error["message"]
    assert db.read_bytes() == before


def test_a_truncated_store_is_an_error_and_not_a_crash(ask: Ask, tell: Tell, db: Path) -> None:
    tell("import", "-", stdin="".join(f"V[v{n}]: {'x' * 300}\n" for n in range(300)).encode())
    whole = db.read_bytes()
    for size in (100, 4096, 20_000, len(whole) // 2):
        db.write_bytes(whole[:size])
        for command in (["facts"], ["write", "C[a]: b"], ["status"], ["doctor"]):
            answer = ask(*command, "--json")
            assert "Traceback" not in answer.err
            assert answer.code in (0, 1)
            if command == ["doctor"] and answer.out:
                assert answer.document["ok"] is False
            elif answer.code == 1:
                assert answer.error["code"] == "store.unreadable"


def test_a_full_disk_refuses_the_write_and_keeps_what_was_there(process: Ask, tell: Tell) -> None:
    tell("write", "C[a]: b")

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FEW_PAGES, FEW_PAGES))

    lines = "".join(f"V[v{n}]: {'x' * 390}\n" for n in range(2000)).encode()
    answer = process("import", "-", "--json", stdin=lines[:150_000], preexec_fn=full)

    assert answer.code == 1
    assert answer.error["code"] == "store.disk_full"
    assert process("doctor").code == 0
    assert tell("facts")["total"] >= 1


class Impatient(Store):
    """A store that waits for a lock no longer than a test does."""

    @classmethod
    def open(cls, path: Path, **options: Any) -> Self:
        return super().open(path, **{**options, "lock_timeout_s": 0.2})


def test_a_locked_store_is_said_to_be_locked(tell: Tell, db: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    tell("write", "C[a]: b")
    monkeypatch.setattr("hermes_memory_tui.cli.common_options.Store", Impatient)
    blocking = sqlite3.connect(db, isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    try:
        answer = ask("write", "C[b]: c", "--json")
        assert (answer.code, answer.error["code"]) == (1, "store.locked")
        assert tell("facts")["total"] == 1
        assert tell("search", "b")["total"] == 1
    finally:
        blocking.close()
    assert tell("write", "C[b]: c")["status"] == "created"


@pytest.fixture
def frozen(home: Path, tell: Tell, db: Path) -> Iterator[Path]:
    """A store with one fact on a file system that is mounted read-only."""
    tell("write", "C[a]: b", "--scope", "s")
    place = home / "mounted"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    shutil.copy(db, place / "memory.db")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    yield place / "memory.db"
    subprocess.run(["umount", str(place)], check=True)


def test_a_store_on_a_read_only_disk_can_be_read_and_not_written(ask: Ask, frozen: Path) -> None:
    def asked(*command: str, db: Path = frozen) -> Answer:
        return ask(*command, "--json", "--db", str(db))

    for command in (["facts"], ["search", "b"], ["status"], ["scopes"], ["doctor"]):
        answer = asked(*command)
        assert answer.code == 0, answer.err
    assert ask("--db", str(frozen), "at", "0s", "facts").code == 0
    assert asked("facts").document["total"] == 1
    for command in (["write", "C[x]: y"], ["undo"], ["purge", "--scope", "s", "--yes"], ["scope", "close", "s"]):
        answer = asked(*command)
        assert (answer.code, answer.error["code"]) == (1, "store.read_only"), command
    missing = asked("facts", db=frozen.with_name("none.db"))
    assert (missing.code, missing.error["code"]) == (1, "store.unreadable")


def test_a_file_that_commands_made_is_for_its_owner_alone(ask: Ask, db: Path) -> None:
    old = os.umask(0)
    try:
        ask("write", "C[a]: b")
    finally:
        os.umask(old)
    assert db.stat().st_mode & 0o777 == 0o600


def test_people_are_told_of_a_new_memory_and_scripts_are_not(ask: Ask, db: Path, home: Path) -> None:
    assert f"created a new memory at {db}" in ask("write", "V[a]: 1").err
    assert "created a new memory" not in ask("write", "V[a]: 2").err
    assert ask("write", "V[a]: 1", "--json", "--db", str(home / "b.db")).err == ""


def hear_interrupts() -> None:
    """Let a program hear ctrl+c though the tests run in the background, where a shell has it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_a_terminal(db: Path, *args: str, answer: bytes = b"", columns: int = 80, **environment: str) -> tuple[int, str]:
    """Run a command on a terminal of its own and type `answer` when it asks; its exit code and all it wrote."""
    ours, its = pty.openpty()

    def begin() -> None:
        hear_interrupts()
        fcntl.ioctl(its, termios.TIOCSCTTY, 0)  # so that Ctrl-C is a signal

    started = subprocess.Popen(
        [*COMMAND, "--db", str(db), *args],
        stdin=its, stdout=its, stderr=its,
        env=os.environ | {"COLUMNS": str(columns), "TERM": "xterm-256color"} | environment,
        start_new_session=True,
        preexec_fn=begin,
    )  # fmt: skip
    os.close(its)
    said = b""
    pressed, tries = b"", 30
    while (ready := select.select([ours], [], [], 1 if pressed == b"\x03" else 30)[0]) or (
        pressed == b"\x03" and tries
    ):
        if (
            not ready
        ):  # it came between the question and the reading of its answer, which then waits: a person presses it again
            tries -= 1
            os.write(ours, pressed)
            continue
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
        if answer and (b"[y/N]" in said or b"(yours, any)" in said):
            os.write(ours, answer)
            pressed, answer = answer, b""
    code = started.wait(PATIENCE_S)  # before the terminal closes: that would hang up on a process that is about to exit
    os.close(ours)
    return code, said.decode()


def test_purge_shows_the_counts_and_asks(tell: Tell, db: Path) -> None:
    tell("write", "V[a]: one", "--scope", "s")

    code, said = on_a_terminal(db, "purge", "--scope", "s", answer=b"n\n")
    assert code == 1
    assert "nothing was purged" in said
    assert "1 fact of scope 's' of theme 'default' would be purged: 1 hot" in said
    assert "V[a]: one" in said
    assert tell("facts")["total"] == 1
    code, said = on_a_terminal(db, "purge", "--scope", "s", answer=b"y\n")
    assert code == 0
    assert tell("facts", "tier:all")["total"] == 0


@pytest.mark.parametrize(
    ("answer", "left"), [(b"yours\n", "V[host]: db1"), (b"any\n", "V[port]: 5432"), (b"\x03", None)]
)
def test_undo_asks_on_a_terminal_where_somebody_elses_change_is_newer(
    tell: Tell, db: Path, answer: bytes, left: str | None
) -> None:
    tell("write", "V[port]: 5432")
    with Store.open(db) as store:
        store.facts.write("default", "V[host]: db1", session=store.sessions.open("default", "claude-code#1"))

    code, said = on_a_terminal(db, "undo", answer=answer, columns=200)

    assert "by you in theme default: create V[port]: 5432" in said
    assert "by claude-code#1 in theme default: create V[host]: db1" in said
    stands = [fact["notation"] for fact in tell("facts")["facts"]]
    assert (code, stands) == (0, [left]) if left else (code == 130 and len(stands) == 2)


def test_ctrl_c_at_the_question_erases_nothing(tell: Tell, db: Path) -> None:
    tell("write", "V[a]: one", "--scope", "s")

    assert on_a_terminal(db, "purge", "--scope", "s", answer=b"\x03")[0] == 130
    assert tell("facts")["total"] == 1


@pytest.mark.parametrize(("target", "theme"), [("db", "shop"), ("user.name", "personal")])
def test_a_person_is_asked_about_hidden_characters_and_the_fact_goes_where_its_target_belongs(
    tell: Tell, home: Path, db: Path, monkeypatch: pytest.MonkeyPatch, target: str, theme: str
) -> None:
    tell("write", "V[first]: 1", "--theme", "other")
    subprocess.run(["git", "init", "-q", str(home / "shop")], check=True)
    monkeypatch.chdir(home / "shop")
    line = f"V[{target}]: mnd\u202etry"

    code, said = on_a_terminal(db, "write", line, answer=b"n\n")
    assert code != 0
    assert "U+202E" in said
    assert "remove what is hidden, and write?" in said
    assert tell("search", "mndtry")["total"] == 0
    assert on_a_terminal(db, "write", line, answer=b"y\n")[0] == 0
    assert [(fact["theme"], fact["content"]) for fact in tell("search", "mndtry")["facts"]] == [(theme, "mndtry")]


def test_colour_only_where_somebody_looks(tell: Tell, ask: Ask, show: Show, db: Path) -> None:
    tell("write", "V[a]: one")
    assert "\x1b[" in on_a_terminal(db, "themes")[1]
    assert "\x1b[" in show("themes", "--color", "always", NO_COLOR="1")
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b[" not in show("themes", **plain)
    assert "\x1b[" not in show("themes", "--color", "never")
    assert "\x1b[" not in ask("themes").out
    for words in (("facts", "--color", "always"), ("--color", "always", "at", "0s", "facts")):
        assert "\x1b[" in ask(*words).out


@pytest.fixture
def ten_facts(db: Path) -> Path:
    with Store.open(db) as store:
        for number in range(10):
            store.facts.write("default", f"V[key{number}]: {number}")
    return db


def test_a_list_that_is_longer_than_the_terminal_goes_through_the_pager(ten_facts: Path) -> None:
    code, said = on_a_terminal(ten_facts, "facts", "-n5", PAGER="sed s/^/paged:/", LINES="4", NO_COLOR="1")

    assert code == 0
    lines = said.splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == ["paged"] * 5
    assert lines[5].startswith("5 of 10 facts")  # what is said beside the list comes when the pager was left
    assert "paged:" not in on_a_terminal(ten_facts, "facts", "-n5", PAGER="sed s/^/paged:/", LINES="7")[1]
    for pager in ("cat", "", "no-such-pager", "less '"):
        assert on_a_terminal(ten_facts, "facts", PAGER=pager, LINES="4")[1].count("V") == 10


def test_leaving_the_pager_early_is_no_error(ten_facts: Path) -> None:
    code, said = on_a_terminal(ten_facts, "log", PAGER="head -n 1", LINES="4")

    assert (code, said.count("\n")) == (0, 1)


def test_a_document_takes_no_pager(ten_facts: Path) -> None:
    assert json.loads(on_a_terminal(ten_facts, "facts", "--json", PAGER="false", LINES="4")[1])["total"] == 10


def test_lines_keep_to_the_terminals_width(tell: Tell, ask: Ask, show: Show) -> None:
    tell("write", "V[a]: " + "word " * 60 + "漢字" * 30, "--scope", "scope")
    lines = show("facts", "--color", "never", columns=60).splitlines()
    assert len(lines) > 5
    assert max(len(line) for line in lines) <= 60
    assert all(line.startswith(" " * 12) for line in lines[1:])
    assert len(ask("facts").out.splitlines()) == 1


@pytest.mark.parametrize("command", [("watch", "--once"), ("themes",), ("status",)], ids=" ".join)
def test_a_gauge_fits_the_terminal(tell: Tell, show: Show, command: tuple[str, ...]) -> None:
    for theme in ("ops", "marketing"):
        tell("write", f"V[a]: {'word ' * 40}", "--theme", theme)
    for columns in (40, 60, 80, 120):
        said = show(*command, "--theme", "marketing", "--color", "never", columns=columns)
        lines = said.partition("context: ")[0].splitlines()  # what an agent is given stands as it is
        assert max(map(cell_width, lines)) <= columns
        assert any("of 10,000 characters" in line for line in lines)
        assert any("|" in line and "%" in line for line in lines)


def test_the_inspector_needs_a_terminal(process: Ask) -> None:
    answer = process()

    assert answer.code == 1
    assert "terminal" in answer.err


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_offers_the_themes_there_are(tell: Tell, db: Path, shell: str) -> None:
    tell("write", "V[a]: 1", "--theme", "ops", "--scope", "login")
    words = f"hermes-memory-tui --db {db} --theme o"

    done = subprocess.run(
        COMMAND,
        env=os.environ | {
            "_HERMES_MEMORY_TUI_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": "4",
        },
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert "ops" in done.stdout


COMPLETED = {"facts -o js": "jsonl", "log --fields seq,te": "seq,text", "--color nev": "never", "hel": "help"}
"""What is typed so far, and what is offered for its last word."""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_formats_fields_and_colours(
    shell: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(COMPLETING, f"{shell}_complete")
    for begun, offered in COMPLETED.items():
        words = f"hermes-memory-tui {begun}"
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", words.split()[-1] if shell == "fish" else str(len(words.split()) - 1))
        with pytest.raises(SystemExit):
            run_command_line([])
        assert offered in capfd.readouterr().out, begun


def test_a_memory_on_a_full_disk_is_read_by_every_command_that_reads(ask: Ask, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        there = ("--db", str(disk / "memory.db"))
        ask(*there, "write", "V[port.api]: 8443")
        fill_disk(disk)
        for words in ("facts", "search 8443", "status", "themes", "log", "doctor"):
            answer = ask(*there, *words.split())
            assert (answer.code, answer.out != "") == (0, True), words
            assert f"the disk of {disk / 'memory.db'} is full" in answer.err, words
        assert ask(*there, "--json", "status").document["facts"] == 1
        assert ask(*there, "export", str(tmp_path / "facts.txt")).code == 0
        assert "V[port.api]: 8443" in (tmp_path / "facts.txt").read_text()
        assert ask(*there, "backup", str(tmp_path / "backup.db")).code == 0
        refused = ask(*there, "write", "V[port.db]: 5432")
        assert refused.code == 1
        assert f"the disk of {disk / 'memory.db'} is full" in refused.err


def test_names_that_are_no_utf8_stop_no_command(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the folder, its repository's branch, the home and the memory's own file."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HERMES_HOME", str(folder / ".hermes"))
    monkeypatch.chdir(folder)
    for is_repository in (False, True):
        if is_repository:
            subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], cwd=folder, check=True)
            subprocess.run([*git, "checkout", "-q", "-b", b"br\xe9nch"], cwd=folder, check=True)
        db = ("--db", str(folder / f"{is_repository}.db"))
        assert ask(*db, "write", "V[port.api]: 8443").code == 0
        for words in ("facts", "status", "--json status", "search 8443", "doctor", "log", "projects"):
            answer = ask(*db, *words.split())
            assert answer.code == 0, answer
        assert "8443" in ask(*db, "status").out
        refused = ask(*db, "connect", "claude-code", "--dry-run")
        assert (refused.code, "no UTF-8; choose another with --db" in refused.err) == (1, True), refused


def test_an_export_goes_into_standard_output_a_pipe_and_a_device(process: Ask, tmp_path: Path, db: Path) -> None:
    process("write", "V[port.api]: 8443")
    assert process("export", "/dev/stdout").out == "# MEMORY_SPEC v1.0\nV[port.api]: 8443\n"
    assert process("export", "/dev/null").code == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert process("export", os.fsencode(pipe)).code == 0
        assert "V[port.api]: 8443" in reader.communicate(timeout=60)[0]
    assert pipe.is_fifo()
    into = f"{shlex.join(COMMAND)} --db {shlex.quote(str(db))} export >(cat >&2) >/dev/null"
    substituted = subprocess.run(
        ["bash", "-c", f"{{ {into}; }} 2>&1 | cat"], capture_output=True, timeout=60, check=True
    )
    assert b"V[port.api]: 8443" in substituted.stdout


def test_an_import_that_fails_creates_no_memory(ask: Ask, tmp_path: Path, db: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert ask("import", str(tmp_path / "missing")).code == 1
    assert ask("import", str(tmp_path / "folder")).code == 1
    for content, *options in (
        (b"\x7fELF\x00\x00",),
        (b"SQLite format 3\x00",),
        (b"no JSON", "--from", "mem0"),
        (b'[{"memory": "a", "user_id": "u", "hash": "h"',),
        (b"V[a.b]: c", "--from", "hermes-memory"),
        (b"V[a.b]: c", "--scope", "a\x01b"),
    ):
        (tmp_path / "source").write_bytes(content)
        assert ask("import", str(tmp_path / "source"), *options).code == 1, content
        assert not db.exists()
