"""Every statement that writes text into a store stands behind the intake: found in the tree's SQL, not listed by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from hermes_memory_store.store import Store

ROOT = Path(__file__).parent.parent.parent

PACKAGES = (
    "store/hermes_memory_store",
    "bridge/hermes_memory_bridge",
    "tui/hermes_memory_tui",
    "themes/hermes_memory_themes",
)

CLOSED = {
    "facts": "type tier cooled_by superseded_by",
    "scopes": "status closed_by",
    "sessions": "status on_orphan checkpoint",
    "turns": "role",
    "journal": "op entity",
    "tallies": "tier type",
    "sync_store": "holder",
    "sync_themes": "mark_token team_name",
    "sync_rows": "ancestors refused said",
    "sync_conflicts": "why ancestors",
    "sync_turns": "refused",
    "sync_changed": "thing",
    "injections": "kind facts",
    "source_rules": "rule",
    "credentials": "theme rights",
    "place_choice": "places",
    "place_themes": "theme",
    "host_turns": "role",
    "rules_files": "host",
}
"""Columns of a closed vocabulary, digests, uids, or what the program itself says; names in them passed the intake where they
came in."""

DOOR = re.compile(
    r"\b(Admitted\w+|Admission|Intake)\b|\b(admit_\w+|to_listed_name|to_masked_name|to_project_name|find_name_faults|to_call_key)\("
    r"|validate_(token|source)_name\("
)
"""A function that takes what only the intake makes, or asks it itself."""

RECORDS = {
    "action_rows.keep_actions": "what `mask_action` masked, of which no agent is given anything",
    "name_keys.Names.actor": "names of sessions, imports and teammates, which passed the intake",
    "name_keys.Names.recorded_theme": "a theme's name, which `normalise_theme` made",
    "origin_rows.insert_origin_record": "repeats a transaction log whose chain covers it",
    "project_rows.ensure_project": "identities of a repository, without the user part; `portable_aliases` masks those of others",
    "project_rows.learn_identities": "called by `ensure_project`, with what `portable_aliases` masked",
    "sessions.number_session": "called by `open`, with a client and a version it has checked",
    "record_applier.Replayer": "repeats a transaction log whose chain holds",
    "remote_facts": "a store in memory, of what the team search let through",
    "mutation.Mutation.insert_row": "called by `insert_fact`, with what the intake made",
    "mutation.insert_fact_rows": "called by `flush`, with what the intake made",
    "mutation.Mutation.update_fact": "takes the content of an `AdmittedFact` alone",
    "mutation.Mutation.update_scope": "labels come as `AdmittedText`",
    "apply": "versions that passed the content check; payloads as the team has them",
    "conflicts": "versions that passed the content check; payloads as the team has them",
    "standing": "payloads as the team has them, shown only through a content check",
    "versions": "payloads as the team has them, shown only through a content check",
    "team_sync": "payloads as the team has them, shown only through a content check",
    "erased_words.erase_from_records": "takes words out of an answer that is there",
    "journal_repair.restore_references": "repeats a name of a backup, which the chain proves",
    "journal_restore": "repeats the journal, whose chain holds, and texts of backups that fit its digests",
    "project_repair": "repeats a backup, or a name of the store's own rows",
    "host_sessions.HostTurns.note_read": "no turn's id: a transcript tells none",
    "rules_files.RulesFiles.write": "the path of a file that this program wrote, by which it finds it to erase it",
    "branch_states.BranchStates.note": "names of branches that `is_listed` let through",
    "branch_states.BranchStates._note_branches": "names of branches that `is_listed` let through",
    "branch_states.BranchStates._journal_merges": "the name of a commit, which Git made",
    "projects.join_project": "identities that `storable_identities` masked",
    "projects.Projects.trust": "an identity that `to_storable_identity` masked",
    "projects.note_root_commit": "the name of a commit, which Git made",
    "projects.Projects.join": "copies an identity of the store's own rows",
    "migrations.create_tables": "the names of migrations",
    "migrations.migrate_store": "what the program says of itself",
    "sources.write_source_rule": "called by `set_rule`, with a validated name, and by replay",
    "turn_rows.ensure_turn_session": "called with a name that `admit_turn` checked",
}
"""Where text comes from the store's own records, or passed the intake one call earlier, and why that is so."""


@dataclass(frozen=True)
class Statement:
    """A function that runs a statement which writes text."""

    module: str
    function: str
    table: str
    columns: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        return f"{self.module}.{self.function}"

    def is_behind(self) -> bool:
        named = self.name.split(".")
        return bool(DOOR.search(self.source)) or any(
            ".".join(named[:size]) in RECORDS for size in range(1, len(named) + 1)
        )


@cache
def text_columns() -> dict[str, set[str]]:
    """The columns of each table that may hold text of somebody else."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "memory.db") as store:
        tables = [name for (name,) in store.db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {
            table: {row[1] for row in store.db.rows(f"PRAGMA table_info({table})") if row[2] in ("TEXT", "ANY")}
            for table in tables
            if not re.search(r"_(text|words)(_|$)|^sqlite_", table)
        }
    return {table: columns - set(CLOSED.get(table, "").split()) for table, columns in found.items()}


def said(node: ast.AST, constants: dict[str, str]) -> str | None:
    """The text of a literal, with a question mark for each value put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(said(part, constants) or "?" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return said(node.value, constants)
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{said(node.left, constants) or '?'}{said(node.right, constants) or '?'}"
    return None


INSERT = re.compile(r"(?:INSERT|REPLACE)(?: OR \w+)? INTO (\w+)\s*(?:\(([^)]*)\))?", re.IGNORECASE)

UPDATE = re.compile(r"UPDATE(?: OR \w+)? (\w+)\s+SET\s+(.*?)(?:\sWHERE\s|\sRETURNING\s|$)", re.IGNORECASE | re.DOTALL)

ASSIGNED = re.compile(r"(\w+)\s*=\s*([^,]+)")

HARMLESS = re.compile(
    r"^(NULL|'[^']*'|x''|\d+|excluded\.\w+|\w+ [+-] .*|coalesce\(\w+, \?\)|max\(.*|min\(.*|old\..*|new\..*)$",
    re.IGNORECASE,
)


def written(sql: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tables a statement writes text to, and the columns."""
    if re.match(r"\s*CREATE ", sql):
        return
    for match in INSERT.finditer(sql):
        table, columns = match[1], match[2]
        free = text_columns().get(table, set())
        is_computed = columns is None or "?" in columns
        named = free if is_computed else free & {one.strip() for one in columns.split(",")}
        if named:
            yield table, tuple(sorted(named))
    for match in UPDATE.finditer(sql):
        table, free = match[1], text_columns().get(match[1], set())
        pairs = ASSIGNED.findall(match[2])
        named = {name for name, value in pairs if name in free and not HARMLESS.match(value.strip())}
        if free and (named or match[2].strip() == "?"):
            yield table, tuple(sorted(named or free))


@cache
def statements(root: Path = ROOT) -> tuple[Statement, ...]:
    """Every function in the tree that runs a statement which writes text into a store."""
    sources = {
        path: path.read_text(encoding="utf-8") for package in PACKAGES for path in (root / package).rglob("*.py")
    }
    writing = {path for path, source in sources.items() if INSERT.search(source) or UPDATE.search(source)}
    trees = {path: ast.parse(sources[path]) for path in writing}
    constants: dict[str, str] = {}
    for _ in range(3):  # a constant may be made of others
        for tree in trees.values():
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    constants[node.targets[0].id] = said(node.value, constants) or ""
    sql = {name for name, text in constants.items() if next(written(text), None)}
    used = re.compile(rf"\b({'|'.join(sorted(sql))})\b") if sql else re.compile("(?!)")
    for path, source in sources.items():
        if path not in trees and used.search(source):
            trees[path] = ast.parse(source)
    found = []
    for path, tree in trees.items():
        own = {
            node.targets[0].id
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        made = {name for name in own if name in sql and not next(written(sources[path]), None)}
        lines = sources[path].splitlines()
        for name, function in functions(tree):
            nodes = list(ast.walk(function))
            texts = {
                said(node, constants) for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)
            }
            names = {node.id for node in nodes if isinstance(node, ast.Name)}
            names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            texts |= {constants[one] for one in (names & sql) - made}
            source = "\n".join(lines[function.lineno - 1 : function.end_lineno])
            for table, columns in sorted({pair for text in texts if text for pair in written(text)}):
                found.append(Statement(path.stem, name, table, columns, source))
    return tuple(found)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{part.name}", part


def test_every_statement_that_writes_text_stands_behind_the_intake() -> None:
    found = statements()
    tables = {one.table for one in found}
    assert {"facts", "scopes", "sessions", "turns", "journal", "actors", "calls", "injections", "themes"} <= tables
    past = sorted({f"{one.name}: {one.table} ({', '.join(one.columns)})" for one in found if not one.is_behind()})
    assert past == []


def test_no_reason_is_given_for_what_is_not_there() -> None:
    names = {one.name for one in statements()}
    unused = {reason for reason in RECORDS if not any(f"{name}.".startswith(f"{reason}.") for name in names)}
    assert unused == set()


@pytest.mark.parametrize(
    "line",
    [
        'conn.execute("INSERT INTO facts (uid, target, content) VALUES (?, ?, ?)", row)',
        'conn.execute(f"UPDATE turns SET content = ? WHERE id = {key}")',
        'conn.execute("INSERT INTO sessions VALUES (?, ?)", row)',
        'conn.execute("UPDATE scopes SET label = ?, status = ? WHERE id = ?", row)',
    ],
)
def test_a_new_statement_is_found(tmp_path: Path, line: str) -> None:
    file = tmp_path / PACKAGES[0] / "side_door.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"def slip(conn, row, key):\n    {line}\n")
    (found,) = statements(tmp_path)
    assert not found.is_behind()


def test_only_the_intake_makes_what_rows_take() -> None:
    makers = {
        path.name
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bAdmitted(Fact|Turn|Text)\(", path.read_text(encoding="utf-8"))
    }
    assert makers <= {"intake.py", "facts.py"}
