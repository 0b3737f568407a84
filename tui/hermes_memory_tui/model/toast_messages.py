"""`ToastMessage`: a notification as the message log keeps it."""

from __future__ import annotations

from hermes_memory_store.frozen import dataclass

KEPT_MESSAGES = 200
"""Notifications that the message log keeps."""


@dataclass(frozen=True, slots=True)
class ToastMessage:
    at: float
    """Seconds since the epoch."""
    text: str
    severity: str
