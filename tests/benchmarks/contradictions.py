"""Whether values that files give otherwise than the facts that cite them are found, in lines of real files.

    python -m tests.benchmarks.contradictions REPOSITORY... [--facts 400] [--planted 60] [--seed 1] [--missed] [--never]
    python -m tests.benchmarks.contradictions REPOSITORY... --entries [--missed]

Of the files at HEAD of each repository, lines that give something a number, a version, a name, an address or a switch are cited
by a fact that says so, in one of many wordings. Of so many facts the file then says another value; of the others it stays, moves,
is laid out otherwise, gets a comment, or gives another thing another value. With --never the file never said what the planted
facts say, and the others cite lines nearby. The rules were chosen over three repositories, and counted over three others.

With --entries it is counted how many contradictions of `tests/store/files/kept_cases.txt` are told of entries, as *Files* does,
and how many other entries, there and in the hosts' files at HEAD, are told to contradict one of the facts.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.find.fact_comparison import FactComparer
from hermes_memory_store.host_files.memory_entries import split_entries
from hermes_memory_store.places.citations import MOST_BYTES, cite_lines, compare_cited_lines
from hermes_memory_store.places.cited_values import FactWords
from hermes_memory_store.store import Store
from tests.benchmarks.timing import table
from tests.store.files.test_entry_comparison import load_kept_rows

KINDS = (".py", ".toml", ".yaml", ".yml", ".json", ".env", ".md", ".cfg", ".ini", ".ts", ".js", ".go", "Dockerfile")

HOST_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "copilot-instructions.md", ".cursorrules", ".mdc")

GIVEN = (
    re.compile(
        r"""^\s*(?:export |const |let |var |ENV |ARG |- )?["']?(?P<name>[A-Za-z][\w.-]{2,40})["']?\s*(?:: \w+ )?[=:]\s*"""
        r"""["']?(?P<value>https?://[^\s"'`]+|[\^~>=v]{0,2}\d[\d._]*|true|false|True|False|[A-Za-z][\w./-]{2,30})(?P<unit>ms|s|m)?["']?,?\s*(?:#.*|//.*)?$"""
    ),
    re.compile(r"^(?P<name>FROM) (?P<value>[a-z][\w/]+:(?:\d[\w.]*))"),
    re.compile(r"^(?P<name>EXPOSE) (?P<value>\d+)"),
    re.compile(r"(?P<name>port|version|timeout|limit|Python|Node|retries) (?:is |of |to |=|: )?`?(?P<value>\d[\d.]*)"),
)

TYPES = re.compile(r"^(?:str|int|bool|float|string|number|boolean|any|object|None|null|self|type|Any|dict|list|bytes)$")


class Place(NamedTuple):
    path: str
    lines: list[str]
    at: int
    name: str
    value: str
    start: int


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", nargs="+", type=Path)
    options.add_argument("--facts", type=int, default=400)
    options.add_argument("--planted", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--never", action="store_true", help="plant values that never stood in the cited lines")
    options.add_argument("--missed", action="store_true", help="print what is missed and what is wrongly found")
    options.add_argument(
        "--entries", action="store_true", help="compare facts with the entries of hosts' files instead"
    )
    given = options.parse_args()
    if given.entries:
        count_entries(given.repositories, is_telling=given.missed)
        return
    rows = []
    for repository in given.repositories:
        dice = random.Random(given.seed)
        places = [place for path, content in read_files(repository) for place in find_places(path, content)]
        dice.shuffle(places)
        counts: Counter[str] = Counter()
        for number, place in enumerate(spread(places)[: given.facts]):
            is_planted = number < given.planted
            attempt = try_never if given.never else try_place
            outcome, fact, before, after = attempt(place, dice, is_planted=is_planted)
            counts[f"{'planted' if is_planted else 'other'} {outcome}"] += 1
            if given.missed and outcome in ("missed", "wrong value", "found" if not is_planted else "missed"):
                print(f"{outcome}: {place.path}: {fact.target}: {fact.content}\n  - {before}\n  + {after}")
        planted, others = (sum(n for k, n in counts.items() if k.startswith(word)) for word in ("planted", "other"))
        rows.append(
            (
                repository.parent.name,
                f"{counts['planted found']} of {planted}",
                counts["planted wrong value"],
                f"{counts['other found']} of {others}",
            )
        )
    table(("repository", "found", "with a wrong value", "false"), rows)


def count_entries(repositories: list[Path], *, is_telling: bool) -> None:
    texts = [text for repository in repositories for _, text in read_files(repository, HOST_FILES)]
    entries = [entry for text in texts for entry in split_entries(text)]
    shown = []
    for half in ("choosing", "judging"):
        rows = [row for row in load_kept_rows() if row.half == half]
        with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "memory.db") as store:
            facts = [store.facts.write(f"t{n}", row.notation).fact for n, row in enumerate(rows)]
        outcomes = [(row, row.compare(fact)) for row, fact in zip(rows, facts, strict=True)]
        comparer = FactComparer(fact for row, fact in zip(rows, facts, strict=True) if row.expected != "o")
        others = [(row.entry, (row.heading,)) for row in rows if row.expected != "o"]
        others += [(entry.text, entry.headings) for entry in entries]
        told = [(text, comparer.compare(text, headings)[:1]) for text, headings in others]
        wrong = [(text, said[0]) for text, said in told if said and said[0].outcome == "opposite"]
        planted = [said for row, said in outcomes if row.expected == "o"]
        shown.append((half, f"{planted.count('o')} of {len(planted)}", f"{len(wrong)} of {len(others)}"))
        for row, said in outcomes if is_telling and half == "choosing" else ():
            if said != row.expected:
                print(f"{said} for {row.expected}: {row.notation} | {row.entry}")
        for text, comparison in wrong if is_telling and half == "choosing" else ():
            print(f"false: {comparison.fact.notation} | {text[:200]} | {comparison.reason}")
    table(("half", "found", "false"), shown)


def read_files(repository: Path, kinds: tuple[str, ...] = KINDS) -> Iterator[tuple[str, str]]:
    listed = git(repository, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines()
    for path in listed:
        if path.endswith(kinds) and "lock" not in path:
            try:
                content = git(repository, "show", f"HEAD:{path}")
            except subprocess.CalledProcessError:  # a snapshot lacks its largest files
                continue
            if len(content) < MOST_BYTES and b"\0" not in content:
                yield path, content.decode("utf-8", "replace")


def git(repository: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True).stdout


def find_places(path: str, content: str) -> Iterator[Place]:
    lines = [line.rstrip() for line in content.split("\n")]
    for at, line in enumerate(lines):
        for form in GIVEN:
            match = form.search(line)
            if match and len(line) < 200 and not TYPES.match(match["value"]) and is_value(path, line, match):
                value = re.sub(r"^[\^~>=]*v?(?=\d)", "", match["value"]).rstrip(".")
                yield Place(path, lines, at, match["name"], value, match.start("value") + match["value"].rindex(value))
                break


def is_value(path: str, line: str, match: re.Match[str]) -> bool:
    value, is_quoted = match["value"], line[: match.start("value")].endswith(("'", '"'))
    if value[0].isalpha() and value.lower() not in ("true", "false") and not value.startswith("http:"):
        if ":" in value:
            return True
        return is_quoted if not path.endswith((".yaml", ".yml", ".env", "Dockerfile", ".cfg", ".ini")) else True
    return len(value.strip("^~>=v")) > 1 or not path.endswith(".md")


def spread(places: list[Place]) -> list[Place]:
    """Return the places so that no file and no kind of value has most of them."""
    counts: Counter[str] = Counter()
    ranked = []
    for place in places:
        kind = (
            "number" if place.value[0].isdigit() else "switch" if place.value.lower() in ("true", "false") else "name"
        )
        counts[place.path] += 1
        counts[kind] += 1
        ranked.append((counts[place.path] * 20 + counts[kind], place))
    return [place for _, place in sorted(ranked, key=lambda pair: pair[0])]


def word(place: Place, dice: random.Random) -> FactWords:
    """Return a fact that says what a line says, as agents put it."""
    stem = re.sub(r"\W+", "", Path(place.path).stem.lower()) or "repo"
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]+", " ", place.name).lower()
    target = dice.choice((f"{stem}.{name.replace(' ', '_')}", name.replace(" ", "."), f"{stem}.{name.split()[-1]}"))
    value = place.value
    if value.lower() in ("true", "false"):
        value = dice.choice(("on", "enabled", "true") if value.lower() == "true" else ("off", "disabled", "false"))
        return FactWords(target, dice.choice((value, f"{name} is {value}", f"{value}, since the last release")))
    forms = (
        "{v}",
        "{n} is {v}",
        "{n} {v}",
        "set to {v}",
        "we use {v} here",
        "{v}, never changed by hand",
        "{v} in production",
        "keep {n} at {v}",
        "`{v}`",
    )
    return FactWords(target, dice.choice(forms).format(v=value, n=name))


def try_place(place: Place, dice: random.Random, *, is_planted: bool) -> tuple[str, FactWords, str, str]:
    fact = word(place, dice)
    first = max(0, place.at - dice.choice((0, 0, 0, 1, 2, 4)))
    last = min(len(place.lines) - 1, place.at + dice.choice((0, 0, 1, 2, 4)))
    lines, line = [*place.lines], place.lines[place.at]
    value = other_value(place.value, dice) if is_planted else place.value
    after = change_line(place, line, value, dice)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f" + Path(place.path).suffix).write_text("\n".join(lines), encoding="utf-8")
        citation = cite_lines(folder, f"f{Path(place.path).suffix}:{first + 1}-{last + 1}", fact=fact)
    line = f"{line}   {citation.values} {first}-{last}"
    lines[place.at] = after
    if not is_planted and dice.random() < 0.4:
        change_neighbour(place, lines, first, last, dice)
    if dice.random() < 0.5:
        lines[:0] = ["# another line", ""] * dice.randrange(1, 6)
    check = compare_cited_lines(citation, "\n".join(lines).encode(), fact)
    if check.other is None:
        return "missed" if is_planted else "none", fact, line, after
    is_right = check.other.theirs in value
    return "found" if not is_planted or is_right else "wrong value", fact, line, f"{after}  ->  {check.other}"


def try_never(place: Place, dice: random.Random, *, is_planted: bool) -> tuple[str, FactWords, str, str]:
    """Cite lines that never had the fact's value: another one in its place, or lines that are beside it."""
    fact = word(place._replace(value=other_value(place.value, dice)) if is_planted else place, dice)
    first = max(0, place.at - dice.choice((0, 0, 0, 1, 2)))
    last = min(len(place.lines) - 1, place.at + dice.choice((0, 0, 1, 2)))
    if not is_planted:
        first = min(len(place.lines) - 1, place.at + 1)
        last = min(len(place.lines) - 1, first + dice.randrange(3))
    region = place.lines[first : last + 1]
    if not any(region):
        return "none", fact, "", ""
    name = "f" + Path(place.path).suffix
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_text("\n".join(place.lines), encoding="utf-8")
        citation = cite_lines(folder, f"{name}:{first + 1}-{last + 1}", fact=fact)
    check = compare_cited_lines(citation, "\n".join(place.lines).encode(), fact)
    if check.other is None:
        return "missed" if is_planted else "none", fact, place.lines[place.at], ""
    is_right = check.other.theirs in place.value
    return "found" if not is_planted or is_right else "wrong value", fact, "\n    ".join(region), f"{check.other}"


def change_line(place: Place, line: str, value: str, dice: random.Random) -> str:
    before, after = line[: place.start], line[place.start + len(place.value) :]
    layout = dice.random()
    comment = " # see the notes" if not place.path.endswith((".json", ".md")) else ""
    if layout < 0.15:
        after += comment
    elif layout < 0.3:
        before = (
            before.replace("=", " = ").replace("  ", " ")
            if "=" in before and not place.path.endswith(".env")
            else "  " + before
        )
    elif layout < 0.36 and comment and before.endswith('"') and after.startswith('"'):
        before, after = before[:-1] + "'", "'" + after[1:]
    return before + value + after


def other_value(value: str, dice: random.Random) -> str:
    if value.lower() in ("true", "false"):
        flipped = "false" if value.lower() == "true" else "true"
        return flipped.capitalize() if value[0].isupper() else flipped
    if "://" in value:
        return re.sub(
            r"(?<=//)([\w-]+)", lambda match: match[1] + dice.choice(("-eu", "2", "-staging")), value, count=1
        )
    if value[0].isdigit():
        numbers = re.findall(r"\d+", value)
        at = dice.randrange(len(numbers))
        parts = re.split(r"(\d+)", value)
        parts[2 * at + 1] = str(int(numbers[at]) + dice.choice((1, 2, 3, 10)))
        return "".join(parts)
    if ":" in value:
        return value.partition(":")[0] + ":" + other_value(value.partition(":")[2], dice)
    return dice.choice(
        [name for name in ("rabbit", "postgres", "eu-west-1", "bookworm", "celery", "nginx") if name != value]
    )


def change_neighbour(place: Place, lines: list[str], first: int, last: int, dice: random.Random) -> None:
    """Give something else in the cited lines another value, or put a line between them."""
    for at in range(first, last + 1):
        numbers = re.search(r"(?<![\w.])\d{1,5}(?![\w.])", lines[at])
        if at != place.at and numbers and numbers[0] != place.value:
            lines[at] = lines[at][: numbers.start()] + str(int(numbers[0]) + 7) + lines[at][numbers.end() :]
            return
    lines.insert(place.at, dice.choice(("", "# a word on what follows", "other = 17")))


if __name__ == "__main__":
    main()
