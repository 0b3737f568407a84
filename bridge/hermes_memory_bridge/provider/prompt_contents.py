"""What an agent's prompt already says, so that recall does not repeat it.

The host freezes MEMORY.md and USER.md into its system prompt when an agent starts and after a compression; what was
recalled before stays in the conversation as it was sent; and the user's message is there anyway.
"""

from __future__ import annotations

import contextlib
import os
import re

from . import file_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FEWEST_WORDS = 3
"""A content of fewer words says nothing by itself: its target must stand in the same text."""

DERIVED_TARGET = re.compile(r"(?:memory|user)\.[0-9a-f]{12}(?:\.\d+)?")
"""The target of an entry that is no notation; see `file_entries.to_fact_lines`."""

CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words."""

WORD = re.compile(rf"[{CJK}]|[^\W{CJK}_]+")
QUESTION = re.compile(r"[^.!?。！？\n]*[?？]+")
MEMORY_SETTINGS = re.compile(r"^memory:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n|[ \t]*(?:#.*)?\n)*)", re.MULTILINE)
SWITCHED_OFF = re.compile(r"^[ \t]+(memory_enabled|user_profile_enabled):[ \t]*[\"']?(?:false|no|off)\b", re.M | re.I)
ENABLED_BY = {"memory": "memory_enabled", "user": "user_profile_enabled"}
"""The host's settings that put each file into its prompt."""


class PromptContents:
    """Some texts of a prompt. Immutable, so threads may share it."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._lines: set[str] = set()
        self._prose: list[str] = []
        for text in texts:
            other = []
            for line in text.splitlines():
                if file_entries.is_notation_line(line):
                    self._lines.add(to_comparable(line))
                else:
                    other.append(line)
            prose = to_comparable(" ".join(other))
            if prose:
                self._prose.append(prose)

    @classmethod
    def of_message(cls, message: str) -> PromptContents:
        """Return what a user's message says. A question holds no fact: what it asks may be what the fact answers."""
        lines = message.splitlines()
        stated = [line if file_entries.is_notation_line(line) else QUESTION.sub(" ", line) for line in lines]
        return cls(["\n".join(stated)])

    def has_fact(self, line: str) -> bool:
        """Check whether a fact's line stands there, as it is or in other words around its content."""
        if to_comparable(line) in self._lines:
            return True
        if not file_entries.is_notation_line(line):
            return False
        content = to_comparable(file_entries.find_line_content(line))
        target = file_entries.find_line_head(line)[2:-1]
        needed = set() if DERIVED_TARGET.fullmatch(target) else set(WORD.findall(target.casefold()))
        is_telling = len(WORD.findall(content)) >= FEWEST_WORDS
        return any(is_part(content, text) and (is_telling or needed <= set(WORD.findall(text))) for text in self._prose)

    def has_text(self, text: str) -> bool:
        comparable = to_comparable(text)
        return any(is_part(comparable, other) for other in self._prose)


def read_prompt_entries(home: str) -> list[str]:
    """Read what the host's system prompt holds of MEMORY.md and USER.md; nothing of a file it is told to leave out."""
    off = find_settings_switched_off(home)
    entries: list[str] = []
    for kind in file_entries.KINDS:
        if ENABLED_BY[kind] not in off:
            with contextlib.suppress(file_entries.UnreadableMemoryFile):  # the host's prompt is empty then
                entries += file_entries.read_memory_entries(file_entries.find_memory_file(home, kind))
    return entries


def find_settings_switched_off(home: str) -> set[str]:
    """Find which of the two files the host's config.yaml keeps out of the prompt; none when it cannot be read."""
    try:
        with open(os.path.join(home, "config.yaml"), encoding="utf-8", errors="replace") as file:
            config = file.read(file_entries.MOST_BYTES) + "\n"
    except OSError:
        return set()
    return {name for block in MEMORY_SETTINGS.findall(config) for name in SWITCHED_OFF.findall(block)}


def to_comparable(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.casefold().split())


def is_part(content: str, text: str) -> bool:
    """Check whether a content stands in a text as words of their own: `use C` is no part of `use C++`."""
    if not content or content not in text:
        return False
    before = "" if re.match(f"[{CJK}]", content) else r"""(?:^|(?<=[\s(\[{"']))"""
    after = "" if re.search(f"[{CJK}]$", content) else r"""(?=[.,;:!?)\]}"']*(?:\s|$))"""
    return re.search(before + re.escape(content) + after, text) is not None
