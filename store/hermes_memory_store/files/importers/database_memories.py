"""Importers of the databases of claude-mem 13.25.3 and mcp-memory-service 12.4.0: their rows are records of engram and mem0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_memory_store.database.store_reading import query_database
from hermes_memory_store.files.importers import engram, import_batch, mem0

TABLES = {
    "claude-mem": "SELECT 1 FROM sqlite_master WHERE name = 'session_summaries'",
    "mcp-memory-service": "SELECT 1 FROM sqlite_master WHERE name = 'memories' AND sql LIKE '%content_hash%'",
}

OBSERVATIONS = """
SELECT o.id, o.type, o.title, o.project, o.created_at_epoch, fact.value AS content FROM observations AS o, json_each(
    CASE WHEN typeof(o.facts) = 'blob' THEN '[null]'
    WHEN NOT json_valid(coalesce(o.facts, '[]')) THEN '[null]'
    WHEN json_array_length(coalesce(o.facts, '[]')) THEN o.facts
    WHEN typeof(coalesce(o.narrative, o.text, o.title)) = 'blob' THEN '[null]'
    ELSE json_array(coalesce(o.narrative, o.text, o.title)) END) AS fact
"""
"""The facts of each observation, what it tells where it has none, and nothing where they cannot be read."""


def find_text_rows(path: Path, taken: import_batch.ImportBatch, table: str, sql: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; one with bytes in place of text is rejected. :raises OSError: as `query_database`"""
    for row in map(dict, query_database(path, sql)):
        column = next((name for name, value in row.items() if isinstance(value, bytes)), None)
        if column is None:
            yield row
        else:
            taken.add_rejection(import_batch.SourcePlace(row["id"], table), f"its {column} is binary data, not text")


def read_claude_mem(path: Path, taken: import_batch.ImportBatch) -> None:
    """Read observations, summaries and prompts. :raises OSError: it cannot be read, or has other columns"""
    for row in find_text_rows(path, taken, "observations", OBSERVATIONS):
        take_text(taken, "observations", row, row["title"] or row["type"])
    for row in query_database(path, "SELECT *, learned, completed, next_steps, notes FROM session_summaries"):
        for part in ("learned", "completed", "next_steps", "notes"):
            if row[part]:
                summary = {**row, "type": part, "content": row[part]}
                take_text(taken, "session_summaries", summary, f"{row['request'] or 'session'}.{part}")
    prompts = "SELECT *, prompt_text AS content, content_session_id AS session_id FROM user_prompts"
    for row in find_text_rows(path, taken, "user_prompts", prompts):
        engram.take_prompt(taken, import_batch.SourcePlace(row["id"], "user_prompts"), row)


def take_text(taken: import_batch.ImportBatch, table: str, row: dict[str, Any], subject: str) -> None:
    target = import_batch.join_target_parts(subject, import_batch.text_mark(subject, str(row["content"])))
    record = row | {"title": None, "topic_key": target, "id": None, "created_at": row["created_at_epoch"]}
    engram.take_observation(taken, import_batch.SourcePlace(row["id"], table), record)


def read_mcp_memory_service(path: Path, taken: import_batch.ImportBatch) -> None:
    """Read all memories, each about its first tag. :raises OSError: it cannot be read, or has other columns"""
    memories = "SELECT *, content_hash, tags, memory_type AS type FROM memories"
    for row in find_text_rows(path, taken, "memories", memories):
        tags = [tag for tag in (row["tags"] or "").split(",") if tag.strip()]
        record = {**row, "id": row["content_hash"], "user_id": (tags or [row["type"] or "memory"])[0], "tags": tags}
        record["type"] = row["type"] if import_batch.guess_fact_type(row["type"]) else None
        record["state"] = "deleted" if record.get("deleted_at") else "archived" if record.get("superseded_by") else None
        mem0.take_mem0_memory(taken, import_batch.SourcePlace(row["id"], "memories"), record, Counter())
