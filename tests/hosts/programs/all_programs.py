"""The drivers by the names of their hosts."""

from __future__ import annotations

from tests.hosts.programs.claude_program import ClaudeProgram
from tests.hosts.programs.codex_program import CodexProgram
from tests.hosts.programs.copilot_program import CopilotProgram
from tests.hosts.programs.gemini_program import GeminiProgram
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.programs.opencode_program import OpencodeProgram
from tests.hosts.programs.qwen_program import QwenProgram

HOST_PROGRAMS: dict[str, type[HostProgram]] = {
    program.name: program
    for program in (ClaudeProgram, CodexProgram, GeminiProgram, OpencodeProgram, CopilotProgram, QwenProgram)
}
