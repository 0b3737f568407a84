"""Bridge processes that are forked from one that has imported what a bridge needs, so that a test does not wait for imports.

A bridge spends most of a second importing before it listens; several hundred tests each want one of their own. What runs is the
program's `main` in a process of its own, with its own environment, limits and files. How the command itself starts is tested in
`test_daemon.py` and `test_shim.py`.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Mapping
from multiprocessing.process import BaseProcess

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["tests.bridge.forked_bridge"])


def run_bridge_main(args: list[str], env: Mapping[str, str], files: tuple[int, int] | None) -> None:
    """Be `hermes-memory-bridge` with arguments, an environment and limits, in the process that was forked for it."""
    os.environ.clear()
    os.environ.update(env)
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    from hermes_memory_bridge.__main__ import main

    main(args)


def fork_bridge(args: list[str], env: Mapping[str, str], files: tuple[int, int] | None = None) -> BaseProcess:
    """Start a bridge with the arguments of its command line; the process."""
    process = _forks.Process(target=run_bridge_main, args=(args, dict(env), files), daemon=True)
    process.start()
    return process
