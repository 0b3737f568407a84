"""The store as many connections use it at once: one thread that writes, a few that read, and a loop that never waits.

Writes that arrive while another is being made durable are committed together: each is a step of its own that may fail
without the others, and each is acknowledged only after their one commit has reached the disk. So the time a disk takes
is paid by groups, not by calls.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hermes_memory_bridge.calllog import CallLog
from hermes_memory_bridge.metrics import Metrics
from hermes_memory_store import backup, filesystem
from hermes_memory_store.errors import IndexDamaged, StoreNeedsUpgrade, StoreUnreadable
from hermes_memory_store.store import Store
from hermes_memory_store.text_indexes import damaged_indexes

if TYPE_CHECKING:
    from hermes_memory_bridge.elsewhere import Asking
    from hermes_memory_bridge.embedding.meaning import Meaning

log = logging.getLogger(__name__)

T = TypeVar("T")
Job = Callable[[Store], Any]

GROUP = 64
"""Writes of one commit at most."""

READERS = 4
"""Threads that read."""

TURN_S = 0.02
"""Reads take turns: SQLite gives Python's lock away at every row, and threads that fight for it take longer than one after
the other. Only when a read takes longer than this does the next one start beside it."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write that waits for its turn."""

    job: Job
    alone: bool
    """In transactions of its own: for what must be durable before its next step, such as a file that is replaced."""
    done: Callable[[Any, BaseException | None], None]
    failed: Callable[[], None] | None = None
    """Takes back what it left in memory, when it is to be done again."""


class Reader:
    """The store as one thread reads it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.store: Store | None = None


class Hub:
    """Reads and writes a store for an event loop."""

    def __init__(self, path: str | Path, *, readers: int = READERS) -> None:
        """Open the store, upgrading a hermes-memory 0.3.0 file behind a verified backup. :raises StoreError"""
        self.path = Path(path)
        self.store = opened(self.path)
        self.store.reads.on_enough = self._note_reads
        self._file = filesystem.identity(self.path)
        self._rescued = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.metrics = Metrics()
        self.calls = CallLog()
        self.meaning: Meaning | None = None
        """Gives questions their meaning, where that is configured."""
        self.asking: Asking | None = None
        """Asks the team's database what this store does not hold."""
        self._wrote = asyncio.Event()
        self._waiting: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers: list[Reader] = []
        self._turn = threading.Lock()
        self._pool = ThreadPoolExecutor(readers, thread_name_prefix="reader")
        self._writer = threading.Thread(target=self._write_on, name="writer", daemon=True)
        self._writer.start()

    async def read(self, job: Callable[[Store], T]) -> T:
        """Run a job that only reads. A slow one keeps nobody else waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, job)

    async def write(
        self, job: Callable[[Store], T], *, alone: bool = False, failed: Callable[[], None] | None = None
    ) -> T:
        """Run a job that writes; when this returns, what it wrote is on the disk. What it raised is raised here.

        :param failed: called when it failed, or the commit it was part of, before the next commit begins
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def tell(result: Any, error: BaseException | None) -> None:
            if error is not None and failed is not None:
                failed()
            loop.call_soon_threadsafe(settle, result, error)

        def settle(result: Any, error: BaseException | None) -> None:
            self._wrote.set()
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._waiting.put(Write(job, alone, tell, failed))
        # A caller that gives up does not take its write back: it may be on the disk already.
        return await asyncio.shield(future)

    async def written(self, most_s: float) -> None:
        """Wait until something was written here, at most so long."""
        try:
            async with asyncio.timeout(most_s):
                await self._wrote.wait()
        except TimeoutError:
            return
        self._wrote.clear()

    def later(self, job: Job) -> None:
        """Run a job that writes, some time soon; nobody waits for it."""
        self._waiting.put(Write(job, False, note_failure))

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the loop that nobody waits for; what goes wrong is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure)

    @property
    def waiting(self) -> int:
        """Writes in the queue."""
        return self._waiting.qsize()

    def close(self) -> None:
        """Finish what waits, and close the store."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._waiting.put(None)
        self._writer.join()

    def _note_reads(self) -> None:
        self.later(lambda store: store.reads.flush())

    def _read(self, job: Callable[[Store], T]) -> T:
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = Reader()
            self._readers.append(reader)
        in_turn = self._turn.acquire(timeout=TURN_S)
        try:
            with reader.lock:
                self._check_file()
                if reader.store is None:
                    reader.store = self.store.reader()
                return job(reader.store)
        finally:
            if in_turn:
                self._turn.release()

    def _write_on(self) -> None:
        going = True
        while going:
            group = [self._waiting.get()]
            while len(group) < GROUP and group[-1] is not None and not group[-1].alone:
                try:
                    group.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            if group[-1] is None:
                going = False
            writes = [write for write in group if write is not None]
            together = [write for write in writes if not write.alone]
            if together:
                self._commit(together)
            for write in writes:
                if write.alone:
                    self._run_alone(write)
        self._close_readers()
        self.store.close()

    def _close_readers(self) -> None:
        for reader in self._readers:
            with reader.lock:
                if reader.store is not None:
                    reader.store.close()
                    reader.store = None

    def _commit(self, group: list[Write]) -> None:
        outcomes = self._outcomes(group)
        again = [place for place, (_, error) in enumerate(outcomes) if self._is_index_damage(error)]
        if again:  # the index is set aside now, and nothing of these writes is on the disk
            for write in (group[place] for place in again):
                if write.failed is not None:
                    write.failed()
            for place, outcome in zip(again, self._outcomes([group[place] for place in again]), strict=True):
                outcomes[place] = outcome
        for write, outcome in zip(group, outcomes, strict=True):
            write.done(*outcome)

    def _is_index_damage(self, error: BaseException | None) -> bool:
        """Whether a write failed by a damaged full-text index alone, which is set aside now."""
        if not isinstance(error, Exception):
            return False
        if isinstance(error, IndexDamaged):
            return True
        db = self.store.db
        if not damaged_indexes(db.conn, error):
            return False
        try:
            db.set_aside_damaged(error)
        except IndexDamaged as damage:
            log.warning("%s", damage)
        return True

    def _outcomes(self, group: list[Write]) -> list[tuple[Any, BaseException | None]]:
        """Do these writes in one commit: what each of them gave, or why it failed."""
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            self._check_file()
            with self.store.db.writing() as conn:
                for write in group:
                    outcomes.append(self._step(conn, write))
                    if not conn.in_transaction:
                        raise outcomes[-1][1] or RuntimeError("a write ended the transaction of its group")
            self._check_file()
        except BaseException as error:  # nothing of the group is on the disk, and everybody must hear of it
            outcomes = [(None, error)] * len(group)
        else:
            self.metrics.committed(len(group))
        return outcomes

    def _step(self, conn: sqlite3.Connection, write: Write) -> tuple[Any, BaseException | None]:
        try:
            with self.store.db.apart(conn):
                result = write.job(self.store)
        except Exception as error:
            return None, error
        return result, None

    def _run_alone(self, write: Write) -> None:
        try:
            self._check_file()
            result = write.job(self.store)
            self._check_file()
        except BaseException as error:
            write.done(None, error)
        else:
            write.done(result, None)

    def _check_file(self) -> None:
        """Nobody may be told that something is kept when it went into a file that has no name any more."""
        now = filesystem.identity(self.path)
        if now is not None and now == self._file:
            return
        if threading.current_thread() is not self._writer:
            raise StoreUnreadable(
                f"the memory at {self.path} was deleted or replaced; try again in a moment", self.path
            )
        if self._file is not None:
            self._rescued = self._rescue()
            self._file = None
        if now is None:
            raise StoreUnreadable(
                f"the memory at {self.path} was deleted while in use, and nothing was changed; {self._rescued}: "
                "put that or a backup back, and go on",
                self.path,
            )
        # All of the old file's handles first: the last one to close deletes the write-ahead log, by its name.
        self._close_readers()
        self.store.db.close()
        self.store = opened(self.path)
        self.store.reads.on_enough = self._note_reads
        self._file = filesystem.identity(self.path)
        raise StoreUnreadable(
            f"the memory at {self.path} was replaced while in use; nothing was changed, make this call again "
            f"({self._rescued})",
            self.path,
        )

    def _rescue(self) -> str:
        """Save what the open file holds, before it is gone for good."""
        place = backup.beside(self.path, "rescued", self.store.clock())
        try:
            self.store.db.conn.execute("VACUUM INTO ?", (str(place),))
            os.chmod(place, 0o600)
        except Exception as error:
            log.exception("the content of the deleted memory could not be saved to %s", place)
            return f"what it held could not be saved ({error})"
        log.error("the memory was deleted or replaced while in use; what it held is in %s", place)
        return f"what it held is in {place}"


def opened(path: Path, *, create: bool = True) -> Store:
    """The store, brought up to date. :raises StoreMissing: when there is none, unless it is to be created"""
    try:
        return Store.open(path, create=create)
    except StoreNeedsUpgrade:
        from hermes_memory_store.upgrade import upgrade

        upgrade(path)
        return Store.open(path)


def note_failure(_: Any, error: BaseException | None) -> None:
    """Log what nobody waits for."""
    if error is not None:
        log.error("a write in the background failed: %s", error, exc_info=error)


def log_failure(task: asyncio.Task[None]) -> None:
    """Log what went wrong in a task that nobody waits for."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("a task in the background failed: %s", error, exc_info=error)
