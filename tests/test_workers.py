"""Tests in several processes are reported as in one, and a process that ends is a failure of the test that it ran."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import PATIENCE_S

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
