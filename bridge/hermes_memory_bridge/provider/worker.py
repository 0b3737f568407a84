"""The one thread that talks to the bridge, for all agents of a process that share a store and a profile.

Hooks only queue work: a record in the outbox, or a request with a place for the answer. Requests come first, since
somebody is waiting; then the outboxes, those of dead processes too, in the order of their records; then a look at
the two files. When there is no bridge, the worker
starts one if it knows how and retries with growing delays, and everything stays on disk meanwhile.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque

from hermes_memory_bridge.wire.messages import WAY

from . import file_entries, provider_settings
from .bridge_line import (
    BridgeBusy,
    BridgeLine,
    BridgeNotReachable,
    BridgeStarter,
    CallRefused,
)
from .file_mirror import MemoryFileMirror, MirrorLocked
from .outbox import MOST_ADOPTED, Outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .provider_settings import ProviderSettings

    Call = Callable[..., tuple[str, dict[str, Any]]]

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks at MEMORY.md and USER.md; a look is two calls of `stat`."""

QUIET_S = 0.4
"""How long a file must have been left alone: the hook that explains a change comes right after it."""

ORPHAN_SCAN_S = 30.0
"""Between two looks for what dead processes left behind."""

STARTING_S = 0.05
"""Between tries while a bridge is starting."""

FIRST_S, MOST_S = 0.2, 15.0
"""Pauses between tries to reach the bridge."""

MOST_BUSY_ANSWERS = 30
"""How often the bridge may say "not now" to one record before it is given up."""

DRAIN_S = 3.0
"""How long the end of an agent waits for what is still to be delivered. Whatever is left waits on disk."""

LONGEST_TURN = 100_000
"""Characters of one captured message; a longer one is captured in parts."""


class PendingQuestion:
    """A request that somebody is waiting for."""

    def __init__(self, theme: str, job: Callable[[BridgeLine], Any], until: float, *, patient: bool) -> None:
        self.theme = theme
        self.job = job
        self.until = until
        self.patient = patient
        self.done = threading.Event()
        self.answer: Any = None
        self.failure: Exception | None = None


class DeliveryWorker:
    """Deliver records and answer requests on a thread of its own."""

    def __init__(self, home: str, chosen: ProviderSettings, theme: str) -> None:
        """:param theme: the profile's, to which the two files belong
        :raises OSError: the profile cannot be written to
        """
        self.home = home
        self.settings = chosen
        self.theme = theme
        self.folder = provider_settings.find_provider_folder(home)
        self.outbox = Outbox.create(self.folder)
        self.adopted: list[Outbox] = []
        """Outboxes of dead processes."""
        self.mirror = MemoryFileMirror(home, chosen.db, theme)
        self.starter = BridgeStarter(chosen.db, chosen.command)
        self.wake = threading.Event()
        self.users = 0
        self.trouble: str | None = None
        """Why the bridge cannot be reached; None while it can."""
        self._lines: dict[str, BridgeLine] = {}
        self._questions: deque[PendingQuestion] = deque()
        self._stopping = False
        self._coming = False
        """Whether a bridge was started that does not answer yet."""
        self._retry_at = 0.0
        self._pause_s = 0.0
        self._tries = 0
        self._look_at = 0.0
        self._adopt_at = 0.0
        self._thread = threading.Thread(target=self._deliver_until_stopped, name="hermes-memory", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def queue_record(self, record: dict[str, Any]) -> bool:
        """Queue a record until the bridge has it; return False when it cannot be stored."""
        is_queued = self.outbox.add({"key": os.urandom(12).hex(), "at": time.time(), **record})
        self.wake.set()
        if not is_queued:
            log.warning("hermes-memory: a record was not kept: %s is full or cannot be written", self.outbox.path)
        return is_queued

    def ask(
        self, theme: str, job: Callable[[BridgeLine], Any], wait_s: float, *, patient: bool = False
    ) -> PendingQuestion:
        """Queue a job for the bridge without waiting for it; after `wait_s` it is no longer started.

        :param patient: wait for a bridge that is just starting
        """
        question = PendingQuestion(theme, job, time.monotonic() + wait_s, patient=patient)
        self._questions.append(question)
        self.wake.set()
        return question

    def drain(self, limit_s: float = DRAIN_S) -> bool:
        """Wait until everything is delivered, not at all while there is no bridge; return whether nothing is left."""
        until = time.monotonic() + limit_s
        while self.outbox.has_records and not self.is_lost and time.monotonic() < until and self._thread.is_alive():
            self.wake.set()
            time.sleep(0.005)
        return not self.outbox.has_records

    @property
    def is_lost(self) -> bool:
        """Check that no bridge is running or starting."""
        return self.trouble is not None and not self._coming

    def stop(self) -> None:
        """Stop the thread; pending records stay on disk."""
        self._stopping = True
        self.wake.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def _deliver_until_stopped(self) -> None:
        try:
            while not self._stopping:
                try:
                    for line in self._lines.values():
                        line.answer_pings()
                    self._answer()
                    if self._deliver():
                        continue
                    self._look()
                except Exception:
                    log.exception("hermes-memory: the worker stumbled")
                    self._fail("something went wrong in the provider; see the log")
                if self.outbox.has_records:
                    self.outbox.sync()
                self.wake.wait(self._seconds_to_wait())
                self.wake.clear()
        finally:
            for line in self._lines.values():
                line.close()
            for box in (*self.adopted, self.outbox):
                box.close()

    def _seconds_to_wait(self) -> float:
        """Return the seconds until there may be work."""
        now = time.monotonic()
        waits = self.outbox.has_records or self.adopted or self._questions or self._coming
        intervals = [line.pulse_s / 2 for line in self._lines.values() if line.pulse_s]
        look_s = min(LOOK_S, *intervals) if intervals else LOOK_S
        if not waits:
            return look_s
        return max(0.001, min(look_s, self._retry_at - now))

    def _answer(self) -> None:
        """Answer requests; patient ones wait for a bridge that is just starting."""
        for _ in range(len(self._questions)):
            question = self._questions.popleft()
            if time.monotonic() > question.until:
                question.failure = BridgeNotReachable(self.trouble or "the memory is busy")
                question.done.set()
                continue
            try:
                if self.trouble is not None and time.monotonic() < self._retry_at:
                    raise BridgeNotReachable(self.trouble)
                question.answer = question.job(self._line(question.theme))
            except BridgeNotReachable as error:
                if time.monotonic() >= self._retry_at:
                    self._fail(str(error))
                if question.patient and self._coming and time.monotonic() < question.until:
                    self._questions.append(question)
                    continue
                question.failure = error
            except Exception as error:
                question.failure = error
            question.done.set()

    def _deliver(self) -> bool:
        """Deliver the oldest record of all outboxes; return whether there may be another."""
        if time.monotonic() < self._retry_at:
            return False
        if time.monotonic() >= self._adopt_at:
            self._adopt_abandoned()
        heads = [(box, record) for box in (*self.adopted, self.outbox) if (record := box.peek()) is not None]
        if not heads:
            return self._close_adopted()
        box, record = min(heads, key=lambda head: to_record_time(head[1]))
        try:
            self._apply_record(record)
        except MirrorLocked:
            self._retry_at = time.monotonic() + 0.05
            return False
        except BridgeNotReachable as error:
            self._fail(str(error))
            return False
        except BridgeBusy as error:
            self._tries += 1
            if self._tries < MOST_BUSY_ANSWERS:
                self._fail(str(error), there=True)
                return False
            log.error("hermes-memory: given up after %d tries: %s", MOST_BUSY_ANSWERS, str(error)[:300])
        except CallRefused as error:
            log.warning("hermes-memory: the memory refused a %s: %s", record.get("op"), str(error)[:300])
        except (KeyError, TypeError, ValueError):
            log.exception("hermes-memory: a record that means nothing was dropped")
        self._tries = 0
        box.drop_oldest()
        return True

    def _apply_record(self, record: dict[str, Any]) -> None:
        line = self._line(str(record["theme"]))
        line.described = dict(record.get("origin") or {})  # one of an older version says nothing of it
        try:
            self._deliver_record(line.call, record)
        finally:
            line.described = None

    def _deliver_record(self, call: Call, record: dict[str, Any]) -> None:
        op, key = record["op"], str(record["key"])
        if op == "memory":
            # Of another time's settings: the file says what became of the entry.
            if self.settings.mirror and record["theme"] == self.theme:
                self.mirror.apply(call, record)
        elif op == "turn":
            # What an earlier version queued unasked is counted, without a word of it.
            capture_turn(call, record if self.settings.capture else {**record, "user": "", "assistant": ""}, key)
        elif op == "write":
            call("memory_write", record["arguments"], key)
        elif op == "close":
            call("session_close", {"session_id": record["session"]}, key)

    def _adopt_abandoned(self) -> bool:
        """Adopt what dead processes left; return whether there was anything new."""
        self._adopt_at = time.monotonic() + ORPHAN_SCAN_S
        boxes = Outbox.find_abandoned(self.folder, MOST_ADOPTED - len(self.adopted))
        self.adopted += boxes
        return bool(boxes)

    def _close_adopted(self) -> bool:
        """Close the adopted outboxes, which are delivered; return whether there were any, since more may wait."""
        if not self.adopted:
            return False
        for box in self.adopted:
            box.close()
        self.adopted, self._adopt_at = [], 0.0
        return True

    def _look(self) -> None:
        """Check the two files from time to time.

        A file is compared only once all that dead processes left is delivered: it is newer than their records.
        """
        now = time.monotonic()
        if now < self._retry_at or now < self._look_at or self.outbox.has_records or self.adopted:
            return
        self._look_at = now + LOOK_S
        if not self.settings.mirror:
            return
        line = self._line(self.theme)
        for kind in file_entries.KINDS:
            try:
                if self.mirror.has_changed(kind) and self._is_quiet(kind):
                    if self._adopt_abandoned():
                        self._look_at = 0.0
                        self.wake.set()
                        return
                    line.described = {WAY: "host-file"}
                    added, removed = self.mirror.reconcile(line.call, kind)
                    if added or removed:
                        log.info(
                            "hermes-memory: %s: %d entries came, %d went", file_entries.FILES[kind], added, removed
                        )
            except MirrorLocked:
                continue
            except (BridgeNotReachable, BridgeBusy) as error:
                self._fail(str(error), there=isinstance(error, BridgeBusy))
                self._look_at = self._retry_at
                return
            finally:
                line.described = None

    def _is_quiet(self, kind: str) -> bool:
        looked = file_entries.find_file_signature(file_entries.find_memory_file(self.home, kind))
        return looked is None or abs(time.time() - looked[0] / 1e9) > QUIET_S

    def _line(self, theme: str) -> BridgeLine:
        line = self._lines.get(theme)
        if line is None:
            line = self._lines[theme] = BridgeLine(self.settings.db, theme, self.home, self._note_bridge_answer)
        return line

    def _note_bridge_answer(self) -> None:
        if self.trouble is not None:
            self.trouble, self._pause_s, self._retry_at, self._coming = None, 0.0, 0.0, False
        self.starter.note_answer()

    def _fail(self, why: str, *, there: bool = False) -> None:
        """Schedule a retry after a failure, with a growing delay.

        :param there: there is a bridge, which cannot do it now
        """
        if self.trouble is None:
            log.warning("hermes-memory: the bridge cannot be reached, what is to be kept waits: %s", why)
        self.trouble = why
        self._coming = not there and self.starter.start()
        self._pause_s = STARTING_S if self._coming else min(max(FIRST_S, self._pause_s * 2), MOST_S)
        self._retry_at = time.monotonic() + self._pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - no secret


def to_record_time(record: dict[str, Any]) -> float:
    """Return when a record was queued, in seconds; records of earlier versions, which do not say it, come first."""
    at = record.get("at")
    return float(at) if isinstance(at, int | float) else 0.0


def capture_turn(call: Call, record: dict[str, Any], key: str) -> None:
    """Count a turn and capture its messages.

    :raises BridgeNotReachable: no bridge answers
    :raises BridgeBusy: the bridge cannot process it now
    """
    session, user = str(record["session"]), str(record["user"])
    try:
        call("memory_tick", {"turn": record["turn"], "message": user[:20_000], "session_id": session}, f"{key}-tick")
    except CallRefused as refused:
        log.debug("hermes-memory: a turn was not counted: %s", refused)
    for role, text in (("user", user), ("assistant", str(record["assistant"])), ("tool", str(record.get("tool", "")))):
        for number, start in enumerate(range(0, len(text), LONGEST_TURN)):
            part = text[start : start + LONGEST_TURN]
            if not part.strip():
                continue
            try:
                call("memory_turn", {"role": role, "content": part, "session_id": session}, f"{key}-{role}-{number}")
            except CallRefused as refused:
                log.warning("hermes-memory: a message was not captured: %s", str(refused)[:300])


class DeliveryWorkers:
    """The workers of this process, by profile and store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str, str], DeliveryWorker] = {}

    def take(self, home: str, chosen: ProviderSettings, theme: str) -> DeliveryWorker:
        """Return the worker of a profile, started for its first user.

        :raises OSError: the profile cannot be written to
        """
        name = (os.getpid(), home, chosen.db)
        with self._lock:
            worker = self._known.get(name)
            if worker is None:
                worker = self._known[name] = DeliveryWorker(home, chosen, theme)
                worker.start()
            worker.users += 1
            return worker

    def release(self, worker: DeliveryWorker) -> None:
        """Release a worker; after its last user it ends."""
        with self._lock:
            worker.users -= 1
            if worker.users > 0:
                return
            self._known = {name: other for name, other in self._known.items() if other is not worker}
        worker.stop()


WORKERS = DeliveryWorkers()
