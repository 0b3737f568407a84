"""Where a fact, a message or a change came from, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from hermes_memory_store.model import Fact, Origin, Way
from hermes_memory_store.safe_text import to_printable

WAYS = {
    Way.TOOL: "a call of an agent's tool",
    Way.COMMAND_LINE: "the command line",
    Way.SCREEN: "the inspector",
    Way.IMPORT: "an import",
    Way.RELIEF: "making room",
    Way.HOST_FILE: "MEMORY.md or USER.md of the host",
    Way.HOOK: "a hook of the host",
    Way.HISTORY: "a session that its host had kept",
    Way.TEAM: "the team",
    Way.LIBRARY: "a call of the library",
    Way.UNKNOWN: "unknown",
}
"""Every way in as a person calls it."""

COMMIT_DIGITS = 12


MERGE_WAYS = {"merge": "merged", "rebase": "rebased", "squash": "squashed"}
"""How a branch came in, in a word."""


def format_branch_merge(merge: Mapping[str, Any]) -> str:
    """Format what the journal says of a merge: `branch pay of shop squashed into main at 1a2b3c4d5e6f`."""
    way = MERGE_WAYS.get(merge.get("way") or "", "merged")
    at = str(merge.get("target_commit") or "")[:COMMIT_DIGITS]
    return f"branch {merge['branch']} of {merge.get('project')} {way} into {merge.get('into')} at {at}"


def origin_values(origin: Origin) -> list[tuple[str, str]]:
    """Return what is known of an origin as labels and values; that nothing is known is said, too."""
    values = [
        ("from", format_way(origin)),
        ("words", format_voice(origin)),
        ("session", origin.title or origin.session),
        ("id", origin.session if origin.title not in (None, origin.session) else None),
        ("client", format_client(origin)),
        ("project", origin.project),
        ("branch", format_branch(origin)),
        ("folder", format_folder(origin)),
        ("seen", format_seen(origin)),
    ]
    return [(label, to_printable(value)) for label, value in values if value]


def format_way(origin: Origin) -> str:
    """Format the way in: `an import of notes.jsonl, line 12`; `the team, by anna`."""
    text = WAYS[origin.way]
    if origin.file is not None:
        text += f" of {origin.file}" if origin.way is Way.IMPORT else f", {origin.file}"
    if origin.line is not None:
        text += f", line {origin.line:,}"
    return text if origin.teammate is None else f"{text}, by {origin.teammate}"


def format_voice(origin: Origin) -> str | None:
    """Format whose words an agent's write is, and why: `heard, not said by you: read on https://…, 14:02`."""
    if origin.way in (Way.IMPORT, Way.TEAM):
        return f"another's, {origin.heard or 'as all that such a way brings'}"
    if origin.voice == "said":
        return "yours: a hook heard you, or a captured message has them"
    if origin.voice == "heard":
        return f"heard, not said by you: {origin.heard or 'where is not known'}"
    return "unknown: no hook heard whose they are" if origin.way is Way.TOOL else None


def format_client(origin: Origin) -> str | None:
    """Format a client with its version; both are what it says of itself."""
    if origin.client is None:
        return None
    return f"{' '.join(filter(None, (origin.client, origin.client_version)))} (as it says)"


def format_branch(origin: Origin) -> str | None:
    """Format a branch and a commit: `main at 1ccc90af41d2`."""
    commit = None if origin.commit is None else origin.commit[:COMMIT_DIGITS]
    if origin.branch is None:
        return None if commit is None else f"none, at {commit}"
    return origin.branch if commit is None else f"{origin.branch} at {commit}"


def format_folder(origin: Origin) -> str | None:
    """Format the folder: absolute where this machine knows it, else relative to the project."""
    if origin.root is None:
        return origin.folder
    return str(PurePath(origin.root) / (origin.folder or "."))


def format_seen(origin: Origin) -> str | None:
    """Format who called and by which program, as the bridge saw it, whatever the client says."""
    seen = ", ".join(filter(None, (origin.peer, origin.program)))
    return f"{seen} (by the bridge)" if seen else None


def author_note(fact: Fact) -> str:
    """Return who wrote a fact, or by which way it came, in a few words; nothing where neither is known."""
    if fact.actor.kind == "session":
        return to_printable(fact.actor.title or fact.actor.name)
    if not fact.origin.is_known:
        return ""
    author = to_printable(fact.actor.name) if fact.actor.kind == "person" and fact.actor.name else ""
    return ", ".join(filter(None, (author, fact.origin.way.value)))
