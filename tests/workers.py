"""Run collected tests in several processes that are forked once the tests are imported.

Importing the tests takes ten seconds, which every process that pytest-xdist starts would take again. Each process takes a few
tests of one file at a time, so that what a module or a session shares is made in few processes.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import pytest
from _pytest.runner import pytest_sessionfinish as tear_down

WORKERS_PER_CORE = 2
"""A test of the bridge or the inspector waits for part of its time: for a lease, a process, a timer."""

TESTS_AT_ONCE = 12
"""As many tests of a file as a process takes at once."""

STOPPED = 2**30
"""As many runs are called taken where no test is to be run any more."""

_processes = multiprocessing.get_context("fork")


def count_workers(config: pytest.Config) -> int:
    """Return how many processes run the tests: `-n`, or some for each core unless single files were named."""
    number: str | None = config.option.numprocesses
    option = config.option
    if option.usepdb or (number is None and any(os.path.isfile(arg.partition("::")[0]) for arg in config.args)):
        return 0
    if number is not None and number != "auto":
        return int(number)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return WORKERS_PER_CORE * cores


def split_by_file(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Divide tests into runs of a file's, in their order."""
    runs: list[list[pytest.Item]] = []
    for item in items:
        if not runs or runs[-1][-1].path != item.path or len(runs[-1]) == TESTS_AT_ONCE:
            runs.append([])
        runs[-1].append(item)
    return runs


class Relay:
    """Hand on what the tests of this process report, to the process that started it."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config = config
        self._pipe = pipe

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._pipe.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._pipe.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def run_worker(
    session: pytest.Session, runs: list[list[pytest.Item]], taken: Synchronized[int], pipe: Connection
) -> None:
    """Take and run tests until none is left; runs in a process of its own."""
    config = session.config
    starter = os.getppid()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(Relay(config, pipe))
    capture = config.pluginmanager.getplugin("capturemanager")
    # Its files are those of the process that forked this one. They stay open: a default argument may hold one since an import.
    capture.suspend_global_capture(in_=True)
    capture._global_capturing = None
    capture.start_global_capturing()
    capture.suspend_global_capture(in_=True)

    def take() -> Iterator[pytest.Item]:
        while True:
            with taken:
                number = taken.value
                taken.value += 1
            if number >= len(runs):
                return
            yield from runs[number]

    try:
        for item, following in pairwise(chain(take(), [None])):
            assert item is not None
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if taken.value >= STOPPED or os.getppid() != starter:  # it was killed and reads no report
                break
        tear_down(session)
    except (KeyboardInterrupt, pytest.exit.Exception):
        tear_down(session)  # the process that started this one was interrupted too
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    pipe.send(None)
    os._exit(0)  # else it would wait for a thread that a test left behind


@dataclass
class Worker:
    """A process that runs tests, and the test it is at."""

    process: Any
    pipe: Connection
    test: str = ""
    is_done: bool = False


def start_worker(session: pytest.Session, runs: list[list[pytest.Item]], taken: Synchronized[int]) -> Worker:
    ours, theirs = _processes.Pipe(duplex=False)
    process = _processes.Process(target=run_worker, args=(session, runs, taken, theirs))
    process.start()
    theirs.close()
    return Worker(process, ours)


def receive(worker: Worker, session: pytest.Session) -> None:
    """Tell pytest what a process has to report; the test in which a process ended has failed."""
    hook = session.config.hook
    try:
        message = worker.pipe.recv()
    except EOFError:
        worker.is_done = True
        worker.process.join()
        reason = f"the process that ran the test ended with {worker.process.exitcode}; tests it had taken were not run"
        place = (worker.test.partition("::")[0], None, worker.test)
        hook.pytest_runtest_logreport(report=pytest.TestReport(worker.test, place, {}, "failed", reason, "call"))
        return
    if message is None:
        worker.is_done = True
        worker.process.join()
    elif isinstance(message, str):
        worker.test = message
    else:
        report = hook.pytest_report_from_serializable(config=session.config, data=message)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in processes of their own; pytest runs them itself where one process was asked for."""
    config = session.config
    count = count_workers(config)
    if count < 2 or session.testsfailed or config.option.collectonly:
        return None
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # else each process would empty the folder first
    runs = split_by_file(session.items)
    taken = _processes.Value("q", 0)
    workers = [start_worker(session, runs, taken) for _ in range(min(count, len(runs)))]
    try:
        while running := {worker.pipe: worker for worker in workers if not worker.is_done}:
            for pipe in wait(list(running)):
                receive(running[pipe], session)  # type: ignore[index]
            if session.shouldfail or session.shouldstop:
                taken.value = STOPPED
    finally:
        taken.value = STOPPED
        for worker in workers:
            worker.process.join()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True
