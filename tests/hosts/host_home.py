"""A person's home for one host: fresh, with this tree's programs, a store and two projects with git."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from hermes_memory_bridge.wire.paths import BridgePaths

PATIENCE_S = 300.0
"""Hosts take 2 to 5 s a prompt; a busy machine ten times as long."""

PERSON = {
    "GIT_AUTHOR_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org",
}


@dataclass(frozen=True)
class TextProcess:
    """The ends of a program that is spoken to."""

    stdin: TextIO
    stdout: TextIO


@dataclass(frozen=True)
class HostHome:
    root: Path
    programs: Path
    """The folder of this tree's programs."""
    host_programs: tuple[str, ...] = ()
    """The folders of the hosts' programs."""
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def store(self) -> Path:
        return self.home / ".hermes" / "memory.db"

    @property
    def shop(self) -> Path:
        return self.root / "work" / "shop"

    @property
    def garden(self) -> Path:
        """Another project of the same person."""
        return self.root / "work" / "garden"

    @property
    def environment(self) -> dict[str, str]:
        folders = [*self.host_programs, str(self.programs), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(folders),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "HERMES_MEMORY_SECRETS": "file",
            **self.extra,
        }

    def make(self) -> HostHome:
        for folder in (self.home, self.temporary):
            folder.mkdir(parents=True)
        for project in (self.shop, self.garden):
            project.mkdir(parents=True)
            self.git(project, "init", "-q", "-b", "main")
            (project / "README.md").write_text(f"# {project.name}\n")
            self.git(project, "add", ".")
            self.git(project, "commit", "-q", "-m", "Begin")
        return self

    def git(self, project: Path, *arguments: str) -> None:
        self.run("git", *arguments, folder=project, extra=PERSON)

    def run(
        self, *command: str, folder: Path | None = None, extra: Mapping[str, str] | None = None, said: str = ""
    ) -> subprocess.CompletedProcess[str]:
        done = self.try_run(*command, folder=folder, extra=extra, said=said)
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    def try_run(
        self, *command: str, folder: Path | None = None, extra: Mapping[str, str] | None = None, said: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the shop, or in another folder."""
        process = subprocess.Popen(
            self.find(command),
            cwd=folder or self.shop,
            env=self.environment | dict(extra or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(said, PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(
                process.pid, signal.SIGKILL
            )  # with whatever it started, but for a bridge, which has a group of its own
            output, errors = process.communicate()
            raise AssertionError(
                f"{command}: no end within {PATIENCE_S:.0f} s\n{output[-2000:]}\n{errors[-2000:]}"
            ) from None
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    @contextlib.contextmanager
    def start(self, *command: str, extra: Mapping[str, str]) -> Iterator[TextProcess]:
        """Run a program in the shop that is spoken to; afterwards it has ended."""
        environment = self.environment | dict(extra)
        log = self.root / "errors.log"
        with (
            log.open("w") as errors,
            subprocess.Popen(
                self.find(command),
                cwd=self.shop,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield TextProcess(process.stdin, process.stdout)
                process.wait(PATIENCE_S)
            finally:
                process.kill()

    def find(self, command: Sequence[str]) -> list[str]:
        return [shutil.which(command[0], path=self.environment["PATH"]) or command[0], *command[1:]]

    def remember(self, *facts: str, folder: Path | None = None) -> None:
        if len(facts) == 1:
            self.run("hermes-memory-tui", "write", *facts, folder=folder)
        else:
            self.run("hermes-memory-tui", "import", "-", folder=folder, said="\n".join(facts))

    def memory(self, *arguments: str, folder: Path | None = None) -> str:
        return self.run("hermes-memory-tui", *arguments, folder=folder).stdout

    def start_bridge(self) -> None:
        """Have the bridge run before the host asks."""
        self.run("hermes-memory-bridge", "start")

    def stop_bridge(self) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            os.kill(self.find_bridge(), signal.SIGCONT)  # a test may have stopped its process
        python = str(self.programs / Path(sys.executable).name)  # a test may have removed the program itself
        self.try_run(python, "-m", "hermes_memory_bridge", "stop")

    def find_bridge(self) -> int:
        return int(Path(BridgePaths.of(self.store).pid).read_text().split()[0])

    def files_with(self, words: str, *, apart_from: tuple[Path, ...] = ()) -> list[Path]:
        """Return the files under the root in which some words stand, but those under given folders."""
        sought = words.encode()
        return [
            file
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not file.is_symlink() and not any(file.is_relative_to(away) for away in apart_from)
            if sought in file.read_bytes()
        ]
