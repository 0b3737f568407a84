"""For all tests: which of them run, where their files lie, and how often the random ones try.

Without `--all` the crash, fuzz, soak, chaos and long random tests are left out, files lie in memory where the system has room
for them there, and a property is tried with few examples. `--all` runs everything, with files on the disk and all examples.
Random tests try the same cases in every run, so that a failure is a change's own; `HYPOTHESIS_PROFILE=explore` tries others
each time, which is how new cases are found.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.workers import pytest_runtestloop as pytest_runtestloop

TIERS = {
    "crash": "ends processes with kill -9 at chosen or random steps and looks at what they left",
    "fuzz": "random input, or the whole product of inputs where the fast tier takes pairs",
    "soak": "does the same thing for long, or many times, and looks whether something grows",
    "chaos": "several machines on failing lines and with wrong clocks",
    "long": "takes many seconds: long random histories, large stores, many processes",
}
"""What runs with `--all` only; `-m` and a test's own name choose from everything."""

HOSTS = "runs the released hosts, which npm installs first"
"""What runs with `--hosts` only, `--all` or not."""

MEMORY_DISK = Path("/dev/shm")
MEMORY_DISK_BYTES = 2 * 2**30
"""As much as must be free there."""

RUN_FOLDERS: list[str] = []
"""The folder of temporary files that this process made for its run; its workers inherit it."""

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
"""How fast a property is tried says how busy the machine is, not whether it holds; `tests/benchmarks` measures speed."""

settings.register_profile("dev", UNTIMED, derandomize=True, max_examples=15)
settings.register_profile("full", UNTIMED, derandomize=True)
settings.register_profile("explore", UNTIMED, derandomize=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help=f"run {', '.join(TIERS)} tests too, on the disk and with all examples"
    )
    parser.addoption("--hosts", action="store_true", help="run the tests against the released hosts too")
    parser.addoption(
        "--conversations", type=int, default=1, metavar="N", help="with --hosts: compact so many conversations a host"
    )
    # addoption leaves single lower-case letters to pytest; pytest-xdist gave people this one.
    parser.getgroup("workers")._addoption(
        "-n", "--numprocesses", metavar="N", help="run the tests in so many processes; `auto` is a few for each core"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Containers forbid compiled files; here hundreds of processes and all workers import the same modules.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    config.addinivalue_line("markers", f"hosts: {HOSTS} (with --hosts)")
    for name, what in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {what} (with --all)")
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in the background of a script: interrupted programs would go on
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "full" if config.option.all else "dev"))
    os.environ.setdefault("HERMES_MEMORY_SECRETS", "file")  # the keyring of whoever runs the tests is theirs
    if not {"TMPDIR", "PYTEST_DEBUG_TEMPROOT"} & os.environ.keys():
        make_run_folder(MEMORY_DISK if not config.option.all and has_memory_disk() else Path(tempfile.gettempdir()))
        config.option.basetemp = config.option.basetemp or os.path.join(
            os.environ["TMPDIR"], "t"
        )  # short: screens show paths
    os.environ["XDG_STATE_HOME"] = os.path.join(tempfile.gettempdir(), "hm-state")


def has_memory_disk() -> bool:
    """Whether temporary files fit where a flush costs nothing: the programs still flush, but nobody waits for a disk."""
    is_usable = MEMORY_DISK.is_mount() and os.access(MEMORY_DISK, os.W_OK)
    return is_usable and shutil.disk_usage(MEMORY_DISK).free >= MEMORY_DISK_BYTES


def make_run_folder(parent: Path) -> None:
    """Give this run a folder for temporary files whose name no other run has.

    A store with a long path has its bridge's folder in `/tmp`, named after the path: a path that comes again finds what an
    earlier run left there.
    """
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="hm-", dir=parent)  # for the processes that tests start, too
    tempfile.tempdir = None  # read $TMPDIR again
    RUN_FOLDERS.append(os.environ["TMPDIR"])


def pytest_sessionfinish(exitstatus: int) -> None:
    """Keep the files of a run for a look at them only when a test failed."""
    if exitstatus != pytest.ExitCode.OK:
        RUN_FOLDERS.clear()


def pytest_unconfigure() -> None:
    """Remove the files of the run once the process ends, after what multiprocessing keeps there (at -100)."""
    while RUN_FOLDERS:
        Finalize(None, shutil.rmtree, (RUN_FOLDERS.pop(),), {"ignore_errors": True}, exitpriority=-200)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = set() if config.option.hosts else {"hosts"}
    if not (config.option.all or config.option.markexpr or any("::" in arg for arg in config.args)):
        left_out |= TIERS.keys()
    deselected = [item for item in items if any(mark.name in left_out for mark in item.iter_markers())]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        gone = set(deselected)
        items[:] = [item for item in items if item not in gone]


def pytest_collection() -> None:
    """Import the tests without looking for garbage among what stays until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported stays until the end: no collection of garbage need look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)
