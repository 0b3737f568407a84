"""Processes that tests watch, and that may end at any moment."""

from __future__ import annotations

import psutil


def is_alive(process: psutil.Process) -> bool:
    """Whether a process has not ended: one that nobody has waited for counts as ended, one that goes during the look too."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
