"""Whether the fact that answers a developer's question is given within a budget of tokens, beside others in the same run.

    pip install rank-bm25 hermes-memory==0.3.0     # each is left out where it is missing
    python -m tests.benchmarks.recall_questions [--model FOLDER] [--half kept] [--by category]
    python -m tests.benchmarks.recall_questions --work [strangers] [--half kept] [--by kind] [--missed]

The set is `tests/recall_sets/developers`: one memory in four languages. `plain FTS5` is porter, any word, bm25; `rank-bm25`
BM25Okapi over lower-case words; `hermes-memory` its own search. All are packed alike: in their order, until the next fact does
not fit, each line in the fence.

`--work` puts the prompts of `tests/recall_sets/work` to the hook of a bridge, each in a session of its own, and the questions to
`recall ask` and `memory_context`. *hit*: of those that want a fact or a message, how many are given one of them; *idle told*: of
those that want none, how many are given anything; *precision*: how much of what is given was wanted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import itertools
import json
import re
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from pathlib import Path

import pytest

from hermes_memory_bridge.embedding.local_nearest import open_local_nearest
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given import Given
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.model import PERSON
from hermes_memory_store.notation.token_count import count_tokens, find_counter
from hermes_memory_store.store import Store
from hermes_memory_themes import EmbeddingSettings, Policies
from hermes_memory_tui.cli.command_runner import run_command_line
from tests.benchmarks.timing import table
from tests.bridge.hook_service.hook_line import send_event
from tests.bridge.running import Shim, bridge, data
from tests.recall_sets import Half, RecallSet, SetQuestion, WorkSet, WorkText, load_developer_set, load_work_sets

BUDGET = 180
THEME = "default"
POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'

Ask = Callable[[str], list[str]]
"""Returns what is given for a question: lines that fit the budget."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--model", help="folder or name of a local model; without it words alone are measured")
    options.add_argument("--half", choices=[half.value for half in Half], help="one half of the questions alone")
    options.add_argument(
        "--work",
        nargs="?",
        const="work",
        help="measure the sets of six kinds of work; of others with `later` or `strangers`",
    )
    options.add_argument("--by", choices=("category", "language", "kind"), help="a column for each; of work, a row")
    options.add_argument("--missed", action="store_true", help="print what is missed, and what is told for nothing")
    given = options.parse_args()
    if given.work:
        halves = [Half(given.half)] if given.half else [*Half]
        table(WORK_HEADINGS, measure_work(given.work, halves, by_kind=given.by == "kind", shows=given.missed))
        return
    wanted = load_developer_set()
    questions = wanted.questions if given.half is None else wanted.half(Half(given.half))
    groups = sorted({getattr(one, given.by) for one in questions}) if given.by else []
    rows: list[tuple[object, ...]] = []
    with open_ways(wanted, given.model) as ways:
        for name, ask in ways.items():
            met = []
            for one in questions:
                lines = ask(one.text)
                met.append(one.answer.line in lines)
                if given.missed and name == "words" and not met[-1]:
                    print(f"{one.category:14} {one.language:8} {one.text}  ->  {one.answer.line}")
            parts = [share_of(group, questions, met, given.by) for group in groups]
            rows.append((name, share(met), *parts))
    print(f"{len(questions)} questions, {len(wanted.facts)} facts, {BUDGET} tokens, counted by {find_counter().name}")
    table(("way", "given", *groups), rows)


def share(met: list[bool]) -> str:
    return f"{statistics.mean(met):.2f}" if met else "-"


def share_of(group: str, questions: tuple[SetQuestion, ...], met: list[bool], by: str) -> str:
    return share([hit for one, hit in zip(questions, met, strict=True) if getattr(one, by) == group])


@contextmanager
def open_ways(wanted: RecallSet, model: str | None) -> Iterator[dict[str, Ask]]:
    """Yield the same facts in each of the ways to ask them."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        store = opened.enter_context(Store.open(Path(folder) / "memory.db", policies=Policies.load(policies)))
        for fact in wanted.facts:
            store.facts.write(THEME, fact.line, scope=fact.scope, actor=PERSON)
        texts = [fact.line for fact in wanted.facts]
        ways: dict[str, Ask] = {"plain FTS5": lambda line: pack(plain(line))}
        plain = ask_fts5(texts)
        with suppress(ImportError):
            ranked = ask_rank_bm25(texts)
            ways["rank-bm25"] = lambda line: pack(ranked(line))
        with suppress(ImportError):
            other = ask_hermes_memory(Path(folder) / "other.db", wanted)
            ways["hermes-memory 0.3.0"] = lambda line: pack(other(line))
        ways["words"] = lambda line: to_notations(store.recall.give([THEME], line, BUDGET))
        if model is not None:
            near = open_local_nearest(store, EmbeddingSettings(provider="local", model=model), create=True)
            assert near is not None, f"{model} is not on this machine"
            opened.enter_context(near).fill()
            ways[near.ranked_by] = lambda line: to_notations(
                store.recall.give([THEME], line, BUDGET, nearest=near(line))
            )
        yield ways


def to_notations(given: Given) -> list[str]:
    """The facts, without the day that stands behind each where a question asks when."""
    return [item.fact.notation for item in given.items if item.fact is not None]


def pack(lines: list[str]) -> list[str]:
    """The first of some lines that fit the budget."""
    room, fitting = BUDGET - count_tokens(f"{HEAD}\n"), []
    for line in lines:
        room -= count_tokens(f"{MARK}{line}\n")
        if room < 0:
            break
        fitting.append(line)
    return fitting


def ask_fts5(texts: list[str]) -> Ask:
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    conn.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
    stops = stop_forms()

    def ask(line: str) -> list[str]:
        words = [word for word in re.findall(r"\w+", line) if word.lower() not in stops]
        expression = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 50"
        return [texts[key] for (key,) in conn.execute(sql, (expression,))] if words else []

    return ask


def ask_rank_bm25(texts: list[str]) -> Ask:
    index = importlib.import_module("rank_bm25").BM25Okapi([re.findall(r"\w+", text.lower()) for text in texts])

    def ask(line: str) -> list[str]:
        scores = index.get_scores(re.findall(r"\w+", line.lower()))
        best = sorted(range(len(texts)), key=lambda at: -scores[at])[:50]
        return [texts[at] for at in best if scores[at] > 0]

    return ask


def ask_hermes_memory(path: Path, wanted: RecallSet) -> Ask:
    facts = importlib.import_module("hermes_memory.core.facts")
    conn = importlib.import_module("hermes_memory.core.db").get_connection(path)
    for fact in wanted.facts:
        facts.write(conn, fact.line)
        conn.execute("UPDATE facts SET status = 'cold'")  # a full memory refuses to write, and search finds both

    def ask(line: str) -> list[str]:
        try:
            found = facts.search(conn, line, limit=20)
        except sqlite3.Error:  # its search takes what a question contains for syntax
            return []
        return [f"{one['type']}[{one['target']}]: {one['content']}" for one in found]

    return ask


Tell = Callable[[str], list[str]]
"""Returns what is told for a prompt or a question: targets of facts, and `=2` for the second message."""

WORK_HEADINGS = ("way", "half", "kind", "hit", "wanted told", "idle told", "precision")


def measure_work(sets: str, halves: list[Half], *, by_kind: bool, shows: bool) -> list[list[object]]:
    """Return a row for each way and half, or for each kind of work in it; each is measured in a memory of its own."""
    rows: list[list[object]] = []
    for (way, open_way), half in itertools.product(WORK_WAYS.items(), halves):
        answered: list[tuple[str, WorkText, list[str]]] = []
        for work in load_work_sets(sets):
            texts = [one for one in (work.prompts if way == "prompt hook" else work.questions) if one.half is half]
            with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                for name in ("HOME", "HERMES_HOME"):
                    patch.setenv(name, folder)
                db = Path(folder) / "memory.db"
                with open_way(db, work) as tell:
                    answered += [(work.kind, one, tell(one.text)) for one in texts]
        for kind, one, told in answered if shows else ():
            if one.wanted.symmetric_difference(told):
                print(f"{way}, {half}, {kind}: {one.text!r}  ->  {sorted(one.wanted)}, told {told}")
        for kind in sorted({kind for kind, _, _ in answered}) if by_kind else ("all",):
            group = [(one, told) for its, one, told in answered if kind in ("all", its)]
            rows.append([way, half, kind, *work_figures(group)])
    return rows


def work_figures(group: list[tuple[WorkText, list[str]]]) -> Iterator[str]:
    """The figures of some texts with what was told for each, as counts, and precision also as a share."""
    touching = [(one, told) for one, told in group if one.wanted]
    right = sum(len(one.wanted.intersection(told)) for one, told in touching)
    idle = [told for one, told in group if not one.wanted]
    total = sum(len(told) for _, told in group)
    yield f"{sum(not one.wanted.isdisjoint(told) for one, told in touching)} of {len(touching)}"
    yield f"{right} of {sum(len(one.wanted) for one, _ in touching)}"
    yield f"{sum(map(bool, idle))} of {len(idle)}"
    yield f"{right} of {total}, {right / total:.2f}" if total else "-"


def write_work(db: Path, work: WorkSet) -> dict[str, str]:
    """Fill a memory; what stands for each uid in it."""
    with Store.open(db) as store:
        names: dict[str, str] = {}
        for line in work.facts:
            fact = store.facts.write(THEME, line, actor=PERSON).fact
            names[fact.uid] = fact.target
        for number, (role, text) in enumerate(work.messages, 1):
            session = store.sessions.open(THEME, f"conversation {number}")
            names[store.turns.add(THEME, role, text, session=session).uid] = f"={number}"
    return names


@contextmanager
def open_prompt_hook(db: Path, work: WorkSet) -> Iterator[Tell]:
    """Yield what puts a prompt to the hook, each in a session that began before anything was in the memory."""
    with bridge(db) as places:
        sessions = [f"s{number}" for number in range(len(work.prompts))]
        for session in sessions:
            send_event(places, "start", session=session, source="startup")
        write_work(db, work)

        def tell(prompt: str) -> list[str]:
            text = send_event(places, "prompt", session=sessions.pop(), text=prompt, turn="1")
            return [TOLD_FACT.sub(r"\1", line) for line in text.splitlines() if line.startswith(MARK)]

        yield tell


@contextmanager
def open_recall_ask(db: Path, work: WorkSet) -> Iterator[Tell]:
    names = write_work(db, work)

    def tell(question: str) -> list[str]:
        with redirect_stdout(io.StringIO()) as out:
            code = run_command_line(["--db", str(db), "--theme", THEME, "recall", "ask", "--json", "--", question])
        assert code == 0, out.getvalue()
        return [names[item["uid"]] for item in json.loads(out.getvalue())["items"]]

    yield tell


@contextmanager
def open_memory_context(db: Path, work: WorkSet) -> Iterator[Tell]:
    names = write_work(db, work)
    with bridge(db), Shim(db, "--tools", "all") as shim:
        shim.open()
        yield lambda question: [
            names[one["uid"]] for one in data(shim.call("memory_context", message=question))["lines"]
        ]


WORK_WAYS = {"prompt hook": open_prompt_hook, "recall ask": open_recall_ask, "memory_context": open_memory_context}

TOLD_FACT = re.compile(re.escape(MARK) + r".\[([^\]]+)\].*")


if __name__ == "__main__":
    main()
