"""The one thread that talks to the bridge, for all agents of a process that share a store and a profile.

Hooks only leave something for it: a record in the outbox, or a question with somewhere to put the answer. Questions come
first, since somebody waits; then what waits in the outbox, in order; then a look at the two files. When there is no bridge,
it starts one if it knows how, tries again after growing pauses, and everything waits on disk meanwhile.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque

from . import entries, settings
from .line import Later, Line, Refused, Starter, Unreachable
from .mirror import Busy, Mirror
from .outbox import Outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .settings import Settings

    Call = Callable[..., tuple[str, dict[str, Any]]]

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks at MEMORY.md and USER.md; a look is two calls of `stat`."""

QUIET_S = 0.4
"""How long a file must have been left alone: the hook that explains a change comes right after it."""

ADOPT_S = 30.0
"""Between two looks for what dead processes left behind."""

STARTING_S = 0.05
"""Between tries while a bridge is starting."""

FIRST_S, MOST_S = 0.2, 15.0
"""Pauses between tries to reach the bridge."""

TRIES = 30
"""How often the bridge may say "not now" to one record before it is given up."""

DRAIN_S = 3.0
"""How long the end of an agent waits for what is still to be delivered. Whatever is left waits on disk."""

LONGEST_TURN = 100_000
"""Characters of one captured message; a longer one is captured in parts."""


class Question:
    """Something somebody waits for."""

    def __init__(self, theme: str, job: Callable[[Line], Any], until: float, *, patient: bool) -> None:
        self.theme = theme
        self.job = job
        self.until = until
        self.patient = patient
        self.done = threading.Event()
        self.answer: Any = None
        self.failure: Exception | None = None


class Worker:
    """Delivers what waits and answers questions, on a thread of its own."""

    def __init__(self, home: str, chosen: Settings, theme: str) -> None:
        """:param theme: the profile's, to which the two files belong. :raises OSError: the profile cannot be written to"""
        self.home = home
        self.settings = chosen
        self.theme = theme
        self.folder = settings.folder_of(home)
        self.outbox = Outbox.own(self.folder)
        self.adopted: Outbox | None = None
        self.mirror = Mirror(home, chosen.db, theme)
        self.starter = Starter(chosen.db, chosen.command)
        self.wake = threading.Event()
        self.users = 0
        self.trouble: str | None = None
        """Why the bridge cannot be reached; None while it can."""
        self._lines: dict[str, Line] = {}
        self._questions: deque[Question] = deque()
        self._stopping = False
        self._coming = False
        """Whether a bridge was started that does not answer yet."""
        self._retry_at = 0.0
        self._pause_s = 0.0
        self._tries = 0
        self._look_at = 0.0
        self._adopt_at = 0.0
        self._thread = threading.Thread(target=self._run, name="hermes-memory", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def put(self, record: dict[str, Any]) -> bool:
        """Keep a record until the bridge has it; False when it cannot be kept."""
        kept = self.outbox.add({"key": os.urandom(12).hex(), **record})
        self.wake.set()
        if not kept:
            log.warning("hermes-memory: a record was not kept: %s is full or cannot be written", self.outbox.path)
        return kept

    def ask(self, theme: str, job: Callable[[Line], Any], wait_s: float, *, patient: bool = False) -> Question:
        """Have a job done with the bridge soon. It is not waited for here; after `wait_s` it is not begun any more.

        :param patient: wait for a bridge that is just starting
        """
        question = Question(theme, job, time.monotonic() + wait_s, patient=patient)
        self._questions.append(question)
        self.wake.set()
        return question

    def drain(self, limit_s: float = DRAIN_S) -> bool:
        """Wait until everything is delivered, not at all while there is no bridge; whether nothing is left."""
        until = time.monotonic() + limit_s
        while self.outbox.waits and not self.is_lost and time.monotonic() < until and self._thread.is_alive():
            self.wake.set()
            time.sleep(0.005)
        return not self.outbox.waits

    @property
    def is_lost(self) -> bool:
        """Whether there is no bridge, nor one on its way."""
        return self.trouble is not None and not self._coming

    def stop(self) -> None:
        """End the thread; what it was about to do waits on disk."""
        self._stopping = True
        self.wake.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def _run(self) -> None:
        try:
            while not self._stopping:
                try:
                    self._answer()
                    if self._deliver():
                        continue
                    self._look()
                except Exception:
                    log.exception("hermes-memory: the worker stumbled")
                    self._fail("something went wrong in the provider; see the log")
                if self.outbox.waits:
                    self.outbox.sync()
                self.wake.wait(self._rest())
                self.wake.clear()
        finally:
            for line in self._lines.values():
                line.close()
            self.outbox.close()
            if self.adopted is not None:
                self.adopted.close()

    def _rest(self) -> float:
        """Seconds until there may be something to do."""
        now = time.monotonic()
        waits = self.outbox.waits or self.adopted is not None or self._questions or self._coming
        if not waits:
            return LOOK_S
        return max(0.001, min(LOOK_S, self._retry_at - now))

    def _answer(self) -> None:
        """Answer what was asked; patient questions wait for a bridge that is just starting."""
        for _ in range(len(self._questions)):
            question = self._questions.popleft()
            if time.monotonic() > question.until:
                question.failure = Unreachable(self.trouble or "the memory is busy")
                question.done.set()
                continue
            try:
                if self.trouble is not None and time.monotonic() < self._retry_at:
                    raise Unreachable(self.trouble)
                question.answer = question.job(self._line(question.theme))
            except Unreachable as error:
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
        """Deliver the oldest record; whether there may be another."""
        if time.monotonic() < self._retry_at:
            return False
        box = self.adopted or self.outbox
        record = box.peek()
        if record is None:
            if self.adopted is not None:
                self.adopted.close()
                self.adopted = None
                return True
            return False
        try:
            self._carry_out(record)
        except Busy:
            self._retry_at = time.monotonic() + 0.05
            return False
        except Unreachable as error:
            self._fail(str(error))
            return False
        except Later as error:
            self._tries += 1
            if self._tries < TRIES:
                self._fail(str(error), there=True)
                return False
            log.error("hermes-memory: given up after %d tries: %s", TRIES, str(error)[:300])
        except Refused as error:
            log.warning("hermes-memory: the memory refused a %s: %s", record.get("op"), str(error)[:300])
        except (KeyError, TypeError, ValueError):
            log.exception("hermes-memory: a record that means nothing was dropped")
        self._tries = 0
        box.done()
        return True

    def _carry_out(self, record: dict[str, Any]) -> None:
        op, key = record["op"], str(record["key"])
        call = self._line(str(record["theme"])).call
        if op == "memory":
            self.mirror.carry_out(call, record)
        elif op == "turn":
            capture(call, record, key)
        elif op == "write":
            call("memory_write", record["arguments"], key)
        elif op == "close":
            call("session_close", {"session_id": record["session"]}, key)

    def _look(self) -> None:
        """Look at the two files and for what was left behind, now and then."""
        now = time.monotonic()
        if now < self._retry_at or now < self._look_at or self.outbox.waits:
            return
        self._look_at = now + LOOK_S
        if self.adopted is None and now >= self._adopt_at:
            self._adopt_at = now + ADOPT_S
            self.adopted = Outbox.left_behind(self.folder)
            if self.adopted is not None:
                self.wake.set()
                return
        if not self.settings.mirror:
            return
        call = self._line(self.theme).call
        for kind in entries.KINDS:
            try:
                if self.mirror.changed(kind) and self._is_quiet(kind):
                    came, went = self.mirror.reconcile(call, kind)
                    if came or went:
                        log.info("hermes-memory: %s: %d entries came, %d went", entries.FILES[kind], came, went)
            except Busy:
                continue
            except (Unreachable, Later) as error:
                self._fail(str(error), there=isinstance(error, Later))
                self._look_at = self._retry_at
                return

    def _is_quiet(self, kind: str) -> bool:
        looked = entries.signature(entries.path_of(self.home, kind))
        return looked is None or abs(time.time() - looked[0] / 1e9) > QUIET_S

    def _line(self, theme: str) -> Line:
        line = self._lines.get(theme)
        if line is None:
            line = self._lines[theme] = Line(self.settings.db, theme, self.home, self._reached)
        return line

    def _reached(self) -> None:
        if self.trouble is not None:
            self.trouble, self._pause_s, self._retry_at, self._coming = None, 0.0, 0.0, False
        self.starter.reached()

    def _fail(self, why: str, *, there: bool = False) -> None:
        """It did not work: try again later, each time somewhat later. :param there: there is a bridge, which cannot do it now"""
        if self.trouble is None:
            log.warning("hermes-memory: the bridge cannot be reached, what is to be kept waits: %s", why)
        self.trouble = why
        self._coming = not there and self.starter.start()
        self._pause_s = STARTING_S if self._coming else min(max(FIRST_S, self._pause_s * 2), MOST_S)
        self._retry_at = time.monotonic() + self._pause_s * random.uniform(0.75, 1.25)  # noqa: S311 - no secret


def capture(call: Call, record: dict[str, Any], key: str) -> None:
    """Count a turn and keep what was said in it. :raises Unreachable: Later"""
    session, user = str(record["session"]), str(record["user"])
    try:
        call("memory_tick", {"turn": record["turn"], "message": user[:20_000], "session_id": session}, f"{key}-tick")
    except Refused as refused:
        log.debug("hermes-memory: a turn was not counted: %s", refused)
    for role, said in (("user", user), ("assistant", str(record["assistant"]))):
        for number, start in enumerate(range(0, len(said), LONGEST_TURN)):
            part = said[start : start + LONGEST_TURN]
            if not part.strip():
                continue
            try:
                call("memory_turn", {"role": role, "content": part, "session_id": session}, f"{key}-{role}-{number}")
            except Refused as refused:
                log.warning("hermes-memory: a message was not captured: %s", str(refused)[:300])


class Workers:
    """The workers of this process, by profile and store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str, str], Worker] = {}

    def take(self, home: str, chosen: Settings, theme: str) -> Worker:
        """The worker of a profile, started when it is the first to want it. :raises OSError:"""
        name = (os.getpid(), home, chosen.db)
        with self._lock:
            worker = self._known.get(name)
            if worker is None:
                worker = self._known[name] = Worker(home, chosen, theme)
                worker.start()
            worker.users += 1
            return worker

    def give_back(self, worker: Worker) -> None:
        """One agent needs it no longer; after the last one it ends."""
        with self._lock:
            worker.users -= 1
            if worker.users > 0:
                return
            self._known = {name: known for name, known in self._known.items() if known is not worker}
        worker.stop()


WORKERS = Workers()
