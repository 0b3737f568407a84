"""Hatchling's hook for what `pyproject.toml` calls dynamic: the long description, made from the README."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class LongDescriptionHook(MetadataHookInterface):
    """Sets `readme`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        root = Path(self.root)
        to_long_description = runpy.run_path(str(root / "packaging" / "long_description.py"))["to_long_description"]
        text = to_long_description((root / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
