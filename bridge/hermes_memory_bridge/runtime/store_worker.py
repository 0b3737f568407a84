"""The store for many concurrent connections: one writer thread, a few readers, an event loop that never blocks.

Writes that arrive while another is being made durable are committed together (group commit): each is a step of its
own that may fail without the others, and each is acknowledged only after their commit has reached the disk. So the
latency of the disk is paid per group, not per call.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hermes_memory_bridge.runtime.branch_notices import BranchNotices
from hermes_memory_bridge.runtime.call_log import CallLog
from hermes_memory_bridge.runtime.project_reader import ProjectReader
from hermes_memory_bridge.toolkit.store_opening import open_current_store
from hermes_memory_bridge.trust import Vault
from hermes_memory_bridge.version import __version__
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.database.db import TransactionEnded
from hermes_memory_store.database.index_health import find_damaged_indexes
from hermes_memory_store.errors import IndexDamaged, StoreError, StoreOlder, StoreReplaced, StoreTooNew, StoreUnreadable
from hermes_memory_store.intake.origins import WordDigests
from hermes_memory_store.model import Origin, Way
from hermes_memory_store.store import Store
from hermes_memory_themes import EmbeddingSettings

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.vector_service import VectorService
    from hermes_memory_bridge.runtime.metrics import BridgeMetrics
    from hermes_memory_bridge.toolkit.team_request import TeamSearcher

log = logging.getLogger(__name__)

T = TypeVar("T")
Job = Callable[[Store], Any]

GROUP = 64
"""Maximum number of writes per commit."""

READERS = 4
"""Number of reader threads."""

TURN_S = 0.02
"""Reads take turns: SQLite gives Python's lock away at every row, and threads that fight for it take longer than one after
the other. Only when a read takes longer than this does the next one start beside it."""


@dataclass(frozen=True, slots=True)
class QueuedWrite:
    job: Job
    alone: bool
    """Runs in transactions of its own, because it must be durable before its next step, such as replacing a file."""
    done: Callable[[Any, BaseException | None], None]
    failed: Callable[[], None] | None = None
    """Reverts its changes in memory before it is retried."""


class ReaderThread:
    """The store handle of one reader thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.store: Store | None = None


class StoreWorker:
    """Read and write a store from an event loop."""

    def __init__(
        self,
        path: str | Path,
        *,
        readers: int = READERS,
        clock: Clock = system_clock,
        vault: Vault | None = None,
    ) -> None:
        """Open the store, upgrading a hermes-memory 0.3.0 file after a verified backup.

        :raises StoreError: the store cannot be opened
        """
        self.path = Path(path)
        self.vault = vault
        """Keeps the secrets that are masked."""
        self.word_digests = WordDigests()
        """What hooks heard in sessions of hosts, in memory alone."""
        self.store = open_current_store(self.path, clock=clock, vault=vault)
        self._set_up_store()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._metrics: BridgeMetrics | None = None
        self._metrics_lock = threading.Lock()
        self.calls = CallLog()
        self.projects = ProjectReader()
        self.branches = BranchNotices()
        self.vectors: VectorService | None = None
        """Computes query vectors, if embeddings are configured."""
        self.team_search: TeamSearcher | None = None
        """Searches the team database for what this store does not hold."""
        self.is_outdated = threading.Event()
        """Set once a newer program has brought the store up to date: this one no longer writes."""
        self.on_reopen: Callable[[], None] = lambda: None
        """Called on the writer's thread when another file was opened: sessions of the former one may be missing in it."""
        self._wrote = asyncio.Event()
        self._waiting: queue.SimpleQueue[QueuedWrite | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers: list[ReaderThread] = []
        self._turn = threading.Lock()
        self._pool = ThreadPoolExecutor(readers, thread_name_prefix="reader")
        self._writer = threading.Thread(target=self._write_on, name="writer", daemon=True)
        self._writer.start()

    @property
    def metrics(self) -> BridgeMetrics:
        """The bridge's metrics, made when something is counted first: the writer counts, and the event loop."""
        from hermes_memory_bridge.runtime.metrics import BridgeMetrics

        with self._metrics_lock:
            self._metrics = self._metrics or BridgeMetrics()
            return self._metrics

    def embedding_settings(self) -> EmbeddingSettings:
        """Return the embedding settings as they are now: the file that holds them may have changed."""
        return self.store.policies.embedding_settings()

    async def read(self, job: Callable[[Store], T]) -> T:
        """Run a job that only reads. A slow one delays no other."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run_read, job)

    async def write(
        self, job: Callable[[Store], T], *, alone: bool = False, failed: Callable[[], None] | None = None
    ) -> T:
        """Run a job that writes, and return once it is on disk. Exceptions of the job are raised here.

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

        self._waiting.put(QueuedWrite(job, alone, tell, failed))
        # A caller that gives up does not take its write back: it may be on the disk already.
        return await asyncio.shield(future)

    async def wait_for_write(self, most_s: float) -> None:
        """Wait until something was written here, at most `most_s` seconds."""
        try:
            async with asyncio.timeout(most_s):
                await self._wrote.wait()
        except TimeoutError:
            return
        self._wrote.clear()

    def write_in_background(self, job: Job) -> None:
        self._waiting.put(QueuedWrite(job, False, log_future_failure))

    def run_in_background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine in the background and log its errors; return its task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_task_failure)
        return task

    @property
    def queue_length(self) -> int:
        return self._waiting.qsize()

    def forget_projects(self) -> None:
        for reader in self._readers:
            with reader.lock:
                if reader.store is not None:
                    reader.store.names.origins.forget()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._waiting.put(None)
        self._writer.join()

    def _note_reads(self) -> None:
        self.write_in_background(lambda store: store.reads.flush())

    def _run_read(self, job: Callable[[Store], T]) -> T:
        reader: ReaderThread | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = ReaderThread()
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
        is_running = True
        while is_running:
            group = [self._waiting.get()]
            while len(group) < GROUP and group[-1] is not None and not group[-1].alone:
                try:
                    group.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            if group[-1] is None:
                is_running = False
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

    def _commit(self, group: list[QueuedWrite]) -> None:
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
        """Check whether a write failed only because of a damaged full-text index, and set that aside."""
        if not isinstance(error, Exception):
            return False
        if isinstance(error, IndexDamaged):
            return True
        db = self.store.db
        if not find_damaged_indexes(db.conn, error):
            return False
        try:
            db.disable_damaged_indexes(error)
        except IndexDamaged as damage:
            log.warning("%s", damage)
        return True

    def _outcomes(self, group: list[QueuedWrite]) -> list[tuple[Any, BaseException | None]]:
        """Execute these writes in one commit; return each one's result or error."""
        if len(group) == 1:
            return [self._outcome(group[0])]
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            with self.store.db.write_transaction() as conn:
                for write in group:
                    outcomes.append(self._step(conn, write))
                    if not conn.in_transaction:
                        raise outcomes[-1][1] or RuntimeError("a write ended the transaction of its group")
            self._check_file()
        except BaseException as error:  # nothing of the group is on the disk, and everybody must hear of it
            outcomes = [(None, self._follow_file(error))] * len(group)
        else:
            self.metrics.count_commit(len(group))
        return outcomes

    def _outcome(self, write: QueuedWrite) -> tuple[Any, BaseException | None]:
        try:
            try:
                result = self._run_deferred(write)
            except TransactionEnded:  # as by a search in a damaged index, which is avoided from now on
                result = self._run_deferred(write)
            self._check_file()
        except BaseException as error:
            return None, self._follow_file(error)
        self.metrics.count_commit(1)
        return result, None

    def _run_deferred(self, write: QueuedWrite) -> Any:
        with self.store.db.deferred_transaction():
            return write.job(self.store)

    def _step(self, conn: sqlite3.Connection, write: QueuedWrite) -> tuple[Any, BaseException | None]:
        try:
            with self.store.db.savepoint(conn):
                result = write.job(self.store)
        except Exception as error:
            return None, error
        return result, None

    def _run_alone(self, write: QueuedWrite) -> None:
        try:
            self._check_file()
            result = write.job(self.store)
            self._check_file()
        except BaseException as error:
            write.done(None, self._follow_file(error))
        else:
            write.done(result, None)

    def _follow_file(self, error: BaseException) -> BaseException:
        """Act on the file having been replaced, or brought to another version, while it was open; return the error to report."""
        if isinstance(error, StoreTooNew) and not self.is_outdated.is_set():
            log.error("%s", error)
            self.is_outdated.set()
        if isinstance(error, StoreReplaced):
            log.error("%s", error)
            if not self.path.exists():
                return error
        elif not isinstance(error, StoreOlder):
            return error
        try:
            self._reopen_store()
        except StoreError as failure:
            return failure
        if not isinstance(error, StoreReplaced):
            return error
        replaced = StoreUnreadable(
            f"the memory at {self.path} was replaced while in use; nothing was changed, make this call again "
            f"({error.rescued})",
            self.path,
        )
        replaced.__cause__ = error
        return replaced

    def _check_file(self) -> None:
        """Check that the open file still has its name: nothing may be acknowledged that went into a deleted file."""
        if not self.store.db.has_lost_name():
            return
        if threading.current_thread() is not self._writer:
            raise StoreUnreadable(
                f"the memory at {self.path} was deleted or replaced; try again in a moment", self.path
            )
        self.store.db.refuse_renamed_file()

    def _set_up_store(self) -> None:
        """Have reads noted, and attribute to the bridge what no agent's call changes, such as the end of a lost session."""
        self.store.reads.on_enough = self._note_reads
        self.store.scored_writes.digests = self.word_digests
        self.store.origin = Origin(way=Way.LIBRARY, client="hermes-memory-bridge", client_version=__version__)

    def _reopen_store(self) -> None:
        """Open the file that has the store's name now. The old one stays open until that has succeeded."""
        opened = open_current_store(self.path, clock=self.store.clock, vault=self.vault)
        self._close_readers()
        self.store.db.close()
        self.store = opened
        self._set_up_store()
        self.on_reopen()


def log_future_failure(_: Any, error: BaseException | None) -> None:
    if error is not None:
        log.error("a write in the background failed: %s", error, exc_info=error)


def log_task_failure(task: asyncio.Task[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("a task in the background failed: %s", error, exc_info=error)
