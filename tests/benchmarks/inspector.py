"""How fast the inspector shows facts, and answers keys, in a real pseudo-terminal.

    python -m tests.benchmarks.inspector STORE… [--rounds 8] [--keys 300] [--words 8]

Start-up is the time from `fork` to the chunk of output after which the sentinel stands on the screen, each round with
a minimal Textual app in turn, so that both see the same machine. Key latency is the time from writing a key to the end
of the next synchronised frame; the terminal answers Textual's question for mode 2026, so every frame is bracketed.
`pyte` replays the screen; it is needed for this measurement only.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

import pyte

from hermes_memory_store.store import Store
from hermes_memory_tui.widgets.filter_line import DEBOUNCE_S

COLUMNS, ROWS = 140, 40
MODE_QUESTION, MODE_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
END_OF_FRAME = b"\x1b[?2026l"
PATIENCE_S = 60.0
LOADING_S = 8.0
"""How long the rest of a million keys may take to load on a slow machine."""

IDLE_S = 20.0

DEBOUNCE_MS = DEBOUNCE_S * 1000

WORDS = ("cache", "deploy", "token", "report")

BYTECODE = str(Path(tempfile.gettempdir()) / "hermes-memory-benchmark-bytecode")

MINIMAL = """
from textual.app import App
from textual.widgets import Static
class Minimal(App):
    def compose(self):
        yield Static("SENTINEL")
Minimal().run()
"""

INSPECTOR = "import sys; from hermes_memory_tui.app import run_inspector; sys.exit(run_inspector(sys.argv[1]))"


@dataclass
class Terminal:
    """A program in a pseudo-terminal, and what stands on its screen."""

    argv: list[str]
    pid: int = 0
    fd: int = 0
    started: float = 0.0
    screen: pyte.Screen = field(default_factory=lambda: pyte.Screen(COLUMNS, ROWS))

    def __enter__(self) -> Terminal:
        self.stream = pyte.ByteStream(self.screen)
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # As an installed program has it: compiled once, by the warm-up, and not again.
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", PYTHONPYCACHEPREFIX=BYTECODE)
            os.execv(self.argv[0], self.argv)
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, timeout: float) -> bytes:
        """What the program wrote meanwhile; nothing when it wrote nothing in time."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return b""
        data = os.read(self.fd, 65536)
        if asked := data.count(MODE_QUESTION):  # a frame each: one that is not answered is waited for
            os.write(self.fd, MODE_ANSWER * asked)
        return data

    def until(self, shows: Callable[[list[str]], bool]) -> tuple[float, float]:
        """Wall and CPU seconds from the start to the chunk after which the screen shows it.

        Chunks are replayed only when nothing more comes, so that the replay holds up neither the program nor the clock.
        """
        waiting: list[tuple[float, float, bytes]] = []
        while time.perf_counter() - self.started < PATIENCE_S:
            data = self.read(0.05)
            if data:
                waiting.append((time.perf_counter() - self.started, self.cpu(), data))
                continue
            for wall, cpu, chunk in waiting:
                self.stream.feed(chunk.replace(MODE_QUESTION, b""))
                if shows(self.screen.display):
                    return wall, cpu
            waiting.clear()
        raise TimeoutError("\n".join(self.screen.display))

    def cpu(self) -> float:
        """CPU seconds of all its threads so far."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def memory(self) -> float:
        """Resident MiB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def rest(self, seconds: float) -> None:
        """Read along for a while: until everything is loaded that is loaded after the first frame."""
        begin = time.perf_counter()
        while (data := self.read(0.0)) or time.perf_counter() - begin < seconds:
            self.feed(data or self.read(0.05))

    def feed(self, data: bytes) -> None:
        """Draw what came."""
        self.stream.feed(data.replace(MODE_QUESTION, b""))

    def seen(self, text: str, patience_s: float = 10.0) -> float:
        """Seconds until a text stands on the screen."""
        begin = time.perf_counter()
        while time.perf_counter() - begin < patience_s:
            data = self.read(0.02)
            if data:
                self.feed(data)
                if any(text in line for line in self.screen.display):
                    return time.perf_counter() - begin
        raise TimeoutError(f"{text!r} was not seen:\n" + "\n".join(self.screen.display))

    def key(self, key: bytes) -> float:
        """Seconds from the key to the end of the next frame."""
        self.rest(0.0)
        begin, frame = time.perf_counter(), b""
        os.write(self.fd, key)
        while time.perf_counter() - begin < 5:
            frame += self.read(1.0)
            if END_OF_FRAME in frame:
                passed = time.perf_counter() - begin
                self.feed(frame)  # only what changed is sent: a frame that is missed leaves its place wrong
                return passed
        raise TimeoutError(f"no frame after {key!r}")


def facts_shown(lines: list[str]) -> bool:
    """Whether rows of the fact table stand on the screen."""
    return sum("●" in line or "○" in line for line in lines[2:]) >= 10


def start(argv: list[str], shows: Callable[[list[str]], bool]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and MiB at the first screen that shows it."""
    with Terminal(argv) as terminal:
        wall, cpu = terminal.until(shows)
        return wall, cpu, terminal.memory()


def start_ups(stores: list[Path], rounds: int) -> dict[str, object]:
    """Start-up of the minimal app and of the inspector on each store, in turn."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(MINIMAL)
        script.flush()
        programs = {"minimal": ([sys.executable, script.name], lambda lines: "SENTINEL" in "".join(lines))}
        for store in stores:
            programs[store.stem] = ([sys.executable, "-c", INSPECTOR, str(store)], facts_shown)
        for argv, shows in programs.values():
            start(argv, shows)
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in programs}
        for _ in range(rounds):
            for name, (argv, shows) in programs.items():
                taken[name].append(start(argv, shows))
    report: dict[str, object] = {}
    floor = statistics.median(wall for wall, _, _ in taken["minimal"])
    for name, figures in taken.items():
        wall = statistics.median(figure[0] for figure in figures)
        report[name] = {
            "wall_ms": round(wall * 1000),
            "min_ms": round(min(figure[0] for figure in figures) * 1000),
            "cpu_ms": round(statistics.median(figure[1] for figure in figures) * 1000),
            "mib": round(statistics.median(figure[2] for figure in figures)),
            "over_minimal_ms": round((wall - floor) * 1000),
        }
    return report


def key_latency(store: Path, keys: int) -> dict[str, object]:
    """Key to frame, for moving one line and one page, after everything is loaded; a small store would end before the keys do, and
    at its end nothing moves."""
    report: dict[str, object] = {}
    with Terminal([sys.executable, "-c", INSPECTOR, str(store)]) as terminal:
        terminal.until(facts_shown)
        terminal.rest(LOADING_S)
        for name, there, back in (("line", b"j", b"k"), ("page", b"\x1b[6~", b"\x1b[5~")):
            times = []
            for n in range(keys):
                times.append(terminal.key(there if n < keys // 2 else back) * 1000)
                time.sleep(0.03)
            times.sort()
            half, most = times[len(times) // 2], times[int(len(times) * 0.99)]
            report[name] = {"p50_ms": round(half, 1), "p99_ms": round(most, 1)}
        report["mib"] = round(terminal.memory())
    return report


def typing(store: Path, rounds: int) -> dict[str, object]:
    """Letters of the filter line to their frames, and from the last of them, the debounce taken off, to what was found."""
    frames, results = [], []
    with Terminal([sys.executable, "-c", INSPECTOR, str(store)]) as terminal:
        terminal.until(facts_shown)
        terminal.rest(LOADING_S)
        for number in range(rounds):
            word = WORDS[number % len(WORDS)]
            terminal.key(b"/")
            terminal.rest(0.3)
            for letter in word.encode():
                frames.append(terminal.key(bytes([letter])) * 1000)
                time.sleep(0.12)
            terminal.rest(1.0)
            # The last letter once more, by itself: taken off, waited for, and typed again.
            terminal.key(b"\x7f")
            terminal.rest(1.0)
            begin = time.perf_counter()
            os.write(terminal.fd, word[-1:].encode())
            terminal.seen(" found")
            last = time.perf_counter()
            while time.perf_counter() - last < 0.5:
                data = terminal.read(0.05)
                terminal.feed(data)
                if END_OF_FRAME in data:
                    last = time.perf_counter()
                if time.perf_counter() - begin > 3:
                    break
            results.append((last - begin) * 1000 - DEBOUNCE_MS)
            os.write(terminal.fd, b"\x1b")
            terminal.rest(1.0)
    frames.sort()
    results.sort()
    return {
        "letter_p50_ms": round(frames[len(frames) // 2], 1),
        "letter_most_ms": round(frames[-1], 1),
        "result_p50_ms": round(results[len(results) // 2], 1),
        "result_most_ms": round(results[-1], 1),
    }


def others(store: Path, rounds: int) -> dict[str, object]:
    """From another process's commit to the fact on the screen; and what the inspector costs while nothing happens."""
    copy = Path(tempfile.mkdtemp(prefix="hermes-memory-benchmark-")) / store.name
    shutil.copy(store, copy)
    times = []
    try:
        with Terminal([sys.executable, "-c", INSPECTOR, str(copy)]) as terminal, Store.open(copy) as agent:
            terminal.until(facts_shown)
            terminal.rest(LOADING_S)
            for number in range(rounds):
                agent.facts.write("default", f"V[seen.{number}]: marker{number}x")
                times.append(terminal.seen(f"marker{number}x") * 1000)
                terminal.rest(0.5)
            before, begin = terminal.cpu(), time.perf_counter()
            terminal.rest(IDLE_S)
            idle = 100 * (terminal.cpu() - before) / (time.perf_counter() - begin)
            memory = terminal.memory()
    finally:
        shutil.rmtree(copy.parent)
    times.sort()
    return {
        "write_p50_ms": round(times[len(times) // 2]),
        "write_most_ms": round(times[-1]),
        "idle_pct": round(idle, 2),
        "mib": round(memory),
    }


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stores", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--words", type=int, default=8, help="words that are typed, and facts another process writes")
    given = parser.parse_args()
    report = {"start": start_ups(given.stores, given.rounds)}
    if given.keys:
        report["keys"] = {store.stem: key_latency(store, given.keys) for store in given.stores}
    if given.words:
        report["typing"] = {store.stem: typing(store, given.words) for store in given.stores}
        report["others"] = {store.stem: others(store, given.words) for store in given.stores}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
