"""The programs of this tree as an installation would have them: absolute paths that need no environment.

Hosts write those paths into their files and start them with hardly a variable, so `PYTHONPATH` would not reach them.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]

ROOMS = ("themes", "store", "bridge", "tui")

PROGRAMS = {
    "hermes-memory-bridge": "hermes_memory_bridge.__main__",
    "hermes-memory-hook": "hermes_memory_bridge.hook_program.program",
    "hermes-memory-tui": "hermes_memory_tui.__main__",
}

SCRIPT = """#!{python}
import sys
from {module} import main
if __name__ == "__main__":
    sys.exit(main())
"""


def make_tree_programs(folder: Path) -> Path:
    """Make an environment in `folder` that runs this tree's code on the libraries of this one; return its `bin`."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    paths = [*(str(TREE / room) for room in ROOMS), *(path for path in sys.path if path.endswith("-packages"))]
    variables = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=variables))
    (packages / "tree.pth").write_text("\n".join(dict.fromkeys(paths)) + "\n")
    programs = folder / "bin"
    for name, module in PROGRAMS.items():
        script = programs / name
        script.write_text(SCRIPT.format(python=programs / Path(sys.executable).name, module=module))
        os.chmod(script, 0o755)
    return programs
