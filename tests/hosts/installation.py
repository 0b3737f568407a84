"""Install the hosts, at the versions of `versions.json`, into a folder of their own; say what could not be installed.

The folder is `$HERMES_MEMORY_HOSTS`, else `~/.cache/hermes-memory-hosts`. Node comes from npm too, since some hosts need a newer
one than a system has. Each package is installed by itself, so that one which fails takes no other with it. With
`$HERMES_MEMORY_HOSTS_AS_INSTALLED` whatever version stands in the folder is taken.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

VERSIONS: dict[str, str] = json.loads((Path(__file__).parent / "versions.json").read_text())
"""Package of npm -> version the suite is written for."""

PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "copilot": "@github/copilot",
    "qwen": "@qwen-code/qwen-code",
    "pi": "@earendil-works/pi-coding-agent",
}
"""Host, as `connect` names it -> its package."""

LONGEST_INSTALL_S = 200.0


@dataclass(frozen=True)
class InstalledHosts:
    """The folder of the hosts, and why each missing one is missing."""

    folder: Path
    missing: Mapping[str, str]
    """Package -> the reason, in one sentence."""

    @property
    def program_folders(self) -> list[str]:
        """The folders of the programs, for PATH: node's first."""
        return [str(to_package_folder(self.folder, name) / "node_modules" / ".bin") for name in ["node", *VERSIONS]]

    def why_missing(self, host: str) -> str:
        """Return why a host cannot run; "" if it can."""
        return self.missing.get("node") or self.missing.get(PACKAGES[host], "")


def hosts_folder() -> Path:
    named = os.environ.get("HERMES_MEMORY_HOSTS", "")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "hermes-memory-hosts"


def to_package_folder(folder: Path, package: str) -> Path:
    """Return where a package is installed: the folder itself where all stand together, else one of its own."""
    return folder if (folder / "node_modules" / package).is_dir() else folder / package.replace("/", "+")


def find_version(folder: Path, package: str) -> str:
    manifest = to_package_folder(folder, package) / "node_modules" / package / "package.json"
    return json.loads(manifest.read_text())["version"] if manifest.is_file() else ""


def install_hosts(
    hosts: Iterable[str] = tuple(PACKAGES), *, folder: Path | None = None, versions: Mapping[str, str] = VERSIONS
) -> InstalledHosts:
    """Install what is not there yet, several packages at once, and tell what is missing and why.

    :param versions: package -> version, `latest` for the newest
    """
    target = folder or hosts_folder()
    wanted = ["node", *(PACKAGES[host] for host in hosts)]
    target.mkdir(parents=True, exist_ok=True)
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the same run may be installing
        with ThreadPoolExecutor(len(wanted)) as pool:
            reasons = pool.map(lambda package: install_package(target, package, versions[package]), wanted)
            missing = {package: reason for package, reason in zip(wanted, reasons, strict=True) if reason}
    return InstalledHosts(target, missing)


def install_package(folder: Path, package: str, version: str) -> str:
    """Install one package unless it is there at that version; return why not, or ""."""
    present = find_version(folder, package)
    if present and (present == version or os.environ.get("HERMES_MEMORY_HOSTS_AS_INSTALLED")):
        return ""
    own = folder / package.replace("/", "+")
    note = own / "not-installed.txt"
    parent = multiprocessing.parent_process()
    run = str(parent.pid if parent else os.getpid())
    if note.is_file() and note.read_text().startswith(f"{run}\n"):
        return note.read_text().partition("\n")[2]  # tried before in this run
    own.mkdir(parents=True, exist_ok=True)
    reason = run_npm(own, package, version)
    if not reason and not find_version(folder, package):
        reason = f"npm said that it installed {package} {version}, which is not in {own}"
    if reason:
        note.write_text(f"{run}\n{reason}")
    return reason


def run_npm(folder: Path, package: str, version: str) -> str:
    """Have npm install a package; return why it did not, or ""."""
    npm = shutil.which("npm")
    if npm is None:
        return f"{package} {version} is not installed and there is no npm to install it with"
    cache = "--prefer-online" if version == "latest" else "--prefer-offline"
    options = [
        "--no-audit",
        "--no-fund",
        "--no-save",
        cache,
        "--fetch-retries=1",
        "--loglevel=error",
        "--prefix",
        str(folder),
    ]
    command = [npm, "install", *options, f"{package}@{version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_INSTALL_S)
    except subprocess.TimeoutExpired:
        return f"npm did not install {package} {version} within {LONGEST_INSTALL_S:.0f} s"
    lines = (done.stderr or done.stdout).strip().splitlines() or ["it gave no reason"]
    return f"npm could not install {package} {version}: {lines[0]}" if done.returncode else ""


def parse_hosts() -> list[str]:
    """Return the hosts named on the command line, else all. :raises SystemExit: with 2, for one that is none"""
    hosts = sys.argv[1:] or list(PACKAGES)
    for host in hosts:
        if host not in PACKAGES:
            print(f"{host} is none of {', '.join(PACKAGES)}", file=sys.stderr)
            raise SystemExit(2)
    return hosts


def main() -> int:
    hosts = parse_hosts()
    installed = install_hosts(hosts)
    for host in hosts:
        print(f"{host:12} {installed.why_missing(host) or find_version(installed.folder, PACKAGES[host])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
