"""Play random histories until one fails: `python -m tests.store.histories --count 5000 --jobs 2`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.store.histories.shrinking import try_seed


def main() -> int:
    """Play the histories that the command line asks for; 1 when one of them fails."""
    options = parser("tests.store.histories", __doc__).parse_args()
    return run(options, partial(try_seed, seconds=options.shrink, alone=options.alone))


def run(options: argparse.Namespace, try_one: Callable[[int], tuple[int, str | None]]) -> int:
    """Play one history after the other. :param try_one: plays that of a seed, and says how it fails"""
    first = secrets.randbelow(2**40) if options.seed is None else options.seed
    count = options.count if options.seed is None or options.count is not None else 1
    seeds = range(first, first + (count or 1000))
    print(f"histories of the seeds {first} to {seeds[-1]}", flush=True)
    os.environ["PYTHONHASHSEED"] = "0"  # the order of a set is the same each time a seed is played
    began, failures, played = time.monotonic(), 0, 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
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
    made.add_argument("--alone", action="store_true", help="histories of one machine, with a small hot tier")
    made.add_argument("--jobs", type=int, default=1, help="processes that play at once (1)")
    made.add_argument("--failures", type=int, default=1, help="failing histories after which to stop (1)")
    made.add_argument("--shrink", type=float, default=30, help="seconds spent on making a failing history smaller (30)")
    return made


if __name__ == "__main__":
    sys.exit(main())
