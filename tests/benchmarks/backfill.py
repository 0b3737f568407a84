"""Bringing in the sessions of Claude Code on a disk: reading, storing, the first answer, and questions to all of it.

    python -m tests.benchmarks.backfill --out DIR [--sessions 19000] [--talks locomo10.json]

Sessions are made in DIR once: 30 to 60 messages of sentences of Python's manual, with what tools returned between them. Those
of the talks lie among them, each at a random time. A question has one right session: of each talk, twenty whose evidence lies
in one session, spread evenly; and as many about made sessions, each of two of the five coined words that a session is about
and that few others know. Plain FTS5 is one table of the same texts, asked for any word of the question, and the session of the
best row. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any
from uuid import UUID

from hermes_memory_bridge.backfill.disk_sessions import find_disk_sessions
from hermes_memory_bridge.backfill.history import History, Wanted
from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.benchmarks.timing import table

NEWEST, SPAN_S = 1_760_000_000, 2 * 365 * 86_400

SYLLABLES = [first + vowel + last for first in "kzv" for vowel in "aou" for last in "lrn"]

ABOUT = ("The {} job waits for {}.", "Did you see what {} returned?", "Let us keep {} and drop {}.", "{} goes first.")

THEME = "nowhere"
"""The theme of all sessions, whose folder `/nowhere` is none on this disk."""

ASK = """
import sys
from hermes_memory_store.store import Store
with Store.open(sys.argv[1], read_only=True) as store:
    hits = store.turns.search(sys.argv[2], sys.argv[3], limit=1)
    assert hits and hits[0].turn.session == sys.argv[4], hits
"""

Message = tuple[str, str]  # role and text

Question = tuple[str, str]  # what is asked, and the name of the right session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where the sessions and the store are made")
    parser.add_argument("--sessions", type=int, default=19_000)
    parser.add_argument("--talks", type=Path, help="conversations of LoCoMo, with their questions")
    options = parser.parse_args()
    home, path = options.out / f"home-{options.sessions}", options.out / f"memory-{options.sessions}.db"
    talks = json.loads(options.talks.read_text(encoding="utf-8")) if options.talks else []
    if not home.exists():
        write_sessions(home, options.sessions, talks)
    for old in options.out.glob(f"{path.name}*"):
        old.unlink()
    rows = store_sessions(home, path)
    with Store.open(path, read_only=True) as store:
        plain = sqlite3.connect("")  # a temporary file
        plain.execute("CREATE VIRTUAL TABLE texts USING fts5 (content, session UNINDEXED)")
        texts = store.db.rows("SELECT t.id, t.content, s.name FROM turns t JOIN sessions s ON s.id = t.session_id")
        plain.executemany("INSERT INTO texts (rowid, content, session) VALUES (?, ?, ?)", texts)
        questions = {"talks": find_talk_questions(talks), "made sessions": find_term_questions(options.sessions)}
        rows += compare_answers(store, plain, questions)
    table(("what", "figure"), rows)


def write_sessions(home: Path, count: int, talks: list[dict[str, Any]]) -> None:
    rng = random.Random(19)
    text = re.sub(r"\s+", " ", re.sub(r"[*`]", "", " ".join(topics.values())))
    sentences = [part for part in re.split(r"(?<=[.!?]) ", text) if 20 <= len(part) <= 300]
    spoken = dict(zip(rng.sample(range(1, count), sum(1 for _ in find_talks(talks))), find_talks(talks), strict=True))
    for number in range(count):
        name, messages = spoken.get(number) or (str(UUID(int=number)), to_messages(number, sentences))
        folder = home / ".claude" / "projects" / f"-work-{number % 40}"
        folder.mkdir(parents=True, exist_ok=True)
        file, end = folder / f"{name}.jsonl", NEWEST - number * SPAN_S // count
        file.write_text("".join(to_lines(name, messages, end, rng, sentences)), encoding="utf-8")
        os.utime(file, (end, end))


def find_terms(number: int) -> list[str]:
    """Return the coined words that a made session is about; one in 4,000 sessions has the same."""
    rng = random.Random(number)
    return ["".join(SYLLABLES[rng.randrange(27)] for _ in range(3)) for _ in range(5)]


def to_messages(number: int, sentences: list[str]) -> list[Message]:
    """Return the messages of a made session, of 500 characters on average; two in five name what the session is about."""
    rng, terms, messages = random.Random(-1 - number), find_terms(number), []
    for place in range(rng.randint(30, 60)):
        words = rng.choices(sentences, k=rng.randint(1, 4) if place % 2 == 0 else rng.randint(3, 8))
        if rng.random() < 0.4:
            words.insert(0, rng.choice(ABOUT).format(*rng.sample(terms, 2)))
        messages.append((("user", "assistant")[place % 2], " ".join(words)))
    return messages


def to_lines(name: str, messages: list[Message], end: int, rng: random.Random, sentences: list[str]) -> Iterator[str]:
    """Yield the lines of a session's file, with what tools returned after every other answer."""
    line: dict[str, Any] = {"sessionId": name, "cwd": f"/{THEME}", "version": "2.1.330", "gitBranch": "main"}
    for place, (role, text) in enumerate(messages):
        at = datetime.fromtimestamp(end - 30 * (len(messages) - place), UTC).isoformat()
        message = {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]}
        line |= {"type": role, "message": message, "uuid": str(UUID(int=rng.getrandbits(128))), "timestamp": at}
        yield json.dumps(line) + "\n"
        if place % 4 == 1:
            result = {"type": "tool_result", "tool_use_id": "t", "content": "\n".join(rng.choices(sentences, k=12))}
            yield json.dumps(line | {"type": "user", "message": {"role": "user", "content": [result]}}) + "\n"


def find_talks(talks: list[dict[str, Any]]) -> Iterator[tuple[str, list[Message]]]:
    """Yield the name and the messages of each session of the talks."""
    for talk in talks:
        said = talk["conversation"]
        roles = {said["speaker_a"]: "user", said["speaker_b"]: "assistant"}
        for key in filter(re.compile(r"session_\d+$").match, said):
            messages = [(roles[turn["speaker"]], f"{turn['speaker']}: {turn['text']}") for turn in said[key]]
            yield f"{talk['sample_id']}-{key.removeprefix('session_')}", messages


def find_talk_questions(talks: list[dict[str, Any]]) -> list[Question]:
    questions = []
    for talk in talks:
        own = []
        for asked in talk["qa"]:
            sessions = {evidence.partition(":")[0].removeprefix("D") for evidence in asked.get("evidence", ())}
            if asked["category"] <= 4 and len(sessions) == 1:
                own.append((asked["question"], f"{talk['sample_id']}-{sessions.pop()}"))
        questions += own[:: max(1, len(own) // 20)][:20]
    return questions


def find_term_questions(count: int) -> list[Question]:
    numbers = random.Random(7).sample(range(count), 100)
    return [("what did we decide about {} and {}?".format(*find_terms(one)), str(UUID(int=one))) for one in numbers]


def store_sessions(home: Path, path: Path) -> list[tuple[str, object]]:
    """Read the sessions without storing, then store them; the newest one is asked for as soon as it is there."""
    start = time.process_time()
    found, _ = find_disk_sessions(HostEnvironment(home, "linux", {}), ["claude-code"])
    policies = Policies.load(home / "memory-themes.toml")  # there is none: the defaults, whatever this machine has
    with Store.open(path, policies=policies) as store:
        plan = History(store, Wanted(), found).plan()
        reading_s = time.process_time() - start
        history = History(store, Wanted(), found)
        began, first_s = time.perf_counter(), 0.0

        def ask(done: int, _all: int) -> None:
            nonlocal first_s
            if done == 1:
                newest = store.db.value("SELECT content FROM turns")
                subprocess.run([sys.executable, "-c", ASK, path, THEME, newest, plan.sessions[0].name], check=True)
                first_s = time.perf_counter() - began

        start = time.process_time()
        report = history.bring(plan, ask)
        storing_s = time.process_time() - start
    return [
        ("sessions", f"{report.sessions:,}"),
        ("messages", f"{report.messages:,}"),
        ("read without storing, s a GB", reading_s * 1e9 / sum(disk.size for disk in found)),
        ("messages stored a second", f"{report.messages / storing_s:,.0f}"),
        ("read and stored in all, s", f"{reading_s + storing_s:,.0f}"),
        ("first answer by another process, s after the start (of the clock)", first_s),
        ("bytes on disk a message", f"{path.stat().st_size / report.messages:,.0f}"),
    ]


def compare_answers(
    store: Store, plain: sqlite3.Connection, questions: dict[str, list[Question]]
) -> list[tuple[str, object]]:
    """Compare what is found first, and the times of the 95th percentile, with plain FTS5, taking turns."""
    sql = "SELECT session FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 1"

    def ask_plain(text: str) -> list[str | None]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return [session for (session,) in plain.execute(sql, (words,))]

    def ask_store(text: str) -> list[str | None]:
        return [hit.turn.session for hit in store.turns.search(THEME, text, limit=1)]

    rows: list[tuple[str, object]] = []
    times: tuple[list[float], list[float]] = ([], [])
    for name, asked in questions.items():
        first = [0, 0]
        for text, session in asked:
            for place, ask in enumerate((ask_store, ask_plain)):
                start = time.process_time()
                first[place] += ask(text)[:1] == [session]
                times[place].append((time.process_time() - start) * 1000)
        rows += [(f"{name}: right session first, of {len(asked)}", f"{first[0]}; plain FTS5 {first[1]}")] * bool(asked)
    ours, theirs = (sorted(some)[len(some) * 95 // 100] for some in times)
    return [*rows, ("search, 95th percentile, ms", f"{ours:.1f}; plain FTS5 {theirs:.1f}")]


if __name__ == "__main__":
    main()
