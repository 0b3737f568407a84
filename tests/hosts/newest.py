"""Run the suite against the pinned and the newest hosts, side by side; name what broke: `python -m tests.hosts.newest [HOST …]`.

The newest stand in a folder of their own. Both suites run at the same time on the same machine, so that one which is slow is slow
for both: broken is what fails with the newest version, and again, while it passes with the pinned one beside it, both times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from tests.hosts.installation import PACKAGES, VERSIONS, find_version, hosts_folder, install_hosts, parse_hosts

NEWEST = dict.fromkeys(VERSIONS, "latest") | {"node": VERSIONS["node"]}


def run_suite(tests: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Run tests in a process of their own; return those that failed, by their names, and why.

    :raises RuntimeError: they did not run
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["--hosts", "-q", "-n0", "-p", "no:cacheprovider", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        ended = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
        if not report.is_file():
            raise RuntimeError(f"pytest ended with {ended.returncode}: {(ended.stdout + ended.stderr)[-2000:]}")
        cases = [*ElementTree.parse(report).iter("testcase")]
        print(f"{variables.get('HERMES_MEMORY_HOSTS') or hosts_folder()}: {ended.stdout.strip().splitlines()[-1]}")
        return {
            f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": failure.get("message", "")
            for case in cases
            for failure in [*case.findall("failure"), *case.findall("error")]
        }


def run_side_by_side(tests: Sequence[str], newest: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return what failed with the pinned versions, and with the newest, run at the same time."""
    of_newest = {"HERMES_MEMORY_HOSTS": str(newest), "HERMES_MEMORY_HOSTS_AS_INSTALLED": "1"}
    with ThreadPoolExecutor(2) as pool:
        pinned, latest = pool.map(lambda variables: run_suite(tests, variables), ({}, of_newest))
    return pinned, latest


def name_verdict(test: str, rounds: Sequence[tuple[Mapping[str, str], Mapping[str, str]]]) -> str:
    """Say of a test that failed with the newest version in the first round what that means.

    :param rounds: what failed with the pinned and with the newest version, each time
    """
    if not all(test in latest for _, latest in rounds):
        return "passed the second time"
    return "fails with the pinned version too" if any(test in pinned for pinned, _ in rounds) else "BROKE"


def main() -> int:
    """Install, run, compare; exit 1 if a new version broke something."""
    hosts = parse_hosts()
    newest = hosts_folder() / "newest"
    install_hosts(hosts)
    installed = install_hosts(hosts, folder=newest, versions=NEWEST)
    for host in hosts:
        version = installed.why_missing(host) or find_version(newest, PACKAGES[host])
        print(f"{host:12} {version} (the suite is written for {VERSIONS[PACKAGES[host]]})", flush=True)
    rounds = [run_side_by_side(["tests/hosts", "-k", " or ".join(hosts)], newest)]
    failed = rounds[0][1]
    if suspects := [test for test in failed if test not in rounds[0][0]]:
        rounds.append(run_side_by_side(suspects, newest))
    verdicts = {test: name_verdict(test, rounds if test in suspects else rounds[:1]) for test in failed}
    for test, verdict in verdicts.items():
        print(f"{verdict}: {test}\n    {failed[test].splitlines()[0] if failed[test] else ''}")
    return int("BROKE" in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
