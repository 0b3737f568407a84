"""Whose words a text is: what the person said, as captured or heard, what a page or a tool said, or neither.

What hooks hear is kept as salted digests of word sequences alone, in memory, for the time of the session. The salt is of that
session: elsewhere a digest tells nothing, not even whether two sessions heard the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import Any

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.text_folding import fold_text
from hermes_memory_store.safe_text import lazy_pattern

CARRIED_SHARE = 0.6
"""Share of a fact's words that a person's turn must have, so that the fact is his: a summary changes some."""

QUOTED = lazy_pattern(
    r"```.*?(?:```|\Z)|^\s*>.*$|<(\w+)[^>]*>.*?</\1>"
    r"|\"[^\"\n]{12,}\"|«[^»\n]{12,}»|“[^”\n]{12,}”|„[^“”\n]{12,}[“”]|[「『][^」』\n]{6,}[」』]",
    re.DOTALL | re.MULTILINE,
)
"""What a person pastes is not what he says: fenced blocks, quoted lines, marked-up text, and what stands in quotation marks,
but for a name."""

LONGEST_TURN = 2_000
"""Characters of a turn that are looked at, from each end: an order stands at the beginning or the end of a paste."""

EXACT = (
    r"\b[a-z]{2}\d{2}(?: ?\w{2,}){3,}|\b(?:bc1|0x)\w{6,}"
    r"|\b[\w-]+\.(?:md|json|toml|ya?ml|sh|env)\b|\b\d[\d,.]{2,}\d\b"
)
"""What must be said exactly beside addresses: accounts, files, amounts."""

SEQUENCE = 3
"""Words of a sequence, of those that say something; a shorter sentence is one as a whole."""

MOST_SAID = MOST_HEARD = 20_000
"""Digests of a session; the oldest go first."""

MOST_SESSIONS = 32
"""Sessions of which digests are kept; the one that was heard last stays longest."""

SAID_SHARE = 0.75
"""Share of a sentence's sequences that the person must have said, so that it is his: a summary changes some."""

HEARD_SHARE = 0.5

LONGEST_SPOKEN = 2_000
"""Characters of a message above which it may be a page that was pasted: what was heard before is not the person's by it."""

WORDS = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{2,}|\d")
"""Words, and each character of a script without spaces."""

SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+|[。！？\n]+")


class TextOrigin(Enum):
    """Whose words a text is, which decides how much it takes to make it wait."""

    SAID = "said"  # the person's own: it never waits
    UNKNOWN = "unknown"
    HEARD = "heard"  # of a page or a tool


@dataclass(frozen=True, slots=True)
class SessionWords:
    """What was said in a session and written in it before."""

    person_turns: Sequence[str] = ()
    """What the person himself said, as captured."""
    other_turns: Sequence[str] = ()
    """What tools and pages said, as captured: what only they said waits at a lower score."""
    recent_facts: Sequence[tuple[str, str]] = ()
    """Targets and contents that were written before, oldest first, for what is written in pieces."""
    digests: Sequence[SessionDigests] = ()
    """What hooks heard of both, in the sessions of the host that this one may be."""


def find_origin(words: SessionWords, content: str) -> tuple[TextOrigin, str]:
    """Return whose words a content is, and where they were heard.

    It is the person's where he said every sentence of it, though a page says the same: he may repeat a page. It was heard
    where one of the other sentences was.
    """
    sentences = [sentence for sentence in SENTENCE_END.split(content) if sentence.strip()]
    others = [sentence for sentence in sentences if not is_said(words, sentence)]
    if sentences and not others:
        return TextOrigin.SAID, ""
    for sentence in others:
        for digests in words.digests:
            if source := digests.find_source(sentence):
                return TextOrigin.HEARD, source
        if is_carried_by(words.other_turns, fold_text(sentence)):
            return TextOrigin.HEARD, "a tool in a captured conversation"
    return TextOrigin.UNKNOWN, ""


def is_said(words: SessionWords, sentence: str) -> bool:
    if any(digests.is_said(sentence) for digests in words.digests):
        return True
    return is_carried_by(words.person_turns, fold_text(sentence))


class SessionDigests:
    """What was said and heard in one session of a host."""

    def __init__(self) -> None:
        self.theme = ""
        self._salt = os.urandom(16)
        self._said: dict[int, str] = {}
        """Digests, and the file that he committed them in; empty where he said so."""
        self._heard: dict[int, str] = {}

    def note_said(self, text: str, file: str = "") -> None:
        """Note a message of the person. Without quotations, fenced code and marked-up text: what he pastes he need not mean.

        :param file: where a tool read it, as the source says, though it is his
        """
        spoken = QUOTED.sub("\n", text)
        pairs = [*self._digest_sentences(spoken), *((exact, exact) for exact in self._digest_exact(spoken))]
        if file or len(text) > LONGEST_SPOKEN:
            pairs = [pair for pair in pairs if to_place(self._heard.get(pair[0], file)) == file]
        digests = dict.fromkeys((said for _, said in pairs), file)
        older, newer = (digests, self._said) if file else (self._said, digests)  # a message stays longer than a file
        add_newest(older, newer, MOST_SAID)
        self._said = older

    def note_heard(self, text: str, source: str, call: str = "") -> None:
        """Note what a tool returned; what another one said before stays that one's.

        :param call: its words are the model's own where the tool repeats them
        """
        own = {digest for digest, _ in self._digest_sentences(call)} - self._heard.keys()
        heard = [digest for digest, _ in self._digest_sentences(text) if digest not in own]
        self._said = {digest: file for digest, file in self._said.items() if not file or file != to_place(source)}
        add_newest(self._heard, {digest: self._heard.get(digest, source) for digest in heard}, MOST_HEARD)

    def is_said(self, sentence: str) -> bool:
        """Check whether the person said a sentence: most of its words in their order, and all that must be exact."""
        if not self._said or not all(digest in self._said for digest in self._digest_exact(sentence)):
            return False
        digests = [said for _, said in self._digest_sentences(sentence)]
        return bool(digests) and sum(digest in self._said for digest in digests) >= SAID_SHARE * len(digests)

    def find_source(self, sentence: str) -> str:
        """Return where a sentence was heard; empty where it was not."""
        digests = [digest for digest, _ in self._digest_sentences(sentence)] if self._heard else []
        sources = [self._heard[digest] for digest in digests if digest in self._heard]
        return max(sources, key=sources.count) if sources and len(sources) >= HEARD_SHARE * len(digests) else ""

    def heard_alone(self) -> SessionDigests:
        """Return the same without what the person said."""
        digests = SessionDigests()
        digests._salt, digests._heard = self._salt, self._heard
        return digests

    def _digest_sentences(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the digests of a text's sequences: of the words, and of what they say, which a negation turns around."""
        for sentence in SENTENCE_END.split(text):
            words = to_content_words(fold_text(sentence))
            sign = "-" if words and is_negated(sentence) else "+"
            for start in range(max(1, len(words) - SEQUENCE + 1) if words else 0):
                sequence = " ".join(words[start : start + SEQUENCE])
                yield self._digest(sequence), self._digest(sign + sequence)

    def _digest_exact(self, text: str) -> Iterator[int]:
        return (self._digest(f"={part}") for part in find_exact_parts(fold_text(text)))

    def _digest(self, words: str) -> int:
        from hashlib import blake2b  # here: it loads OpenSSL, 2 ms that nobody who hears nothing should wait for

        return int.from_bytes(blake2b(words.encode("utf-8", "replace"), digest_size=8, key=self._salt).digest())


class WordDigests:
    """The digests of all sessions, by their host and its name of the session."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], SessionDigests] = {}

    def open(self, host: str, name: str) -> SessionDigests:
        """Return the digests of a session, which are new where nothing of it was heard."""
        digests = self._sessions.pop((host, name), None) or SessionDigests()
        self._sessions[host, name] = digests
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return digests

    def forget(self, host: str, name: str) -> None:
        self._sessions.pop((host, name), None)

    def find(self, keys: Collection[tuple[str, str]], theme: str, host: str | None) -> list[SessionDigests]:
        """Return the digests of sessions, by host and name; else what was heard in those of a host in a theme.

        Nobody knows then which of them is meant, and what the person said in another one is not said here.
        """
        sessions = [*self._sessions.items()]  # another thread may add one meanwhile
        named = [digests for key, digests in sessions if key in keys]
        of_host = [digests for (name, _), digests in sessions if name == host and digests.theme == theme]
        return named or [digests.heard_alone() for digests in of_host]

    def __bool__(self) -> bool:
        return bool(self._sessions)


@cache
def load_exact_pattern() -> re.Pattern[str]:
    from hermes_memory_store.intake.scorer import ADDRESSES  # who only reads a store needs no scorer

    addresses = (ADDRESSES.url, ADDRESSES.mail, ADDRESSES.host)
    return re.compile("|".join([*(pattern.pattern for pattern in addresses), EXACT]))


def is_carried_by(turns: Sequence[str], folded: str) -> bool:
    """Check whether what was said in a session carries a text: one turn has most of its words and all that must be exact."""
    if not turns:
        return False
    exact, words = find_exact_parts(folded), to_content_words(folded)
    for turn in turns:
        text, spoken, sentences = read_turn(turn)
        carried = sum(word in spoken for word in words)
        if words and carried >= CARRIED_SHARE * len(words) and all(part in text for part in exact):
            shares = [(len(sentence.intersection(words)), sign) for sentence, sign in sentences]
            if (max(shares)[0], is_negated(folded)) in shares:  # the sentence that is most like it says the same
                return True
    return False


@lru_cache(maxsize=64)
def read_turn(turn: str) -> tuple[str, frozenset[str], list[tuple[frozenset[str], bool]]]:
    """Return what somebody says in a turn himself, folded, its words, and those of each sentence with whether it is negated."""
    if len(turn) > 2 * LONGEST_TURN:
        turn = f"{turn[:LONGEST_TURN]}\n{turn[-LONGEST_TURN:]}"
    spoken = QUOTED.sub("\n", turn)
    sentences = [
        (frozenset(to_content_words(fold_text(sentence))), is_negated(sentence))
        for sentence in SENTENCE_END.split(spoken)
    ]
    text = fold_text(QUOTED.sub(" ", turn))
    return text, frozenset(to_content_words(text)), sentences


def is_negated(sentence: str) -> bool:
    """Check whether a sentence says the contrary of what it says without its negations: two of them make none."""
    from hermes_memory_store.language.binding_words import count_negations  # who only reads a store needs none

    return count_negations(sentence) % 2 == 1


def find_exact_parts(folded: str) -> set[str]:
    return {match[0].rstrip(".,") for match in load_exact_pattern().finditer(folded)}


def to_content_words(text: str) -> list[str]:
    """Return the words of a folded text that say something, in their order, without endings."""
    from hermes_memory_store.intake.scorer import SIGNALS

    small = SIGNALS.words["negations", "small"]
    return [word[:6] for word in WORDS.findall(text) if word not in small]


def to_place(source: str) -> str:
    """Return where something was heard without when: `read in FILE` of `read in FILE, 14:02`."""
    return source.rpartition(", ")[0] or source


def add_newest(digests: dict[int, Any], newer: dict[int, Any], most: int) -> None:
    """Add digests as the newest ones; the oldest go beyond the most."""
    for digest in newer:
        digests.pop(digest, None)
    digests |= newer
    for digest in [*digests][: max(0, len(digests) - most)]:
        del digests[digest]
