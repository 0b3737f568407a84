"""Databases and Markdown of other agents' memories come in as typed lines, once, and are read without a trace beside them.

`claude-mem-13.25.3.sql` and `mcp-memory-service-12.4.0.sql` are rows that these programs wrote. The files of
`claude-code-2.1.332` were written by its Write tool, which stamped them, and the summary of `codex-0.171.0` by its consolidation,
both with a stand-in for their models. The MEMORY.md there follows the prompt of the consolidation for that file.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.files.importers import detect_format, find_usual_place, import_foreign_memory
from hermes_memory_store.model import Fact, FactFilter, Tier
from hermes_memory_store.store import Store

MADE = Path(__file__).parent / "fixtures" / "importers"

RELEASES = {"claude-mem": "13.25.3", "mcp-memory-service": "12.4.0", "claude-code": "2.1.332", "codex": "0.171.0"}


def find_facts(store: Store) -> list[Fact]:
    return store.facts.by_ids(store.facts.ids(FactFilter(theme="default", tiers=frozenset(Tier))))


def find_lines(store: Store) -> set[str]:
    """Find what the facts say, each after its scope and without the mark of its target."""
    lines = set()
    for fact in find_facts(store):
        target = ".".join(part for part in fact.target.split(".") if len(part) != 12)
        lines.add(f"{fact.scope or '-'} {fact.type.value}[{target}]: {fact.content}")
    return lines


@pytest.fixture(name="made")
def made_source(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return make_source(tmp_path, request.param)


def make_source(folder: Path, kind: str) -> Path:
    source = MADE / f"{kind}-{RELEASES[kind]}"
    if source.is_dir():
        return Path(shutil.copytree(source, folder / kind))
    file = folder / f"{kind}.db"
    with sqlite3.connect(file) as connection:
        connection.executescript(source.with_suffix(source.suffix + ".sql").read_text())
    connection.close()
    return file


@pytest.mark.parametrize(
    ("made", "kind", "facts"),
    [(kind, kind, facts) for kind, facts in zip(RELEASES, (11, 7, 4, 8), strict=True)],
    indirect=["made"],
)
def test_a_memory_is_recognised_and_comes_in_once(store: Store, made: Path, kind: str, facts: int) -> None:
    assert detect_format(made) == kind
    assert import_foreign_memory(store, made, theme="default", dry_run=True).created == facts
    assert find_facts(store) == []
    report = import_foreign_memory(store, made, theme="default")
    assert (report.kind, report.created, report.errors, report.waiting, report.redated) == (kind, facts, [], 0, 0)
    again = import_foreign_memory(store, made, theme="default")
    assert (again.created, again.turns, again.superseded, again.deduplicated) == (0, 0, 0, facts)


@pytest.mark.parametrize("made", ["claude-mem"], indirect=True)
def test_facts_of_observations_and_parts_of_summaries_of_claude_mem(store: Store, made: Path) -> None:
    import_foreign_memory(store, made, theme="default")
    lines = find_lines(store)
    assert (
        "gateway D[Session tokens move from cookies to signed JWT]: Refresh tokens must never be written to the request log."
        in lines
    )
    assert "gateway V[Deploy days]: Deploys of the gateway happen on Tuesdays and Thursdays before noon." in lines
    assert (
        "gateway V[Move session tokens from cookies to JWT.next_steps]: Rotate the signing key from a scheduled job"
        in lines
    )
    assert not any("2 cents short" in line for line in lines), "a narrative beside its facts"
    (turn,) = store.turns.list("default", session="5b1c0f0e-2f6a-4d0d-9a53-1f6f0e6d7a10")
    assert (turn.role, turn.content) == ("user", "Move the session tokens from cookies to JWT")
    days = next(fact for fact in find_facts(store) if fact.target.startswith("Deploy days"))
    assert format_iso_time(days.created_at) == "2026-05-29T15:58:53.836Z"
    assert (str(days.actor), days.origin.file, days.origin.line) == ("import:claude-mem", f"{made}/observations", 4)


@pytest.mark.parametrize("made", ["mcp-memory-service"], indirect=True)
def test_memories_of_mcp_memory_service_are_about_their_first_tag(store: Store, made: Path) -> None:
    report = import_foreign_memory(store, made, theme="default")
    lines = find_lines(store)
    assert "- C[database]: Database connections must use TLS 1.3 in production. #database #security" in lines
    assert (
        "- D[search]: Decision: the search index is rebuilt by a queue worker, never inside a request. #search" in lines
    )
    assert [(str(skip.place), skip.why) for skip in report.skips] == [("memories, line 6", "it was deleted there")]
    assert report.split == 1, "the long checklist"


@pytest.mark.parametrize("made", ["claude-code"], indirect=True)
def test_each_file_of_claude_code_is_a_memory_and_its_index_is_none(store: Store, made: Path) -> None:
    import_foreign_memory(store, made, theme="default")
    facts = {fact.target: fact for fact in find_facts(store)}
    rule = facts["feedback-real-database"]
    assert rule.scope == "srv-gateway"
    assert rule.notation.startswith(
        "C[feedback-real-database]: Integration tests must run against a real PostgreSQL, never"
    )
    assert "Why: mocked tests passed in March" in rule.content
    assert format_iso_time(rule.created_at) == "2026-05-29T16:05:39.215Z"
    assert "srv-gateway V[MEMORY]: The release is tagged on Thursdays." in find_lines(store)
    note = made / "-srv-gateway" / "memory" / "reference_bug_tracker.md"
    note.write_text(note.read_text().replace("INGEST", "PIPELINE").replace("16:05:39.652Z", "16:45:00.000Z"))
    assert import_foreign_memory(store, made, theme="default").superseded == 1


@pytest.mark.parametrize("made", ["codex"], indirect=True)
def test_lines_of_codex_come_in_without_its_routes_and_references(store: Store, made: Path) -> None:
    import_foreign_memory(store, made, theme="default")
    lines = find_lines(store)
    assert "billing V[invoice totals]: Invoice totals are computed with Decimal and rounded once, after tax." in lines
    redis = (
        "Integration tests of the gateway need Redis on port 6380: - `make redis` starts it - `REDIS_URL` points to it"
    )
    assert any(line.endswith(redis) for line in lines)
    assert sum("never log a token" in line for line in lines) == 1
    assert not any("rollout_path" in line or "ROUND_HALF_EVEN" in line or "reuse_rule" in line for line in lines)


@pytest.mark.parametrize("made", ["claude-mem"], indirect=True)
def test_a_broken_row_is_named_and_the_rest_comes_in(store: Store, made: Path) -> None:
    with sqlite3.connect(made) as connection:
        connection.execute("UPDATE observations SET facts = '[\"half' WHERE id = 1")
        connection.execute("UPDATE session_summaries SET learned = x'ff00'")
    connection.close()
    report = import_foreign_memory(store, made, theme="default")
    assert [str(error.place) for error in report.errors] == ["observations, line 1", "session_summaries, line 1"]
    assert report.created == 8


@pytest.mark.parametrize(
    ("made", "statement", "place", "created"),
    [
        ("claude-mem", "UPDATE observations SET narrative = x'ff00' WHERE id IN (1, 2)", "observations, line 2", 10),
        ("claude-mem", "UPDATE observations SET facts = x'ff00' WHERE id = 1", "observations, line 1", 9),
        ("claude-mem", "UPDATE observations SET title = x'ff00' WHERE id = 2", "observations, line 2", 10),
        ("claude-mem", "UPDATE user_prompts SET prompt_text = x'ff00'", "user_prompts, line 1", 11),
        ("mcp-memory-service", "UPDATE memories SET content = x'ff00' WHERE id = 1", "memories, line 1", 6),
        ("mcp-memory-service", "UPDATE memories SET tags = x'ff00' WHERE id = 1", "memories, line 1", 6),
    ],
    indirect=["made"],
)
def test_bytes_in_place_of_text_cost_their_row_alone(
    store: Store, made: Path, statement: str, place: str, created: int
) -> None:
    with sqlite3.connect(made) as connection:
        connection.execute(statement)
    connection.close()
    report = import_foreign_memory(store, made, theme="default")
    assert ([str(error.place) for error in report.errors], report.created) == ([place], created)


@pytest.mark.parametrize("made", ["claude-mem"], indirect=True)
def test_a_database_of_another_version_says_what_it_lacks(store: Store, made: Path) -> None:
    with sqlite3.connect(made) as connection:
        connection.execute("ALTER TABLE observations RENAME COLUMN narrative TO story")
    connection.close()
    with pytest.raises(errors.ImportFileError, match=r"cannot be read as claude-mem: .* no such column: o\.narrative"):
        import_foreign_memory(store, made, theme="default")
    with pytest.raises(
        errors.ImportFileError, match=r"cannot be read as mcp-memory-service: .*no such table: memories"
    ):
        import_foreign_memory(store, made, theme="default", kind="mcp-memory-service")


@pytest.mark.parametrize("made", ["claude-mem"], indirect=True)
def test_a_database_in_use_is_read_with_its_log_and_nothing_is_left_beside_it(store: Store, made: Path) -> None:
    writer = sqlite3.connect(made)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE observations SET narrative = 'Deploys happen on Mondays.' WHERE id = 4")
    writer.commit()
    before = sorted(os.listdir(made.parent))
    import_foreign_memory(store, made, theme="default")
    assert "gateway V[Deploy days]: Deploys happen on Mondays." in find_lines(store)
    assert sorted(os.listdir(made.parent)) == before
    writer.close()
    import_foreign_memory(store, made, theme="default")
    assert {made.name + end for end in ("-wal", "-shm")}.isdisjoint(os.listdir(made.parent)), "in WAL mode, in no use"


def test_a_program_is_found_at_its_usual_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    (tmp_path / "memories").mkdir()
    assert find_usual_place("codex") == tmp_path / "memories"
    (tmp_path / "memories_v2").mkdir()
    assert find_usual_place("codex") == tmp_path / "memories_v2"
    with pytest.raises(errors.ArgumentError, match="name a FILE, or a program with --from"):
        find_usual_place("mem0")
