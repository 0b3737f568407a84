"""Entries of the hosts' memory files beside the memory: what of ours says the same, or the opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_store.find.fact_comparison import Comparison, FactComparer
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.host_files.host_memory import HostFile, HostReading, find_host_memory
from hermes_memory_store.host_files.memory_entries import FileEntry
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.model import Fact, FactFilter, FactType, Tier, format_notation
from hermes_memory_store.store import Store

MOST_COMPARED = 5_000
"""Facts of a theme that entries are compared with, the newest."""


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One entry with its file, and the facts that it repeats or contradicts."""

    file: HostFile
    entry: FileEntry
    comparisons: tuple[Comparison, ...]

    @property
    def place(self) -> str:
        return f"{self.file.label}:{self.entry.first}"

    @property
    def readers(self) -> tuple[HostReading, ...]:
        """The hosts that are given it."""
        return tuple(reading for reading in self.file.readings if not self.find_problem(reading))

    def find_problem(self, reading: HostReading) -> str:
        """Return why a host does not read the entry; empty where it does."""
        if reading.most_lines and self.entry.first > reading.most_lines:
            return f"reads {reading.most_lines} lines"
        return reading.problem

    @property
    def outcome(self) -> str:
        return self.comparisons[0].outcome if self.comparisons else ""


@dataclass(frozen=True, slots=True)
class HostListing:
    theme: str
    files: tuple[HostFile, ...]
    entries: tuple[HostEntry, ...]


def find_files_here() -> list[HostFile]:
    """Return the memory files of every host for the working folder. :raises OSError: the folder is gone"""
    from hermes_memory_bridge.connect.host_check import find_host_places
    from hermes_memory_bridge.connect.hosts import find_here

    return find_host_memory(find_host_places(Path.cwd(), find_here()))


def load_host_listing(store: Store | None, theme: str, files: list[HostFile]) -> HostListing:
    """Compare every entry with the hot and cold facts that an agent in this theme is given or finds.

    :param store: None where there is no memory yet
    """
    comparer = FactComparer([] if store is None else load_compared_facts(store, theme))
    entries = [
        HostEntry(file, entry, tuple(comparer.compare(entry.text, entry.headings)))
        for file in files
        for entry in file.entries
    ]
    return HostListing(theme, tuple(files), tuple(entries))


def load_compared_facts(store: Store, theme: str) -> Iterator[Fact]:
    for readable in store.place_themes.readable(theme):
        tiers = frozenset({Tier.HOT, Tier.COLD})
        criteria = FactFilter(theme=readable.name, seen_from=readable.seen_from, tiers=tiers)
        yield from store.facts.by_ids(store.facts.ids(criteria)[:MOST_COMPARED])


def propose_notation(entry: HostEntry) -> str:
    """Return an entry as the fact that it may become: that of a fact it contradicts, else named by its heading."""
    content = " ".join(entry.entry.text.replace("**", "").split())
    if entry.comparisons:
        fact = entry.comparisons[0].fact
        return format_notation(fact.type, fact.target, content)
    words = " ".join(entry.entry.headings[-1:]) or entry.file.path.stem
    target = ".".join(re.findall(r"[a-z0-9]+", words.casefold())[:2]) or "note"
    kind = FactType.CONSTRAINT if is_binding(content) else FactType.DECISION
    return format_notation(kind, target, content)


def propose_agreement(entry: HostEntry) -> tuple[str, str]:
    """Return the entry in which the fact's value stands that it contradicts, and the fact's content with the entry's.

    What is not one value for another, as must for never, is taken whole.
    """
    comparison = entry.comparisons[0]
    text, content = entry.entry.text, comparison.fact.content
    ours, _, theirs = comparison.reason.partition(" ≠ ")
    return replace_once(text, theirs, ours) or content, replace_once(content, ours, theirs) or " ".join(text.split())


def replace_once(text: str, value: str, other: str) -> str | None:
    """Return a text with another value; None where the value stands in it never, or more than once."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(value)}(?!\w)".replace(r"\ ", r"\s?"), re.IGNORECASE)
    is_single = len(pattern.findall(text)) == 1 and not other.startswith(("never", "always"))
    return pattern.sub(lambda _: other, text) if is_single else None


def name_readers(file: HostFile) -> str:
    """Return the hosts that read a file, or why none does."""
    readings = [reading for reading in file.readings if not reading.problem]
    named = ", ".join(reading.title + (f" ({reading.note})" if reading.note else "") for reading in readings)
    return named or f"read by none: {next((reading.problem for reading in file.readings), '')}"
