"""Progress bars on standard error, shown on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import click

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""

SOON_S = 0.5
"""Work that is done sooner needs no bar."""


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Return a callback that reports progress, or None when standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    started = time.monotonic()
    with ExitStack() as shown:
        bars: list[Any] = []

        def progress(done: int, total: int) -> None:
            if not bars:
                if time.monotonic() - started < SOON_S:
                    return
                bars.append(shown.enter_context(click.progressbar(length=1, label=label, file=sys.stderr)))
            bar = bars[0]
            bar.length = max(total, done, 1)
            bar.update(done - bar.pos)

        yield progress
        for bar in bars:
            bar.update((bar.length or 1) - bar.pos)
