"""Makes what is published, in one folder:

    pip install -e '.[release]'
    python -m tests.tools.release [--check] [OUT]        # OUT is dist, which must not be there yet

A wheel and a source distribution; plugin folders of Claude Code and Codex with their marketplaces, and an extension of Gemini
CLI, whose programs are named without paths; the `.mcpb` bundle; `server.json`; `llms.txt` and `INSTALL_FOR_AGENTS.md`; and the
entry of hermes-agent's catalogue, which names the commit that is checked out. `--check` tries all of it: it asks for a clean
tree, installs the wheel that is built from the source distribution, and has each host that is on the PATH validate its folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import yaml

from hermes_memory_bridge.connect.plugins.plugin_folder import FORMS
from hermes_memory_bridge.provider import tool_schemas
from hermes_memory_bridge.version import __version__
from tests.tools.interpreters import REPOSITORY, Trial, install, run

COPIED = ("server.json", "llms.txt", "INSTALL_FOR_AGENTS.md")

VALIDATORS = {"claude-code": ("claude", "plugin", "validate"), "gemini": ("gemini", "extensions", "validate")}

LINK = re.compile(r"\]\(([^)#:]+)[^)]*\)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", nargs="?", type=Path, default=Path("dist"), metavar="OUT")
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    out = given.out.absolute()
    if out.exists():
        options.error(f"{out} is there; remove it, or name another folder")
    if given.check and run(["git", "status", "--porcelain"], cwd=REPOSITORY):
        options.error("the tree has changes; commit them, since the catalogue names a commit")
    out.mkdir(parents=True)
    make_release(out)
    for line in check_release(out) if given.check else [f"{path.name}" for path in sorted(out.iterdir())]:
        print(line)


def make_release(out: Path) -> None:
    # The wheel is built from the source distribution: what that lacks, it lacks, too.
    run([sys.executable, "-m", "build", "--outdir", out, REPOSITORY])
    for host in FORMS:
        write_plugin(host, out / host)
    run([sys.executable, REPOSITORY / "packaging" / "mcpb" / "build.py", out / "hermes-memory.mcpb"])
    for name in COPIED:
        shutil.copy(REPOSITORY / name, out / name)
    (out / "hermes-memory.yaml").write_text(yaml.safe_dump(to_catalogue_entry(), sort_keys=False), encoding="utf-8")


def write_plugin(host: str, folder: Path) -> None:
    """Write the folder of a host for everybody: in a home of its own, without a word of this machine."""
    words = ("--plugin", folder, "--project", "--capture", "--hear", "--yes")
    with tempfile.TemporaryDirectory() as home:
        run(
            [sys.executable, "-m", "hermes_memory_bridge", "connect", host, *words],
            cwd=home,
            env=os.environ | {"HOME": home, "HERMES_HOME": home},
        )


def to_catalogue_entry() -> dict[str, object]:
    """The entry of hermes-agent's catalogue of plugins, in the form of its README."""
    server = json.loads((REPOSITORY / "server.json").read_text(encoding="utf-8"))
    owner, name = server["name"].removeprefix("io.github.").split("/")
    provider = REPOSITORY / "bridge" / "hermes_memory_bridge" / "provider"
    plugin = yaml.safe_load((provider / "plugin.yaml").read_text(encoding="utf-8"))
    capabilities = {
        "provides_tools": sorted(tool_schemas.NAMES),
        "provides_hooks": plugin["hooks"],
        "provides_middleware": [],
        "requires_env": [],
    }
    return {
        "name": plugin["name"],
        "repo": f"https://github.com/{owner}/{name}",
        "sha": run(["git", "rev-parse", "HEAD"], cwd=REPOSITORY).strip(),
        "subdir": provider.relative_to(REPOSITORY).as_posix(),
        "description": plugin["description"],
        "maintainer": owner,
        "platforms": ["linux", "macos"],
        "capabilities": capabilities,
    }


def check_release(out: Path) -> list[str]:
    """Try what is in the folder, and return a line for each that passed. :raises AssertionError: one did not"""
    wheel, source = next(out.glob("*.whl")), next(out.glob("*.tar.gz"))
    run([sys.executable, "-m", "twine", "check", "--strict", wheel, source])
    lines = [f"{path.name}: its description and metadata are as an index wants them" for path in (wheel, source)]
    tracked = set(run(["git", "ls-files"], cwd=REPOSITORY).split())
    with zipfile.ZipFile(wheel) as archive:
        packaged = {name for name in archive.namelist() if ".dist-info/" not in name and ".data/" not in name}
    rooms = ("themes", "store", "bridge", "tui")
    wanted = {name.partition("/")[2] for name in tracked if name.partition("/")[0] in rooms}
    assert packaged == wanted, f"the wheel differs from the tree in {sorted(packaged ^ wanted)}"
    with tarfile.open(source) as sources:
        there = {name.partition("/")[2] for name in sources.getnames()}
    left_out = {name for name in tracked - there if not name.startswith(".")}
    assert not left_out, f"the source distribution lacks {sorted(left_out)}"
    lines.append(f"{wheel.name}: {len(packaged)} files, all that are tracked and no other")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        trial = Trial(install(Path(sys.executable), wheel, Path(folder) / "venv"), home)
        trial.write_and_read()
        lines.append(f"{wheel.name}: installed alone, its programs write and read a fact")
    for host in FORMS:
        lines.append(check_plugin(host, out / host))
    for name in ("llms.txt", "INSTALL_FOR_AGENTS.md"):
        links = LINK.findall((out / name).read_text(encoding="utf-8"))
        gone = [link for link in links if not (REPOSITORY / link).exists()]
        assert not gone, f"{name} leads to {gone}"
        lines.append(f"{name}: its {len(links)} links lead to files")
    document = json.loads((out / "server.json").read_text(encoding="utf-8"))
    versions = {document["version"], *(package["version"] for package in document["packages"])}
    assert versions == {__version__}, f"server.json is of {versions}, the package of {__version__}"
    entry = yaml.safe_load((out / "hermes-memory.yaml").read_text(encoding="utf-8"))
    assert re.fullmatch("[0-9a-f]{40}", entry["sha"])
    return [*lines, f"server.json and hermes-memory.yaml: of {__version__} and of {entry['sha'][:12]}"]


def check_plugin(host: str, folder: Path) -> str:
    """Have the host validate its folder, where it is on the PATH."""
    own_paths = [str(REPOSITORY), str(Path.home()), sys.prefix]
    for file in filter(Path.is_file, folder.rglob("*")):
        text = file.read_text(encoding="utf-8")
        assert not any(path in text for path in own_paths), f"{file} names a path of this machine"
        assert file.suffix != ".json" or json.loads(text), file
    program, *words = VALIDATORS.get(host, ("",))
    if not shutil.which(program):
        return f"{host}: no path of this machine; not validated, {program or 'the host'} has no such command here"
    with tempfile.TemporaryDirectory() as home:
        run([program, *words, folder], env=os.environ | {"HOME": home}, cwd=home)
    return f"{host}: no path of this machine, and {' '.join((program, *words))} accepts it"


if __name__ == "__main__":
    main()
