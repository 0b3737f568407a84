"""The tool `memory_optimize`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import Arguments, parse_flag, parse_percentage
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.host_folders import MEMORY_FILES, find_host_profile
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_store.relief.file_relief import FileReliefReport, relieve_files


def memory_optimize(connection: Connection, arguments: Arguments) -> ToolResult:
    """Relieve MEMORY.md and USER.md of the host's profile."""
    threshold, dry_run = parse_percentage(arguments, "threshold_pct", 55.0), parse_flag(arguments, "dry_run")
    report = relieve_files(
        connection.store,
        connection.theme,
        home=find_host_profile(connection),
        threshold_pct=threshold,
        dry_run=dry_run,
    )
    memory, user = report.memory, report.user
    data = {
        "memory": {"before": round(memory.before_pct, 1), "after": round(memory.after_pct, 1), "diff": memory.diff},
        "user": {"before": round(user.before_pct, 1), "after": round(user.after_pct, 1), "diff": user.diff},
        "migrated": report.migrated_count,
        "dry_run": dry_run,
    }
    if not report.has_acted:
        return ToolResult(
            f"no action needed\nMEMORY: {memory.before_pct:.1f}%  USER: {user.before_pct:.1f}%\n"
            f"(both below {threshold:.0f}% threshold)",
            data,
        )
    lines = [
        "optimized:" + (" (dry run)" if dry_run else ""),
        f"  MEMORY: {format_file_change(memory)}",
        f"  USER:   {format_file_change(user)}",
    ]
    if report.migrated_count:
        lines.append(f"  {report.migrated_count} fact(s) moved to hermes-memory DB")
    lines += [f"  kept in the file: {kept}" for file in (memory, user) for kept in file.kept]
    lines += [f"  {file.why}" for file in (memory, user) if file.why]
    return ToolResult("\n".join(lines), data)


def format_file_change(file: FileReliefReport) -> str:
    """Format how full a file was and is."""
    migrated = f"  ({file.migrated} facts migrated)" if file.migrated else ""
    return f"{file.before_pct:.1f}% → {file.after_pct:.1f}%{migrated}"


SPEC = ToolSpec(
    name="memory_optimize",
    title="Relieve MEMORY.md and USER.md",
    description=(
        "Make room in MEMORY.md and USER.md: abbreviate prose and move C/D/V/? facts to memory. Acts only above the "
        "threshold (default 55 %), keeps a copy. dry_run only shows the diff."
    ),
    arguments={
        "threshold_pct": {"type": ["number", "string"], "default": 55},
        "dry_run": {"type": "boolean", "default": False},
        "session_id": {"type": "string"},
    },
    required=(),
    gives={"memory": {"type": "object"}, "user": {"type": "object"}, "migrated": {"type": "integer"}},
    handler=memory_optimize,
    overwrites=True,
    alone=True,
    files=MEMORY_FILES,
)
