"""Nothing that carries a meaning is lost by a relief, whatever the files and the store say."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store.notation.shortening import shorten_prose
from hermes_memory_store.relief.file_relief import FileReliefReport, relieve_files
from hermes_memory_store.relief.relief_steps import find_prose_facts
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.examples import example_count

from .profiles import Profile, filler, folded, standing

TARGETS = st.sampled_from(["db", "DB", "db.id", "auth", "été", "ÉTÉ"])
CONTENTS = st.sampled_from(["never autoincrement", "Postgres 16", "with the configuration", "w" * 420, "a  b", "é → ü"])
FACT = st.builds("{}[{}]: {}".format, st.sampled_from(list("CDV?✓~")), TARGETS, CONTENTS)
PROSE = st.sampled_from(
    [
        "The configuration of the database is required, but never the documentation.",
        "Il ne faut jamais supprimer la documentation.",
        "Run `make documentation` with --force",
        "note § 12 of the law",
        "Please note that messages must not be dropped.",
        filler(150),
        filler(700),
    ]
)
ENTRY = st.one_of(PROSE, FACT, st.lists(st.one_of(FACT, PROSE), min_size=2, max_size=3).map("\n".join))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples, each of which writes to a theme of its own."""
    folder = tmp_path_factory.mktemp("shared")
    with Store.open(folder / "memory.db", policies=Policies.load(folder / "none.toml")) as opened:
        yield opened


@settings(max_examples=example_count(150), deadline=None)
@given(entries=st.lists(ENTRY, max_size=14), stored=st.lists(FACT, max_size=5), threshold=st.sampled_from([0, 30, 55]))
def test_every_entry_is_in_the_file_or_in_the_store_or_equal_up_to_abbreviation(
    shared: Store, entries: list[str], stored: list[str], threshold: int
) -> None:
    theme = f"t{len(shared.names.all_themes())}"
    shared.facts.write(theme, "V[first]: of this example")
    for line in stored:
        if len(line) < 400:
            shared.facts.write(theme, line, scope="s" if line[0] == "✓" else None)
    stood = standing(shared, theme)
    with tempfile.TemporaryDirectory() as folder:
        profile = Profile(Path(folder) / "profile")
        profile.write(*entries)
        before = profile.entries()
        planned = relieve_files(shared, theme, home=profile.home, threshold_pct=threshold, dry_run=True).memory

        done = relieve_files(shared, theme, home=profile.home, threshold_pct=threshold).memory

        after = profile.entries()
    found = standing(shared, theme)
    for entry in before:
        in_file = entry in after or shorten_prose(entry) in after
        as_prose = {folded(str(fact)) for fact in find_prose_facts(entry, limit=400)} & found
        assert in_file or as_prose or all(folded(line) in found for line in entry.splitlines())
    assert stood <= found
    assert (planned.after, planned.kept, planned.migrated) == (done.after, done.kept, done.migrated)
    assert explained(done, threshold)


def test_a_line_about_what_the_store_calls_obsolete_stays_in_the_file(shared: Store, tmp_path: Path) -> None:
    shared.facts.write("gone", "~[db]: never autoincrement")
    profile = Profile(tmp_path / "profile")
    profile.write("C[db]: never autoincrement")
    relieve_files(shared, "gone", home=profile.home, threshold_pct=0)
    assert profile.entries() == ["C[db]: never autoincrement"]
    assert standing(shared, "gone") == {"~[db]: never autoincrement"}


def explained(report: FileReliefReport, threshold: int) -> bool:
    """Whether the report reached its target, had nothing to do, or says why not."""
    return (
        report.before_pct <= threshold or report.after_pct < min(45, threshold) or not report.after or bool(report.why)
    )
