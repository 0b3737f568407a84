"""Who a request comes from, once it has been let in."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_memory_store.model import Rights


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose memory a request may touch, and how."""

    theme: str
    rights: Rights = Rights()
    credential: str | None = None
    """Name of the token that was shown; None for a process of this user on a unix socket."""
    pid: int | None = None
