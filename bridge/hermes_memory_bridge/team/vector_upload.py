"""Upload of vectors to the team database: those this machine has made for facts and turns of shared themes.

A background thread of its own, over a connection that is open only while there is something to send, so that no
fact ever waits for a vector. The database says which texts lack one, since it alone knows what others have sent;
so no state is kept here, and starting over after a crash costs one query. `sync status` reports whatever stands in
the way.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_bridge.team.database.lock_holders import to_held_state
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.database.team_states import HELD, TeamError, TeamState
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database import driver
from hermes_memory_store.errors import StoreError
from hermes_memory_store.find.vector_file import KINDS, Vectors, vector_file_path
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often to look whether something changed; it costs no question."""

UPLOAD_POLL_S = 5.0
"""How long to wait between two rounds while vectors are still being made here."""

REST_S = 60.0
"""How long the database is left alone when it cannot take vectors."""

PAGE = 1_000
"""Texts without a vector that are named at once."""

BATCH = 100
"""Vectors of one statement. With an index in place one takes up to 4 ms, and whoever pushes just these texts waits for it."""

FROM_START = -2
"""Head of what is asked for from the start."""

HOUR_S = 3_600.0

TEXTS_PER_ROUND = 5_000
"""Texts without a vector that are looked up here in one round."""

FILLED = TeamState("filled", "every text of the team's themes has its vector in the team database")
FILLING = TeamState("filling", "vectors are on their way to the team database")
WAITING = TeamState("waiting", "vectors wait for the exchange")
NO_MODEL = TeamState("no model", "this machine sends the team no vectors: no embedding makes any here")
NO_ROOM = TeamState(
    "no room", "the team database keeps no vectors: its owner makes room with `team migrate --dimension N`"
)

MISSING_VECTORS_SQL = "SELECT * FROM hm.list_missing_vectors(%(theme)s, %(kind)s, %(model)s, %(after)s, %(limit)s)"

MODEL = "SELECT hm.find_vector_model(%s)"
"""Of one theme. Should two bridges have begun at once with two models, all of them come to the same answer."""

STORE_VECTORS_SQL = """
SELECT hm.keep_vectors(%(theme)s, %(model)s, %(ids)s::uuid[], %(shas)s::bytea[], %(numbers)s::text[])
"""


@dataclass(slots=True)
class UploadProgress:
    """The progress of the facts of one theme, or of its turns."""

    head: int = -1
    """The theme's sequence when they were last asked for."""
    after: int = 0
    requested_at: float = 0.0
    """When they were last asked for all."""
    missing: OrderedDict[Uid, bytes] = field(default_factory=OrderedDict)
    """Those without a vector, and the digest of their contents."""

    def restart(self) -> None:
        """Check all of it again: some of what is missing here may have been made, or be gone."""
        self.head, self.after, self.requested_at = -1, 0, time.monotonic()
        self.missing.clear()


class VectorUpload:
    def __init__(
        self,
        path: str | Path,
        find: Callable[[], str | None],
        heads: Callable[[], Mapping[str, int]],
        model: Callable[[], str],
        is_asleep: Callable[[], bool] = lambda: False,
    ) -> None:
        """:param find: returns the DSN
        :param heads: the sequence of each synced theme; empty while nothing is
        :param model: name and dimensions of the current embedding model, `name:384`; empty while there is none
        :param is_asleep: whether the database is left alone until something is exchanged
        """
        self.path = Path(path)
        self.find = find
        self.heads = heads
        self.model = model
        self.is_asleep = is_asleep
        self.state = WAITING
        self._progress: dict[tuple[str, str], UploadProgress] = {}
        """Of each theme and kind."""
        self._others: dict[str, str] = {}
        """Themes whose vectors are those of another model."""
        self._for = ""
        self._made = (-1, -1)
        self._server: TeamServer | None = None
        self._vectors: Vectors | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._upload_until_stopped, name="team vectors", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, within_s: float = 2.0) -> None:
        self._stop.set()
        server = self._server
        if server is not None:
            server.interrupt()
        if self._thread.is_alive():
            self._thread.join(within_s)

    def status(self) -> dict[str, Any]:
        """Return `vectors` of the document of `sync status`."""
        return {**self.state.as_dict(), "missing": self._missing}

    @property
    def _missing(self) -> int:
        return sum(len(progress.missing) for progress in list(self._progress.values()))

    def _upload_until_stopped(self) -> None:
        wait_s = LOOK_S
        while not self._stop.wait(wait_s):
            if self.is_asleep():
                wait_s = LOOK_S
                continue
            try:
                wait_s = self._round()
            except TeamError as error:
                wait_s = self._fail(error.state)
            except (StoreError, driver.Error, OSError) as error:
                wait_s = self._fail(TeamState("memory", f"vectors could not be read here: {error}"))
            except Exception:  # a bug of ours must not end it for good
                log.exception("vectors were not sent")
                wait_s = self._fail(TeamState("fault", "vectors were not sent; see the log"))
        self._disconnect()
        if self._vectors is not None:
            self._vectors.close()

    def _fail(self, state: TeamState) -> float:
        self._disconnect()
        if not self._stop.is_set() and state != self.state:
            log.warning("vectors of the team: %s", state.words)
        self.state = state
        return REST_S

    def _round(self) -> float:
        """Do the work that is due; return how long to wait then."""
        heads, model = dict(self.heads()), self.model()
        if model != self._for:
            self._for = model
            self._progress.clear()
        made = self._open_vectors() if model and heads else None
        if made is None:
            self.state = WAITING if model else NO_MODEL
            return LOOK_S
        counts = made.change_counts()
        # All facts first: turns are many, and none of them delays a fact.
        due = [(theme, kind) for kind in KINDS for theme in heads if self._is_due(theme, kind, heads[theme], counts)]
        if not due:
            return LOOK_S
        self._connect(model)
        with Store.open(self.path, read_only=True) as store:
            assert self._server is not None
            self._server.names = store.sync.team_names()
            done = [self._upload_page(theme, kind, heads[theme], model, store, made) for theme, kind in due]
        self._disconnect()
        if all(done):
            self._made = counts
        self.state = self._to_upload_state(model)
        return UPLOAD_POLL_S if self._missing else LOOK_S

    def _is_due(self, theme: str, kind: str, head: int, counts: tuple[int, int]) -> bool:
        progress = self._progress.setdefault((theme, kind), UploadProgress(requested_at=time.monotonic()))
        since_s = time.monotonic() - progress.requested_at
        if theme in self._others and since_s < REST_S:
            return False
        if progress.missing and since_s > HOUR_S:
            progress.restart()
        return progress.head != head or bool(progress.missing and counts != self._made)

    def _open_vectors(self) -> Vectors | None:
        """Open this machine's vectors, if there are any yet."""
        if self._vectors is not None and not self._vectors.is_there():
            self._vectors.close()
            self._vectors = None
        if self._vectors is None and vector_file_path(self.path).exists():
            self._vectors = Vectors(self.path)
        return self._vectors

    def _to_upload_state(self, model: str) -> TeamState:
        if self._others:
            theme, other = sorted(self._others.items())[0]
            return TeamState(
                "another model",
                f"the vectors of theme {theme} in the team database are made by {other}, those of this machine by {model};"
                f" its owner changes that with `team migrate --model {model}`",
            )
        if self._missing:
            return TeamState(FILLING.name, f"{FILLING.words}: {self._missing} texts have none yet")
        return FILLED

    def _connect(self, model: str) -> None:
        """Connect to the database. :raises TeamError: it cannot be reached, or accepts no vectors of this model"""
        dsn = self.find()
        if not dsn:
            raise TeamError(WAITING)
        self._server = TeamServer(dsn, listen=False)
        schema = self._server.schema
        if schema.dimension is None:
            raise TeamError(NO_ROOM)
        length = int(model.rpartition(":")[2])
        if schema.dimension != length:
            raise TeamError(
                TeamState(
                    "another dimension",
                    f"the team database keeps vectors of {schema.dimension} dimensions, {model} makes {length}; its owner"
                    f" changes that with `team migrate --dimension {length} --replace-vectors`",
                )
            )

    def _upload_page(self, theme: str, kind: str, head: int, model: str, store: Store, made: Vectors) -> bool:
        """Upload what the facts or turns of one theme lack; return whether all that is missing was looked up."""
        server, progress = self._server, self._progress[theme, kind]
        assert server is not None
        if kind == "turn" and not store.shared_turns.is_sharing(theme):
            progress.missing.clear()
            progress.after, progress.head = 0, head
            return True
        other = server.schema.model or server.value(MODEL, (server.to_name(theme),))
        if other is not None and other != model:
            self._others[theme] = other
            progress.restart()
            return True
        self._others.pop(theme, None)
        if progress.head == FROM_START:
            progress.restart()
        page: Sequence[Sequence[Any]] = ()
        while progress.head != head:
            parameters = {
                "theme": server.to_name(theme),
                "kind": kind,
                "model": model,
                "after": progress.after,
                "limit": PAGE,
            }
            page = server.rows(MISSING_VECTORS_SQL, parameters)
            progress.missing.update((Uid(uid), bytes(sha)) for _, uid, sha in page)
            progress.after = page[-1][0] if page else progress.after
            if len(page) < PAGE:
                progress.after, progress.head = max(head, progress.after), head
        examined = list(progress.missing.items())[:TEXTS_PER_ROUND]
        for some in in_chunks(examined, BATCH):
            if self._stop.is_set():
                return False
            self._send(theme, kind, model, dict(some), store, made)
            self.state = self._to_upload_state(model)
        return len(examined) < TEXTS_PER_ROUND

    def _send(
        self, theme: str, kind: str, model: str, wanted: Mapping[Uid, bytes], store: Store, made: Vectors
    ) -> None:
        """Upload what this machine has of these; what it lacks is tried again later, after all others."""
        progress, server = self._progress[theme, kind], self._server
        assert server is not None
        key = server.schema.hash_key
        says = {
            input_row.uid: input_row.digest
            for input_row in store.embedding_inputs.by_uids(theme, kind, list(wanted))
            if hashlib.sha256((key + input_row.content).encode()).digest() == wanted[input_row.uid]
        }
        vectors = made.by_uids(kind, model, says)
        if vectors:
            answers = {
                "theme": server.to_name(theme),
                "model": model,
                "ids": list(vectors),
                "shas": [wanted[uid] for uid in vectors],
                "numbers": [to_vector_literal(row) for row in vectors.values()],
            }
            try:
                stored = server.value(STORE_VECTORS_SQL, answers)
            except TeamError as error:
                if error.state.name != HELD.name:
                    raise
                raise TeamError(to_held_state(server.release(theme))) from None
            if stored != len(vectors):
                progress.head = FROM_START  # some are gone: it is asked for again
        for uid in wanted:
            if uid in vectors:
                progress.missing.pop(uid, None)
            else:
                progress.missing.move_to_end(uid)

    def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def to_vector_literal(row: bytes) -> str:
    """Format a vector as a PostgreSQL array.

    Its length does not affect the angle, and whole numbers lose nothing as half-precision floats.
    """
    return "{" + ",".join(map(str, array("b", row))) + "}"
