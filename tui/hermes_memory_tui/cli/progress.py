"""Bars for work that a person waits for, on standard error, and only where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Something to report progress to, None when nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = max(total, done, 1)
            bar.update(done - bar.pos)

        yield progress
