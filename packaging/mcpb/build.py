"""Pack the bundle for hosts that install `.mcpb` files: `python packaging/mcpb/build.py OUT.mcpb`.

The bundle holds the manifest and a project that depends on the published package; the host installs that with uv.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent

ENTRY = "from hermes_memory_bridge.__main__ import main\n\nmain()\n"


def project(manifest: dict[str, str]) -> str:
    """The bundle's pyproject.toml."""
    return (
        f'[project]\nname = "hermes-memory-bundle"\nversion = "{manifest["version"]}"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["hermes-memory-tui=={manifest["version"]}"]\n'
    )


def build(out: Path) -> None:
    """Write the bundle."""
    text = (HERE / "manifest.json").read_text(encoding="utf-8")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", text)
        bundle.writestr("pyproject.toml", project(json.loads(text)))
        bundle.writestr("server.py", ENTRY)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
