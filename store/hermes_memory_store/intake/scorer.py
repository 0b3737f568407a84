"""The scorer: a logistic regression over the features of a text, in pure Python, with weights shipped as data.

Features are signals (who is addressed, who claims authority, what is ordered, for when, in secret or not), pairs of them,
words and pieces of words, as places in three tables. The weights are made by `python -m tests.tools.train_scorer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain, pairwise
from math import inf, log, sqrt
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.patterns import DataFile, NamedPatterns, SparedPatterns, load_required_words
from hermes_memory_store.intake.text_folding import find_readings
from hermes_memory_store.safe_text import load_pattern

WEIGHTS = Path(__file__).with_name("weights.bin")
"""A line of JSON, then one signed byte a place: signals, words, pieces."""

SIGNAL_PLACES = 1 << 13
WORD_PLACES = 1 << 15
PIECE_PLACES = 1 << 15
"""Sizes of the tables: few enough for 75 KB of weights, many enough that the words of the corpora seldom meet."""

NEAR_WORDS = 10
"""Words within which one signal and another after it make a pair: about a sentence."""

LONGEST_SENTENCE = 160
"""Characters of a sentence from which it is scored clause by clause."""

SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|(?<!\s)\s*\n\s*(?=\n|[-*+>#]|\d+[.)])")

ASSIGNMENT = re.compile(r"^(?:export )?\w+ ?[=:] ?(?!(?:[^\W_]+[_-]){4})\S*$")
"""A sentence that is a setting; a value of five words may be an order."""

CLAUSE_END = re.compile(r"(?<=[,:])\s+|\s+(?=[—–(])|(?<=[，：、])")

LENGTH_DISCOUNT = 1.0
"""What a text's score loses by the logarithm of how many sentences it has: the strongest of many is strong by chance.
Chosen by paragraphs of repositories that nothing was trained with."""

PIECE_LENGTHS = (3, 4, 5)

SIGNALS = DataFile(
    Path(__file__).with_name("signals.txt"), meanings=2, words=0, unspaced=2, patterns=2, negations=0, addresses=2
)

ADDRESSES = NamedPatterns(SIGNALS, "addresses")

IN_NUMBER, IN_NAME = re.compile(r"\.\d"), re.compile(r"\.[a-z]")
"""Points that are in every address of numbers, and in every name of a host."""

SIGNAL_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")

NEGATED_WORDS = 3
"""Words after a negation that it turns: `never write tokens`; and as many after an `or` that follows soon."""

LONGEST_WORD = 24

ADDRESS_WORDS = frozenset(("mailaddr", "webaddr", "knownaddr"))


class Signal(NamedTuple):
    word: int
    name: str


class Sentence(NamedTuple):
    signals: list[Signal]
    """Those of words."""
    words: list[str]
    names: set[str]
    """Of all signals."""


class TextFeatures(NamedTuple):
    """Places in the tables of signals, words and pieces, each once; and the names of the signals."""

    signals: frozenset[int]
    words: frozenset[int]
    pieces: frozenset[int]
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    signals: memoryview
    words: memoryview
    pieces: memoryview
    scales: tuple[float, float, float]
    """What one step of a byte is worth in each table."""
    bias: float
    thresholds: Mapping[str, float]
    """The score from which on a text waits, by its origin; that of a captured `turn`, of a text that gives an
    `order`, and of a `name` that is general."""
    training_set: str
    """SHA-256 of the texts the weights were made with."""


NO_FEATURES = TextFeatures(frozenset(), frozenset(), frozenset(), frozenset())


def find_names(text: str) -> Sentence:
    signals, words = find_signals(replace_addresses(text))
    names = {signal.name for signal in signals}
    signal_names, patterns = load_signal_patterns()
    names.update(signal_names[place] for place, _ in patterns.find_matches(text))
    return Sentence(signals, words, names)


def to_features(signals: list[Signal], words: list[str], names: set[str]) -> TextFeatures:
    signal_names, pairs = load_signal_patterns()[0], set(names)
    for place, first in enumerate(signals):
        for second in signals[place + 1 :]:
            if second.word - first.word > NEAR_WORDS:
                break
            if second.name != first.name:
                pairs.add(f"{first.name}>{second.name}")
    of_patterns = [name for name in names if name in signal_names]
    pairs.update(f"{name}&{other}" for name in of_patterns for other in names if name != other)
    pieces = frozenset().union(*map(to_word_pieces, words))
    words = ["0" if word.isdigit() else word for word in words]
    return TextFeatures(
        frozenset(map(to_signal_place, pairs)),
        frozenset(crc32(text.encode()) % WORD_PLACES for text in {*words, *map(" ".join, pairwise(words))}),
        pieces,
        frozenset(names),
    )


@lru_cache(maxsize=8192)
def to_signal_place(name: str) -> int:
    return crc32(name.encode()) % SIGNAL_PLACES


@lru_cache(maxsize=4096)
def to_word_pieces(word: str) -> frozenset[int]:
    """Return the places of the pieces of a word, which know its family and its misspellings."""
    data = f"<{word[:24]}>".encode()
    return frozenset(
        crc32(data[start : start + length]) % PIECE_PLACES
        for length in PIECE_LENGTHS
        for start in range(len(data) - length + 1)
    )


@cache
def load_weights() -> ScoreWeights:
    """Return the weights, read at the first score. :raises OSError: the package is not whole"""
    head, _, body = WEIGHTS.read_bytes().partition(b"\n")
    header = json.loads(head)
    table = memoryview(body).cast("b")
    words, pieces = SIGNAL_PLACES, SIGNAL_PLACES + WORD_PLACES
    return ScoreWeights(
        table[:words],
        table[words:pieces],
        table[pieces : pieces + PIECE_PLACES],
        tuple(header["scales"]),
        header["bias"],
        header["thresholds"],
        header["training_set"],
    )


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences, without those that only say something, and long ones into runs of clauses."""
    parts = []
    for sentence in SENTENCE_END.split(text):
        run, clauses = "", [sentence]
        if len(sentence) > LONGEST_SENTENCE:
            clauses = CLAUSE_END.split(sentence)
        elif ASSIGNMENT.match(sentence) or ADDRESSES.statement.match(sentence):
            continue
        for clause in clauses:
            if run and len(run) + len(clause) >= LONGEST_SENTENCE:
                parts.append(run)
                run = ""
            run = f"{run} {clause}".strip()
        if run:
            parts.append(run)
    return parts


@lru_cache(maxsize=16)
def score_text(text: str, fewest_signals: int = 0, *, is_message: bool = False) -> tuple[float, TextFeatures]:
    """Return the score of a text's strongest reading, and its features.

    :param fewest_signals: of a sentence that counts
    :param is_message: whether the score counts only if the strongest sentence is general: with none, it is not computed
    """
    readings = [find_sentences(reading) for reading in find_readings(text)]
    if is_message and not any(map(is_general, chain.from_iterable(readings))):
        return -inf, NO_FEATURES
    return max((score_sentences(sentences, fewest_signals) for sentences in readings), key=itemgetter(0))


def find_sentences(text: str) -> list[Sentence]:
    load_signal_patterns()[1].prepare(text)
    return [find_names(part) for part in split_sentences(text)]


def score_sentences(sentences: list[Sentence], fewest_signals: int = 0) -> tuple[float, TextFeatures]:
    """Return the score of the strongest sentence, less what many sentences have by chance, and its features."""
    weights = load_weights()
    counted = [to_features(*sentence) for sentence in sentences if len(sentence.names) >= fewest_signals]
    scores = [(compute_score(features, weights), features) for features in counted]
    score, features = max(scores, key=itemgetter(0), default=(-inf, NO_FEATURES))
    return score - LENGTH_DISCOUNT * log(len(sentences) or 1), features


def compute_score(features: TextFeatures, weights: ScoreWeights) -> float:
    signals, words, pieces = weights.scales
    return (
        weights.bias
        + signals * sum_places(weights.signals, features.signals)
        + words * sum_places(weights.words, features.words) / sqrt(len(features.words) or 1)
        + pieces * sum_places(weights.pieces, features.pieces) / sqrt(len(features.pieces) or 1)
    )


def sum_places(table: memoryview, places: Iterable[int]) -> int:
    return sum([table[place] for place in places])


def find_strongest_signals(features: TextFeatures, weights: ScoreWeights) -> list[str]:
    """Return the signals of a text that speak for an attack, strongest first: each with its pairs."""
    names = sorted(features.names)
    worth = {}
    for name in names:
        pairs = {to_signal_place(f"{name}{mark}{other}") for other in names for mark in ">&"} & features.signals
        worth[name] = weights.signals[to_signal_place(name)] + sum_places(weights.signals, pairs)
    return [name for name in sorted(names, key=lambda name: -worth[name]) if worth[name] > 0]


def is_general(features: TextFeatures | Sentence) -> bool:
    """Check whether a text addresses agents, is for always or everybody, or is to be hidden: what makes an order of a name."""
    return not features.names.isdisjoint(SIGNALS.words["negations", "general"])


@cache
def load_signal_words() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], tuple[int, ...]]:
    """Return the signals of whole words, those of beginnings of words, and the lengths of these beginnings."""
    whole: dict[str, tuple[str, ...]] = {}
    begin: dict[str, tuple[str, ...]] = {}
    for name, *words in SIGNALS.sections["words"]:
        for word in words:
            table, key = (begin, word[:-1]) if word.endswith("*") else (whole, word)
            table[key] = (*table.get(key, ()), name)
    return whole, begin, tuple(sorted({len(key) for key in begin}))


@cache
def load_signal_patterns() -> tuple[list[str], SparedPatterns]:
    patterns = SIGNALS.pairs("patterns")
    return [*patterns], SparedPatterns([*patterns.values()], load_required_words()["signals"])


@lru_cache(maxsize=4096)
def find_word_signals(word: str) -> tuple[str, ...]:
    whole, begin, lengths = load_signal_words()
    names = list(whole.get(word, ()))
    for length in lengths:
        if length > len(word):
            break
        names += begin.get(word[:length], ())
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=64)
def replace_addresses(text: str) -> str:
    """Replace addresses, hosts and numbers of a folded text by their kind: the scorer knows no good or bad address."""
    text = ADDRESSES.mail.sub(" mailaddr ", text) if "@" in text else text
    if "://" in text or "git@" in text or IN_NUMBER.search(text):
        text = ADDRESSES.url.sub(lambda match: f" {to_address_kind(match[1] or match[2] or match[3] or '')} ", text)
    return ADDRESSES.host.sub(" webaddr ", text) if IN_NAME.search(text) else text


def to_address_kind(host: str) -> str:
    """Return `nearaddr` for this machine and private networks, `knownaddr` for public package indexes, else `webaddr`."""
    if ADDRESSES.near.search(host):
        return "nearaddr"
    return "knownaddr" if ADDRESSES.public.search(host) else "webaddr"


def find_signals(text: str) -> tuple[list[Signal], list[str]]:
    """Return the signals of a folded text whose addresses are replaced, in order, and its words; `no-…` after a negation."""
    words = SIGNAL_WORD.findall(text)
    signals: list[Signal] = []
    negations, joiners = (SIGNALS.words["negations", name] for name in ("negation", "or"))
    negated_until = -1
    for place, word in enumerate(words):
        if word in negations or (word in joiners and place - NEGATED_WORDS <= negated_until):
            negated_until = place + NEGATED_WORDS
        for name in find_word_signals(word) if len(word) <= LONGEST_WORD else ():
            signals.append(Signal(place, f"no-{name}" if place <= negated_until else name))
        if word in ADDRESS_WORDS:
            signals.append(Signal(place, word))
    if not text.isascii():
        for name, pattern in SIGNALS.pairs("unspaced").items():
            signals += [Signal(match.start(), name) for match in load_pattern(pattern).finditer(text)]
        signals.sort()
    return signals, words
