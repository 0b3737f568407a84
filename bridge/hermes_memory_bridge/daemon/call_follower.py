"""Following agents' calls from another process: the latest ones, and each new one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from hermes_memory_bridge.daemon.control import ask_bridge, format_no_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import StoreError

LOOK_S = 0.2
"""How often to ask for new calls."""


class NoBridgeRunning(StoreError):
    code = "bridge.unreachable"


def follow_calls(
    paths: BridgePaths, count: int, *, follow: bool, theme: str | None = None, session: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the latest calls and those that follow, each as the command `calls` returns it.

    A bridge that replaces the first one numbers its calls anew, and is followed from its first call on.

    :param count: number of earlier calls to include
    :raises NoBridgeRunning: no bridge is running, or its version does not report calls yet
    """
    filters: dict[str, Any] = {"theme": theme, "session": session}
    answer = check_calls_answer(paths, ask_bridge(paths, "calls", limit=max(1, count), **filters))
    yield from answer["calls"] if count else []
    while follow:
        time.sleep(LOOK_S)  # a question is answered at once; nobody is told
        following = ask_bridge(paths, "calls", since=answer["last"], **filters)
        if following is not None and following.get("pid") != answer["pid"]:
            following = ask_bridge(paths, "calls", **filters)
        if following is None:
            continue  # it restarts, or the next agent starts one
        answer = check_calls_answer(paths, following)
        yield from answer["calls"]


def check_calls_answer(paths: BridgePaths, answer: dict[str, Any] | None) -> dict[str, Any]:
    """Return an answer that reports calls. :raises NoBridgeRunning: it does not"""
    if answer is None:
        raise NoBridgeRunning(f"{format_no_bridge(paths)}; a connecting agent starts one", paths.store)
    if "error" in answer:
        raise NoBridgeRunning(answer["error"]["message"], answer["error"]["value"])
    if "calls" not in answer:
        raise NoBridgeRunning(
            "the running bridge is an older one that tells no calls; `restart` it", answer.get("version")
        )
    return answer


def format_agent_call(call: dict[str, Any]) -> str:
    hits = call["hits"]
    hit_count = "" if hits is None else f" {hits} found"
    session = call.get("title") or call["session"]
    return (
        f"{format_iso_time(call['at'])} {call['theme']} {session} {call['client'] or '-'}  {call['tool']} "
        f"{call['outcome']}{hit_count} {call['ms']:.1f} ms{'  ' + call['about'] if call['about'] else ''}"
    )
