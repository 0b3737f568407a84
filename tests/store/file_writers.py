"""Processes that write MEMORY.md as a hermes-agent host does: reread under the lock, append, replace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = """
import fcntl, os, sys, tempfile
from pathlib import Path
path, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    with open(path.with_suffix(".md.lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        raw = path.read_text(encoding="utf-8") if path.exists() else ""
        entries = [entry.strip() for entry in raw.split("\\n§\\n") if entry.strip()]
        entries.append(f"V[{who}.{number}]: from a host")
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=".mem_", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\\n§\\n".join(entries))
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
"""
"""What `MemoryStore.add` of hermes-agent 0.19 does to the file, without its limits."""


@contextmanager
def hosts_writing(file: Path, *names: str, entries: int) -> Iterator[None]:
    """Hosts that begin together, while the body runs; all have ended well when this is left."""
    hosts = [
        subprocess.Popen(
            [sys.executable, "-c", HOST, str(file), name, str(entries)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        for host in hosts:
            assert host.stdout is not None
            assert host.stdout.readline() == "ready\n"
        for host in hosts:
            assert host.stdin is not None
            host.stdin.write("go\n")
            host.stdin.flush()
        yield
    finally:
        for host in hosts:
            host.communicate(timeout=60)
    assert [host.returncode for host in hosts] == [0] * len(hosts)
