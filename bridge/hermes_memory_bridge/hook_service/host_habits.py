"""What becomes, in each host, of what a hook gives: seen in the requests of the released hosts (`tests/hosts/README.md`).

A host that is not named keeps what it was given until a compaction, tells of each compaction by a start, and passes on what a
hook answers to one.
"""

from __future__ import annotations

from hermes_memory_store.hosts.host_data import find_hosts_with


def find_hosts_that(habit: str) -> frozenset[str]:
    """Return the hosts whose data names a habit."""
    return frozenset(host for host, habits in find_hosts_with("habits").items() if habit in habits)


SILENT_COMPACTIONS = find_hosts_that("silent compactions")
"""Announce a compaction in every turn, and tell of none."""

FORGETFUL_RESUMES = find_hosts_that("forgetful resumes")
"""A resumed session lacks what a start gave before: it is given everything again."""

LASTING_PROMPTS = find_hosts_that("lasting prompts")
"""Keep what prompts gave when they forget what a start gave."""

LATE_STARTS = find_hosts_that("late starts")
"""What a start gives makes the host lose the person's message on a later resume: the first prompt gives it instead."""

DEAF_COMPACT_STARTS = find_hosts_that("deaf compact starts")
"""What a start gives after a compaction reaches no request: the next prompt gives it."""

SIMULTANEOUS_STARTS = find_hosts_that("simultaneous starts")
"""Run the hooks of the start and of the first prompt together: the prompt may be heard first."""

LATE_TRANSCRIPTS = find_hosts_that("late transcripts")
"""Write what the assistant said into their files after they have told of it, or after the session's end."""

SIMULTANEOUS_MS = 10_000
"""How near they come."""
