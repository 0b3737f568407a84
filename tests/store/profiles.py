"""A host's profile on disk with its memory files, and what a store says of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hermes_memory_store.host_files import memory_files
from hermes_memory_store.model import FactFilter, Sort, Tier
from hermes_memory_store.store import Store

THEME = "default"


class Profile:
    """A host's profile on disk."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.memory = home / "memories" / "MEMORY.md"
        self.user = home / "memories" / "USER.md"
        self.memory.parent.mkdir(parents=True)

    def write(self, *entries: str, user: bool = False) -> None:
        (self.user if user else self.memory).write_text(memory_files.join_entries(entries), encoding="utf-8")

    def entries(self, *, user: bool = False) -> list[str]:
        return memory_files.parse_entries(memory_files.read_memory_text(self.user if user else self.memory))

    def print(self) -> dict[str, str]:
        """Every file of the profile with its digest."""
        files = (path for path in sorted(self.home.rglob("*")) if path.is_file())
        return {str(path.relative_to(self.home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def stored_bytes(store: Store) -> list[bytes]:
    """The store's file and its log, byte for byte."""
    return [
        path.read_bytes() for path in sorted(store.path.parent.glob(f"{store.path.name}*")) if path.suffix != ".db-shm"
    ]


def filler(characters: int) -> str:
    """Prose that nobody can shorten."""
    return "x" * characters


def facts_of(store: Store, theme: str | None = THEME) -> list[tuple[str, str]]:
    page = store.facts.page(
        FactFilter(theme=theme, tiers=frozenset(Tier)), sort=Sort.CREATED, descending=False, limit=500
    )
    return [(fact.notation, fact.tier.value) for fact in page.facts]


def standing(store: Store, theme: str = THEME) -> set[str]:
    """What a search of the theme can find, targets without regard to case."""
    return {folded(notation) for notation, tier in facts_of(store, theme) if tier in ("hot", "cold")}


def folded(line: str) -> str:
    head, _, content = " ".join(line.split()).partition("]: ")
    return f"{''.join(letter.lower() if letter.isascii() else letter for letter in head)}]: {content}"
