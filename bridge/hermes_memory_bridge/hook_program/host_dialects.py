"""What hosts say to their hooks and how they want to be answered: words that several share, and the forms of answers.

What is particular to a host is the member `answers` of its file (`hosts/host_data.py` of the store): `forms`, the form of an
answer by our event, of which one that is missing takes no text; `empty`, what is printed where there is nothing to say;
`environ`, variables that tell a field which its payload lacks; `fields` and `texts`, keys of its own beside those below; `names`,
its words for our events where they are not those of its hooks; `readers`, hosts that read its hooks as well, by keys that their
payloads alone have; `notice`, the key of a line that its person sees and its model does not. A host that voids an answer with
one key too many (Codex) gets exactly the keys of its form.
"""

from __future__ import annotations

from hermes_memory_store.compact_json import to_json
from hermes_memory_store.hosts.host_data import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NESTED = "nested"
"""`{"hookSpecificOutput": {"hookEventName": …, "additionalContext": …}}`"""

TOP = "top"
"""`{"additionalContext": …}`"""

CURSOR = "cursor"
"""`{"additional_context": …}`, and `continue` where the host asks whether to."""

CLINE = "cline"
"""`{"cancel": false, "contextModification": …, "errorMessage": ""}`"""

PLUGIN = "plugin"
"""`{"text": …}`, for our own plugin."""

PERMISSION = "permission"
"""`{"hookSpecificOutput": {"hookEventName": …, "permissionDecision": "ask", "permissionDecisionReason": …}}`"""

DENIAL = "denial"
"""The same of a host that takes `deny` alone."""

TOP_PERMISSION = "top permission"
"""`{"permissionDecision": …, "permissionDecisionReason": …}`"""

DECISION = "decision"
"""`{"decision": "deny", "reason": …}`: asked to ask, such a host waits for ever where it has no person (Gemini CLI)."""

ASKING_FORMS = (PERMISSION, TOP_PERMISSION)
"""Forms of hosts that can ask their person; the others refuse what a guard would ask about."""


FIELDS = {
    "session": ("session_id", "sessionId", "sessionID", "conversation_id", "taskId", "session"),
    "source": ("source", "agent_type"),
    "turn": ("prompt_id", "turn_id", "turnId", "generation_id", "messageID", "message_id", "turn"),
    "folder": ("cwd", "working_dir", "directory", "folder", "workspace_roots", "workspaceRoots"),
    "transcript": ("transcript_path", "transcriptPath", "transcript"),
    "agent": ("agent_id", "agentId", "agent"),
    "trigger": ("trigger",),
    "reason": ("reason", "stopReason", "status"),
    "version": ("cursor_version", "host_version", "version"),
    "tool": ("tool_name", "toolName", "tool"),
}
"""Keys under which hosts tell a field, looked for in this order."""

TEXT_KEYS = {
    "prompt": ("prompt", "message", "userPromptSubmit.prompt", "text", "task"),
    "turn": ("last_assistant_message", "prompt_response", "response", "text", "message"),
    "compacted": ("compact_summary", "summary", "text"),
}
"""Keys of the message by event; a point leads into an object."""

CALL_KEYS = ("tool_input", "toolArgs", "args")
"""Keys of what a tool was called with."""

RESULT_KEYS = ("tool_response", "toolResult", "error", "text")
"""Keys of what a tool returned, texts in any form."""

REPLACED_KEYS = ("old_string", "oldString", "old_str", "old_text")
"""Keys of what an edit takes out, in what it was called with."""

PAGE_KEYS = ("url", "uri", "file_path", "filePath", "absolute_path", "path")
"""Keys of what a tool reads, in what it was called with."""

SOURCE_WORDS = {"new": "startup", "TaskStart": "startup", "TaskResume": "resume"}
"""Hosts' other words for how a session starts: the value of `source`, or the name of the host's event."""

EVENT_NAME_KEYS = ("hook_event_name", "hookEventName", "hookName", "event")
"""Keys of the host's own name of its event."""


def find_speaking_host(host: str, payload: Mapping[str, object]) -> str:
    """Return the host that speaks, where one host reads the hooks of another.

    VS Code reads those of Claude Code and of Copilot CLI, Cursor those of Claude Code. Variables prove nothing: Gemini CLI and
    Qwen Code set `CLAUDE_PROJECT_DIR` as well.

    :param host: the host that the command names
    """
    readers = load_host(host)["answers"].get("readers", {})
    return next((reader for reader, keys in readers.items() if any(key in payload for key in keys)), host)


def format_host_answer(host: str, event: str, text: str, notice: str = "", native: str = "") -> str:
    """Return what is printed.

    :param text: what the model is to be given, fenced; empty for nothing
    :param notice: what the person is to see of it, where the host has a place for that
    :param native: the host's word for the event, where it has several for one of ours
    """
    answers = load_host(host)["answers"]
    form = answers["forms"].get(event)
    if not text or form is None:
        return str(answers.get("empty", ""))
    if event == "guard":
        return format_permission(host, text)
    shown = {answers["notice"]: notice} if notice and "notice" in answers else {}
    if form == NESTED:
        output = {"hookEventName": find_native_name(host, event, native), "additionalContext": text}
        return to_json({"hookSpecificOutput": output, **shown})
    documents: dict[str, dict[str, Any]] = {
        TOP: {"additionalContext": text},
        CURSOR: {"additional_context": text, "continue": True},
        CLINE: {"cancel": False, "contextModification": text, "errorMessage": ""},
        PLUGIN: {"text": text},
    }
    return to_json({**documents[form], **shown})


def format_permission(host: str, text: str) -> str:
    """Return what is printed before a tool that a guard is about. :param text: `ask` or `deny`, and in the next line why"""
    decision, _, reason = text.partition("\n")
    form = load_host(host)["answers"]["forms"]["guard"]
    members = {"permissionDecision": decision, "permissionDecisionReason": reason}
    documents = {
        TOP_PERMISSION: members,
        DECISION: {"decision": decision, "reason": reason},
        PLUGIN: {"text": reason},
    }
    return to_json(
        documents.get(form) or {"hookSpecificOutput": {"hookEventName": find_native_name(host, "guard"), **members}}
    )


def find_native_name(host: str, event: str, native: str = "") -> str:
    """Return a host's word for one of our events. :param native: which of several"""
    data = load_host(host)
    words = [line["native"] for line in data["hooks"]["lines"] if line["event"] == event]
    if native.casefold() in map(str.casefold, words):
        return native
    return str(data["answers"].get("names", {}).get(event) or words[0])
