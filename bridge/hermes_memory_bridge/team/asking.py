"""Asking the team's database on behalf of a call, within a time nobody minds: who asked has this machine's answer in any case."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_memory_bridge.arguments import Arguments
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.elsewhere import (
    ANSWERED,
    COMING,
    HERE,
    NOT_NAMED,
    Elsewhere,
    Held,
    Kind,
    Wish,
    may_wish,
    wish,
)
from hermes_memory_bridge.embedding.asked import Asked
from hermes_memory_bridge.hub import Hub
from hermes_memory_bridge.team.states import NO_DRIVER, SLOW, State, TeamError, state_of
from hermes_memory_bridge.trust.screening import suspicion, suspicion_of_name
from hermes_memory_bridge.trust.secrets import secrets_in
from hermes_memory_store.errors import StoreError
from hermes_memory_store.gathered import Foreign, gathered
from hermes_memory_store.gathered_turns import gathered_turns
from hermes_memory_store.malformed import MAX_CONTENT
from hermes_memory_store.model import Uid
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from hermes_memory_bridge.team.server import Server

log = logging.getLogger(__name__)

ASK_S = 1.5
"""How long a call waits for the team."""

REST_S = 5.0
"""How long the database is left alone after it did not answer: who asks meanwhile is told so at once."""

IDLE_S = 30.0
"""How long a connection is kept for the next question."""

NEAR = 60
"""Facts near in meaning that are looked at, as of a store's own."""

MOST_THEMES = 20
"""Themes of one question."""


class TeamAsking:
    """Asks one team database, a question at a time."""

    def __init__(
        self,
        hub: Hub,
        named: Callable[[], bool],
        find: Callable[[], str | None],
        *,
        ask_s: float = ASK_S,
        rest_s: float = REST_S,
    ) -> None:
        """
        :param named: whether a team database is named, without asking a keyring
        :param find: says its DSN
        :param ask_s: how long a call waits
        :param rest_s: how long it is left alone when it did not answer
        """
        self.hub = hub
        self.named = named
        self.find = find
        self.ask_s = ask_s
        self.rest_s = rest_s
        self._one = threading.Lock()
        """Held by the question that is being asked."""
        self._server: Server | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False
        self._rests_until = 0.0
        self._trouble: State = SLOW

    async def of(
        self, connection: Connection, kind: Kind, arguments: Arguments, asked: Asked | None
    ) -> Elsewhere | None:
        """See `elsewhere.Asking`."""
        try:
            query = arguments.get("query")
            if not isinstance(query, str) or not may_wish(arguments):
                return None
            wanted = await self.hub.read(lambda store: wish(connection, store, kind, arguments))
            if wanted is None:
                return None
            if not self.named():
                return Elsewhere(NOT_NAMED) if wanted.known else None
            if wanted.themes is not None and wanted.here.issuperset(wanted.themes):
                return Elsewhere(HERE)
            found = await self._within_time(wanted, kind, query, asked)
            return replace(found, said=f"{found.said}; {COMING}") if wanted.is_coming and not found.answered else found
        except Exception:
            log.exception("the team database could not be asked")
            return None

    def close(self) -> None:
        """Hang up, whoever waits."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        server = self._server
        if server is not None:
            server.interrupt()
        self._hang_up()

    async def _within_time(self, wanted: Wish, kind: Kind, query: str, asked: Asked | None) -> Elsewhere:
        named = wanted.themes or ()
        if time.monotonic() < self._rests_until:
            return Elsewhere(self._trouble.words, wanted=named)
        loop = asyncio.get_running_loop()
        if self._idle is not None:
            self._idle.cancel()
        answer: asyncio.Future[Elsewhere] = loop.create_future()

        def tell(found: Elsewhere) -> None:
            if answer.done():  # nobody waits for it any more
                found.close()
            else:
                answer.set_result(found)

        def ask() -> None:
            with self._one:
                found = self._ask(wanted, kind, query, asked)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(tell, found)

        # Not of a pool: whoever stops the bridge does not wait for a connection that is not coming.
        threading.Thread(target=ask, name="team question", daemon=True).start()
        done, _ = await asyncio.wait([answer], timeout=self.ask_s)
        self._idle = loop.call_later(IDLE_S, self._leave)
        if done:
            return answer.result()
        answer.cancel()
        server = self._server
        if server is not None:
            server.interrupt()
        self._rest(SLOW)
        return Elsewhere(SLOW.words, wanted=named)

    def _leave(self) -> None:
        """Nobody asked for a while."""
        if self._one.acquire(blocking=False):
            try:
                self._hang_up()
            finally:
                self._one.release()

    def _rest(self, state: State) -> None:
        self._trouble, self._rests_until = state, time.monotonic() + self.rest_s

    # On the thread that asks.

    def _ask(self, wanted: Wish, kind: Kind, query: str, asked: Asked | None) -> Elsewhere:
        named = wanted.themes or ()
        try:
            try:
                from hermes_memory_bridge.team import questions
                from hermes_memory_bridge.team.server import Server
            except ImportError:
                raise TeamError(NO_DRIVER) from None
            if self._closed or time.monotonic() < self._rests_until:
                return Elsewhere(self._trouble.words, wanted=named)
            if self._server is None:
                dsn = self.find()
                if not dsn:
                    return Elsewhere(NOT_NAMED, wanted=named)
                self._server = Server(dsn, listen=False)
            server = self._server
            there = questions.themes_there(server, wanted.themes)
            ask_one = self._facts if kind == "fact" else self._turns
            missing = [theme for theme in there if theme not in wanted.here][:MOST_THEMES]
            found = {theme: ask_one(server, theme, query, asked) for theme in missing}
            return Elsewhere(ANSWERED, found, named)
        except Exception as error:
            self._hang_up()
            if not isinstance(error, (TeamError, StoreError, OSError)):
                log.exception("the team database could not be asked")
                return Elsewhere("the question to the team failed here; see the log", wanted=named)
            if isinstance(error, StoreError) and not isinstance(error, TeamError):
                return Elsewhere(ANSWERED, {}, ())  # the line itself is wrong, and the store says so
            state = state_of(error)
            if time.monotonic() >= self._rests_until:  # else it was cut off, and that is said
                self._rest(state)
            return Elsewhere(state.words, wanted=named)

    def _facts(self, server: Server, theme: str, query: str, asked: Asked | None) -> Held:
        from hermes_memory_bridge.team.questions import Meant, answers

        store = self.hub.store
        meant = Meant(f"{asked.model}:{len(asked.vector)}", asked.vector) if asked and asked.vector else None
        said = answers(server, theme, query, meant, NEAR, asked.floor if asked else 0.0, store.clock)
        facts = [one for one in said.facts if may_be_told(store, theme, one)]
        made = gathered(theme, facts, total=said.total, scopes=said.scopes, policies=store.policies, clock=store.clock)
        return Held(made, None if asked is None else near_in(asked, made, said.near, said.compared))

    def _turns(self, server: Server, theme: str, query: str, asked: Asked | None) -> Held:
        from hermes_memory_bridge.team.turn_questions import turn_answers

        store = self.hub.store
        said = turn_answers(server, theme, query, store.clock)
        may_tell = store.policies.for_theme(theme).secrets == "allow"
        turns = [one for one in said.turns if may_tell or not secrets_in("turn", one.said.content)]
        # Their meaning is compared by no machine but those that have them: words answer.
        return Held(gathered_turns(theme, turns, total=said.total, policies=store.policies, clock=store.clock), None)

    def _hang_up(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


def may_be_told(store: Store, theme: str, one: Foreign) -> bool:
    """Whether a fact may be told unseen by a person, by this machine's policy: neither what reads like an instruction to an
    agent, where that waits, nor what holds a secret, where that is masked."""
    if not isinstance(one.attrs, dict) or not isinstance(one.content, str) or len(one.content) > MAX_CONTENT:
        return False
    target, scope = one.attrs.get("target"), one.attrs.get("scope")
    if not isinstance(target, str):
        return False
    policy = store.policies.for_theme(theme)
    if policy.secrets != "allow" and secrets_in(target, one.content):
        return False
    if not policy.quarantine:
        return True
    return suspicion(target, one.content) is None and suspicion_of_name(f"{target} {scope or ''}") is None


def near_in(asked: Asked, made: Store, near: list[tuple[Uid, float]], compared: Mapping[Uid, float]) -> Asked:
    """What is near in meaning, as whoever recalls asks for it: by the ids of that store."""

    def nearest(_store: Store, kind: str, _theme: str, limit: int, besides: Collection[int]) -> list[tuple[int, float]]:
        if kind != "fact":
            return []
        measured = {**compared, **dict(near)}
        asked_for = set(besides)
        ids = {fact.uid: fact.id for fact in made.facts.named(measured).values()}
        wanted = {uid for uid, _ in near[:limit]} | {uid for uid, key in ids.items() if key in asked_for}
        found = [(ids[uid], measured[uid]) for uid in wanted if uid in ids]
        return sorted(found, key=lambda one: (-one[1], -one[0]))

    return Asked(asked.model, nearest)
