"""Run the tutorial: every command of `docs/tutorial.md`, word for word, in one shell with a temporary home.

`python -m tests.tools.tutorial` rewrites the output that the page shows where it differs; `tests/e2e/test_docs.py` compares it.
What differs from one run to the next counts as equal: uids, times, ages and durations, sizes of the file, and the two
folders below.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.tools.structure import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{8}\b")
WILDCARDS = (
    (UID, "<uid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+Z)?"), "<time>"),
    (re.compile(r"\b\d{8}T\d{6}\b"), "<time>"),
    (re.compile(r"\b\d{13}\b"), "<milliseconds>"),
    (re.compile(r"/bin/python[\d.]*"), "/bin/python"),
    (re.compile(r"\bprocess \d+\b"), "process <number>"),
    (re.compile(r"\b\d+(?:\.\d+)? (ms|KiB|pages)\b"), r"<number> \1"),
    (re.compile(r"\bjust now\b|\b\d+ ?(?:s|min|m|h|days?|d|mo|y) ago\b"), "<age>"),
)
HOME, BIN = "/tmp/tutorial", "/path/to/bin"
END = "--- end of command ---"


@dataclass(frozen=True)
class Step:
    """A command of the page, and the output it shows."""

    command: str
    output: str


def steps(page: str) -> list[Step]:
    """Every command of the console blocks, in order."""
    found = []
    for block in BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Step(command, output))
    return found


def comparable(text: str) -> str:
    """The text with everything that differs between runs replaced, and without blanks at line ends."""
    for pattern, placeholder in WILDCARDS:
        text = pattern.sub(placeholder, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run_steps(page: str) -> list[Step]:
    """Run the commands of a page in one shell, and return them with their real output.

    A uid that the page shows stands for the one that was really printed in its place.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HERMES_MEMORY_")}
    environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin"))
    real: list[Step] = []
    uids: dict[str, str] = {}
    with subprocess.Popen(
        ["bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd="/",  # which is no project
    ) as shell:
        home = ""
        for step in steps(page):
            output = send_command(shell, UID.sub(lambda found: uids.get(found[0], found[0]), step.command))
            home = home or send_command(shell, 'printf %s "$HOME"').strip()
            output = output.replace(home, HOME).replace(str(Path(sys.executable).parent), BIN)
            shown, printed = UID.findall(step.output), UID.findall(output)
            if len(shown) == len(printed):
                uids.update(zip(shown, printed, strict=True))
            real.append(Step(step.command, output))
    return real


def send_command(shell: subprocess.Popen[str], command: str) -> str:
    """Run one command in the shell and return what it printed."""
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write(f"{{ {command}\n}} </dev/null; printf '\\n%s\\n' '{END}'\n")
    shell.stdin.flush()
    lines = []
    while (line := shell.stdout.readline()) and line.rstrip("\n") != END:
        lines.append(line)
    return "".join(lines).removesuffix("\n")


def refreshed(page: str) -> str:
    """The page with the real output of every command whose output it shows differently."""
    done, rest = "", page
    for shown, real in zip(steps(page), run_steps(page), strict=True):
        before, command, rest = rest.partition(f"$ {shown.command}\n")
        text = shown.output
        if comparable(shown.output) != comparable(real.output):
            text = f"{real.output.rstrip()}\n" if real.output.strip() else ""
        done, rest = f"{done}{before}{command}{text}", rest.removeprefix(shown.output)
    return done + rest


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
