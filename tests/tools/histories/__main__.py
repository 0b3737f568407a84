"""Play random histories until one fails: `python -m tests.tools.histories --count 5000 --jobs 2`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.tools.histories.database_player import DatabasePlayer, running_database
from tests.tools.histories.folder_player import FolderPlayer, make_folder_history
from tests.tools.histories.shrinking import try_seed
from tests.tools.histories.steps import make_lonely_history


def main() -> int:
    """Play the histories that the command line asks for; 1 when one of them fails."""
    made = parser("tests.tools.histories", __doc__)
    made.add_argument("--alone", action="store_true", help="histories of one machine, with a small hot tier")
    made.add_argument("--carrier", choices=CARRIERS, help=HELP)
    options = made.parse_args()
    told = " --alone" * options.alone + (f" --carrier {options.carrier}" if options.carrier else "")
    try_one = partial(try_seed, seconds=options.shrink, options=told)
    if options.alone:
        return run(options, partial(try_one, make=make_lonely_history))
    if options.carrier == "folder":
        return run(options, partial(try_one, make=make_folder_history, player=FolderPlayer))
    if options.carrier == "database":
        with running_database() as reached:
            return run(options, partial(try_one, player=partial(DatabasePlayer, **reached)))
    return run(options, try_one)


CARRIERS = ("folder", "database")

HELP = (
    "folder: through a shared folder on each machine, with what goes wrong there; database: through the functions of a real"
    " PostgreSQL; without it, a server in memory"
)


def run(options: argparse.Namespace, try_one: Callable[[int], tuple[int, str | None]]) -> int:
    """Play one history after the other. :param try_one: plays that of a seed, and says how it fails"""
    first = secrets.randbelow(2**40) if options.seed is None else options.seed
    count = options.count if options.seed is None or options.count is not None else 1
    seeds = range(first, first + (count or 1000))
    print(f"histories of the seeds {first} to {seeds[-1]}", flush=True)
    os.environ["PYTHONHASHSEED"] = "0"  # the order of a set is the same each time a seed is played
    began, failures, played = time.monotonic(), 0, 0
    silence = logging.disable, (logging.WARNING,)  # what goes wrong on purpose is no news
    with multiprocessing.get_context("spawn").Pool(options.jobs, *silence) as pool:
        for seed, failed in pool.imap_unordered(try_one, seeds):
            played += 1
            if failed is not None:
                failures += 1
                print(f"seed {seed} fails: {failed}", flush=True)
                if failures >= options.failures:
                    break
            if played % 100 == 0:
                rate = played / (time.monotonic() - began)
                print(f"{played} played, {failures} failed, {rate:.1f} a second", file=sys.stderr, flush=True)
        pool.terminate()
    seconds = time.monotonic() - began
    print(f"{played} histories in {seconds:.0f} s ({played / seconds:.1f} a second), {failures} failed")
    return 1 if failures else 0


def parser(module: str, doc: str | None) -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=doc)
    made.add_argument("--count", type=int, help="histories to play (1000; 1 with --seed)")
    made.add_argument("--seed", type=int, help="the first seed; fresh ones unless given")
    made.add_argument("--jobs", type=int, default=1, help="processes that play at once (1)")
    made.add_argument("--failures", type=int, default=1, help="failing histories after which to stop (1)")
    made.add_argument("--shrink", type=float, default=30, help="seconds spent on making a failing history smaller (30)")
    return made


if __name__ == "__main__":
    sys.exit(main())
