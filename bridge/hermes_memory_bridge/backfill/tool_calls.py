"""What an agent did in a session: what it ran, read and edited, from the same documents as what was said.

`hook_program/tool_acts.py` says how a host's data describes calls. `apart` leads to what a subagent's documents have. A database
has a query `read` that makes documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from hermes_memory_bridge.hook_program.tool_acts import WORK_FOLDERS, ToolCall, find_by_paths, to_path, to_subjects
from hermes_memory_bridge.hook_service.transcripts.transcript_file import load_document, parse_time
from hermes_memory_store.hosts.host_data import load_host

KEPT_KINDS = ("run", "read", "edit")


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
                    self._calls[name].add_results(part, rule)

    def _begin(self, name: str, part: dict[str, Any], rule: dict[str, str], document: dict[str, Any]) -> bool:
        """Note a call, if it is one of a tool that counts."""
        tool = self._form["tools"].get(str(find_by_paths(part, rule.get("name", "-"))))
        if tool is not None and tool[0] in KEPT_KINDS:
            given = find_by_paths(part, rule["input"])
            given = load_document(given.encode(errors="replace")) or given if isinstance(given, str) else given
            at = parse_time(find_by_paths(part, rule.get("time", "-")) or document.get("timestamp"))
            places = document.get("cwd"), find_by_paths(given, WORK_FOLDERS)
            folder = os.path.join(*(to_path(place).removeprefix("file://") for place in places))
            subjects = find_by_paths(given, tool[1]) if isinstance(given, dict) else given
            self._calls[name] = ToolCall(name, *to_subjects(tool[0], subjects), folder, at)
        return name in self._calls

    def list_calls(self) -> Iterator[tuple[ToolCall, tuple[int | None, int | None, str | None]]]:
        """Yield the calls and their outcomes in order, without the last ones of which nothing came back: they may be running."""
        calls = list(self._calls.values())
        while calls and not calls[-1].results:
            calls.pop()
        for call in calls:
            yield call, call.to_outcome(self._form)
