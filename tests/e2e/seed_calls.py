"""Calls as an agent of hermes-memory 0.3.0 makes them, and the answers that ours gives differently on purpose."""

from __future__ import annotations

from typing import Any

Call = tuple[str, dict[str, Any]]

CALLS: list[Call] = [
    ("memory_status", {}),
    ("memory_search", {"query": "anything"}),
    ("memory_export", {}),
    ("memory_reflect", {"topic": "nothing"}),
    ("memory_purge", {}),
    ("memory_write", {"content": "C[db.id]: UUID mndtry, nvr autoincrement"}),
    ("memory_write", {"content": "C[db.id]: UUID mndtry, nvr autoincrement"}),
    ("memory_write", {"content": "D[auth]: JWT 7j refresh 6j", "scope": "login"}),
    ("memory_write", {"content": "V[srv.prod]: api.example.com:3005", "scope": "login"}),
    ("memory_write", {"content": "D[auth]: sessions in redis"}),
    ("memory_write", {"content": "?[cache]: which ttl", "scope": "login"}),
    ("memory_write", {"content": "not a fact"}),
    ("memory_write", {"content": "X[a]: b"}),
    ("memory_search", {"query": "UUID"}),
    ("memory_search", {"query": "redis sessions", "limit": "3"}),
    ("memory_search", {"query": "autoincrement", "limit": 500}),
    ("memory_search", {"query": "zebra"}),
    ("memory_search", {"query": "api.example.com"}),
    ("memory_search", {"query": "redis", "scope": "login"}),
    ("memory_reflect", {"topic": "redis"}),
    ("memory_export", {"scope": "login", "status": "active"}),
    ("memory_export", {"status": "cold"}),
    ("memory_tick", {"turn": 1, "message": "please go on"}),
    ("memory_tick", {"turn": "2"}),
    ("memory_tick", {"turn": -1}),
    ("memory_purge", {"scope": "login"}),
    ("memory_tick", {"turn": 3, "message": "it has been merged"}),
    ("memory_search", {"query": "redis"}),
    ("memory_reflect", {"topic": "redis"}),
    ("memory_export", {"status": "cold"}),
    ("memory_search", {"query": "redis", "scope": "lgoin"}),
    ("memory_search", {"query": "jwt OR NOT"}),
    ("memory_search", {"query": "what did we decide about autoincrement"}),
    ("memory_search", {"query": "redis", "limit": -1}),
    ("memory_write", {"content": "V[long]: " + "x" * 450}),
    ("memory_write", {"content": "D[]: empty target"}),
    ("nope", {}),
]
"""One conversation, in order."""

DIFFERENT = {
    "memory_search lgoin": "a mistyped scope was ignored and searched everything",
    "memory_search jwt OR NOT": "operators in a query crashed the search",
    "memory_search what did we": "a question in plain language found nothing",
    "memory_search redis -1": "a negative limit meant no limit",
    "memory_write V[long]": "over-long content was cut in silence",
}
"""Beginning of a call as `named` writes it → the flaw of hermes-memory 0.3.0 for which our answer differs."""


def named(call: Call) -> str:
    """A call as one line."""
    tool, arguments = call
    scope = f" {arguments['scope']}" if arguments.get("scope") == "lgoin" else ""
    said = arguments.get("content") or arguments.get("query") or ""
    limit = f" {arguments['limit']}" if arguments.get("limit") == -1 else ""
    return f"{tool}{scope} {said}{limit}".strip()
