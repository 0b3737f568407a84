"""Tests in several processes are reported as in one, and a process that ends is a failure of the test that it ran."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.bridge.running import until
from tests.processes import PATIENCE_S, is_alive

CONFTEST = """
from tests.conftest import pytest_addoption
from tests.workers import pytest_runtestloop
"""

TESTS = """
import os, pytest, threading

def test_that_leaves_a_thread_behind():
    threading.Thread(target=threading.Event().wait).start()

@pytest.mark.parametrize("number", range(40))
def test_number(number):
    print("number", number)
    if number == 7:
        pytest.skip("no sevens")
    if number == 30:
        os._exit(3)
    assert number != 9
"""


def test_several_processes_report_as_one_does_and_name_the_test_in_which_one_ends(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_numbers.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-n", "2", "-rs", "--rootdir", tmp_path, tmp_path]
    run = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=PATIENCE_S)

    assert run.returncode == 1, run.stderr
    assert "Captured stdout call" in run.stdout
    assert "no sevens" in run.stdout
    assert "assert 9 != 9" in run.stdout
    assert "test_number[30]" in run.stdout
    assert "the process that ran the test ended with 3" in run.stdout
    assert "2 failed" in run.stdout


WAITING = """
import os, pytest, time

@pytest.mark.parametrize("number", range(40))
def test_number(number):
    with open("begun", "a") as begun:
        begun.write(f"{os.getpid()} ")
    while not os.path.exists("go on"):
        time.sleep(0.01)
"""


def test_nothing_more_is_run_once_the_process_that_reports_was_killed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_numbers.py").write_text(WAITING, encoding="utf-8")
    begun = tmp_path / "begun"
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-n", "2", "--rootdir", tmp_path, tmp_path]
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL) as run:
        until(lambda: begun.exists() and len(begun.read_text().split()) == 2, "a test in each process")
        workers = [psutil.Process(int(number)) for number in begun.read_text().split()]
        run.kill()
    (tmp_path / "go on").touch()
    until(lambda: not any(map(is_alive, workers)), "their end")
    assert len(begun.read_text().split()) == 2
