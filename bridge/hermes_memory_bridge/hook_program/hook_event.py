"""An event of a host, the same for every host: what the hook program sends, and the bridge receives.

Standard library alone, and no more of it than there must be: each event starts a process.
"""

from __future__ import annotations

from hermes_memory_store.hosts.host_data import find_hosts_with, load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeGuard

HOOK_EVENTS = ("start", "prompt", "compacting", "compacted", "turn", "tool", "guard", "end")

START_SOURCES = ("startup", "resume", "clear", "compact", "fork")
"""Why a session starts; hosts have other words for the first."""

MOST_TEXT = 1 << 18
"""Characters of a message that are passed on; what is cut off a longer one is counted at its end."""

MARK_ROOM = 100
"""Characters of these for the line that says so."""

MOST_NAME = 4_096
"""Characters of a name, a path or a reason."""

MOST_PIDS = 8

TEXT_FIELDS = (
    "host", "event", "session", "source", "turn", "folder", "text", "transcript", "agent", "trigger", "reason", "version",
    "theme", "tool", "page", "call", "act", "subject", "place", "call_id",
    "error",
)  # fmt: skip

LONG_FIELDS = ("text", "call", "subject", "error")

ACTS = ("run", "read", "edit", "plan")
"""What a tool may have done, where that counts: a listing is read, and a question to the person is a plan."""

PATH_FIELDS = ("folder", "transcript")
"""What names a file stays as it is, whose name may be bytes that are no text."""


class HookEvent:
    host: str
    event: str
    session = ""
    """The host's own id of its session; empty when it tells none."""
    source = ""
    """Of a start: one of `START_SOURCES`, or empty."""
    turn = ""
    """The host's id of the turn or the prompt."""
    folder = ""
    """Where the host works, absolute."""
    text = ""
    """Of a prompt what the person wrote, of a turn the assistant's last message, of `compacted` the summary, of a tool what it
    returned."""
    transcript = ""
    """The path of the host's record of the session."""
    agent = ""
    """The id of a subagent; empty for the main agent."""
    trigger = ""
    """Of a compaction: `manual`, `auto` or empty."""
    reason = ""
    version = ""
    theme = ""
    """The theme that the command names; empty when it names none."""
    tool = ""
    """The name of a tool that was called."""
    page = ""
    """The address or the path that it read; empty where its call names none."""
    call = ""
    """The words of its call, which it may have repeated."""
    act = ""
    """What it did: one of `ACTS`, or empty."""
    subject = ""
    """Of a run the command, of what was read or edited the paths, one a line."""
    place = ""
    """The folder in which a command ran, where its call names one."""
    call_id = ""
    """The host's id of the call, as in its record of the session; empty where hooks are told none."""
    exit: int | None = None
    """The exit code of a run, where the host tells it."""
    failed = False
    error = ""
    """What it returned, if it failed."""
    duration: int | None = None
    """Milliseconds."""
    pids: tuple[int, ...] = ()
    """Ids of the hook's ancestors, nearest first."""
    at = 0
    """When it happened, UTC milliseconds."""
    capture = False
    """Whether what this host's hooks bring might be kept when the hook ran; of a tool, whether it might be heard."""
    is_silent = False
    """Whether the hook is there to hear alone, so that nothing is given by it."""
    keeps = False
    """Whether what a tool did might be kept when the hook ran."""
    given: dict[str, Any] | None = None
    """What the hook gave by itself, without a bridge: `uids`, `tokens` and `kind`."""

    def __init__(self, host: str, event: str, **fields: Any) -> None:
        self.__dict__.update(host=host, event=event, **fields)

    def to_wire(self) -> dict[str, Any]:
        document: dict[str, Any] = {name: getattr(self, name) for name in TEXT_FIELDS}
        document |= {"pids": list(self.pids), "at": self.at, "capture": self.capture}
        document |= {"exit": self.exit, "failed": self.failed, "duration": self.duration} if self.act else {}
        document |= {"is_silent": True} if self.is_silent else {}
        if self.given is not None:
            document["given"] = self.given
        return document


def parse_hook_event(document: Mapping[str, Any]) -> HookEvent:
    """Parse an event as it was sent. Whatever is missing or of another type is taken as not said; texts are cut to length.

    :raises ValueError: the host or the event is unknown
    """
    host, event = document.get("host"), document.get("event")
    if not isinstance(host, str) or "answers" not in load_host(host):
        hosts = ", ".join(find_hosts_with("answers"))
        raise ValueError(f"{str(host)[:40]!r} is no host that hooks are known of; one of {hosts}")
    if event not in HOOK_EVENTS:
        raise ValueError(f"{str(event)[:40]!r} is no event of a hook; one of {', '.join(HOOK_EVENTS)}")
    texts = {
        name: cut_message(value) if name in LONG_FIELDS else value[:MOST_NAME]
        for name in TEXT_FIELDS[2:]
        if isinstance(value := document.get(name) if name in PATH_FIELDS else to_utf8(document.get(name)), str)
    }
    if texts.get("source") not in START_SOURCES:
        texts["source"] = ""
    if texts.get("act") not in ACTS:
        texts["act"] = ""
    pids, at, giving = document.get("pids"), document.get("at"), document.get("given")
    exit_code, duration = document.get("exit"), document.get("duration")
    return HookEvent(
        host,
        event,
        **texts,
        pids=tuple(pid for pid in pids if is_natural(pid))[:MOST_PIDS] if isinstance(pids, list) else (),
        at=at if is_natural(at) else 0,
        exit=exit_code if isinstance(exit_code, int) and is_natural(abs(exit_code)) else None,
        failed=document.get("failed") is True,
        duration=duration if is_natural(duration) else None,
        capture=document.get("capture") is True,
        is_silent=document.get("is_silent") is True,
        given=parse_given(giving) if isinstance(giving, dict) else None,
    )


def to_utf8(value: object) -> object:
    """Return a value, of a text with halves of characters spelled out, which JSON can hold and nothing can store."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def to_text(value: Any, between: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in value)
        return between.join(part for part in parts if isinstance(part, str))
    return ""


def cut_message(text: str) -> str:
    """Return a message that is passed on; a longer one than `MOST_TEXT` says at its end how much is missing."""
    if len(text) <= MOST_TEXT:
        return text
    most = MOST_TEXT - MARK_ROOM
    return f"{text[:most]}\n[cut off: {len(text) - most:,} more characters were not captured]"


def is_fork(event: HookEvent) -> bool:
    """Check whether a subagent starts that has all that its session has before it."""
    return event.event == "start" and bool(event.agent) and event.source == "fork"


def parse_given(document: dict[str, Any]) -> dict[str, Any]:
    uids, tokens, kind = document.get("uids"), document.get("tokens"), document.get("kind")
    return {
        "uids": [uid for uid in uids if isinstance(uid, str) and len(uid) <= 64][:1_000]
        if isinstance(uids, list)
        else [],
        "tokens": tokens if is_natural(tokens) else 0,
        "kind": kind if kind in ("start", "prompt", "guard") else "start",
    }


def is_natural(value: object) -> TypeGuard[int]:
    """Check whether a JSON value is a whole number that a database can hold, and not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
