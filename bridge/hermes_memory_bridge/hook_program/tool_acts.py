"""What a tool call did: its kind, its command or files, and how it ended, as a hook's payload or a transcript tells it.

The member `actions` of a host's data names the `tools` that count: what a call does (`run`, `read`, `list`, `edit`, `plan`),
and in which member of its input stands with what. `lines` are rules for any document of a transcript: `at` leads to an object or
a list of them, and within it `id` to the id of a call. Where that is, the others lead to what it says of the call: `name` and
`input`, its `text`, `exit`, whether it `failed`, its `duration` and `time`, and what makes its exit code `unsure`. `hook` is such
a rule for what a hook is told after a tool; with `reads_record` the newest lines of the transcript are read besides. `exit` is a
pattern of the code in a text, of failures alone with `exit_of_failures`; `silent_exit` the code of a call that did not fail and
names none.

Standard library alone, and only hooks after tools import it.
"""

from __future__ import annotations

import os
import re

from hermes_memory_bridge.hook_program.hook_event import to_text, to_utf8
from hermes_memory_store.compact_json import parse_whole_object
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.system.file_handles import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_READ = 1 << 15
"""Characters at either end of an output, or at the beginning of a command, that are looked at."""

MOST_RECORD = 1 << 18
"""Bytes at the end of a transcript in which the newest call is looked for."""

PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\s*$", re.MULTILINE)

RESULTS = frozenset({"text", "exit", "duration", "failed", "unsure"})

WORK_FOLDERS = "workdir or cwd or directory or dir_path"
"""Members of a call's input that say where its command runs."""

FAILURES = (True, "error", "failed", "cancelled", "declined", "failure", "denied", "rejected", "PostToolUseFailure")


class ToolCall:
    __slots__ = ("at", "folder", "id", "kind", "results", "subjects")

    def __init__(self, call_id: str, kind: str, subjects: list[str], folder: str, at: int | None) -> None:
        """:param subjects: the command, or the files"""
        self.id = call_id
        self.kind = kind
        self.subjects = subjects
        self.folder = folder
        self.at = at
        self.results: dict[str, Any] = {}

    def add_results(self, part: object, rule: Mapping[str, str]) -> None:
        """Note what a part of a document says of this call, unless it is known."""
        new = {key: find_by_paths(part, rule[key]) for key in RESULTS & rule.keys()}
        new |= {"text": to_ends(new.get("text")), "failed": to_failure(new.get("failed"))}
        self.results |= {key: value for key, value in new.items() if value is not None and key not in self.results}

    def to_outcome(self, form: Mapping[str, Any]) -> tuple[int | None, int | None, str | None]:
        """Return its exit code, its duration in milliseconds, and what it returned if it failed.

        :param form: the member `actions` of its host
        """
        text, exit_code, duration, failed = map(self.results.get, ("text", "exit", "duration", "failed"))
        is_told = exit_code is None and (failed or not form.get("exit_of_failures"))
        codes = [*re.finditer(form.get("exit", "(?!)"), text or "", re.MULTILINE)] if is_told else []
        exit_code = int(codes[-1][codes[-1].lastindex or 0]) if codes else exit_code
        exit_code = exit_code if isinstance(exit_code, int) and abs(exit_code) < 1 << 32 else None
        has_failed = bool(failed or exit_code)
        if exit_code is None and text is not None and not has_failed and not self.results.get("unsure"):
            exit_code = form.get("silent_exit")
        if isinstance(duration, dict) and all(
            isinstance(duration.get(unit), int) for unit in ("secs", "nanos")
        ):  # Codex
            duration = duration["secs"] * 1_000 + duration["nanos"] // 1_000_000
        duration_ms = round(duration) if isinstance(duration, int | float) and 0 <= duration < 1 << 62 else None
        return exit_code if self.kind == "run" else None, duration_ms, (text or "failed") if has_failed else None


def describe_act(host: str, payload: Mapping[str, Any], tool: str, call: Any, transcript: str) -> dict[str, Any]:
    """Return the members of an event after a tool that say what its call did; none of a tool that does not count.

    :param call: what it was called with
    """
    form = load_host(host).get("actions", {})
    rule = form.get("hook", {})
    call_id = find_by_paths(payload, rule.get("id", "tool_use_id"))
    document: dict[str, Any] = {"call_id": str(call_id)} if call_id is not None else {}
    if tool not in form.get("tools", {}):
        return document
    kind, member = form["tools"][tool]
    made = ToolCall(str(call_id), *to_subjects(kind, find_by_paths(call, member)), "", None)
    made.add_results(payload, rule)
    if rule.get("reads_record") and transcript and isinstance(call_id, str):
        read_newest_record(made, transcript, form["lines"])
    exit_code, duration, error = made.to_outcome(form)
    is_command = made.kind == "run"
    subject = "\n".join(name if is_command else name.replace("\n", "\\n") for name in made.subjects)
    document |= {"act": "read" if made.kind == "list" else made.kind, "subject": subject}
    document |= {"place": to_path(find_by_paths(call, WORK_FOLDERS))} if is_command else {}
    return document | {"exit": exit_code, "failed": error is not None, "error": error, "duration": duration}


def read_newest_record(call: ToolCall, path: str, rules: list[dict[str, str]]) -> None:
    """Note what the end of a transcript says of a call."""
    try:
        with open(open_regular(path, follow_links=False), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_RECORD))
            lines = file.read(MOST_RECORD).split(b"\n")
    except (OSError, ValueError):
        return
    named = call.id.encode(errors="replace")
    for document in (parse_whole_object(line.decode(errors="replace")) for line in lines if named in line):
        for rule in rules:
            part = find_by_paths(document, rule["at"])
            if find_by_paths(part, rule["id"]) == call.id:
                call.add_results(part, rule)


def to_failure(value: Any) -> bool | None:
    """Return whether a status, or an error, says that a call failed; None where there is none."""
    return None if value is None else isinstance(value, dict) or value in FAILURES


def to_ends(value: Any) -> str | None:
    """Return the beginning and the end of what a call returned."""
    text = to_text(value, "\n") if isinstance(value, str | list) else None
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
        import shlex  # here, not above: few hosts name a command by its words

        words = list(map(to_path, value))
        is_script = len(words) == 3 and words[0].endswith("sh") and words[1].startswith("-")
        value = words[2] if is_script else "\n".join(words) if words[:1] == ["apply_patch"] else shlex.join(words)
    if isinstance(value, str) and (value := to_path(value)):
        is_patch = value.lstrip().startswith(("apply_patch", "*** Begin Patch"))
        return (
            ("edit", PATCHED_FILE.findall(value)) if is_patch else (kind, [value[:MOST_READ]] if value.strip() else [])
        )
    entries = value if isinstance(value, (list, dict)) and kind != "run" else ()
    paths = [find_by_paths(entry, "path") if isinstance(entry, dict) else entry for entry in entries]
    return kind, [path for path in map(to_path, paths) if path]


def to_path(value: Any) -> str:
    """Return a text as a file may be called."""
    return str(to_utf8(value)).replace("\0", "") if isinstance(value, str) else ""
