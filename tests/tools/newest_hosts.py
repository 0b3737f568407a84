"""Run the suite against the newest versions of the hosts, and name what broke: `python -m tests.tools.newest_hosts [HOST …]`.

They are installed into a folder of their own beside the pinned ones. A test that fails is run once more against the pinned
version, not to let it pass but to tell what a new version broke from what fails in both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tests.hosts.installation import PACKAGES, VERSIONS, find_version, hosts_folder, install_hosts, parse_hosts

NEWEST = dict.fromkeys(VERSIONS, "latest")


def run_suite(tests: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Run tests in a process of their own; return those that failed, by their names, and why."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["--hosts", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *tests], env={**os.environ, **variables})
        cases = ElementTree.parse(report).iter("testcase")
        return {
            f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": failure.get("message", "")
            for case in cases
            for failure in [*case.findall("failure"), *case.findall("error")]
        }


def main() -> int:
    """Install, run, compare; exit 1 if a new version broke something."""
    hosts = parse_hosts()
    folder = hosts_folder() / "newest"
    installed = install_hosts(hosts, folder=folder, versions={**NEWEST, "node": VERSIONS["node"]})
    for host in hosts:
        version = installed.why_missing(host) or find_version(folder, PACKAGES[host])
        print(f"{host:12} {version} (the suite is written for {VERSIONS[PACKAGES[host]]})")
    chosen = ["tests/hosts", "-k", " or ".join(hosts)]
    failed = run_suite(chosen, {"HERMES_MEMORY_HOSTS": str(folder), "HERMES_MEMORY_HOSTS_AS_INSTALLED": "1"})
    failed_before = run_suite(list(failed), {}) if failed else {}
    for test, reason in failed.items():
        word = "fails with the pinned version too" if test in failed_before else "BROKE"
        print(f"{word}: {test}\n    {reason.splitlines()[0] if reason else ''}")
    return int(bool(failed.keys() - failed_before.keys()))


if __name__ == "__main__":
    sys.exit(main())
