"""Entries of hosts' files against facts: the same, the opposite, or nothing to do with each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_memory_store.find.fact_comparison import FactComparer, compare_entry
from hermes_memory_store.host_files.memory_entries import split_entries
from hermes_memory_store.model import Fact
from hermes_memory_store.store import Store

SAME, OPPOSITE, NEITHER = "same", "opposite", None

KEPT = Path(__file__).with_name("kept_cases.txt")

DOCS = Path(__file__).parents[3] / "docs"


class KeptRow(NamedTuple):
    """What an entry says of a fact: `o` the opposite, `s` the same, `-` neither."""

    expected: str
    notation: str
    entry: str
    heading: str
    half: str = ""

    def compare(self, fact: Fact) -> str:
        comparison = compare_entry(fact, self.entry, [self.heading] if self.heading else [])
        return comparison.outcome[:1] if comparison else "-"


def load_kept_rows() -> list[KeptRow]:
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    return [KeptRow(*line.split("\t")) for line in lines if not line.startswith("#")]


CASES = (
    ("D[db]: postgres 16", "We use MySQL for the database.", "Stack", OPPOSITE),
    ("D[db.engine]: postgres", "The database is PostgreSQL 16.", "Stack", SAME),
    ("V[db.port]: 5432", "The database listens on port 5433", "", OPPOSITE),
    ("V[db.port]: 5432", "The web server listens on port 8080", "", NEITHER),
    ("D[pkg.manager]: pnpm", "Use npm to install dependencies", "", OPPOSITE),
    ("D[pkg.manager]: pnpm, never npm", "Run `npm install` first", "Setup", OPPOSITE),
    ("D[pkg.manager]: pnpm", "Use pnpm, never npm", "", SAME),
    ("C[git.main]: never commit to main directly", "Commit directly to main for small fixes", "Git", OPPOSITE),
    ("C[git.main]: never push to main", "Never push to main; open a pull request", "Git", SAME),
    ("C[tests]: run make test before each commit", "Run `make test` before every commit", "", SAME),
    ("C[tests]: run make test before each commit", "Do not run make test before a commit, CI does it", "", OPPOSITE),
    ("V[indent]: 2 spaces", "Indent with 4 spaces", "Style", OPPOSITE),
    ("V[indent]: 2 spaces", "Use tabs for indentation", "Style", OPPOSITE),
    ("V[coverage.min]: 80%", "Coverage must be at least 90%", "Testing", OPPOSITE),
    ("V[timeout.http]: 30 seconds", "HTTP timeout is 10 seconds", "", OPPOSITE),
    ("V[prod.region]: eu-west-1", "Production region: us-east-1", "", OPPOSITE),
    ("V[prod.region]: eu-west-1", "Staging region: us-east-1", "", NEITHER),
    ("D[cache]: redis", "The cache is memcached", "", OPPOSITE),
    ("D[cache]: redis", "Tests use sqlite in memory", "", NEITHER),
    ("V[python]: 3.12", "Requires Python 3.11", "", OPPOSITE),
    ("V[node.version]: 20", "Node 18 is required", "", OPPOSITE),
    ("D[style.quotes]: single quotes", "Use double quotes for strings", "", OPPOSITE),
    ("C[deploy.friday]: never deploy on Friday", "Deploy every Friday afternoon", "Releases", OPPOSITE),
    ("D[merge]: squash merges only", "Rebase pull requests; do not squash", "", OPPOSITE),
    ("D[api]: REST", "The public API is GraphQL", "API", OPPOSITE),
    ("D[branch.default]: main", "The default branch is develop", "", OPPOSITE),
    ("C[logs]: never log personal data", "Logs must contain personal data of users", "", OPPOSITE),
    ("V[reviewers]: 2", "Each pull request needs 1 reviewer", "", OPPOSITE),
    ("D[db]: postgres", "Tests run against sqlite", "", NEITHER),
    ("D[formatter]: black", "Format with ruff format", "", NEITHER),
    ("V[line.length]: 100", "Functions have at most 60 lines", "Style", NEITHER),
    ("C[secrets]: never commit .env files", "Never commit .env files or keys", "", SAME),
    ("V[api.port]: 8000", "API runs on port 8000", "", SAME),
    ("V[api.port]: 8000", "docs at localhost:8000", "", NEITHER),
    ("V[owner]: Dana", "Owner: Chris", "", OPPOSITE),
    ("C[any]: do not use any in TypeScript", "Feel free to use any in TypeScript", "", OPPOSITE),
    ("D[lang.answers]: answer in English", "Answer in German", "", OPPOSITE),
    ("V[retry.max]: 3", "Retry at most 5 times", "", OPPOSITE),
    (
        "C[migrations]: never edit a migration that was released",
        "Edit released migrations in place when they are wrong",
        "",
        OPPOSITE,
    ),
    ("D[time]: store timestamps in UTC", "All timestamps are stored in local time", "", OPPOSITE),
    ("D[auth]: JWT in cookies", "Sessions use server-side storage", "", NEITHER),
    ("D[queue]: kafka for events", "Events go through RabbitMQ", "", OPPOSITE),
    ("C[deps]: ask before adding a dependency", "Add dependencies freely without asking", "", OPPOSITE),
    ("V[log.level]: info", "Use the logger, not print", "", NEITHER),
    ("D[ci]: GitHub Actions", "CI runs on GitHub Actions", "", SAME),
    ("D[ci]: GitHub Actions", "CI runs in GitLab CI", "", OPPOSITE),
    ("C[force.push]: never force push", "Use git push --force-with-lease on feature branches", "", NEITHER),
    ("V[cache.ttl]: 300 seconds", "Cache TTL: 600 seconds", "", OPPOSITE),
    ("D[frontend]: React 18", "The frontend uses Vue", "", OPPOSITE),
    ("D[orm]: prisma", "Prisma is our ORM", "", SAME),
    ("V[db.name]: shop", "Database name: shop_test", "Tests", NEITHER),
    ("D[css]: tailwind", "Style with Tailwind utility classes", "", SAME),
    ("C[comments]: write comments in English", "Comments explain why, not what", "", NEITHER),
    ("V[team.size]: 5", "Stand-up is at 9:30", "", NEITHER),
)
"""What the rules were chosen by: a fact, an entry, its heading, and what the entry says of the fact."""


@pytest.mark.parametrize(("fact", "entry", "heading", "expected"), CASES)
def test_an_entry_says_the_same_as_a_fact_or_the_opposite(
    store: Store, fact: str, entry: str, heading: str, expected: str | None
) -> None:
    written = store.facts.write("ops", fact).fact
    comparison = compare_entry(written, entry, [heading] if heading else [])
    assert (comparison and comparison.outcome) == expected


def test_of_kept_contradictions_at_least_85_percent_are_told(store: Store) -> None:
    rows = [row for row in load_kept_rows() if not row.half]
    outcomes = Counter[tuple[str, str]]()
    for n, row in enumerate(rows):
        outcomes[row.expected, row.compare(store.facts.write(f"t{n}", row.notation).fact)] += 1
    assert outcomes["o", "o"] >= 51
    assert outcomes["s", "s"] == 8


@pytest.mark.parametrize(("half", "least"), [("choosing", 25), ("judging", 14)])
def test_contradictions_in_the_words_of_real_files_are_told(half: str, least: int, store: Store) -> None:
    rows = [row for row in load_kept_rows() if row.half == half]
    outcomes = [
        (row.expected, row.compare(store.facts.write(f"t{n}", row.notation).fact)) for n, row in enumerate(rows)
    ]
    assert outcomes.count(("o", "o")) >= least
    assert {said for expected, said in outcomes if expected == "-"} == {"-"}
    assert ("s", "o") not in outcomes


def test_the_documents_of_this_project_contradict_few_facts_of_others(store: Store) -> None:
    rows = [row for row in load_kept_rows() if not row.half]
    facts = [store.facts.write(f"t{n}", row.notation).fact for n, row in enumerate(rows)]
    comparer = FactComparer(facts)
    texts = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))]
    entries = [entry for text in texts for entry in split_entries(text)]
    contradicting = [
        entry for entry in entries if any(c.outcome == OPPOSITE for c in comparer.compare(entry.text, entry.headings))
    ]
    assert len(entries) > 500
    assert len(contradicting) <= 0.05 * len(entries)
