"""Calling a tool: on which thread, in whose session, once per idempotency key, and with every outcome an answer."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.answers import Answer, ConsentNeeded
from hermes_memory_bridge.arguments import Arguments, check_names, check_types
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.hub import Hub
from hermes_memory_bridge.tools.allowed import refused
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.asked import Asked
    from hermes_memory_bridge.trust import Trust

log = logging.getLogger(__name__)

KEY = "io.hermes-memory/key"
"""Under this name in a call's `_meta` stands its idempotency key; the shim and the client write it."""

LONGEST_KEY = 200


class TakenBack(Exception):
    """A refusal: whatever its tool did before must not stay."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text)
        self.answer = answer


async def call(hub: Hub, connection: Connection, spec: ToolSpec, arguments: Arguments, key: str | None) -> Answer:
    """Run one tool. Whatever goes wrong becomes a text; a mistake of ours is logged with its traceback.

    :raises ConsentNeeded: the user must be asked first
    """
    begun = time.perf_counter()
    data, outcome = None, "cancelled"
    try:
        answer = await answered(hub, connection, spec, arguments, key)
        outcome = answer.data["error"]["code"] if "error" in answer.data else "ok"
        data = answer.data if outcome == "ok" else None
        hub.metrics.count_call(connection.theme, spec.name, outcome, time.perf_counter() - begun)
        return answer
    except ConsentNeeded:
        outcome = "consent.needed"
        raise
    finally:
        hub.calls.note(connection, spec, arguments, data, outcome, time.perf_counter() - begun)


async def answered(hub: Hub, connection: Connection, spec: ToolSpec, arguments: Arguments, key: str | None) -> Answer:
    """`call`, neither counted nor noted."""
    denied = refused(spec, connection.rights)
    if denied is not None:
        return denied
    try:
        check_types(spec.arguments, arguments)
        if spec.destroys or spec.overwrites:
            check_names(spec.arguments, arguments)
        if spec.own_session:
            await hold_session(hub, connection, arguments)
        if spec.reads_only:
            asked = await meaning_of(hub, connection, spec, arguments)
            kind = spec.asks_team
            elsewhere = await hub.asking.of(connection, kind, arguments, asked) if kind and hub.asking else None
            try:
                return await hub.read(lambda store: spec.handler(connection.using(store, asked, elsewhere), arguments))
            finally:
                if elsewhere is not None:
                    elsewhere.close()
        trust = None if connection.trust is None else connection.trust.for_one_call()
        job = once(connection, spec, arguments, key, trust)
        return await hub.write(job, alone=spec.alone, failed=None if trust is None else trust.take_back)
    except TakenBack as taken_back:
        return taken_back.answer
    except StoreError as error:
        return spec.refuses(error)
    except ConsentNeeded:
        raise
    except Exception:
        log.exception("tool %s failed", spec.name)
        said = "something went wrong inside the memory; nothing was changed, see the bridge's log"
        return Answer(f"error: {said}", {"error": {"code": "internal", "message": said, "value": None}})


async def meaning_of(hub: Hub, connection: Connection, spec: ToolSpec, arguments: Arguments) -> Asked | None:
    """What the question of a call means, where its tool uses that and it can be had.

    :raises StoreError: as the tool itself
    """
    meaning, line_to_mean = hub.meaning, spec.meant_here
    if meaning is None:
        return None
    if line_to_mean is None:
        return await meaning.of(spec.meant(arguments)) if spec.meant else None
    if not meaning.computes_here:  # then only what was asked before is known, and costs nothing
        return await meaning.of(arguments.get("query"), here=connection.theme)
    line = await hub.read(lambda store: line_to_mean(connection.using(store), arguments))
    return await meaning.of(line, here=connection.theme)


async def hold_session(hub: Hub, connection: Connection, arguments: Arguments) -> None:
    """Open the session a call belongs to, in a commit of its own: a tool that fails does not take it back."""
    name = connection.unopened_session(arguments)
    if name is not None:
        connection.remember(await hub.write(lambda store: connection.using(store).take_session(name)))


def once(
    connection: Connection, spec: ToolSpec, arguments: Arguments, key: str | None, trust: Trust | None
) -> Callable[[Store], Answer]:
    """A tool as a write. With a key, its answer is kept with what it wrote, and given again instead of a second write."""

    def attempted(store: Store) -> Answer:
        try:
            return run(store)
        except BaseException:
            if trust is not None:
                trust.take_back()
            raise

    def run(store: Store) -> Answer:
        view = connection.using(store)
        kept = store.calls.answer(connection.theme, key) if key else None
        if kept is not None:
            return Answer(**json.loads(kept))
        view.trust = trust
        answer = spec.handler(view, arguments)
        if "error" in answer.data:
            raise TakenBack(answer)
        if key:
            said = json.dumps({"text": answer.text, "data": answer.data}, ensure_ascii=False)
            store.calls.keep(connection.theme, key, said)
        return answer

    return attempted


def key_of(meta: Any) -> str | None:
    """The idempotency key in a call's `_meta`, if it is one."""
    key = meta.get(KEY) if isinstance(meta, dict) else None
    return key if isinstance(key, str) and 0 < len(key) <= LONGEST_KEY else None


def client_named(info: Any) -> str | None:
    """Name and version of the program at the other end, as it says them, safe to show."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return None
    return json.dumps(f"{info['name']} {info.get('version', '')}".strip()[:100], ensure_ascii=True)[1:-1]
