"""Why did it say that? The facts that an agent's sentence most likely came from, and what its session was given before.

What is compared are the rare words that a sentence shares with a fact in the wording of that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.database.index_health import FACTS, is_index_usable
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.find.query_terms import QueryTerm, terms_for_runs
from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.find.touched_facts import find_word_hits
from hermes_memory_store.items import fact_pages
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.language.tokenizer import fold_accents, split_runs
from hermes_memory_store.model import Change, Fact, Millis, Tier, Turn, format_notation
from hermes_memory_store.store import Store

LONGEST_SAYING = 8_000
"""Characters of a sentence that are looked at."""

MOST_WORDS = 150
"""Different words of it that are looked for."""

MOST_RECORDS = 50
"""Newest context records of the session, before the moment, whose facts are compared."""

MOST_COMPARED = 200
"""Facts found by their words that are compared."""

NOT_GIVEN = 0.4
"""What a fact counts that the session wrote nothing of and was never given, of one that it was."""

LEAST_EVIDENCE = 0.6
"""Sum of the rarities of shared words below which a fact is no source: a single word that many facts hold."""

ROWS_AT_ONCE = 16
"""Newest journal rows of a fact that are read at once; few facts have more, some have thousands."""

TURNS_COMPARED = 5
"""Captured messages that are compared with a pasted text."""


@dataclass(frozen=True, slots=True)
class Saying:
    """What an agent said, and where and when, as far as that is known."""

    text: str
    theme: str | None = None
    session: str | None = None
    at: Millis | None = None


@dataclass(frozen=True, slots=True)
class FactVersion:
    """A fact as it stood at a moment."""

    notation: str
    wrote: Change
    """The change that gave it this wording."""
    is_current: bool
    """Whether it still says this."""


@dataclass(frozen=True, slots=True)
class SayingSource:
    """A fact that the sentence may come from."""

    fact: Fact
    then: FactVersion
    likelihood: float
    """Above 0; comparable within one answer."""
    words: tuple[str, ...]
    """The shared words as they were said, the rarest first."""
    given: ContextRecord | None
    """The newest context before the moment in which the session was given it."""
    is_own: bool
    """Whether the session wrote it itself."""


@dataclass(frozen=True, slots=True)
class SayingExplanation:
    saying: Saying
    """With what was found out about it."""
    turn: Turn | None
    """The captured message that it is, or is part of."""
    contexts: tuple[ContextRecord, ...]
    """What its session was given before, newest first."""
    sources: tuple[SayingSource, ...]
    """The most likely first."""
    unknown: tuple[str, ...]
    """Its words that no source has."""
    purged: int
    """Facts that its session was given and that were purged since: whether it came from one of them cannot be known."""


@dataclass(frozen=True, slots=True)
class SaidWord:
    term: QueryTerm
    rarity: float
    """From 0, in every fact, to 1, in one or in none."""


def explain_saying(store: Store, saying: Saying, *, limit: int = 12) -> SayingExplanation:
    """Find what a sentence most likely came from.

    Where no session is named, a captured message with the same words says who said it, and when. What was written after
    that moment is no source.

    :raises UnknownTheme:
    """
    turn = find_said_turn(store, saying)
    if turn is not None:
        saying = Saying(saying.text, turn.theme, turn.session, turn.at)
    themes = [saying.theme] if saying.theme is not None else [candidate.name for candidate in store.themes()]
    contexts = find_contexts_before(store, saying)
    records = {uid: record for record in reversed(contexts) for uid in record.facts}
    words, fact_words = measure_words(store, themes, saying.text)
    facts = [*store.facts.by_uids(records).values()]
    fact_uids = {fact.uid for fact in facts}
    facts += [fact for fact in fact_words if fact.uid not in fact_uids]
    sources = [
        source for fact in facts if (source := to_source(store, saying, fact, words, records.get(fact.uid))) is not None
    ]
    sources = sorted(sources, key=lambda candidate: (-candidate.likelihood, -candidate.then.wrote.seq))[:limit]
    explained = {word for source in sources for word in source.words}
    unknown = tuple(word.term.text for word in words if word.term.text not in explained)
    return SayingExplanation(saying, turn, contexts, tuple(sources), unknown, len(records.keys() - fact_uids))


def find_said_turn(store: Store, saying: Saying) -> Turn | None:
    """Find the captured message that a pasted text is, or is part of; none where it is already known who said it."""
    if saying.session is not None:
        return None
    folded = fold_blanks(saying.text)
    if not folded:
        return None
    hits = store.turns.search(saying.theme, saying.text[:LONGEST_SAYING], limit=TURNS_COMPARED, roles=("assistant",))
    return next((hit.turn for hit in hits if folded in fold_blanks(hit.turn.content)), None)


def find_contexts_before(store: Store, saying: Saying) -> tuple[ContextRecord, ...]:
    """Find what the session was given before the moment, newest first; nothing where no session is known."""
    if saying.session is None:
        return ()
    records = store.context_records.list(saying.theme, saying.session, limit=10 * MOST_RECORDS)
    return tuple(record for record in records if saying.at is None or record.at <= saying.at)[:MOST_RECORDS]


def measure_words(store: Store, themes: Sequence[str], text: str) -> tuple[list[SaidWord], list[Fact]]:
    """Measure how rare the words of a text are, and find the facts that share the rarest of them."""
    runs = [run for run in dict.fromkeys(split_runs(fold_accents(text[:LONGEST_SAYING]))) if run not in stop_forms()]
    terms = terms_for_runs(runs[:MOST_WORDS])
    if not is_index_usable(store.db.conn, FACTS):
        return [SaidWord(term, 1.0) for term in terms], []
    rarity = dict.fromkeys((term.text for term in terms), 1.0)
    sums: dict[int, float] = {}
    for theme in themes:
        theme_id = store.names.theme(theme)
        total = int(store.db.value("SELECT last_fact FROM themes WHERE id = ?", (theme_id,)) or 0)
        low = theme_id << THEME_SHIFT
        for term in terms if total else ():
            hits = find_word_hits(store.db, term, low, low + total, total)
            if hits.anywhere:
                rarity[term.text] = min(rarity[term.text], hits.rarity)
            for key in {*hits.anywhere, *hits.in_target}:
                sums[key] = sums.get(key, 0.0) + hits.rarity
    best = sorted(sums, key=lambda key: (-sums[key], -key))[:MOST_COMPARED]
    return [SaidWord(term, rarity[term.text]) for term in terms], fact_pages.load_facts(store.db, store.names, best)


def to_source(
    store: Store, saying: Saying, fact: Fact, words: Iterable[SaidWord], record: ContextRecord | None
) -> SayingSource | None:
    """Compare a fact with the words of a sentence; None where it cannot be where they come from."""
    if fact.tier is Tier.QUARANTINED and record is None:
        return None
    then = find_fact_version(store, fact, saying.at if record is None else record.at)
    if then is None:
        return None
    terms = text_terms(then.notation.partition("[")[2])
    shared = sorted((word for word in words if is_in_terms(word.term, terms)), key=lambda word: -word.rarity)
    evidence = sum(word.rarity for word in shared)
    if evidence < LEAST_EVIDENCE:
        return None
    coverage = min(1.0, len(shared) / max(1, len(set(terms))))
    is_own = (then.wrote.actor.kind, then.wrote.actor.name) == ("session", saying.session)
    is_near = record is not None or is_own or saying.session is None
    likelihood = evidence * (0.5 + 0.5 * coverage) * (1.0 if is_near else NOT_GIVEN)
    return SayingSource(fact, then, likelihood, tuple(word.term.text for word in shared), record, is_own)


def find_fact_version(store: Store, fact: Fact, at: Millis | None) -> FactVersion | None:
    """Find the wording of a fact at a moment, the newest for None; None before it was written."""
    words = {"type": fact.type.value, "target": fact.target, "content": fact.content}
    until: int | None = None
    while rows := store.journal.changes(uid=fact.uid, until=until, limit=ROWS_AT_ONCE, newest_first=True):
        for change in rows:
            after = change.after or {}
            if at is not None and change.at > at:
                words |= {key: value for key, value in (change.before or {}).items() if key in words}
            elif after.keys() & words.keys():
                notation = format_notation(words["type"], words["target"], words["content"])
                return FactVersion(notation, change, notation == fact.notation)
        until = rows[-1].seq
    return None


def is_in_terms(word: QueryTerm, terms: Sequence[str]) -> bool:
    """Check whether a word, or what it abbreviates, is among the terms of a fact."""
    if not word.terms.keys().isdisjoint(terms):
        return True
    return any(
        tuple(terms[place : place + len(phrase)]) == phrase
        for phrase in word.phrases
        for place in range(len(terms) - len(phrase) + 1)
    )


def fold_blanks(text: str) -> str:
    """Return a text with case and runs of blanks folded, to be found in another."""
    return " ".join(text.casefold().split())
