"""The bridge's vectors: a query's own within a short deadline, and those of facts and turns in the background.

Background work is bounded (a page at a time, at most half of one core for a local model), resumes after a restart,
and starts over for another model or dimension. A failing endpoint is retried with growing delays; meanwhile recall
ranks by words, and what was missed is made up for.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from hermes_memory_bridge.embedding.embedder import build_embedder
from hermes_memory_bridge.embedding.embedder_protocol import (
    Embedder,
    EmbedderUnavailable,
    EmbeddingError,
    EmbeddingRejected,
    Floats,
)
from hermes_memory_bridge.embedding.local_model import find_installed_models
from hermes_memory_bridge.embedding.query_vector import WORDS_ONLY, QueryVector, find_embeddable_words
from hermes_memory_bridge.embedding.vector_index import VectorIndex, pack_unit_vector, to_unit_vector
from hermes_memory_store.backoff import Backoff
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import primary_error_code
from hermes_memory_store.errors import StoreError
from hermes_memory_store.find.vector_file import KINDS, Vector, Vectors, remove_vector_file, vector_file_path
from hermes_memory_themes import EmbeddingSettings, ThemeError

if TYPE_CHECKING:
    from hermes_memory_bridge.trust import Vault
    from hermes_memory_store.find.embedding_inputs import EmbeddingInput
    from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Interval between checks for writes of any process, and for changed settings."""

HOUR_S = 3_600.0
"""Interval between full scans for deleted and missed inputs."""

PAGE = 200
"""Facts or turns per read."""

SWEEP_PAGE = 500
"""Vectors checked against the store per read."""

BATCH_S = 60.0
"""Timeout of one background batch."""

FIRST_REST_S, LONGEST_REST_S = 1.0, 300.0
"""Delays before a failing endpoint is retried: doubled each time, with jitter."""

QUESTIONS = 256
"""Number of cached query vectors."""

COUNTED_S = 5.0
"""Interval between progress counts during a long fill."""

FAILURES_BEFORE_PROBE = 3
"""Consecutive failures after which single texts are probed for the cause."""

PROBE_TEXT = "memory"
"""Text embedded with a new source to learn its dimension."""

T = TypeVar("T")


class StoreReader(Protocol):
    """Runs a job that only reads on a handle of the store, without blocking the event loop."""

    async def __call__(self, job: Callable[[Store], T]) -> T: ...


EmbedderFactory = Callable[[EmbeddingSettings, "Vault | None"], Embedder | None]


class VectorService:
    """Compute the vectors of queries, and maintain the vectors of a store."""

    def __init__(
        self,
        read: StoreReader,
        path: Path,
        current_settings: Callable[[], EmbeddingSettings],
        vault: Vault | None = None,
        *,
        make: EmbedderFactory = build_embedder,
        rest_s: float = FIRST_REST_S,
    ) -> None:
        """:param read: runs a job on the store and awaits its result
        :param path: the store's file
        :param current_settings: returns the settings as they are now
        :param make: builds the source of vectors for settings
        :param rest_s: the first delay after a failure
        """
        self._read = read
        self._path = path
        self._current_settings = current_settings
        self._vault = vault
        self._make = make
        self._settings: EmbeddingSettings | None = None
        self._installed: tuple[Path, ...] = ()
        """Folders of models on this machine, where the settings may choose one."""
        self._embedder: Embedder | None = None
        self._none_meant = False
        """Whether the settings select no source of vectors."""
        self._vectors: Vectors | None = None
        self._is_damaged = False
        self._near: VectorIndex | None = None
        self._model = ""
        """Name and dimension; vectors of any other model are recomputed."""
        self._trouble: str | None = None
        self._backoff = Backoff(rest_s, LONGEST_REST_S, jitter=0.5)
        self._questions: OrderedDict[bytes, list[float]] = OrderedDict()
        self._asking: set[asyncio.Future[list[Floats | None]]] = set()
        self._loading: dict[str, asyncio.Future[None]] = {}
        """Loading of vectors into memory, by theme."""
        self._refused: set[bytes] = set()
        """Digests of texts that the endpoint rejects."""
        self._seen = -1
        """Journal change up to which all inputs have vectors; -1 before the first full scan."""
        self._counted = (0, 0)
        """Number of vectors, and of facts and turns, as last counted."""
        self._counted_at = 0.0
        self._swept_at = -HOUR_S
        self._walked_at = -HOUR_S

    # A question

    async def find_query_vector(self, query: object, *, local_theme: str | None = None) -> QueryVector | None:
        """Return the vector of a search line if it is available within a query's deadline; else None, never an error.

        :param here: the theme that is searched, where no endpoint may be asked: the vector is computed on this machine
            or was requested before, and the vectors of the theme must be in memory within the deadline, too
        """
        try:
            words = find_embeddable_words(query) if isinstance(query, str) else None
            embedder, near = self._embedder, self._near
            if words is None or embedder is None or near is None:
                return None
            started_at = time.monotonic()
            if local_theme is not None and embedder.gentle:
                self._load_theme(local_theme, near)  # meanwhile
            vector = await self._embed_query(words, embedder, local_theme is not None)
            if vector is None or (local_theme is not None and not await self._is_loaded(local_theme, near, started_at)):
                return None
        except Exception:
            log.exception("a question could not be given a vector")
            return None
        return self._to_query_vector(vector, near)

    def _load_theme(self, theme: str, near: VectorIndex) -> asyncio.Future[None]:
        """Start loading the vectors of a theme's facts into memory, once."""
        loading = self._loading.get(theme)
        if loading is None or (loading.done() and (loading.cancelled() or loading.exception())):
            loading = self._loading[theme] = asyncio.ensure_future(self._read_theme(theme, near, self._model))
        return loading

    async def _read_theme(self, theme: str, near: VectorIndex, model: str) -> None:
        span = await self._read(lambda store: store.embedding_inputs.id_range(theme))
        if span is not None:
            await asyncio.to_thread(near.load, "fact", model, span)

    async def _is_loaded(self, theme: str, near: VectorIndex, started_at: float) -> bool:
        """Check whether a theme's vectors are in memory by a query's deadline.

        :param begun: when the query started to wait
        """
        loading = self._load_theme(theme, near)
        if not loading.done() and self._settings is not None:
            left_s = started_at + self._settings.query_ms / 1000 - time.monotonic()
            await asyncio.wait([loading], timeout=max(0.0, left_s))
        if not loading.done() or loading.cancelled():
            return False
        if error := loading.exception():
            log.warning("vectors could not be read, a search goes on by words: %s", error)
        return error is None

    @property
    def computes_here(self) -> bool:
        """Check whether query vectors are computed on this machine, by a model that is loaded."""
        return self._embedder is not None and self._embedder.gentle and self._near is not None

    async def _embed_query(self, words: str, embedder: Embedder, is_local: bool) -> list[float] | None:
        settings = self._settings
        if settings is None or not settings.query_ms:
            return None
        key = hashlib.sha256(f"{self._model}\n{words}".encode("utf-8", "replace")).digest()
        question = self._questions.get(key)
        if question is not None:
            self._questions.move_to_end(key)
            return question
        if is_local and not embedder.gentle:
            return None
        if not self._backoff.is_due or len(self._asking) >= QUESTIONS // 8:
            return None
        asking = asyncio.ensure_future(embedder.embed([words], max(settings.query_ms / 1000, 1.0) * 4))
        self._asking.add(asking)
        asking.add_done_callback(lambda done: self._cache_query_vector(done, key))
        # An answer that comes too late is remembered for the next time.
        done, _ = await asyncio.wait([asking], timeout=settings.query_ms / 1000)
        return self._questions.get(key) if done else None

    def _cache_query_vector(self, done: asyncio.Future[list[Floats | None]], key: bytes) -> None:
        self._asking.discard(done)
        if done.cancelled():
            return
        error = done.exception()
        if error is not None:
            if isinstance(error, EmbeddingError) and not isinstance(error, EmbeddingRejected):
                self._fail(error)
            elif not isinstance(error, EmbeddingError):
                log.error("a question could not be given a vector: %s", type(error).__name__)
            return
        (row,) = done.result() or [None]
        if row is not None:
            self._note_success()
            self._questions[key] = to_unit_vector(row)
            while len(self._questions) > QUESTIONS:
                self._questions.popitem(last=False)

    def _to_query_vector(self, vector: list[float], near: VectorIndex) -> QueryVector | None:
        embedder, settings = self._embedder, self._settings
        if embedder is None or settings is None:
            return None
        model, floor = f"{embedder.name}:{len(vector)}", settings.floor

        def nearest(
            store: Store, kind: str, theme: str, limit: int, besides: Collection[int]
        ) -> list[tuple[int, float]]:
            span = store.embedding_inputs.id_range(theme)
            if span is None:
                return []
            try:
                return near.nearest(kind, model, span, vector, limit, floor, besides)
            except driver.Error as error:
                log.warning("vectors could not be read, recall goes on by words: %s", error)
                self._note_damage(error)
                return []

        return QueryVector(embedder.name, nearest, vector, floor)

    @property
    def model(self) -> str:
        """Return name and dimensions of the current model, `name:384`; empty while there is none."""
        return self._model

    # How it does, in words

    def state(self) -> str:
        """Describe in one sentence how recall ranks now, and what it waits for."""
        if self._trouble is not None:
            rest = round(self._backoff.remaining_s)
            wait = f"; next try in {rest} s" if rest else ""
            return f"{WORDS_ONLY} for now: {self._trouble}{wait}"
        if self._embedder is None or self._vectors is None or not self._model:
            return f"{WORDS_ONLY}: no embedding is configured" if self._settings is not None else f"{WORDS_ONLY} yet"
        made, total = self._counted
        left = f", {len(self._refused):,} refused by it" if self._refused else ""
        return f"words and {self._embedder.name} ({made:,} of {total:,} facts and turns have vectors{left})"

    # The vectors of facts and turns

    async def fill_forever(self) -> None:
        """Add missing vectors of facts and turns, and remove those whose text is gone; run until cancelled."""
        while True:
            try:
                await self._sweep_hourly()
                wait_s = await self._round()
            except EmbeddingError as error:
                wait_s = self._fail(error)
            except (StoreError, ThemeError, driver.Error, OSError) as error:
                log.warning("vectors could not be made, and are tried again: %s", error)
                self._note_damage(error)
                wait_s = self._fail(EmbeddingError(str(error)))
            except Exception:
                log.exception("vectors could not be made, and are tried again")
                wait_s = self._fail(EmbeddingError("something went wrong here; see the bridge's log"))
            await asyncio.sleep(wait_s)

    def _note_damage(self, error: Exception) -> None:
        """Have the file rebuilt when an error says that it is damaged: all its content is derived."""
        if isinstance(error, driver.Error) and primary_error_code(error) in (
            driver.SQLITE_CORRUPT,
            driver.SQLITE_NOTADB,
        ):
            self._is_damaged = True

    async def close(self) -> None:
        for asking in list(self._asking):
            asking.cancel()
        for loading in self._loading.values():
            loading.cancel()
        await self._drop_embedder()
        await self._close_vectors()

    async def _round(self) -> float:
        """Do the work that is due; return how long to wait then."""
        embedder = await self._current()
        if embedder is None:
            return LOOK_S
        now = time.monotonic()
        if self._is_damaged:
            self._is_damaged = False
            await asyncio.to_thread(remove_vector_file, vector_file_path(self._path))
        if self._vectors is not None and not self._vectors.is_there():
            await self._close_vectors()
            await self._open()
            self._seen = -1
        if not self._backoff.is_due:
            return min(LOOK_S, self._backoff.remaining_s)
        if self._seen < 0 or now - self._walked_at > HOUR_S:
            head = await self._read(lambda store: store.embedding_inputs.last_change())
            self._refused.clear()  # an hour later a server may take them
            for kind in KINDS:
                await self._walk(embedder, kind)
            await self._count()
            self._seen, self._walked_at = head, now
        while True:
            seen = self._seen
            sayings, head = await self._read(to_change_reader(seen))
            if head == seen:
                break
            await self._fill(embedder, sayings)
            self._seen = head
            await self._count()
        if self._trouble is not None:
            await embedder.embed([PROBE_TEXT], BATCH_S)
            self._note_success()
        return LOOK_S

    async def _walk(self, embedder: Embedder, kind: str) -> None:
        after = 0
        while True:
            page = await self._read(to_page_reader(kind, after))
            if not page:
                return
            await self._fill(embedder, page)
            after = page[-1].id
            if time.monotonic() - self._counted_at > COUNTED_S:
                await self._count()

    async def _count(self) -> None:
        vectors, model = self._vectors, self._model
        if vectors is not None:
            total = await self._read(lambda store: store.embedding_inputs.count())
            self._counted = min(await asyncio.to_thread(vectors.total, model), total), total
            self._counted_at = time.monotonic()

    async def _fill(self, embedder: Embedder, sayings: Sequence[EmbeddingInput]) -> None:
        vectors = self._vectors
        if vectors is None:
            return
        missing: list[EmbeddingInput] = []
        for kind in KINDS:
            some = [saying for saying in sayings if saying.kind == kind]
            sources = await asyncio.to_thread(vectors.find_sources, kind, [one.id for one in some]) if some else {}
            for one in some:
                have = sources.get(one.id)
                source = (one.uid, one.digest, self._model)
                if one.digest not in self._refused and (not have or (have.uid, have.digest, have.model) != source):
                    missing.append(one)
        for batch in in_chunks(missing, embedder.batch):
            started_at = time.monotonic()
            await self._embed_batch(embedder, vectors, list(batch))
            if embedder.gentle:
                await asyncio.sleep(time.monotonic() - started_at)

    async def _embed_batch(self, embedder: Embedder, vectors: Vectors, sayings: list[EmbeddingInput]) -> None:
        """Embed one batch; if it is rejected, its halves, so that one text does not block the rest."""
        texts = list(dict.fromkeys(one.text for one in sayings))
        try:
            rows = await embedder.embed(texts, BATCH_S)
        except EmbeddingError as error:
            if not isinstance(error, EmbeddingRejected):
                await self._skip_if_text_at_fault(embedder, error)
            if len(texts) > 1:
                half = set(texts[: len(texts) // 2])
                await self._embed_batch(embedder, vectors, [one for one in sayings if one.text in half])
                await self._embed_batch(embedder, vectors, [one for one in sayings if one.text not in half])
                return
            log.warning("one %s has no vector: %s", sayings[0].kind, error.said)
            self._refused.add(sayings[0].digest)
            return
        by_text = {text: row for text, row in zip(texts, rows, strict=True) if row is not None}
        lengths = {len(row) for row in by_text.values()}
        if lengths and {f"{embedder.name}:{length}" for length in lengths} != {self._model}:
            self._model, self._seen = "", -1
            await self._drop_embedder()
            raise EmbeddingError(f"the vectors of {embedder.name} have changed their length; all are made anew")
        self._note_success()
        made = []
        for one in sayings:
            if one.text in by_text:
                scale, row = pack_unit_vector(to_unit_vector(by_text[one.text]))
                made.append(Vector(one.kind, one.id, one.uid, one.digest, self._model, scale, row))
        await asyncio.to_thread(vectors.save, made)
        await self._forget_erased(vectors, sayings)
        left_out = [saying for saying in sayings if saying.text not in by_text]
        if left_out:
            if not by_text:
                raise EmbeddingError(f"{embedder.name} left out every vector")
            await self._embed_batch(embedder, vectors, left_out)

    async def _skip_if_text_at_fault(self, embedder: Embedder, error: EmbeddingError) -> None:
        """Return if one text is at fault: the server failed repeatedly at it, but still answers to something else.

        :raises EmbeddingError: it is not at fault, or that is not known yet
        """
        if self._backoff.failures < FAILURES_BEFORE_PROBE or isinstance(error, EmbedderUnavailable):
            raise error
        await embedder.embed([PROBE_TEXT], BATCH_S)

    async def _forget_erased(self, vectors: Vectors, sayings: list[EmbeddingInput]) -> None:
        """Discard vectors of facts that were purged while they were being computed."""
        for kind in KINDS:
            ids = {saying.id: saying.uid for saying in sayings if saying.kind == kind}
            if ids:
                there = await self._read(to_id_reader(kind, list(ids)))
                erased = ids.keys() - {one.id for one in there if one.uid == ids[one.id]}
                if erased:
                    await asyncio.to_thread(vectors.erase_by_ids, kind, erased)

    async def _sweep_hourly(self) -> None:
        """Remove the vectors of deleted or changed texts hourly, also when no vectors are being made."""
        if time.monotonic() - self._swept_at < HOUR_S:
            return
        if vector_file_path(self._path).exists():
            vectors = await self._open()
            for kind in KINDS:
                after = 0
                while page := await asyncio.to_thread(vectors.page, kind, after, SWEEP_PAGE):
                    there = {item.id: item for item in await self._read(to_id_reader(kind, [item.id for item in page]))}
                    stale = [
                        item.id
                        for item in page
                        if item.id not in there
                        or (there[item.id].uid, there[item.id].digest) != (item.uid, item.digest)
                    ]
                    if stale:
                        await asyncio.to_thread(vectors.erase_by_ids, kind, stale)
                    after = page[-1].id
        self._swept_at = time.monotonic()

    async def _current(self) -> Embedder | None:
        settings = self._current_settings()
        installed = find_installed_models() if settings.speaks in ("local", "auto") else ()
        if installed != self._installed:
            self._installed, self._settings = installed, None
        if settings == self._settings and (self._none_meant or self._model):
            return self._embedder
        if not self._backoff.is_due and settings == self._settings:
            return None
        if settings != self._settings:
            await self._drop_embedder()
            self._settings, self._trouble = settings, None
            self._backoff.reset()
            self._refused.clear()
            self._none_meant = False
        if self._embedder is None:
            self._embedder = await asyncio.to_thread(self._make, settings, self._vault)
        self._none_meant = self._embedder is None
        if self._embedder is None:
            return None
        (row,) = await self._embedder.embed([PROBE_TEXT], BATCH_S)
        if row is None:
            raise EmbeddingError(f"{self._embedder.name} gave no vector")
        await self._open()
        self._model, self._seen = f"{self._embedder.name}:{len(row)}", -1
        self._counted = 0, self._counted[1]  # those of the model before are not its own
        log.info("recall by words and %s", self._embedder.name)
        return self._embedder

    async def _open(self) -> Vectors:
        if self._vectors is None:
            self._vectors = await asyncio.to_thread(Vectors, self._path)
            self._near = VectorIndex(self._vectors)
        return self._vectors

    async def _close_vectors(self) -> None:
        vectors, self._vectors, self._near = self._vectors, None, None
        self._loading.clear()
        if vectors is not None:
            await asyncio.to_thread(vectors.close)

    async def _drop_embedder(self) -> None:
        embedder, self._embedder, self._model = self._embedder, None, ""
        self._questions.clear()
        self._loading.clear()
        if self._near is not None:
            self._near.forget()
        if embedder is not None:
            await embedder.close()

    def _note_success(self) -> None:
        self._trouble = None
        self._backoff.reset()

    def _fail(self, error: EmbeddingError) -> float:
        """Note why there are no vectors; return how long to wait before the next attempt."""
        if self._trouble != error.said:
            log.warning("recall goes on by words: %s", error.said)
        self._trouble = error.said
        if isinstance(error, EmbedderUnavailable):
            rest_s = LONGEST_REST_S
            self._backoff.pause(rest_s)
        else:
            rest_s = self._backoff.fail(at_least_s=error.retry_after_s or 0.0)
        return min(LOOK_S, rest_s)


def to_page_reader(kind: str, after: int) -> Callable[[Store], list[EmbeddingInput]]:
    return lambda store: store.embedding_inputs.page(kind, after, PAGE)


def to_change_reader(since: int) -> Callable[[Store], tuple[list[EmbeddingInput], int]]:
    """Return a job that reads what changed since a journal number, with the newest number."""
    return lambda store: store.embedding_inputs.changed_since(since, PAGE)


def to_id_reader(kind: str, ids: list[int]) -> Callable[[Store], list[EmbeddingInput]]:
    """Return a job that reads the current texts of these ids."""
    return lambda store: store.embedding_inputs.by_ids(kind, ids)
