"""Random bytes and signals for the real program, in a real terminal.

    python -m tests.tools.fuzz_terminal --lives 20 --seed 7

Keys, sequences that no terminal sends, broken UTF-8, pastes with control characters, the mouse far outside, answers that nobody
asked for, sizes in storms, stops and continues. Each life ends by a key, a signal or the end of the terminal. It fails when the
program fails inside (which writes a report), does not draw for another size, does not end, leaves a process or an unsound store,
and prints the seed, what was sent last, where each thread of the program is and what is on the screen.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import select
import shlex
import signal
import struct
import sys
import tempfile
import termios
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pyte

from tests.processes import is_alive
from tests.tools.fuzz_inspector import BROKEN_PASTES, LONG_PASTES, SIZES, TEXTS, fill_store
from tests.tools.histories.player import place as memory_disk
from tests.tui.commands.conftest import COMMAND
from tests.tui.inspector.driving import doctor_says

MODE_QUESTION, MODE_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"

STEPS = 150
"""Things that are sent in one life."""

LOOKED_AT = 0.03
"""Share of the steps after which it is given another size, for which it must draw."""

ANSWERS_S = 20.0
"""How long it may take to answer; far more than it does."""

ENDS_S = 20.0
"""How long it may take to end, on a machine with other work; at most 6 s when nobody reads what it draws."""

SAYS_S = 2.0
"""How long at most until a program that fails says where, and between its lines."""

OTHER_SIZES = [(81, 25), (41, 13), (101, 31)]
"""For which it must draw."""

UNDRAWN = "\ufffe"
"""Fills a screen of which every row is to be drawn; no program draws it."""

REST_S, RESTS = 0.1, 4
"""How often in a row, and how long each time, it draws nothing and waits before it is at rest; cursors blink."""

SHELL = "{command}; echo; echo ENDED $?; read rest"
"""The shell keeps the terminal after the program."""

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/:;\"'!@#$%^&*()[]{}<>?,.-_=+|\\~` "

SEQUENCES = tuple(
    f"\x1b{rest}"
    for rest in (
        "", "[A", "[B", "[C", "[D", "[H", "[F", "[5~", "[6~", "[3~", "[2~", "OP", "[15~", "[24~", "[Z", "[1;5C", "[1;2B",
        "[97;5u", "[27u", "[13;2u", "[57358;1:3u", "x", "b", "\x1b", "[I", "[O", "[?2026;2$y", "[1;1R", "[99999;99999R",
        "[?1;2c", "]11;rgb:0000/0000/0000\x07", "P1+r544e=1\x1b\\", "[<", "[<0;", "[", "O",
        "[200~", "[201~", "[999999999999;5u", "[1;99A", "[\x00A", "_G1\x1b\\",
    )
)  # fmt: skip
"""Keys, answers of terminals, and sequences that are none or stop short."""

CONTROLS = tuple(chr(code) for code in range(1, 32) if chr(code) not in "\x11\x13\x1c")
"""Without those by which a terminal stops its output or ends its program."""


def is_at_work(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_RUNNING)
    except psutil.NoSuchProcess:
        return False


def tell_wait(pid: int) -> str:
    """Return what a process waits for in the kernel; not all systems tell."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return "?"


class Life:
    """A terminal with a shell that runs the program."""

    def __init__(self, folder: Path, pick: random.Random) -> None:
        self.pick = pick
        self.sent: deque[str] = deque(maxlen=40)
        env = os.environ | dict.fromkeys(("HOME", "HERMES_HOME", "TMPDIR"), str(folder))
        env |= {
            "PYTHONFAULTHANDLER": "1",
            "TERM": "xterm-256color",
            "EDITOR": "true",
            "VISUAL": "true",
            "HERMES_MEMORY_SECRETS": "file",
        }
        command = shlex.join([*COMMAND, "--db", str(folder / "memory.db")])
        self.shell, self.handle = pty.fork()
        if not self.shell:
            os.chdir(folder)
            os.execvpe("sh", ["sh", "-c", SHELL.format(command=command)], env)
        os.set_blocking(self.handle, False)
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.ByteStream(self.screen)
        self.resize(80, 24)
        self.wait_for_output(ANSWERS_S)
        self.family: set[psutil.Process] = set()

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, wait_s: float) -> bool:
        """Read what is drawn, and answer what a terminal answers; return whether there was anything."""
        if self.handle < 0 or not select.select([self.handle], [], [], wait_s)[0]:
            return False
        try:
            drawn = os.read(self.handle, 1 << 20)
        except OSError:  # the shell has ended
            return False
        self.write(MODE_ANSWER * drawn.count(MODE_QUESTION))
        self.stream.feed(drawn.replace(MODE_QUESTION, b""))
        return True

    def write(self, data: bytes) -> None:
        """Type; what the program does not read in time is lost, as in a terminal."""
        for start in range(0, len(data), 1024):
            with suppress(BlockingIOError, OSError):
                os.write(self.handle, data[start : start + 1024])
            if len(data) > 1024:
                self.read(0)

    def wait_for_output(self, wait_s: float) -> None:
        until = time.monotonic() + wait_s
        while not self.read(0.1):
            assert time.monotonic() < until, "it does not answer"

    def settle(self) -> None:
        """Read until nothing more is drawn, and nothing is at work that could draw."""
        until, at_rest = time.monotonic() + ANSWERS_S, 0
        while at_rest < RESTS and time.monotonic() < until:
            at_rest = 0 if self.read(REST_S) or any(map(is_at_work, self.find_programs())) else at_rest + 1

    @property
    def lines(self) -> list[str]:
        buffer, screen = self.screen.buffer, self.screen  # its own display fails at half of a wide character
        return ["".join(buffer[y][x].data for x in range(screen.columns)) for y in range(screen.lines)]

    def has_ended(self) -> bool:
        return any("ENDED" in line for line in self.lines)

    def find_programs(self) -> list[psutil.Process]:
        """Return what the shell runs, and note it for the end."""
        try:
            found = psutil.Process(self.shell).children(recursive=True)
        except psutil.NoSuchProcess:
            found = []
        self.family |= set(found)
        return found

    def send_something(self) -> None:
        pick = self.pick
        match pick.choices(
            ("letter", "sequence", "control", "text", "paste", "mouse", "resize", "storm", "stop", "noise", "burst"),
            (40, 15, 12, 5, 5, 12, 4, 1, 1, 3, 3),
        )[0]:
            case "letter":
                data = pick.choice(LETTERS)
            case "sequence":
                data = pick.choice(SEQUENCES)
            case "control":
                data = pick.choice(CONTROLS)
            case "text":
                data = pick.choice(TEXTS)
            case "paste":
                data = f"\x1b[200~{pick.choice((*TEXTS, *TEXTS, *BROKEN_PASTES, *LONG_PASTES))}\x1b[201~"
            case "mouse":
                x, y = (pick.choice([pick.randrange(1, most), pick.choice([-5, 0, most, 9999])]) for most in (80, 24))
                data = "".join(
                    f"\x1b[<{pick.choice([0, 2, 32, 35, 64, 65, 4, 128])};{x};{y}{end}"
                    for end in "MmM"[: pick.randrange(1, 4)]
                )
            case "noise":
                data = pick.randbytes(pick.randrange(1, 60)).decode("latin-1").replace("\x13", "").replace("\x1c", "")
            case "burst":
                data = "".join(pick.choices([*LETTERS, *SEQUENCES, *CONTROLS], k=pick.randrange(5, 60)))
            case "stop":
                return self.stop_and_continue()
            case "resize" | "storm" as kind:
                for _ in range(1 if kind == "resize" else 15):
                    size = pick.choice(SIZES)
                    self.sent.append(f"size {size}")
                    self.resize(*size)
                    self.write(pick.choice(LETTERS).encode() if kind == "storm" else b"")
                return None
        self.sent.append(repr(data[:60]))
        encoded = data.encode("latin-1" if all(ord(char) < 256 for char in data) else "utf-8", "surrogatepass")
        cut = pick.randrange(len(encoded) + 1) if pick.random() < 0.1 else len(encoded)
        self.write(encoded[:cut])
        self.read(0)
        self.write(encoded[cut:])
        return None

    def stop_and_continue(self) -> None:
        numbers = self.pick.choice([[signal.SIGTSTP], [signal.SIGSTOP], [signal.SIGCONT], [signal.SIGWINCH] * 5])
        self.sent.append(str(numbers))
        for process in self.find_programs()[:1]:
            with suppress(psutil.NoSuchProcess):
                for number in (*numbers, signal.SIGCONT):
                    process.send_signal(number)

    def look(self) -> None:
        """See that it draws every row for another size. Of the same one the system tells nobody, and nothing is drawn."""
        self.write(b"\x1b[201~")  # no paste goes on
        self.settle()
        if self.has_ended():
            return
        before = self.screen.columns, self.screen.lines
        columns, rows = self.pick.choice([size for size in OTHER_SIZES if size != before])
        self.resize(columns, rows)
        undrawn = self.screen.default_char._replace(data=UNDRAWN)
        for y in range(rows):
            self.screen.buffer[y].update(dict.fromkeys(range(columns), undrawn))
        until = time.monotonic() + ANSWERS_S
        while not self.has_ended() and UNDRAWN * columns in self.lines:
            assert time.monotonic() < until, f"it does not draw {columns}x{rows} after {before}"
            self.read(0.1)

    def end(self) -> None:
        """End the program in some way, and see that it ends."""
        programs = self.find_programs()
        how = self.pick.choice(["keys", "close", "close while it ends", signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
        self.sent.append(f"end: {how}")
        if how in ("keys", "close while it ends"):
            self.write(b"\x1b[201~\x1b")
            self.settle()
            self.write(b"\x11" * 2)  # ctrl+q; the second leaves with drafts
        elif isinstance(how, signal.Signals):
            for process in programs[:1]:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(how)
        if how in ("close", "close while it ends"):
            os.close(self.handle)
            self.handle = -1
        until = time.monotonic() + ENDS_S
        while any(map(is_alive, self.family)) and time.monotonic() < until:
            if not self.read(0.05):
                time.sleep(0.01)
        assert not any(map(is_alive, self.family)), f"it does not end by {how}"

    def tell_state(self) -> str:
        """Return what the programs are doing, where their threads are, and what was on the screen. It ends them."""
        self.find_programs()
        shown, left = self.lines, [process for process in self.family if is_alive(process)]
        said = [f"{process.status()} in {tell_wait(process.pid)}: {shlex.join(process.cmdline())}" for process in left]
        self.screen.reset()
        self.screen.resize(200, 200)
        for process in left:
            process.send_signal(signal.SIGABRT)  # the Python fault handler writes to the terminal then
        while self.read(SAYS_S):
            pass
        return "\n".join(line.rstrip() for line in [*said, *filter(str.strip, self.lines), *shown])

    def close(self) -> None:
        for process in [*self.find_programs(), psutil.Process(self.shell)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if self.handle >= 0:
            os.close(self.handle)
        os.waitpid(self.shell, 0)


def fuzz_terminal(folder: Path, seed: int, steps: int = STEPS) -> int:
    """Lead one life of the program; return how many things were sent.

    :raises AssertionError: with the seed and what was sent last
    """
    fill_store(folder / "memory.db")
    pick, done = random.Random(seed), 0
    life = Life(folder, pick)
    try:
        while done < steps and not life.has_ended():
            done += 1
            life.send_something()
            life.read(pick.choice([0, 0, 0, 0.02]))
            if pick.random() < LOOKED_AT:
                life.look()
        life.find_programs()
        life.end()
    except AssertionError as error:
        raise AssertionError(
            f"seed {seed}, {done} sent, the last: {list(life.sent)}: {error}\n{life.tell_state()}"
        ) from error
    finally:
        life.close()
    reports = sorted(folder.rglob("hermes-memory-tui-crash-*.txt"))
    assert not reports, f"seed {seed}, the last: {list(life.sent)}: {reports[0].read_text(encoding='utf-8')}"
    assert doctor_says(folder / "memory.db") == [], f"seed {seed}"
    return done


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    args = parser.parse_args(argv)
    failed = 0
    for seed in range(args.seed, args.seed + args.lives):
        with tempfile.TemporaryDirectory(dir=memory_disk()) as folder:
            try:
                print(f"seed {seed}: {fuzz_terminal(Path(folder), seed)} sent", flush=True)
            except AssertionError as error:
                failed += 1
                print(error, flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
