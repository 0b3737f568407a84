"""Export and import."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.files import export_import
from hermes_memory_store.files.export_import import ImportReport, export_jsonl, export_spec, import_file
from hermes_memory_store.journal import transaction_log
from hermes_memory_store.model import FactFilter, Millis, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.examples import example_count
from tests.store.conftest import HandClock
from tests.store.portraits import portrait
from tests.store.test_translog import STEP, live

EVERYTHING = frozenset(Tier) - {Tier.WITHDRAWN}


@contextmanager
def fresh(clock: HandClock | None = None) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        policies = Policies.load(Path(folder) / "memory-themes.toml")
        with Store.open(Path(folder) / "memory.db", clock=clock or HandClock(), policies=policies) as store:
            yield store


def brought(store: Store, lines: list[str], theme: str = "default", **options: Any) -> ImportReport:
    """Import lines from a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        return import_file(store, file, theme=theme, **options)


def counts(report: ImportReport) -> tuple[int, int, int, int]:
    return report.created, report.deduplicated, report.skipped, len(report.errors)


def standing(store: Store, theme: str) -> set[tuple[str | None, str]]:
    wanted = FactFilter(theme=theme)
    return {(fact.scope, fact.notation) for fact in store.facts.by_ids(store.facts.ids(wanted))}


def everything(store: Store, theme: str) -> list[dict[str, Any]]:
    """All that a JSONL export says but when it was made, by uid."""
    said = [json.loads(line) for line in export_jsonl(store, theme)][1:]
    return sorted(said, key=lambda words: str(words["uid"]))


@settings(max_examples=example_count(40), deadline=None)
@given(st.lists(STEP, max_size=25))
def test_spec_lines_bring_the_same_facts_to_the_same_scopes_and_once(steps: list[tuple[str, int, int, str]]) -> None:
    clock = HandClock()
    with fresh(clock) as store, fresh() as other:
        live(store, [("write", 2, 0, "one"), *steps], clock)
        lines = list(export_spec(store, "t0"))
        first = brought(other, lines, "t0")
        assert first.errors == []
        expected = standing(store, "t0")
        assert (standing(other, "t0") if expected else set()) == expected
        for _ in range(2):
            again = brought(other, lines, "t0")
            assert counts(again) == (0, first.created, 0, 0)
        assert (standing(other, "t0") if expected else set()) == expected


@settings(max_examples=example_count(40), deadline=None)
@given(st.lists(STEP, max_size=25))
def test_jsonl_brings_everything_as_it_was_and_once(steps: list[tuple[str, int, int, str]]) -> None:
    clock = HandClock()
    with fresh(clock) as store, fresh(clock) as other:
        live(store, [("write", 2, 0, "one"), *steps], clock)
        said = everything(store, "t0")
        lines = list(export_jsonl(store, "t0"))
        first = brought(other, lines, "t0")
        assert first.errors == []
        assert everything(other, "t0") == said
        assert all(check.ok for check in examine_store(other))
        last = other.journal.last_seq()
        for _ in range(2):
            assert counts(brought(other, lines, "t0")) == (0, first.created, 0, 0)
        assert other.journal.last_seq() == last


def test_reads_pins_and_times_come_along(store: Store, clock: HandClock) -> None:
    fact = store.facts.write("default", "C[law]: never").fact
    store.facts.pin([fact.uid])
    clock.forward(5000)
    store.reads.note("search", "default", [fact])
    store.reads.flush()
    with fresh() as other:
        brought(other, list(export_jsonl(store, "default")))
        there = other.facts.get(fact.uid)
        assert (there.pinned, there.reads, there.read_at) == (True, 1, clock.now)
        assert (there.created_at, str(there.actor)) == (fact.created_at, "person")


def test_one_scope_can_be_exported_alone(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT", scope="login")
    store.facts.write("default", "D[auth]: none")
    assert list(export_spec(store, "default", scope="login")) == [
        "# MEMORY_SPEC v1.0",
        "# scope: login",
        "D[auth]: JWT",
    ]
    assert [json.loads(line)["kind"] for line in export_jsonl(store, "default", scope="login")] == [
        *("header", "scope", "fact"),
    ]


@pytest.mark.parametrize("export", [export_spec, export_jsonl])
def test_an_unknown_scope_or_theme_is_an_error_and_never_everything(store: Store, export: Any) -> None:
    store.facts.write("default", "D[auth]: JWT", scope="login")
    with pytest.raises(errors.UnknownScope, match="did you mean 'login'"):
        export(store, "default", scope="logn")
    with pytest.raises(errors.UnknownTheme):
        export(store, "nobody")


def test_a_bad_line_is_told_with_its_number_and_stops_no_other(store: Store) -> None:
    report = brought(
        store,
        ["# notes", "", "D[auth]: JWT", "no notation", "V[a]: " + "x" * 500, "# scope: login", "V[port]: 80", "V[]: x"],
    )
    assert [(error.line, error.error.code) for error in report.errors] == [
        (4, "notation.invalid"),
        (5, "content.too_long"),
        (8, "notation.invalid"),
    ]
    assert standing(store, "default") == {(None, "D[auth]: JWT"), ("login", "V[port]: 80")}


def fact_line(**changed: Any) -> str:
    words: dict[str, Any] = {
        "kind": "fact",
        "uid": "01a1fc09-467f-7001-a3da-148f650064f8",
        "scope": None,
        "type": "value",
        "target": "port",
        "content": "80",
        "tier": "hot",
        "created_at": "2026-01-01T00:00:00.000Z",
    }
    return json.dumps(words | changed)


BAD_LINES = [
    "{",
    "[]",
    '"text"',
    "[" * 50_000,
    '{"kind":"song"}',
    fact_line(uid="17"),
    fact_line(uid=None),
    fact_line(type="V"),
    fact_line(type=["value"]),
    fact_line(tier="lukewarm"),
    fact_line(tier="withdrawn"),
    fact_line(tier=["hot"]),
    fact_line(target="a]: b"),
    fact_line(target=""),
    fact_line(content=""),
    fact_line(content=17),
    fact_line(content="x" * 401),
    fact_line(content="\ud800"),
    fact_line(content="a\x00b"),
    fact_line(content="a\u202eb"),
    fact_line(scope=""),
    fact_line(scope="x" * 500),
    fact_line(scope=5),
    fact_line(created_at=5),
    fact_line(created_at="yesterday"),
    fact_line(created_at="2026-01-01T00:00:00"),
    fact_line(created_at="1900-01-01T00:00:00Z"),
    fact_line(updated_at="9999-12-31T23:59:59.999-14:00"),
    fact_line(superseded_by="me"),
    fact_line(reads=-1),
    fact_line(reads=1 << 70),
    fact_line(actor="a\x1b[31m"),
    '{"kind":"scope"}',
    '{"kind":"header","format":"hermes-memory","version":2}',
]


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_jsonl_line_is_told_and_stops_no_other(store: Store, line: str) -> None:
    good = fact_line(uid="01a1fc09-467f-7001-a3da-000000000000", target="good")
    report = brought(store, [fact_line(kind="header", format="hermes-memory", version=1), line, good])
    assert [error.line for error in report.errors] == [2]
    assert "\x1b" not in str(report.errors[0])
    assert standing(store, "default") == {(None, "V[good]: 80")}


def test_lines_that_are_no_text_or_too_long_are_told(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "export"
    file.write_bytes(b"\xef\xbb\xbfV[a]: 1\r\nV[b]: \xff\xfe\nV[c]: " + b"x" * 3_000_000 + b"\nV[d]: 4")
    report = import_file(store, file, theme="default")
    assert [error.line for error in report.errors] == [2, 3]
    assert standing(store, "default") == {(None, "V[a]: 1"), (None, "V[d]: 4")}


@pytest.mark.parametrize("content", [b"SQLite format 3\x00", b"a\x00b", None])
def test_a_file_that_is_no_export_is_refused(store: Store, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "export"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(errors.ImportFileError):
        import_file(store, file, theme="default")
    with pytest.raises(errors.ImportFileError):
        import_file(store, tmp_path, theme="default")
    assert store.themes() == []


def test_a_dry_run_counts_and_changes_nothing(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    last = store.journal.last_seq()
    lines = ["D[auth]: JWT", "V[port]: 80", "junk"]
    assert counts(brought(store, lines, dry_run=True)) == (1, 1, 0, 1)
    assert store.journal.last_seq() == last
    assert counts(brought(store, lines)) == (1, 1, 0, 1)


def test_the_fact_that_was_changed_last_goes_on_standing(store: Store, clock: HandClock) -> None:
    here = store.facts.write("default", "V[port]: 8080").fact
    older = fact_line(updated_at="2026-01-01T00:00:00.000Z")
    newer = fact_line(uid="01a1fc09-467f-7001-a3da-0000000000ff", content="443", updated_at="2027-01-01T00:00:00.000Z")
    assert counts(brought(store, [older])) == (1, 0, 0, 0)
    assert standing(store, "default") == {(None, "V[port]: 8080")}
    assert counts(brought(store, [newer])) == (1, 0, 0, 0)
    assert standing(store, "default") == {(None, "V[port]: 443")}
    assert store.facts.get(here.uid).superseded_by == "01a1fc09-467f-7001-a3da-0000000000ff"
    assert all(check.ok for check in examine_store(store))


def test_what_was_purged_here_is_not_brought_back(store: Store) -> None:
    uid = store.facts.write("default", "V[key]: sk-live-0000").fact.uid
    lines = list(export_jsonl(store, "default"))
    store.facts.archive([uid])
    store.purge.execute("default")
    assert counts(brought(store, lines)) == (0, 0, 1, 0)


def test_what_was_undone_here_is_brought_back(store: Store) -> None:
    store.facts.write("default", "V[port]: 80", scope="web")
    lines = list(export_jsonl(store, "default"))
    said = everything(store, "default")
    store.undo.last(1)
    assert standing(store, "default") == set()
    assert counts(brought(store, lines)) == (1, 0, 0, 0)
    assert everything(store, "default") == said
    assert all(check.ok for check in examine_store(store))


def test_facts_that_were_replaced_by_turns_all_come_along(store: Store) -> None:
    for content in ("80", "443", "80", "443"):
        store.facts.write("default", f"V[port]: {content}")
    with fresh() as other:
        assert counts(brought(other, list(export_jsonl(store, "default")))) == (4, 0, 0, 0)
        assert everything(other, "default") == everything(store, "default")


def test_a_theme_can_be_copied_within_a_store(store: Store) -> None:
    store.facts.write("default", "V[port]: 80", scope="login")
    store.facts.write("default", "V[port]: 443", scope="login")
    lines = list(export_jsonl(store, "default"))
    assert counts(brought(store, lines, "other")) == (2, 0, 0, 0)
    assert counts(brought(store, lines, "other")) == (0, 2, 0, 0)
    assert standing(store, "other") == standing(store, "default")
    copied = store.facts.page(FactFilter(theme="other", tiers=EVERYTHING)).facts
    assert {fact.content: fact.superseded_by is not None for fact in copied} == {"80": True, "443": False}
    assert all(check.ok for check in examine_store(store))


def test_an_import_never_overfills_the_hot_tier(store: Store) -> None:
    lines = [
        fact_line(uid=f"01a1fc09-467f-7001-a3da-{number:012x}", target=f"n{number}", content="x" * 200, pinned=pinned)
        for number, pinned in enumerate([True] * 60 + [False] * 60)
    ]
    assert counts(brought(store, lines)) == (120, 0, 0, 0)
    gauge = store.tiers.gauge("default")
    assert gauge.pinned <= gauge.budget
    assert all(check.ok for check in examine_store(store))
    assert len(standing(store, "default")) == 120


def test_lines_without_a_scope_go_where_they_are_told(store: Store) -> None:
    brought(store, ["V[a]: 1", "# scope: own", "V[b]: 2"], scope="given")
    brought(
        store,
        [fact_line(target="c"), fact_line(uid="01a1fc09-467f-7001-a3da-0000000000ff", scope="own")],
        scope="given",
    )
    assert standing(store, "default") == {
        ("given", "V[a]: 1"),
        ("own", "V[b]: 2"),
        ("given", "V[c]: 80"),
        ("own", "V[port]: 80"),
    }


def test_a_large_import_reports_how_far_it_is(store: Store) -> None:
    said: list[tuple[int, int]] = []
    report = brought(store, [f"V[n{number}]: x" for number in range(5000)], progress=lambda *seen: said.append(seen))
    assert report.created == 5000
    assert len(said) == 3
    assert said == sorted(said)
    assert said[-1][0] == said[-1][1]


def test_an_export_is_one_moment_while_others_write(store: Store) -> None:
    store.facts.write_many("default", [(f"V[n{n}]: x", None) for n in range(3000)], actor=export_import.IMPORT)
    lines = export_spec(store, "default")
    said = [next(lines) for _ in range(10)]
    store.facts.write("default", "V[later]: x")
    said += lines
    assert len(said) == 3001
    assert "V[later]: x" not in said


def test_an_imported_fact_keeps_its_author_in_a_replay(store: Store, clock: HandClock) -> None:
    session = store.sessions.open("default", "agent")
    store.facts.write("default", "D[auth]: JWT", session=session)
    with fresh(clock) as other, fresh() as third:
        brought(other, list(export_jsonl(store, "default")))
        assert str(other.facts.page(FactFilter()).facts[0].actor) == "session:agent"
        transaction_log.replay_log(transaction_log.transaction_log_lines(other), third)
        assert portrait(third) == portrait(other)


def test_what_is_dated_ahead_of_the_clock_stands_before_nothing_newer(store: Store, clock: HandClock) -> None:
    """Neither as it is imported, nor where a wrong clock has dated it."""
    ahead = 400 * 86_400_000
    store.facts.write("default", "V[port.a]: gateway 1")
    lines = [line.replace("gateway 1", "gateway 2") for line in export_jsonl(store, "default")]
    stamps = format_iso_time(clock.now), format_iso_time(Millis(clock.now + ahead))
    lines = [line.replace(*stamps).replace("port.a", "port.b") for line in lines]
    with fresh(clock) as other:
        assert brought(other, lines).redated == 1
        clock.forward(ahead)
        other.facts.write("default", "V[port.c]: gateway 3")
        clock.forward(-ahead)
        clock.forward(86_400_000)
        other.facts.write("default", "V[port.d]: gateway 4")
        found = other.search.find("default", "gateway").facts
        assert [fact.target for fact in found] == ["port.d", "port.c", "port.b"]
        imported = other.facts.by_uids([found[2].uid])[found[2].uid]
        assert imported.created_at == imported.updated_at == clock.now - 86_400_000
