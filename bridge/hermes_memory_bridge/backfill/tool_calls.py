"""What an agent did in a session: what it ran, read and edited, from the same documents as what was said.

A host's `actions` name the `tools` that count: what a call does, and in which member of its input stands with what. `lines` are
rules for any document: `at` leads to an object or a list of them, and within it `id` to the id of a call. Where that is, the
others lead to what it says of the call: `name` and `input`, its `text`, `exit`, whether it `failed`, its `duration` and `time`,
and what makes its exit code `unsure`. `exit` is a pattern of the code in a text, `silent_exit` the code of a call that did not
fail and names none. `apart` leads to what a subagent's documents have. A database has a query `read` that makes such documents.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_bridge.hook_program.hook_event import to_utf8
from hermes_memory_bridge.hook_service.transcripts.transcript_file import join_parts, load_document, parse_time
from hermes_memory_store.hosts.host_data import load_host

MOST_READ = 1 << 15
"""Characters at either end of an output, or at the beginning of a command, that are looked at."""

PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)

RESULTS = frozenset({"text", "exit", "duration", "failed", "unsure"})


@dataclass(slots=True)
class ToolCall:
    id: str
    kind: str
    subjects: list[str]
    """The command, or the files."""
    folder: str
    at: int | None
    results: dict[str, Any] = field(default_factory=dict)

    def to_outcome(self, pattern: str, silent_exit: int | None) -> tuple[int | None, int | None, str | None]:
        """Return its exit code, its duration in milliseconds, and what it returned if it failed."""
        text, exit_code, duration, failed = map(self.results.get, ("text", "exit", "duration", "failed"))
        codes = [*re.finditer(pattern, text or "", re.MULTILINE)] if exit_code is None else []
        exit_code = int(codes[-1][codes[-1].lastindex or 0]) if codes else exit_code
        exit_code = exit_code if isinstance(exit_code, int) and abs(exit_code) < 1 << 32 else None
        has_failed = bool(failed or exit_code)
        if exit_code is None and text is not None and not has_failed and "unsure" not in self.results:
            exit_code = silent_exit
        if isinstance(duration, dict) and all(
            isinstance(duration.get(unit), int) for unit in ("secs", "nanos")
        ):  # Codex
            duration = duration["secs"] * 1_000 + duration["nanos"] // 1_000_000
        duration_ms = round(duration) if isinstance(duration, int | float) and 0 <= duration < 1 << 62 else None
        return exit_code if self.kind == "run" else None, duration_ms, (text or "failed") if has_failed else None


class SessionCalls:
    def __init__(self, host: str) -> None:
        self._form: dict[str, Any] = load_host(host).get("actions", {})
        self._calls: dict[str, ToolCall] = {}
        self.query: str = self._form.get("read", "")

    def read(self, document: Any) -> None:
        if find_by_paths(document, self._form.get("apart", "-")):
            return
        for rule in self._form.get("lines", ()):
            parts = find_by_paths(document, rule["at"])
            for part in parts if isinstance(parts, list) else [parts]:
                name = find_by_paths(part, rule["id"])
                if isinstance(name, str) and (name in self._calls or self._begin(name, part, rule, document)):
                    new = {key: find_by_paths(part, rule[key]) for key in RESULTS & rule.keys()}
                    new |= {"text": to_ends(new.get("text")), "failed": to_failure(new.get("failed"))}
                    results = self._calls[name].results
                    results |= {key: value for key, value in new.items() if value is not None and key not in results}

    def _begin(self, name: str, part: dict[str, Any], rule: dict[str, str], document: dict[str, Any]) -> bool:
        """Note a call, if it is one of a tool that counts."""
        tool = self._form["tools"].get(str(find_by_paths(part, rule.get("name", "-"))))
        if tool is not None:
            given = find_by_paths(part, rule["input"])
            given = load_document(given.encode(errors="replace")) or given if isinstance(given, str) else given
            at = parse_time(find_by_paths(part, rule.get("time", "-")) or document.get("timestamp"))
            places = document.get("cwd"), find_by_paths(given, "workdir or cwd or directory or dir_path")
            folder = os.path.join(*(to_path(place).removeprefix("file://") for place in places))
            subjects = find_by_paths(given, tool[1]) if isinstance(given, dict) else given
            self._calls[name] = ToolCall(name, *to_subjects(tool[0], subjects), folder, at)
        return tool is not None

    def list_calls(self) -> Iterator[tuple[ToolCall, tuple[int | None, int | None, str | None]]]:
        """Yield the calls and their outcomes in order, without the last ones of which nothing came back: they may be running."""
        calls = list(self._calls.values())
        while calls and not calls[-1].results:
            calls.pop()
        for call in calls:
            yield call, call.to_outcome(self._form.get("exit", "(?!)"), self._form.get("silent_exit"))


def to_failure(value: Any) -> bool | None:
    """Return whether a status, or an error, says that a call failed; None where there is none."""
    return (
        None
        if value is None
        else isinstance(value, dict) or value in (True, "error", "failed", "cancelled", "declined")
    )


def to_ends(value: Any) -> str | None:
    """Return the beginning and the end of what a call returned."""
    text = join_parts(value) if isinstance(value, str | list) else None
    return text if text is None or len(text) <= 2 * MOST_READ else text[:MOST_READ] + text[-MOST_READ:]


def find_by_paths(document: Any, paths: str) -> Any:
    """Find what one of several paths leads to, joined by `or`; numbers between the points count in lists."""
    for path in paths.split(" or ") if isinstance(paths, str) else ():
        value = document
        for key in path.split(".") if path else ():
            if isinstance(value, list) and key.isdecimal():
                value = value[int(key)] if int(key) < len(value) else None
            else:
                value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def to_subjects(kind: str, value: Any) -> tuple[str, list[str]]:
    """Return the kind of a call, and its command or files: a patch is an edit, however it is applied."""
    if isinstance(value, list) and kind == "run":
        words = list(map(to_path, value))
        is_script = len(words) == 3 and words[0].endswith("sh") and words[1].startswith("-")
        value = words[2] if is_script else "\n".join(words) if words[:1] == ["apply_patch"] else shlex.join(words)
    if isinstance(value, str) and (value := to_path(value)):
        is_patch = value.lstrip().startswith(("apply_patch", "*** Begin Patch"))
        return (
            ("edit", PATCHED_FILE.findall(value)) if is_patch else (kind, [value[:MOST_READ]] if value.strip() else [])
        )
    paths = [
        find_by_paths(entry, "path") if isinstance(entry, dict) else entry for entry in value or () if kind != "run"
    ]
    return kind, [path for path in map(to_path, paths) if path]


def to_path(value: Any) -> str:
    """Return a text as a file may be called."""
    return str(to_utf8(value)).replace("\0", "") if isinstance(value, str) else ""
