"""Queries to the team database on behalf of a call.

They are limited to an unnoticeable time: the caller gets this machine's result in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_memory_bridge.embedding.query_vector import QueryVector
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.team.database.team_states import NO_DRIVER, SLOW, TeamError, TeamState, to_team_state
from hermes_memory_bridge.toolkit.arguments import Arguments
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.team_fallback import ANSWERED, Kind, RemoteMatches, TeamFallback
from hermes_memory_bridge.toolkit.team_request import (
    COMING,
    HERE,
    NOT_NAMED,
    TeamRequest,
    may_need_team,
    to_team_request,
)
from hermes_memory_store.errors import StoreError
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.detectors.secrets import find_secret_texts
from hermes_memory_store.intake.intake import find_turn_rule
from hermes_memory_store.model import Uid
from hermes_memory_store.remote.remote_facts import (
    RemoteFact,
    RemoteTurn,
    build_remote_fact_store,
    build_remote_turn_store,
)
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import MAX_CONTENT

if TYPE_CHECKING:
    from hermes_memory_bridge.team.database.team_server import TeamServer
    from hermes_memory_bridge.team.search.fact_queries import QueryEmbedding

log = logging.getLogger(__name__)

ASK_S = 1.5
"""How long a call waits for the team."""

REST_S = 5.0
"""How long the database is left alone after it did not answer: who asks meanwhile is told so at once."""

IDLE_S = 30.0
"""How long a connection is kept for the next question."""

NEAR = 60
"""Facts or turns near in meaning that are looked at, as of a store's own."""

MOST_THEMES = 20
"""Themes of one question."""


class TeamSearch:
    """Query one team database, one query at a time."""

    def __init__(
        self,
        worker: StoreWorker,
        is_named: Callable[[], bool],
        find: Callable[[], str | None],
        *,
        ask_s: float = ASK_S,
        rest_s: float = REST_S,
    ) -> None:
        """:param named: whether a team database is configured, without asking a keyring
        :param find: returns its DSN
        :param ask_s: how long a call waits
        :param rest_s: how long to leave the database alone after it failed to answer
        """
        self.worker = worker
        self.is_named = is_named
        self.find = find
        self.ask_s = ask_s
        self.rest_s = rest_s
        self._one = threading.Lock()
        """Held by the question that is being asked."""
        self._server: TeamServer | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False
        self._rests_until = 0.0
        self._trouble: TeamState = SLOW

    async def search(
        self, connection: Connection, kind: Kind, arguments: Arguments, query_vector: QueryVector | None
    ) -> TeamFallback | None:
        """See `toolkit.team_request.TeamSearcher`."""
        try:
            query = arguments.get("query")
            if not isinstance(query, str) or not may_need_team(arguments):
                return None
            request = await self.worker.read(lambda store: to_team_request(connection, store, kind, arguments))
            if request is None:
                return None
            if not self.is_named():
                return TeamFallback(NOT_NAMED) if request.is_known else None
            if request.themes is not None and request.complete.issuperset(request.themes):
                return TeamFallback(HERE)
            answer = await self._within_time(request, kind, query, query_vector)
            return (
                replace(answer, answer_state=f"{answer.answer_state}; {COMING}")
                if request.is_coming and not answer.has_answered
                else answer
            )
        except Exception:
            log.exception("the team database could not be asked")
            return None

    def close(self) -> None:
        """Disconnect, even during a query."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        server = self._server
        if server is not None:
            server.interrupt()
        self._disconnect()

    async def _within_time(
        self, request: TeamRequest, kind: Kind, query: str, query_vector: QueryVector | None
    ) -> TeamFallback:
        named = request.themes or ()
        if time.monotonic() < self._rests_until:
            return TeamFallback(self._trouble.words, themes_requested=named)
        loop = asyncio.get_running_loop()
        if self._idle is not None:
            self._idle.cancel()
        answer: asyncio.Future[TeamFallback] = loop.create_future()

        def tell(found: TeamFallback) -> None:
            if answer.done():  # nobody waits for it any more
                found.close()
            else:
                answer.set_result(found)

        def ask() -> None:
            with self._one:
                found = self._ask(request, kind, query, query_vector)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(tell, found)

        # Not of a pool: whoever stops the bridge does not wait for a connection that is not coming.
        threading.Thread(target=ask, name="team question", daemon=True).start()
        done, _ = await asyncio.wait([answer], timeout=self.ask_s)
        self._idle = loop.call_later(IDLE_S, self._disconnect_when_idle)
        if done:
            return answer.result()
        answer.cancel()
        server = self._server
        if server is not None:
            server.interrupt()
        self._back_off(SLOW)
        return TeamFallback(SLOW.words, themes_requested=named)

    def _disconnect_when_idle(self) -> None:
        """Disconnect after a while without queries."""
        if self._one.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._one.release()

    def _back_off(self, state: TeamState) -> None:
        self._trouble, self._rests_until = state, time.monotonic() + self.rest_s

    # On the thread that asks.

    def _ask(self, request: TeamRequest, kind: Kind, query: str, query_vector: QueryVector | None) -> TeamFallback:
        named = request.themes or ()
        try:
            try:
                from hermes_memory_bridge.team.database.team_server import TeamServer
                from hermes_memory_bridge.team.search import fact_queries
            except ImportError:
                raise TeamError(NO_DRIVER) from None
            if self._closed or time.monotonic() < self._rests_until:
                return TeamFallback(self._trouble.words, themes_requested=named)
            if self._server is None:
                dsn = self.find()
                if not dsn:
                    return TeamFallback(NOT_NAMED, themes_requested=named)
                self._server = TeamServer(dsn, listen=False)
            server = self._server
            server.names = request.names
            there = fact_queries.find_remote_themes(server, request.themes, request.claims)
            ask_one = self._facts if kind == "fact" else self._turns
            missing = [theme for theme in there if theme not in request.complete][:MOST_THEMES]
            answers = {theme: ask_one(server, theme, there[theme], query, query_vector) for theme in missing}
            return TeamFallback(ANSWERED, answers, named)
        except Exception as error:
            self._disconnect()
            if not isinstance(error, (TeamError, StoreError, OSError)):
                log.exception("the team database could not be asked")
                return TeamFallback("the question to the team failed here; see the log", themes_requested=named)
            if isinstance(error, StoreError) and not isinstance(error, TeamError):
                return TeamFallback(ANSWERED, {}, ())  # the line itself is wrong, and the store says so
            state = to_team_state(error)
            if time.monotonic() >= self._rests_until:  # else it was cut off, and that is said
                self._back_off(state)
            return TeamFallback(state.words, themes_requested=named)

    def _facts(
        self, server: TeamServer, theme: str, name: str, query: str, query_vector: QueryVector | None
    ) -> RemoteMatches:
        from hermes_memory_bridge.team.search.fact_queries import find_fact_answers

        store = self.worker.store
        matches = find_fact_answers(server, name, query, *to_meaning(query_vector), store.clock)
        facts = [fact for fact in matches.facts if is_fact_presentable(store, theme, fact)]
        made = build_remote_fact_store(
            theme, facts, total=matches.total, scopes=matches.scopes, policies=store.policies, clock=store.clock
        )
        return RemoteMatches(made, to_local_neighbours(query_vector, made, "fact", matches.near, matches.compared))

    def _turns(
        self, server: TeamServer, theme: str, name: str, query: str, query_vector: QueryVector | None
    ) -> RemoteMatches:
        from hermes_memory_bridge.team.search.turn_queries import find_turn_answers

        store = self.worker.store
        matches = find_turn_answers(server, name, query, *to_meaning(query_vector), store.clock)
        turns = [turn for turn in matches.turns if is_turn_presentable(store, theme, turn)]
        made = build_remote_turn_store(theme, turns, total=matches.total, policies=store.policies, clock=store.clock)
        return RemoteMatches(made, to_local_neighbours(query_vector, made, "turn", matches.near, matches.compared))

    def _disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def is_fact_presentable(store: Store, theme: str, fact: RemoteFact) -> bool:
    """Check whether this machine's policy lets a fact be shown without review.

    It does not for what reads like an instruction to an agent, where that is quarantined, nor for what holds a secret,
    where that is masked.
    """
    if not isinstance(fact.attrs, dict) or not isinstance(fact.content, str) or len(fact.content) > MAX_CONTENT:
        return False
    target, scope = fact.attrs.get("target"), fact.attrs.get("scope")
    if not isinstance(target, str):
        return False
    policy = store.policies.for_theme(theme)
    if policy.secrets != "allow" and find_secret_texts(target, fact.content):
        return False
    if not policy.quarantine:
        return True
    name = f"{target} {scope or ''}"
    passages = (Passage(TextKind.FACT, fact.content, target), Passage(TextKind.NAME, name))
    return not any(map(find_suspicion, passages))


def is_turn_presentable(store: Store, theme: str, turn: RemoteTurn) -> bool:
    """Check whether this machine's policy lets a captured turn be shown, as `is_fact_presentable` does."""
    policy = store.policies.for_theme(theme)
    if policy.secrets != "allow" and find_secret_texts("turn", turn.said.content):
        return False
    return not policy.quarantine or find_turn_rule(turn.said.content) is None


def to_meaning(query_vector: QueryVector | None) -> tuple[QueryEmbedding | None, int, float]:
    """Return the vector of a query, how many of its neighbours are looked at, and how near they must be."""
    from hermes_memory_bridge.team.search.fact_queries import QueryEmbedding

    if query_vector is None or not query_vector.vector:
        return None, NEAR, 0.0
    return (
        QueryEmbedding(f"{query_vector.model}:{len(query_vector.vector)}", query_vector.vector),
        NEAR,
        query_vector.floor,
    )


def to_local_neighbours(
    query_vector: QueryVector | None,
    made: Store,
    of: Kind,
    near: list[tuple[Uid, float]],
    compared: Mapping[Uid, float],
) -> QueryVector | None:
    """Return the semantic neighbours in the form recall expects: by the ids of that store."""
    if query_vector is None:
        return None

    def nearest(_store: Store, kind: str, _theme: str, limit: int, besides: Collection[int]) -> list[tuple[int, float]]:
        if kind != of:
            return []
        measured = {**compared, **dict(near)}
        asked_for = set(besides)
        ids = made.embedding_inputs.find_ids(of, measured)
        uids = {uid for uid, _ in near[:limit]} | {uid for uid, key in ids.items() if key in asked_for}
        pairs = [(ids[uid], measured[uid]) for uid in uids if uid in ids]
        return sorted(pairs, key=lambda pair: (-pair[1], -pair[0]))

    return QueryVector(query_vector.model, nearest)
