"""Sessions that judge proposals: `proposal_sessions.txt` says how they are written. They are read as Claude Code keeps them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store.model import Fact

FILES = Path(__file__).parent


@dataclass
class SetSession:
    project: str
    day: str
    messages: list[tuple[str, str]] = field(default_factory=list)
    """Role and text."""


@dataclass
class KeyFact:
    """A fact that a person would want proposed."""

    project: str
    types: str
    target_words: set[str]
    content: str

    def is_stated_by(self, project: str, fact: Fact) -> bool:
        words = {*re.findall(r"\w+", fact.target.casefold()), fact.target.casefold()}
        is_alike = self.project == project and fact.type.value in self.types and not words.isdisjoint(self.target_words)
        return is_alike and self.content.casefold() in fact.content.casefold()


def load_sessions(name: str) -> tuple[list[SetSession], list[KeyFact]]:
    sessions: list[SetSession] = []
    key: list[KeyFact] = []
    for line in (FILES / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            sessions.append(SetSession(*line.split()[1:]))
        elif line.startswith("! "):
            types, words, content = line[2:].split(" / ", 2)
            key.append(KeyFact(sessions[-1].project, types, set(words.casefold().split()), content))
        elif line[:2] in ("> ", "< "):
            sessions[-1].messages.append(("user" if line[0] == ">" else "assistant", line[2:]))
        elif sessions and sessions[-1].messages and not line.startswith("# "):
            role, text = sessions[-1].messages[-1]
            sessions[-1].messages[-1] = (role, f"{text}\n{line[2:]}")
    return sessions, key


def write_sessions(home: Path, sessions: list[SetSession]) -> None:
    """Write sessions as Claude Code does, each of the folder of its project."""
    for number, session in enumerate(sessions):
        folder, name = home / session.project, f"0b5f7e6a-0000-4000-8000-{session.day.replace('-', '')}{number:04}"
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        lines = []
        for place, (role, text) in enumerate(session.messages):
            content = text.strip() if role == "user" else [{"type": "text", "text": text.strip()}]
            shared = {"sessionId": name, "cwd": str(folder), "version": "2.1", "gitBranch": "main", "type": role}
            message = {"role": role, "id": f"m{place}", "content": content}
            lines.append({**shared, "timestamp": f"{session.day}T09:{place:02}:00.000Z", "message": message})
        file = home / ".claude" / "projects" / f"-{session.project}" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
