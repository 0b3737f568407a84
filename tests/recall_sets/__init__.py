"""Sets that judge recall: facts, and questions each with the fact that answers it. All text is our own.

`developers/*.txt` is one memory of teams in four countries, a file a language: `@ scope`, facts in MEMORY_SPEC, and below a fact
the questions it answers, `? category: text`. `chinese.txt` and the like are a text a line, with questions `? text`. A question
of `?` is of the choosing half, one of `??` of the kept half: numbers are chosen on the first and judged on the second.

`work/*.txt` is one memory a kind of work: facts, messages (`= role: text`), prompts to an agent (`> targets | text`, in the kept
half `>>`; `\\n` is a line break) and questions (`? target | text`, `??`). Before the bar stands what the text touches or what
answers it, `=2` being the second message. Nothing there means that nothing must be told.
`later/*.txt` has three more in the same form, and `strangers/*.txt` nine, written without sight of the matcher. By three of
those, `kept`, no number was ever chosen.

`acts.txt` has calls of tools over the same memories: `> targets | act | subject | what it returned`, in the kept half `>>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

SETS = Path(__file__).parent
CATEGORIES = ("synonym", "typo", "identifier", "negation", "paraphrase", "cross-language", "plain")
"""What makes a developer's question hard: `plain` shares its words with the fact."""


class Half(StrEnum):
    """What a question may be used for."""

    CHOOSING = "choosing"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class SetFact:
    """A fact of a set: a line of MEMORY_SPEC, or bare text, and its scope if it has one."""

    line: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question with the fact that answers it, and the file it stands in."""

    text: str
    answer: SetFact
    half: Half
    language: str
    category: str = ""


@dataclass(frozen=True, slots=True)
class RecallSet:
    """One memory and the questions asked of it."""

    facts: tuple[SetFact, ...]
    questions: tuple[SetQuestion, ...]

    def half(self, half: Half) -> tuple[SetQuestion, ...]:
        """Return the questions of one half; every question is asked of all facts."""
        return tuple(question for question in self.questions if question.half is half)


@dataclass(frozen=True, slots=True)
class WorkText:
    """A prompt or a question, and the targets or messages that it wants; none where nothing must be told."""

    text: str
    wanted: frozenset[str]
    half: Half


@dataclass(frozen=True, slots=True)
class ActText:
    """A call of a tool over the memory of one kind of work, and the targets that it wants; none where nothing must be told."""

    work: str
    act: str
    """`read`, `edit`, `run`, or `failed`: a command that did."""
    subject: str
    text: str
    """What it returned; of an edit what was written."""
    wanted: frozenset[str]
    half: Half


@dataclass(frozen=True, slots=True)
class WorkSet:
    """The memory of one kind of work, and what is said there."""

    kind: str
    facts: tuple[str, ...]
    messages: tuple[tuple[str, str], ...]
    prompts: tuple[WorkText, ...]
    questions: tuple[WorkText, ...]


def load_work_sets(folder: str = "work") -> list[WorkSet]:
    """Load the set of each kind of work. :param folder: `work`, `later` or `strangers`"""
    return [_load_work_set(file) for file in sorted((SETS / folder).glob("*.txt"))]


def load_acts() -> list[ActText]:
    """Load the calls of tools, each over the memory of one kind of work."""
    acts, work = [], ""
    for place, line in _numbered_lines(SETS / "acts.txt"):
        mark, _, rest = line.partition(" ")
        if mark == "@":
            work = rest
            continue
        wanted, *call = re.split(r" ?\| ?", rest, maxsplit=3)
        if mark not in (">", ">>") or len(call) != 3:
            raise ValueError(f"{place}: {line!r} is no call; expected `> targets | act | subject | text`")
        act, subject, text = (part.replace("\\n", "\n") for part in call)
        half = _HALVES["?" * len(mark)]
        acts.append(ActText(work, act, subject, text, frozenset(re.findall(r"[^\s,]+", wanted)), half))
    return acts


def load_developer_set() -> RecallSet:
    """Load the questions of developers, of all languages over one memory. :raises ValueError: names the line"""
    facts: list[SetFact] = []
    questions: list[SetQuestion] = []
    for file in sorted((SETS / "developers").glob("*.txt")):
        scope = None
        for place, line in _numbered_lines(file):
            mark, _, rest = line.partition(" ")
            if mark == "@":
                scope = rest
            elif mark in _HALVES:
                category, _, text = rest.partition(": ")
                if category not in CATEGORIES or not text:
                    raise ValueError(f"{place}: {line!r} is no question; expected `? category: text`")
                questions.append(SetQuestion(text, facts[-1], _HALVES[mark], file.stem, category))
            else:
                facts.append(SetFact(line, scope))
    return RecallSet(tuple(facts), tuple(questions))


def load_language_set(language: str) -> RecallSet:
    """Load the set of one language, such as `chinese`: texts without scope or target."""
    facts: list[SetFact] = []
    questions: list[SetQuestion] = []
    for _, line in _numbered_lines(SETS / f"{language}.txt"):
        mark, _, text = line.partition(" ")
        if mark in _HALVES:
            questions.append(SetQuestion(text, facts[-1], _HALVES[mark], language))
        else:
            facts.append(SetFact(line))
    return RecallSet(tuple(facts), tuple(questions))


def _load_work_set(file: Path) -> WorkSet:
    facts: list[str] = []
    messages: list[tuple[str, str]] = []
    said: dict[str, list[WorkText]] = {">": [], "?": []}
    for place, line in _numbered_lines(file):
        mark, _, rest = line.partition(" ")
        if mark == "=":
            role, _, message = rest.partition(": ")
            messages.append((role, message))
        elif mark in _HALVES or mark in (">", ">>"):
            wanted, bar, text = rest.partition("| ")
            if not bar:
                raise ValueError(f"{place}: {line!r} has no bar; expected `{mark} targets | text`")
            half = _HALVES["?" * len(mark)]
            names = frozenset(re.findall(r"[^\s,]+", wanted))
            said[mark[0]].append(WorkText(text.replace("\\n", "\n"), names, half))
        else:
            facts.append(line)
    return WorkSet(file.stem, tuple(facts), tuple(messages), tuple(said[">"]), tuple(said["?"]))


def _numbered_lines(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line:
            yield f"{file.name}, line {number}", line


_HALVES = {"?": Half.CHOOSING, "??": Half.KEPT}
