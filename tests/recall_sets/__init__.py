"""Sets that judge recall: facts, and questions each with the fact that answers it. All text is our own.

`developers/*.txt` is one memory of teams in four countries, a file a language: `@ scope`, facts in MEMORY_SPEC, and below a fact
the questions it answers, `? category: text`. `chinese.txt` and the like are a text a line, with questions `? text`. A question
of `?` is of the choosing half, one of `??` of the kept half: numbers are chosen on the first and judged on the second.
"""

from __future__ import annotations

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


def _numbered_lines(file: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line:
            yield f"{file.name}, line {number}", line


_HALVES = {"?": Half.CHOOSING, "??": Half.KEPT}
