"""The provider: hermes-agent's hooks, each of which only leaves something for the worker and returns.

A host calls them from several threads of several agents. None raises, and none waits for the bridge: `prefetch` waits a few
milliseconds for what was asked ahead of it, a tool call as long as a model may be kept waiting, `shutdown` while it drains.
"""

from __future__ import annotations

import functools
import json
import logging
import threading
import time

from . import identity, settings, tools
from .line import Later, Refused, available, outcome
from .nearby import Nearby
from .recall import MOST_FACTS, Ahead, fenced, recalled
from .worker import WORKERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    from .line import Line
    from .settings import Settings
    from .worker import Worker

    P = ParamSpec("P")
    R = TypeVar("R")

    class MemoryProvider:
        """The host's base class."""

else:
    try:
        from agent.memory_provider import MemoryProvider
    except ImportError:  # looked at outside a host
        MemoryProvider = object

log = logging.getLogger(__name__)

TOOL_S = 10.0
"""How long a model may be kept waiting for a tool."""

AHEAD_S = 5.0
"""After this long nobody wants a recall any more."""

FACTS_S = 30.0
"""How long the facts told at the start are still of use: a bridge may have to be started first."""

ACTIONS = frozenset({"add", "replace", "remove"})

PRIMARY = "primary"
"""The context of an agent that a person talks to; others remember nothing of their own."""

QUEUED = "stored as soon as the memory can be reached again; it is kept on disk until then"


def quietly(otherwise: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A hook that never raises: memory must not stop an agent."""

    def wrapped(hook: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(hook)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return hook(*args, **kwargs)
            except Exception:
                log.warning("hermes-memory: %s failed", hook.__name__, exc_info=True)
                result: R = otherwise
                return result

        return guarded

    return wrapped


class HermesMemory(MemoryProvider):
    """One agent's memory."""

    def __init__(self) -> None:
        self._home = ""
        self._settings: Settings | None = None
        self._worker: Worker | None = None
        self._lock = threading.Lock()
        self._theme = identity.DEFAULT
        self._session = ""
        self._turn = 0
        self._writes = True
        self._said = False
        """Whether anything of the present session was kept, so that its end is told."""
        self._ahead: Ahead | None = None
        self._earlier: Ahead | None = None
        self._status: list[str] = []
        """The facts an agent is told at its start."""
        self._nearby = Nearby()
        self._tell = True
        """Whether the next turn is told it."""
        self._warn: Callable[[str], object] | None = None

    @property
    def name(self) -> str:
        """What `memory.provider` says."""
        return settings.NAME

    @quietly(False)
    def is_available(self) -> bool:
        """Whether there is a bridge, or one can be started. Connects to nothing."""
        return self._why_not() is None

    @quietly("")
    def unavailable_reason(self) -> str:
        """Why it is not available (newer hosts ask)."""
        return self._why_not() or ""

    @quietly(None)
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """An agent begins."""
        home = str(kwargs.get("hermes_home") or settings.host_home())
        chosen = settings.load(home)
        profile = str(kwargs.get("agent_identity") or "")
        key = str(kwargs.get("gateway_session_key") or "")
        own = identity.profile_theme(chosen.theme, chosen.themes, profile)
        warn = kwargs.get("warning_callback")
        with self._lock:
            self._home, self._settings = home, chosen
            self._theme = identity.session_theme(chosen.theme, chosen.themes, profile, key)
            self._session, self._turn, self._said, self._tell = str(session_id), 0, False, True
            self._writes = str(kwargs.get("agent_context") or PRIMARY) == PRIMARY
            self._warn = warn if callable(warn) else None
        if self._worker is None:
            try:
                self._worker = WORKERS.take(home, chosen, own)
            except OSError as error:
                if self._warn is not None:
                    self._warn(
                        f"hermes-memory: nothing is remembered: {settings.folder_of(home)} cannot be used: {error}"
                    )
                raise
        self._ask_facts()

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tools a model gets; asked for before `initialize`."""
        return [dict(schema) for schema in tools.SCHEMAS]

    def system_prompt_block(self) -> str:
        """What stands in the system prompt, always the same."""
        return tools.PROMPT

    @quietly(None)
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """A message arrived: ask for what it touches, ahead of `prefetch`."""
        self._turn = int(turn_number)
        self._ask_ahead(message)
        worker = self._worker
        if worker is not None and worker.is_lost and self._warn is not None:
            warn, self._warn = self._warn, None  # once is enough
            warn(f"hermes-memory: the memory cannot be reached; what is said is kept on disk ({worker.trouble})")

    @quietly("")
    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """What the message touches of the hot facts, and of everything else where that is known in time; else what the last
        turn touched of it."""
        if self._settings is None or not self._settings.recall:
            return ""
        ahead = self._ahead
        if ahead is None or ahead.query != query or ahead.session != self._session:
            ahead = self._ask_ahead(query)
        worker = self._worker
        if ahead is None or worker is None:
            return ""
        if worker.trouble is None and not worker.outbox.waits:  # else it has other things to do first
            ahead.done.wait(max(0.0, ahead.asked + self._settings.wait_ms / 1000 - time.monotonic()))
        lines = list(self._status) if self._tell else []
        self._tell = False
        lines += self._nearby.matching(query, MOST_FACTS)
        deeper = ahead if ahead.done.is_set() else self._earlier
        if deeper is not None and deeper.session == self._session:
            lines += deeper.lines
        return fenced(lines)

    @quietly(None)
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """A turn is over: what it touched is at hand for the next one."""
        ahead = self._ahead
        if ahead is not None and ahead.query == query and ahead.session == self._session:
            self._earlier = ahead
        else:
            self._earlier = self._ask_ahead(query)
        self._ask_facts()

    @quietly(None)
    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """A turn is over: keep what was said."""
        if self._settings is not None and self._settings.capture:
            self._put(
                {
                    "op": "turn",
                    "theme": self._theme,
                    "session": session_id or self._session,
                    "turn": self._turn,
                    "user": str(user_content or ""),
                    "assistant": str(assistant_content or ""),
                }
            )

    @quietly(None)
    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """The host wrote to MEMORY.md or USER.md. `remove` comes without content: the metadata says which entry."""
        worker = self._worker
        if worker is None or self._settings is None or not self._settings.mirror or action not in ACTIONS:
            return
        said = metadata or {}
        old = str(said.get("old_text") or kwargs.get("old_text") or "")
        if action == "remove" and not old:
            old = content
        self._put(
            {
                "op": "memory",
                "theme": worker.theme,
                "action": action,
                "kind": target,
                "content": str(content or ""),
                "old": old,
                "session": said.get("session_id") or self._session,
            }
        )

    @quietly(None)
    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """The agent goes on in another session: what is said from now on belongs to that one."""
        if new_session_id and new_session_id != self._session:
            self._close_session()
            self._session, self._ahead, self._earlier = str(new_session_id), None, None
        self._tell = True  # what was told may have been compressed away
        self._ask_facts()

    @quietly(None)
    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """A session ends. Its last turn is yet to come (`sync_turn` runs later), so the end is told at the switch or shutdown."""

    @quietly("")
    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        """A conversation is about to be summed up: what must not be lost of it."""
        return "\n".join(self._status)

    @quietly('{"error": "the memory failed"}')
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """A model calls one of the four tools."""
        if tool_name not in tools.NAMES:
            return said(error=f"{tool_name!r} is no tool of {settings.NAME}")
        worker = self._worker
        if worker is None:
            return said(error="the memory is not initialised")
        arguments = {key: value for key, value in (args or {}).items() if value is not None}
        arguments["session_id"] = self._session
        self._said = True
        if tool_name == "memory_write":
            return self._write(worker, arguments)
        question = worker.ask(self._theme, lambda line: line.call(tool_name, arguments), TOOL_S, patient=True)
        question.done.wait(TOOL_S)
        if isinstance(question.failure, Refused):
            return said(error=str(question.failure))
        if question.answer is None:
            return said(error=f"the memory cannot be reached: {question.failure or 'it did not answer in time'}")
        text, _ = question.answer
        return str(text) if tool_name.startswith("recall_") else said(result=text)

    def get_config_schema(self) -> list[dict[str, Any]]:
        """The questions of `hermes memory setup`."""
        return [dict(one) for one in settings.SCHEMA]

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """Keep the answers, in a file of their own: the host's config.yaml keeps its comments. :raises OSError:"""
        settings.save(hermes_home, values)

    def post_setup(self, hermes_home: str, config: dict[str, Any]) -> None:
        """`hermes memory setup hermes-memory`: ask, keep the answers, and make this the provider."""
        from . import cli

        cli.set_up(hermes_home)

    @quietly({})
    def get_status_config(self, config: Any = None) -> dict[str, Any]:
        """What `hermes memory status` shows."""
        chosen = settings.load(self._home or settings.host_home())
        return {
            "store": chosen.db,
            "theme": chosen.theme or "(session key, else profile)",
            "mirror": chosen.mirror,
            "capture": chosen.capture,
            "recall": chosen.recall,
        }

    @quietly(None)
    def shutdown(self) -> None:
        """The agent ends: deliver what waits, for a few seconds and while there is a bridge. The rest waits on disk."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is None:
            return
        if self._said:
            self._said = False
            worker.put({"op": "close", "theme": self._theme, "session": self._session})
        try:
            worker.drain()
        finally:
            WORKERS.give_back(worker)

    def _write(self, worker: Worker, arguments: dict[str, Any]) -> str:
        """Write a fact for the model; what cannot be written now is kept, and written once."""
        if not self._writes:
            return said(error="this agent's context does not write to the memory")
        key = f"tool-{time.time_ns():x}"
        question = worker.ask(self._theme, lambda line: line.call("memory_write", arguments, key), TOOL_S, patient=True)
        question.done.wait(TOOL_S)
        if isinstance(question.failure, Refused):
            return said(error=str(question.failure))
        if question.answer is not None:
            return said(result=question.answer[0])
        kept = worker.put({"op": "write", "theme": self._theme, "arguments": arguments, "key": key})
        return said(result=QUEUED) if kept else said(error="the memory cannot be reached, and nothing was kept")

    def _put(self, record: dict[str, Any]) -> None:
        if self._worker is not None and self._writes:
            self._said = self._said or record["op"] == "turn"
            self._worker.put(record)

    def _close_session(self) -> None:
        if self._said:
            self._said = False
            self._put({"op": "close", "theme": self._theme, "session": self._session})

    def _ask_ahead(self, query: str) -> Ahead | None:
        """Ask for what a message touches; the answer comes in the background."""
        worker = self._worker
        if worker is None or self._settings is None or not self._settings.recall or not query.strip():
            return None
        ahead = self._ahead = Ahead(query, self._session)

        def job(line: Line) -> None:
            if self._ahead is ahead or self._earlier is ahead:
                ahead.lines = recalled(line, query, ahead.session)
                ahead.done.set()

        worker.ask(self._theme, job, AHEAD_S, patient=True)
        return ahead

    def _ask_facts(self) -> None:
        """Ask for the hot facts, and for those that an agent is told at its start."""
        worker = self._worker
        if worker is None or self._settings is None or not self._settings.recall:
            return
        session = self._session

        def job(line: Line) -> None:
            told, hot = line.calls(
                [
                    ("memory_status", {"session_id": session}),
                    ("memory_export", {"status": "active", "session_id": session}),
                ]
            )
            try:
                facts = outcome(told)[1].get("facts") or []
                self._status = [str(fact.get("notation")) for fact in facts]
                self._nearby = Nearby(map(str, outcome(hot)[1].get("lines") or []))
            except (Refused, Later):
                return

        worker.ask(self._theme, job, FACTS_S, patient=True)

    def _why_not(self) -> str | None:
        chosen = self._settings or settings.load(self._home or settings.host_home())
        return available(chosen.db, chosen.command)


def said(**outcome: str) -> str:
    """A tool's answer: hosts want JSON."""
    return json.dumps(outcome, ensure_ascii=False)
