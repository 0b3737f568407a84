"""Read a file of conversations with questions, in the form of LoCoMo.

A list of samples, each with `conversation` (`session_N`: turns with `speaker`, `dia_id`, `text`; `session_N_date_time`), `qa`
(questions with the ids of the turns that are their evidence) and, if there are any, `observation`: what was noted, by session
and speaker, each with the ids of the turns it rests on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_memory_store.errors import ArgumentError, FileError, shorten_value
from hermes_memory_store.model import Millis

ANSWERED = (1, 2, 3, 4)
"""Categories of questions that the conversation answers; those of the fifth have no answer in it."""

TURN_ID = re.compile(r"D\d+:\d+")

DATE_FORM = "%I:%M %p on %d %B, %Y"
"""`1:56 pm on 8 May, 2023`."""


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """One turn of a conversation."""

    id: str
    speaker: str
    text: str
    at: Millis
    session: int


@dataclass(frozen=True, slots=True)
class NotedFact:
    """What was noted of a conversation in one line."""

    speaker: str
    text: str
    turns: frozenset[str]
    """Ids of the turns it rests on."""
    session: int


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """A question, and where its answer stands."""

    text: str
    evidence: frozenset[str]
    """Ids of turns."""
    category: int
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, in the order in which it was held."""

    name: str
    turns: tuple[SaidTurn, ...]
    facts: tuple[NotedFact, ...]
    questions: tuple[EvidenceQuestion, ...]


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a file. :raises ArgumentError: it is none of these; names the sample and what is wrong in it"""
    try:
        samples = json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", str(path)) from None
    except ValueError as error:
        raise ArgumentError(f"{path} is not JSON: {error}", str(path)) from None
    if not isinstance(samples, list) or not samples:
        raise ArgumentError(f"{path} holds no list of conversations", str(path))
    return [read_conversation(path, number, sample) for number, sample in enumerate(samples, 1)]


def read_conversation(path: Path, number: int, sample: Any) -> Conversation:
    """Return one sample of a file. :raises ArgumentError: as `read_conversations`"""
    try:
        name = str(sample.get("sample_id", number))
        turns = tuple(read_turns(sample["conversation"]))
        facts = tuple(read_noted_facts(sample.get("observation", {}), {turn.id: at for at, turn in enumerate(turns)}))
        return Conversation(name, turns, facts, tuple(read_questions(sample["qa"], {turn.id for turn in turns})))
    except KeyError as error:
        raise ArgumentError(f"{path}: sample {number} has no {error.args[0]!r}", str(path)) from None
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise ArgumentError(
            f"{path}: sample {number} is not as expected: {shorten_value(str(error))}", str(path)
        ) from None


def read_turns(conversation: dict[str, Any]) -> Iterator[SaidTurn]:
    """Return the turns of all sessions. What was said is dated by its session, a second apart."""
    number = 1
    while f"session_{number}" in conversation:
        held = datetime.strptime(conversation[f"session_{number}_date_time"], DATE_FORM).replace(tzinfo=UTC)
        begun = int(held.timestamp() * 1000)
        for place, turn in enumerate(conversation[f"session_{number}"]):
            yield SaidTurn(turn["dia_id"], turn["speaker"], turn["text"], Millis(begun + 1000 * place), number)
        number += 1


def read_noted_facts(observation: dict[str, Any], places: dict[str, int]) -> Iterator[NotedFact]:
    """Return what was noted, in the order in which it was said."""
    found = []
    for session, by_speaker in observation.items():
        number = int(re.findall(r"\d+", session)[0])
        for speaker, lines in by_speaker.items():
            for text, evidence in lines:
                turns = frozenset(TURN_ID.findall(str(evidence))) & places.keys()
                found.append(NotedFact(speaker, text, turns, number))
    return iter(sorted(found, key=lambda one: (one.session, min((places[turn] for turn in one.turns), default=0))))


def read_questions(questions: list[dict[str, Any]], known: set[str]) -> Iterator[EvidenceQuestion]:
    """Return the questions that the conversation answers and that name their evidence."""
    for one in questions:
        evidence = frozenset(TURN_ID.findall(" ".join(one.get("evidence", ()))))
        if one.get("category", ANSWERED[0]) in ANSWERED and evidence & known:
            answer = str(one.get("answer", ""))
            yield EvidenceQuestion(one["question"], evidence, one.get("category", ANSWERED[0]), answer)
