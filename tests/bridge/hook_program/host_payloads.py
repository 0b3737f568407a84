"""What each host says to its hooks, as the released programs were seen to say it, and what must come of it."""

# ruff: noqa: E501 - one event a line reads better than an event in pieces

from __future__ import annotations

from typing import Any, NamedTuple

CLAUDE = {"session_id": "c-1", "transcript_path": "/h/.claude/projects/-w/c-1.jsonl", "cwd": "/w"}
CODEX = {"session_id": "x-1", "transcript_path": None, "cwd": "/w", "model": "m", "permission_mode": "default"}
GEMINI = {
    "session_id": "g-1",
    "transcript_path": "/h/.gemini/tmp/w/chats/g-1.jsonl",
    "cwd": "/w",
    "timestamp": "2026-11-22T10:00:00Z",
}
QWEN = {"session_id": "q-1", "transcript_path": "/h/.qwen/q-1.jsonl", "cwd": "/w"}
COPILOT = {"sessionId": "p-1", "timestamp": 1795400000000, "cwd": "/w"}
VSCODE = {"sessionId": "v-1", "timestamp": "2026-11-22T10:00:00Z", "cwd": "/w", "transcript_path": "/h/v-1.json"}
CURSOR = {
    "conversation_id": "u-1",
    "generation_id": "gen-1",
    "workspace_roots": ["/w", "/other"],
    "cursor_version": "3.1.0",
    "model": "m",
    "user_email": "me@example.org",
}
CLINE = {"taskId": "l-1", "workspaceRoots": ["/w"], "model": "m"}


class Case(NamedTuple):
    """One event of one host."""

    host: str
    event: str
    payload: dict[str, Any]
    expected: dict[str, Any]
    """Fields of the event, besides its name and the folder `/w`."""
    form: dict[str, Any] | str | None
    """What is printed for the text `T`; None where the host takes no text."""
    speaker: str | None = None
    """The host that speaks, where it is another than the command names."""


def nested(name: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": "T"}}


CASES = [
    Case("claude-code", "start", CLAUDE | {"hook_event_name": "SessionStart", "source": "startup", "model": "m"},
         {"session": "c-1", "source": "startup", "transcript": CLAUDE["transcript_path"]}, nested("SessionStart")),
    Case("claude-code", "start", CLAUDE | {"hook_event_name": "SessionStart", "source": "compact"},
         {"session": "c-1", "source": "compact"}, nested("SessionStart")),
    Case("claude-code", "start", CLAUDE | {"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "Explore"},
         {"session": "c-1", "source": "", "agent": "a1"}, nested("SubagentStart")),
    Case("claude-code", "start", CLAUDE | {"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "fork"},
         {"source": "fork", "agent": "a1"}, nested("SubagentStart")),
    Case("claude-code", "prompt", CLAUDE | {"hook_event_name": "UserPromptSubmit", "prompt_id": "t-1", "prompt": "Which port?"},
         {"turn": "t-1", "text": "Which port?"}, nested("UserPromptSubmit")),
    Case("claude-code", "compacting", CLAUDE | {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": None},
         {"trigger": "auto"}, None),
    Case("claude-code", "compacted", CLAUDE | {"hook_event_name": "PostCompact", "trigger": "manual", "compact_summary": "We chose."},
         {"trigger": "manual", "text": "We chose."}, None),
    Case("claude-code", "turn", CLAUDE | {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "Done."},
         {"text": "Done."}, None),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": "/w/a.md"}, "tool_response": {"type": "text", "file": {"filePath": "/w/a.md", "content": "tabs, always"}}},
         {"tool": "Read", "page": "/w/a.md", "call": "/w/a.md", "text": "text\n/w/a.md\ntabs, always", "act": "read", "subject": "/w/a.md"}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "toolu_1", "error": "Exit code 3\nno rule", "duration_ms": 12},
         {"tool": "Bash", "call": "make", "text": "Exit code 3\nno rule", "act": "run", "subject": "make", "exit": 3, "failed": True, "duration": 12, "call_id": "toolu_1"}, nested("PostToolUseFailure")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "cat log"}, "tool_response": {"stdout": "Exit code 3\n", "stderr": ""}, "duration_ms": 12},
         {"act": "run", "subject": "cat log", "exit": 0, "failed": False}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "grep x a"}, "tool_response": {"stdout": "", "returnCodeInterpretation": "No matches found"}},
         {"act": "run", "subject": "grep x a", "exit": None, "failed": False}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "agent_id": "a1", "tool_name": "Edit", "tool_input": {"file_path": "/w/a\nb.py"}, "tool_response": {"filePath": "/w/a\nb.py"}},
         {"act": "edit", "subject": "/w/a\\nb.py", "agent": "a1", "exit": None, "failed": False}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "Grep", "tool_input": {"pattern": "port", "path": "src"}, "tool_response": {}},
         {"act": "read", "subject": "src"}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "ExitPlanMode", "tool_input": {"plan": "first this"}, "tool_response": {}},
         {"act": "plan", "subject": ""}, nested("PostToolUse")),
    Case("claude-code", "tool", CLAUDE | {"hook_event_name": "PostToolUse", "tool_name": "Weather", "tool_input": {"command": "make"}, "tool_response": {}},
         {"act": "", "subject": "", "exit": None}, nested("PostToolUse")),
    Case("gemini", "tool", GEMINI | {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "make", "dir_path": "sub"}, "tool_response": {"llmContent": "<untrusted_context>\nOutput: Exit Code: 7\nno rule\nExit Code: 3\nProcess Group PGID: 9\n</untrusted_context>"}},
         {"act": "run", "subject": "make", "exit": 3, "failed": True, "place": "sub", "call_id": "2026-11-22T10:00:00Z"}, nested("AfterTool")),
    Case("gemini", "tool", GEMINI | {"hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "make"}, "tool_response": {"llmContent": "Output: fine\nExit Code: 7\nis what it says\nProcess Group PGID: 9"}},
         {"act": "run", "exit": 0, "failed": False}, nested("AfterTool")),
    Case("qwen", "tool", QWEN | {"hook_event_name": "PostToolUseFailure", "tool_name": "run_shell_command", "tool_input": {"command": "make", "is_background": False}, "tool_use_id": "toolu_9", "tool_call_id": "call_1", "error": "Output: no rule\nExit Code: 3\nSignal: (none)", "duration_ms": 30},
         {"act": "run", "subject": "make", "exit": 3, "failed": True, "duration": 30, "call_id": "call_1"}, nested("PostToolUseFailure")),
    Case("copilot", "tool", COPILOT | {"toolName": "bash", "toolArgs": {"command": "make"}, "toolResult": {"resultType": "success", "textResultForLlm": "no rule\n<shellId: 0 completed with exit code 3>"}},
         {"act": "run", "subject": "make", "exit": 3, "failed": True, "call_id": "1795400000000"}, {"additionalContext": "T"}),
    Case("opencode", "tool", {"session": "o-1", "folder": "/w", "tool_name": "bash", "tool_input": {"command": "make"}, "call_id": "prt_1", "exit": 3, "text": "no rule"},
         {"act": "run", "subject": "make", "exit": 3, "failed": True, "call_id": "prt_1"}, {"text": "T"}),
    Case("codex", "tool", CODEX | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "cat log"}, "tool_use_id": "call_1", "tool_response": "Exit code: 3\n"},
         {"act": "run", "subject": "cat log", "exit": None, "failed": False, "call_id": "call_1"}, nested("PostToolUse")),
    Case("gemini", "tool", GEMINI | {"hook_event_name": "AfterTool", "tool_name": "web_fetch", "tool_input": {"url": "https://example.org/a"}, "tool_response": {"llmContent": "tabs, always"}},
         {"tool": "web_fetch", "page": "https://example.org/a", "call": "https://example.org/a", "text": "tabs, always"}, nested("AfterTool")),
    Case("copilot", "tool", COPILOT | {"toolName": "bash", "toolArgs": "{\"command\": \"make\"}", "toolResult": {"resultType": "success", "textResultForLlm": "no rule"}},
         {"tool": "bash", "call": "make", "text": "success\nno rule"}, {"additionalContext": "T"}),
    Case("codex", "tool", CODEX | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "no rule"},
         {"tool": "Bash", "call": "make", "text": "no rule"}, nested("PostToolUse")),
    Case("opencode", "tool", {"session": "o-1", "folder": "/w", "tool_name": "webfetch", "tool_input": {"url": "https://example.org/a"}, "text": "tabs, always"},
         {"tool": "webfetch", "page": "https://example.org/a", "call": "https://example.org/a", "text": "tabs, always"}, {"text": "T"}),
    Case("claude-code", "end", CLAUDE | {"hook_event_name": "SessionEnd", "reason": "clear"}, {"reason": "clear"}, None),
    Case("codex", "start", CODEX | {"hook_event_name": "SessionStart", "source": "fork"},
         {"session": "x-1", "source": "fork", "transcript": ""}, nested("SessionStart")),
    Case("codex", "prompt", CODEX | {"hook_event_name": "UserPromptSubmit", "turn_id": "t-2", "prompt": "p"},
         {"turn": "t-2", "text": "p"}, nested("UserPromptSubmit")),
    Case("codex", "compacting", CODEX | {"hook_event_name": "PreCompact", "turn_id": "t-2", "trigger": "auto", "agent_id": "a-1"},
         {"trigger": "auto", "agent": "a-1"}, None),
    Case("codex", "turn", CODEX | {"hook_event_name": "Stop", "turn_id": "t-2", "last_assistant_message": "Done."},
         {"turn": "t-2", "text": "Done."}, None),
    Case("codex", "end", CODEX | {"hook_event_name": "SessionEnd", "reason": "other"}, {"reason": "other"}, None),
    Case("gemini", "start", GEMINI | {"hook_event_name": "SessionStart", "source": "clear"},
         {"session": "g-1", "source": "clear"}, nested("SessionStart")),
    Case("gemini", "prompt", GEMINI | {"hook_event_name": "BeforeAgent", "prompt": "p"}, {"text": "p"}, nested("BeforeAgent")),
    Case("gemini", "turn", GEMINI | {"hook_event_name": "AfterAgent", "prompt": "p", "prompt_response": "r"}, {"text": "r"}, None),
    Case("gemini", "compacting", GEMINI | {"hook_event_name": "PreCompress", "trigger": "auto"}, {"trigger": "auto"}, None),
    Case("copilot", "start", COPILOT | {"source": "new", "initialPrompt": "p"},
         {"session": "p-1", "source": "startup", "text": ""}, {"additionalContext": "T"}),
    Case("copilot", "prompt", COPILOT | {"prompt": "p"}, {"text": "p"}, {"additionalContext": "T"}),
    Case("copilot", "turn", COPILOT | {"transcriptPath": "/h/events.jsonl", "stopReason": "end_turn"},
         {"transcript": "/h/events.jsonl", "text": "", "reason": "end_turn"}, None),
    Case("qwen", "prompt", QWEN | {"hook_event_name": "UserPromptSubmit", "prompt": "p"}, {"text": "p"}, nested("UserPromptSubmit")),
    Case("qwen", "turn", QWEN | {"hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "r"}, {"text": "r"}, None),
    Case("droid", "start", CLAUDE | {"hook_event_name": "SessionStart", "source": "resume"}, {"source": "resume"}, nested("SessionStart")),
    Case("vscode", "start", VSCODE | {"hookEventName": "SessionStart", "source": "new"},
         {"session": "v-1", "source": "startup"}, nested("SessionStart")),
    Case("vscode", "prompt", VSCODE | {"hookEventName": "UserPromptSubmit", "prompt": "p"}, {"text": "p"}, None),
    Case("claude-code", "start", VSCODE | {"hookEventName": "SessionStart", "source": "new"},
         {"session": "v-1"}, nested("SessionStart"), "vscode"),
    Case("copilot", "start", VSCODE | {"hookEventName": "SubagentStart", "agent_id": "a1"},
         {"session": "v-1", "agent": "a1"}, nested("SubagentStart"), "vscode"),
    Case("copilot", "prompt", VSCODE | {"hookEventName": "UserPromptSubmit", "prompt": "p"}, {"text": "p"}, None, "vscode"),
    Case("cursor", "start", CURSOR | {"hook_event_name": "sessionStart"},
         {"session": "u-1", "version": "3.1.0"}, {"additional_context": "T", "continue": True}),
    Case("cursor", "turn", CURSOR | {"hook_event_name": "afterAgentResponse", "text": "r"}, {"turn": "gen-1", "text": "r"}, None),
    Case("claude-code", "prompt", CURSOR | {"hook_event_name": "beforeSubmitPrompt", "prompt": "p"},
         {"session": "u-1", "text": "p"}, {"additional_context": "T", "continue": True}, "cursor"),
    Case("cline", "start", CLINE | {"hookName": "TaskResume"},
         {"session": "l-1", "source": "resume"}, {"cancel": False, "contextModification": "T", "errorMessage": ""}),
    Case("cline", "prompt", CLINE | {"hookName": "UserPromptSubmit", "prompt": "p"},
         {"text": "p"}, {"cancel": False, "contextModification": "T", "errorMessage": ""}),
    Case("cline", "prompt", CLINE | {"hookName": "UserPromptSubmit", "userPromptSubmit": {"prompt": "p"}}, {"text": "p"},
         {"cancel": False, "contextModification": "T", "errorMessage": ""}),
    Case("opencode", "start", {"session": "o-1", "directory": "/w"}, {"session": "o-1"}, {"text": "T"}),
    Case("opencode", "compacting", {"sessionID": "o-1", "directory": "/w"}, {"session": "o-1"}, None),
    Case("goose", "prompt", {"event": "UserPromptSubmit", "session_id": "s-1", "message": "p", "working_dir": "/w"},
         {"session": "s-1", "text": "p"}, {"text": "T"}),
    Case("goose", "turn", {"event": "Stop", "session_id": "s-1", "last_assistant_message": "r", "working_dir": "/w"},
         {"text": "r"}, None),
]  # fmt: skip


def case_id(case: Case) -> str:
    told = case.payload.get("source") or case.payload.get("hook_event_name") or ""
    return f"{case.host}-{case.event}-{case.speaker or ''}{told}"
