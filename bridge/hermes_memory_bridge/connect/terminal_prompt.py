"""A yes-or-no question on the terminal."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import TextIO


def confirm_on_terminal(question: str, stream: TextIO | None = None, *, default: bool = False) -> bool:
    """Ask until the answer is yes or no. Just enter means the default; the end of the input is no.

    :param stream: where the question is written; standard output
    :raises KeyboardInterrupt: ctrl-c was pressed, however soon after the question
    """
    while True:
        print(f"{question} {'[Y/n]' if default else '[y/N]'}: ", end="", file=stream, flush=True)
        wait_for_enter()
        line = sys.stdin.readline()
        if not line:
            print(file=stream)
            return False
        answer = line.strip().lower()
        if answer in ("y", "yes", "n", "no", ""):
            return answer in ("y", "yes") if answer else default
        print("answer y or n", file=stream)


def wait_for_enter() -> None:
    """Wait until a line is typed on the terminal.

    A signal that arrives between Python's last check for signals and a blocking read is only noted, and the read goes
    on; one that arrives before or during this wait ends it.
    """
    if not sys.stdin.isatty():
        return
    heard, hearing = os.pipe()
    os.set_blocking(hearing, False)
    before = signal.set_wakeup_fd(hearing, warn_on_full_buffer=False)
    try:
        while sys.stdin not in select.select([sys.stdin, heard], [], [])[0]:
            os.read(heard, 64)
    finally:
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(hearing)
