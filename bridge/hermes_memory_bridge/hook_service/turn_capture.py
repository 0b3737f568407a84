"""Capture of what hooks and transcripts bring: each message once, without our own words, through the store's intake."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from hermes_memory_bridge.hook_program.tool_acts import ToolCall
from hermes_memory_bridge.tools.acknowledgements import explain_skipped_message
from hermes_memory_store.context.fence import remove_fenced_text
from hermes_memory_store.conversations.turn_rows import MAX_TURN
from hermes_memory_store.errors import InputError
from hermes_memory_store.hosts.host_sessions import HostSession, HostTurns
from hermes_memory_store.items.action_rows import Action
from hermes_memory_store.model import Millis, Origin, Session
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

HOST_BLOCKS = re.compile(
    r"\A# Context from my IDE setup:.*?\n## My request for Codex:|\A\[SYSTEM NOTIFICATION - NOT USER INPUT\].*|"
    r"(?:\A<task-notification>.*</task-notification>|(<|&lt;)(hook_context|system[-_]reminder|task-notification|qwen:user-prompt-submit-context|user-prompt-submit-hook|"
    r"ide_opened_file|ide_selection|new-diagnostics)\b[^>\n]*?(>|&gt;).*?(</|&lt;/)\2(>|&gt;))"
    r"(?:\s*Read the output file to retrieve the result: \S+)?",
    re.DOTALL | re.IGNORECASE,
)
"""What a host wrote into a message: nobody said it."""

HOOK_WORDS = re.compile(r"^\s*\w+ hook (?:additional context|success|response): *$", re.MULTILINE)
"""What is left of a hook's message once our text is out of it."""

OWN_PROGRAMS = re.compile(r"\bhermes-memory-(?:tui|bridge)\b")
"""What they are told may be a fact, which has an origin and a history of its own."""

SUMMARY_TITLE = "host summary"


def capture_message(
    store: Store,
    host_session: HostSession,
    session: Session,
    role: str,
    text: str,
    *,
    at: int,
    turn: str = "",
    origin: Origin,
    is_read: bool = False,
) -> bool:
    """Capture one message of a host's session, unless it is known; return whether it was new. Within a write.

    :param turn: the host's id of the turn
    :param is_read: whether it comes from the transcript
    """
    spoken = to_spoken_text(text)
    if not spoken:
        return False
    turns = HostTurns(store.db)
    if is_read:
        key = turns.note_read(host_session, role, spoken, at=at)
    else:
        key = turns.note_heard(host_session, role, spoken, at=at, turn=turn)
    if key is None:
        return False
    if explain_skipped_message(spoken, store.policies.for_theme(session.theme)) is not None:
        return True
    for part in split_message(spoken):
        try:
            captured = store.turns.add(session.theme, role, part, session=session, at=at, origin=origin)
        except InputError as error:  # the theme keeps no secrets, for one
            log.info("a message of %s was not captured: %s", host_session.host, error.code)
            continue
        turns.note_captured(key, captured.uid)
        store.fact_uses.note_said(session, part)
    return True


def to_actions(
    host: str,
    session: str,
    call: ToolCall,
    outcome: tuple[int | None, int | None, str | None],
    root: str,
    may_keep: Callable[[str], bool],
) -> Iterator[Action]:
    """Yield what a call did, an action for each of its files, without what may not be kept where it was.

    A hook and a transcript tell of the same call by the same uids. May read the disk.

    :param session: the host's own name of its session
    :param call: with its time, and with the folder in which it was made
    :param root: of its project, or empty
    :param may_keep: whether anything may be kept in a folder
    """
    if call.kind not in ("run", "read", "edit"):
        return
    folder, at = os.path.normpath(call.folder), Millis(call.at or 0)
    for number, what in enumerate(call.subjects):
        place = folder
        if call.kind != "run":
            file = Path(folder, what)
            place = os.path.realpath(file.parent)
            what = os.path.join(place, file.name).removeprefix(f"{root}{os.sep}" if root else "")
        elif OWN_PROGRAMS.search(what):
            continue
        if may_keep(place):
            named = "\0".join((host, session, "action", call.id or f"{at} {what}", str(number)))
            uid = hashlib.blake2b(named.encode(errors="replace"), digest_size=16).digest()
            yield Action(uid, call.kind, what, folder, at, *outcome)


def captures_subagents(store: Store, session: Session) -> bool:
    return store.policies.for_theme(session.theme).capture_subagents


def to_spoken_text(text: str) -> str:
    """Return what somebody said of a message: without what we gave, what the host added, and half characters."""
    text = remove_fenced_text(text.encode(errors="replace").decode().replace("\0", ""))
    if text.startswith(("#", "[")) or "<" in text or "&" in text:  # else it has no block, and the search takes long
        text = HOST_BLOCKS.sub("", text)
    return (HOOK_WORDS.sub("", text) if " hook " in text else text).strip()


def split_message(text: str) -> list[str]:
    """Return a message in parts that the store takes, split at line ends where there are any."""
    parts = []
    while len(text) > MAX_TURN:
        end = text.rfind("\n", MAX_TURN // 2, MAX_TURN)
        end = MAX_TURN if end < 0 else end
        parts.append(text[:end])
        text = text[end:]
    return [part for part in (*parts, text) if part.strip()]
