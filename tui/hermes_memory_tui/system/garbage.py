"""When garbage is collected: while the person rests, so that no key waits for it.

Every frame leaves about a thousand objects that refer to themselves, Textual's strips among them, which only the collector finds.
"""

from __future__ import annotations

import gc

MOST_YOUNG = 200_000
"""New objects from which on Python collects by itself, within a key: a key that is held for six seconds leaves so many. At
its own 700 one key in eight waits for it."""

SOME_YOUNG = 5_000
"""New objects from which on it is worth while to collect when the person rests: that takes a millisecond or two."""


def freeze_startup_objects() -> None:
    """Freeze the objects that exist after the first paint, so that garbage collection skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MOST_YOUNG)
    gc.enable()


def collect_young_objects() -> None:
    """Collect what came since, when it is worth while."""
    if gc.get_count()[0] >= SOME_YOUNG:
        gc.collect(1)
