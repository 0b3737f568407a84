"""What the hook program does where no bridge answers, in time: it reads the store, leaves the event on disk, starts a bridge."""

from __future__ import annotations

import _thread
import os
import signal
import time

from hermes_memory_bridge.hook_program.hook_event import HookEvent, is_fork
from hermes_memory_bridge.hook_program.host_dialects import ASKING_FORMS, format_host_answer
from hermes_memory_store.context.fence import to_shown_line
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.hosts.capture_switch import load_capture_switch
from hermes_memory_store.hosts.host_data import load_host

LAST_S = 10
"""How long a process that nobody waits for may take."""

LIMITS_S = {"prompt": 0.15, "tool": 0.8, "guard": 2.5}
"""From the program's beginning to its end; a person waits for a prompt. A tool is waited for as long on a busy machine alone: see
`program.find_stretch`. Of a guard nothing must be missed."""

LIMIT_S = 1.0
"""For all other events."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from hermes_memory_bridge.wire.paths import BridgePaths
    from hermes_memory_store.hosts.guards import Guard


def is_start(host: str, event: str) -> bool:
    """Check whether an event may be what begins a session: in hosts whose starts come too late, the first prompt is."""
    return event == "start" or (event == "prompt" and "late starts" in load_host(host).get("habits", ()))


def read_own_answer(store: str, event: HookEvent) -> tuple[str, str, dict[str, Any] | None]:
    """Return what is given at a start, or at the first prompt of a session to which nothing was given, what the person sees of
    it, and its record.

    Read from the store itself; empty where there is none that can be read. What a window has is not given again.
    """
    nothing = "", "", None
    is_late = event.event == "start" and "late starts" in load_host(event.host).get("habits", ())
    if event.event not in ("start", "prompt") or is_late or is_fork(event):
        return nothing
    given = find_given(store, event)
    if event.event == "prompt" and given is not None:
        return nothing
    try:
        from hermes_memory_store.context.hot_context import read_hot_context
    except ImportError:
        return nothing
    hot = read_hot_context(store, event.folder, theme=event.theme)
    if hot is not None and given is not None:
        hot = hot.without(given)
    if hot is None or not hot.text:
        return nothing
    return (
        hot.text,
        "" if event.agent else hot.notice,
        {"uids": list(hot.uids), "tokens": hot.tokens, "kind": event.event},
    )


def ask_guards(store: str, event: HookEvent) -> str:
    """Return what the host is told before a tool: nothing, or the decision and in the next line why. Notes what was given."""
    from hermes_memory_store.hosts.guards import find_asking, find_fitting, load_guards

    guards = load_guards(store)
    fitting = find_fitting(guards, event.act, event.subject, event.folder, event.place) if event.act and guards else []
    asking = find_asking(store, fitting, event.folder, event.theme) if fitting else []
    if not asking:
        return ""
    event.given = {"uids": [guard.uid for guard, _ in asking], "tokens": 0, "kind": "guard"}
    return describe_guards(event.host, asking)


def describe_guards(host: str, asking: Sequence[tuple[Guard, str]]) -> str:
    can_ask = load_host(host)["answers"]["forms"].get("guard") in ASKING_FORMS
    is_refused = any(guard.answer == "deny" for guard, _ in asking)
    facts = "; ".join(dict.fromkeys(to_shown_line(fact) for _, fact in asking if fact))
    patterns = ", ".join(dict.fromkeys(guard.pattern for guard, _ in asking))
    reason = f"memory guard ({patterns}): {facts or 'its fact cannot be read now'}"
    if can_ask and not is_refused:
        return f"ask\n{reason}"
    why = "The person refuses this." if is_refused else "The person must agree, and this host cannot ask."
    way = f"They run it themselves, or first: hermes-memory-tui guard remove {asking[0][0].uid}"
    return f"deny\n{reason}. {why} Tell them, and do not do it another way. {way}"


def find_given(store: str, event: HookEvent) -> set[str] | None:
    """Return which facts this session's present window was given, as far as that is certain; None where it was given nothing.

    A session that says no id was not: what is given twice is a blemish, what is never given a defect.
    """
    if not event.session:
        return None
    given = find_given_by_bridge(store, event)
    is_compacting, announces = False, "silent compactions" not in load_host(event.host).get("habits", ())
    for record in (
        *map(waiting_records.read_record, waiting_records.list_waiting(store)),
        {**event.to_wire(), "given": None},
    ):
        if record is None or any(record.get(name) != getattr(event, name) for name in ("host", "session", "agent")):
            continue
        is_start, source = record.get("event") == "start", record.get("source")
        is_compaction = (announces and record.get("event") in ("compacting", "compacted")) or (
            is_start and source == "compact"
        )
        # One compaction is told of by several events, in any order.
        if not is_compacting if is_compaction else is_start and not goes_on(event, source):
            given = None
        is_compacting = is_compaction or (is_compacting and is_start)
        if record.get("given") is not None:
            given = (given or set()) | set(record["given"]["uids"])
    return given


def goes_on(event: HookEvent, source: object) -> bool:
    """Check whether a start with this source leaves its model what it had."""
    return bool(event.agent) or (
        source == "resume" and "forgetful resumes" not in load_host(event.host).get("habits", ())
    )


def find_given_by_bridge(store: str, event: HookEvent) -> set[str] | None:
    """Return what the store says of the window that a bridge heard of last."""
    try:
        from hermes_memory_store.database.store_reading import read_store
        from hermes_memory_store.uids import format_uid
    except ImportError:
        return None
    query = (
        "SELECT g.uid FROM host_sessions h LEFT JOIN host_given g ON g.host_session_id = h.id"
        " WHERE h.host = ? AND h.name = ? AND h.given_at >= h.window_at"
    )
    name = f"{event.session} {event.agent}" if event.agent else event.session
    rows = read_store(store, lambda conn: conn.execute(query, (event.host, name)).fetchall())
    return {format_uid(uid) for (uid,) in rows if uid is not None} if rows else None


def needs_record(event: HookEvent) -> bool:
    """Check whether an event that no bridge took must wait: to be kept, as the record of what was given, or of a pause.

    A transcript is read up to the times of which nobody has told that nothing might be kept. What a tool did waits where it may
    be kept, what it returned never does.
    """
    if event.event in ("tool", "guard"):
        return event.keeps
    return event.capture or event.given is not None or event.event in ("start", "end") or bool(event.transcript)


def leave_record(store: str, event: HookEvent) -> bool:
    """Leave an event on disk for the next bridge. Without the permission to keep what is said, its text is left out."""
    record = event.to_wire()
    if not event.capture or event.event == "tool":
        record["text"] = record["call"] = ""
    return waiting_records.append(store, record)


def start_absent_bridge(paths: BridgePaths) -> None:
    """Start a bridge that outlives this process, unless another process is just starting one; nothing of it is waited for.

    :raises OSError: no process can be made
    """

    def start() -> None:
        from hermes_memory_bridge.wire.dialing import start_bridge_alone, to_daemon_command

        start_bridge_alone(paths, to_daemon_command(paths.store))

    run_detached(start)


def run_detached(job: Callable[[], object], *, keeps_input: bool = False) -> None:
    """Run a job in a process of its own, which nobody waits for: a system call that hangs would hold the host up.

    :param keeps_input: whether it reads on from standard input
    :raises OSError: no process can be made
    """
    if os.fork():
        return
    try:
        # Nothing is imported here: another thread may have held an import's lock when this process was made.
        signal.alarm(LAST_S)  # it ends even where the disk hangs
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in range(1 if keeps_input else 0, 3):
            os.dup2(nothing, handle)
        os.setsid()
        job()
    finally:
        os._exit(0)


class HardStop:
    """Answers the host once: in time with what there is, else with nothing.

    After its time the host goes on, whatever hangs. What must not be lost is then left on disk by a process behind it.
    """

    def __init__(self, host: str, event: str, began: float, find_event: Callable[[], HookEvent]) -> None:
        """:param began: when the program began, by `time.monotonic`
        :param find_event: reads the event, or reads on
        """
        self.host = host
        self.event = event
        self.ends = began + (LIMIT_S if is_start(host, event) else LIMITS_S.get(event, LIMIT_S))
        self.store = ""
        self.native = ""
        """The host's word for the event."""
        self.found: HookEvent | None = None
        """The event, once it was read."""
        self.is_settled = False
        """Whether it is known that a bridge has the event, or that it waits."""
        self._find_event = find_event
        self._answering = _thread.allocate_lock()
        _thread.start_new_thread(self._end_in_time, ())

    def answer(self, text: str, notice: str = "") -> bool:
        """Print the answer, unless it is too late. Returns whether it was printed.

        :param text: what the model is to be given
        :param notice: what the person is to see of it
        """
        if not self._answering.acquire(False):
            return False
        if notice and load_capture_switch(self.store).notices is False:
            notice = ""
        rest = format_host_answer(self.host, self.event, text, notice, self.native).encode("utf-8", "replace")
        try:
            while rest:
                rest = rest[os.write(1, rest) :]
        except OSError:
            return False  # the host no longer listens
        return True

    def _end_in_time(self) -> None:
        time.sleep(max(0.0, self.ends - time.monotonic()))
        try:
            self.answer("")
            if not self.is_settled:
                run_detached(self._leave_event, keeps_input=self.found is None)
        finally:
            os._exit(0)

    def _leave_event(self) -> None:
        event = self.found or self._find_event()
        if needs_record(event):
            leave_record(self.store, event)
