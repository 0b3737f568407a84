"""The words of facts that are erased, and the other texts that hold them: captured turns, questions, answers of calls.

A content of several words is looked for as a whole, and so is each word that names one thing only, such as a key, a password
or an address. One ordinary word (`redis`) is nothing to look for: it stands in texts that have nothing to do with the fact.
Such a content is looked for only in what is known to belong to the fact.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.action_rows import erase_actions, find_holding_actions
from hermes_memory_store.items.origin_rows import ERASED, TEXT_COLUMNS, erase_origin_texts
from hermes_memory_store.projects.branch_states import erase_branches

MIN_DISTINCTIVE = 6
"""Characters of a word with digits, or of several parts, that names one thing only."""

MIN_LONG = 20
"""Characters of a word that names one thing only, whatever it is made of."""

WORD = re.compile(r"[^\s\"'`<>(){}\[\],;]+")

TOKEN = re.compile("[a-z0-9]+")
"""A run of characters that a folded phrase and a text that holds it have in common as a whole."""

VERSIONS = "SELECT before, after FROM journal WHERE uid = ? AND entity = 'fact' AND digest IS NULL"

PRESENT = "SELECT type, target, content FROM facts WHERE uid = ?"

TARGETS = "SELECT lower(hex(uid)), target FROM facts"

QUESTIONS = "SELECT id, why, facts FROM injections WHERE why IS NOT NULL"

ANSWERS = "SELECT key, answer FROM calls"

ORIGINS = f"SELECT {', '.join(TEXT_COLUMNS)} FROM origins WHERE salt <> x''"

BRANCHES = "SELECT id, uid, project_id, name FROM project_branches"

LASTING_NAMES = {
    "the name of a session": "SELECT name FROM sessions",
    "the name of a project": "SELECT name FROM projects",
    "a folder or remote of a project": "SELECT value FROM project_aliases",
    "the label of a scope": "SELECT label FROM scopes",
}
"""Names that the journal repeats or by which things are found again: no purge of a fact takes them out."""


class PhraseSet:
    """Folded phrases to look for in texts; a text costs its own length, however many phrases there are."""

    def __init__(self, phrases: Iterable[str] = ()) -> None:
        self.phrases = frozenset(phrases)
        tokens = {phrase: set(TOKEN.findall(phrase)) for phrase in self.phrases}
        often = Counter(token for some in tokens.values() for token in some)
        self._by_token: dict[str, list[str]] = {}
        """By the token of each that the fewest others have."""
        for phrase, some in tokens.items():
            self._by_token.setdefault(min(some, key=often.__getitem__, default=""), []).append(phrase)

    def __or__(self, other: PhraseSet) -> PhraseSet:
        return PhraseSet(self.phrases | other.phrases)

    def is_in(self, text: str) -> bool:
        """Check whether a text holds one of the phrases, not as a part of longer words."""
        folded = fold_phrase(text)
        tokens = {"", *TOKEN.findall(folded)}
        return any(
            holds_phrase(folded, phrase) for token in tokens & self._by_token.keys() for phrase in self._by_token[token]
        )


@dataclass(frozen=True, slots=True)
class ErasedWords:
    """What one or several facts ever said."""

    uids: frozenset[str]
    contents: PhraseSet
    """All contents, to be looked for in what is known to belong to the facts."""
    phrases: PhraseSet
    """What is looked for everywhere."""


def load_erased_words(conn: sqlite3.Connection, keys: Collection[bytes]) -> ErasedWords:
    """Load what facts say and what they said before, from a store or a backup of one. Call it before they are erased."""
    contents: dict[str, None] = {}
    notations: dict[str, None] = {}
    for uid in keys:
        for kind, target, content in conn.execute(PRESENT, (uid,)):
            contents[content] = None
            notations[f"{kind}[{target}]: {content}"] = None
        for row in conn.execute(VERSIONS, (uid,)):
            contents |= {
                content_before: None for text in row if (content_before := json.loads(text or "{}").get("content"))
            }
    phrases = {fold_phrase(text) for text in notations}
    for content in contents:
        words = [word.strip(".:!?") for word in WORD.findall(content)]
        phrases |= {fold_phrase(word) for word in words if is_distinctive(word)}
        if len(words) > 1:
            phrases.add(fold_phrase(content))
    return ErasedWords(
        frozenset(uids.format_uid(uid) for uid in keys),
        PhraseSet(fold_phrase(content) for content in contents),
        PhraseSet(phrases),
    )


def is_distinctive(word: str) -> bool:
    """Check whether a word names one thing only: a key, a password, a number, an address."""
    if len(word) >= MIN_LONG:
        return True
    has_letters, has_digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    joined = sum(not letter.isalnum() for letter in word) > 1  # a path, an address, a key in groups
    return len(word) >= MIN_DISTINCTIVE and (has_digits or (joined and has_letters))


def fold_phrase(text: str) -> str:
    """Return a text without regard to case and line breaks."""
    return " ".join(text.casefold().split())


def holds_phrase(folded: str, phrase: str) -> bool:
    """Check whether a folded text holds a folded phrase, and not as a part of longer words."""
    start = folded.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        before, after = folded[start - 1 : start], folded[end : end + 1]
        if not (is_inside_word(before, phrase[0]) or is_inside_word(phrase[-1], after)):
            return True
        start = folded.find(phrase, start + 1)
    return False


def is_inside_word(left: str, right: str) -> bool:
    """Check whether two neighbouring characters belong to one word. Scripts without spaces have no such words."""
    return all(letter.isascii() and letter.isalnum() for letter in (left, right)) and bool(left and right)


def erase_from_records(conn: sqlite3.Connection, words: ErasedWords) -> int:
    """Erase the words from questions of recalls, saved answers of calls, actions and origins; return how many held them.

    The records stay: a call that is repeated must still find that it was answered.
    """
    words = add_lone_targets(conn, words)
    tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    count = 0
    if "injections" in tables:
        questions = [(key,) for key, *row in conn.execute(QUESTIONS).fetchall() if is_question_erased(words, *row)]
        conn.executemany("UPDATE injections SET why = NULL WHERE id = ?", questions)
        count += len(questions)
    if "calls" in tables:
        cleaned = [(clean_answer(answer, words), key, answer) for key, answer in conn.execute(ANSWERS).fetchall()]
        answers = [(clean, key) for clean, key, answer in cleaned if clean != answer]
        conn.executemany("UPDATE calls SET answer = ? WHERE key = ?", answers)
        count += len(answers)
    if "actions" in tables:
        count += erase_actions(conn, find_holding_actions(conn, words.phrases.is_in))
    if "origins" in tables and count_origins(conn, words):
        count += erase_origin_texts(conn, words.phrases.is_in)
    if "project_branches" in tables:
        branches = conn.execute(BRANCHES).fetchall()
        count += erase_branches(conn, [row for row in branches if words.phrases.is_in(row[3])])
    return count


def count_records(conn: sqlite3.Connection, words: ErasedWords) -> int:
    """Count what `erase_from_records` would change."""
    words = add_lone_targets(conn, words)
    questions = sum(is_question_erased(words, *row) for _, *row in conn.execute(QUESTIONS))
    answered = sum(clean_answer(answer, words) != answer for _, answer in conn.execute(ANSWERS))
    done = len(find_holding_actions(conn, words.phrases.is_in))
    return int(count_origins(conn, words) + questions + answered + done)


def count_origins(conn: sqlite3.Connection, words: ErasedWords) -> int:
    return sum(any(text and words.phrases.is_in(text) for text in texts) for texts in conn.execute(ORIGINS))


def add_lone_targets(conn: sqlite3.Connection, words: ErasedWords) -> ErasedWords:
    """Add the targets that go with the facts since no other fact has them; one ordinary word is looked for in their own alone."""
    names = {uid.replace("-", "") for uid in words.uids}
    targets = {(uid in names, fold_phrase(target)) for uid, target in conn.execute(TARGETS)}
    lone = {target for is_own, target in targets if is_own and (False, target) not in targets}
    several = [target for target in lone if not target.isalnum() and any(map(str.isalnum, target))]
    parted = [*several, *filter(is_distinctive, lone)]
    return ErasedWords(words.uids, words.contents | PhraseSet(lone), words.phrases | PhraseSet(parted))


def is_question_erased(words: ErasedWords, question: str, facts: str) -> bool:
    """Check whether a question holds the words or has found the facts: a part of their words did."""
    return not words.uids.isdisjoint(json.loads(facts)) or words.phrases.is_in(question)


def find_lasting_names(conn: sqlite3.Connection, words: ErasedWords) -> list[str]:
    """Find which kinds of names hold the words, and keep them: a sentence says it, never the name."""
    words = add_lone_targets(conn, words)
    return [
        kind for kind, sql in LASTING_NAMES.items() if any(words.phrases.is_in(name) for (name,) in conn.execute(sql))
    ]


def clean_answer(answer: str, words: ErasedWords) -> str:
    """Return an answer without the texts that hold the words. One that names the facts is known to belong to them."""
    is_own = any(uid in answer for uid in words.uids)
    try:
        value = json.loads(answer)
    except ValueError:
        value = answer
    clean = clean_value(value, (words.phrases | words.contents if is_own else words.phrases).is_in, words.uids)
    return answer if clean == value else json.dumps(clean, ensure_ascii=False)


def clean_value(value: Any, holds: Callable[[str], bool], names: Collection[str]) -> Any:
    """Return a JSON value with each line of a text that holds the words replaced. JSON inside a text is looked into."""
    if isinstance(value, dict):
        return {key: clean_value(item, holds, names) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_value(item, holds, names) for item in value]
    if not isinstance(value, str) or value in names or not holds(value):
        return value
    try:
        inner = json.loads(value)
    except ValueError:
        inner = None
    if not isinstance(inner, dict | list):
        lines = "\n".join(ERASED if holds(line) else line for line in value.split("\n"))
        return ERASED if holds(lines) else lines
    return json.dumps(clean_value(inner, holds, names), ensure_ascii=False)
