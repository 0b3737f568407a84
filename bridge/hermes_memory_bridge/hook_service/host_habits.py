"""What becomes, in each host, of what a hook gives: seen in the requests of the released hosts (`tests/hosts/README.md`).

A host that is not named keeps what it was given until a compaction, tells of each compaction by a start, and passes on what a
hook answers to one.
"""

from __future__ import annotations

SUMMARISER_HOSTS = frozenset({"claude-code", "opencode"})
"""Pass what a hook says on to who writes the summary."""

SILENT_COMPACTIONS = frozenset({"gemini"})
"""Announce a compaction in every turn, and tell of none."""

FORGETFUL_RESUMES = frozenset({"gemini", "copilot", "qwen"})
"""A resumed session lacks what a start gave before: it is given everything again."""

LATE_STARTS = frozenset({"gemini"})
"""What a start gives makes the host lose the person's message on a later resume: the first prompt gives it instead."""

DEAF_COMPACT_STARTS = frozenset({"qwen"})
"""What a start gives after a compaction reaches no request: the next prompt gives it."""

SIMULTANEOUS_STARTS = frozenset({"copilot"})
"""Run the hooks of the start and of the first prompt together: the prompt may be heard first."""

LATE_TRANSCRIPTS = frozenset({"copilot"})
"""Write what the assistant said into their files after they have told of it, or after the session's end."""

SIMULTANEOUS_MS = 10_000
"""How near they come."""
