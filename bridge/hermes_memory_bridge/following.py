"""Following agents' calls from another process: the last ones, and each that comes from then on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from hermes_memory_bridge.control import ask, describe_unserved
from hermes_memory_bridge.places import Places
from hermes_memory_store.clock import iso
from hermes_memory_store.errors import StoreError

LOOK_S = 0.2
"""How often to ask for new calls."""


class NotServed(StoreError):
    """No bridge tells of the calls of this store."""

    code = "bridge.unreachable"


def calls(
    places: Places, count: int, *, follow: bool, theme: str | None = None, session: str | None = None
) -> Iterator[dict[str, Any]]:
    """The last calls, and what follows them, each as the command `calls` answers it.

    A bridge that takes the place of the one that was asked first counts anew, and is followed from its first call on.

    :param count: of those that were made before
    :raises NotServed: no bridge runs, or it is one that knows no calls yet
    """
    whose: dict[str, Any] = {"theme": theme, "session": session}
    answer = told(places, ask(places, "calls", limit=max(1, count), **whose))
    yield from answer["calls"] if count else []
    while follow:
        time.sleep(LOOK_S)  # a question is answered at once; nobody is told
        following = ask(places, "calls", since=answer["last"], **whose)
        if following is not None and following.get("pid") != answer["pid"]:
            following = ask(places, "calls", **whose)
        if following is None:
            continue  # it restarts, or the next agent starts one
        answer = told(places, following)
        yield from answer["calls"]


def told(places: Places, answer: dict[str, Any] | None) -> dict[str, Any]:
    """An answer that tells of calls. :raises NotServed: it is none"""
    if answer is None:
        raise NotServed(f"{describe_unserved(places)}; a connecting agent starts one", places.store)
    if "error" in answer:
        raise NotServed(answer["error"]["message"], answer["error"]["value"])
    if "calls" not in answer:
        raise NotServed("the running bridge is an older one that tells no calls; `restart` it", answer.get("version"))
    return answer


def readable(call: dict[str, Any]) -> str:
    """A call as a line for a person."""
    hits = call["hits"]
    found = "" if hits is None else f" {hits} found"
    return (
        f"{iso(call['at'])} {call['theme']} {call['session']} {call['client'] or '-'}  {call['tool']} "
        f"{call['outcome']}{found} {call['ms']:.1f} ms{'  ' + call['about'] if call['about'] else ''}"
    )
