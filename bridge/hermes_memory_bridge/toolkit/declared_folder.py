"""The working folder that a client declares: in its greeting, a header, a call's `_meta`, or as an MCP root."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

MOST_CHARS = 4_096
"""Characters of a path, as Linux has them (PATH_MAX)."""


def parse_folder(value: Any) -> str | None:
    """Return a declared folder; None for what is no absolute path."""
    if not isinstance(value, str) or not 0 < len(value) <= MOST_CHARS or "\0" in value or not value.startswith("/"):
        return None
    return value


def parse_folder_header(value: str | None) -> str | None:
    """Return a folder from a header: a path as UTF-8 with percent signs, since headers carry ASCII alone."""
    return None if value is None else parse_folder(unquote(value, errors="surrogateescape"))


def parse_root_folders(result: Any) -> list[str]:
    roots = result.get("roots") if isinstance(result, dict) else None
    uris = [root.get("uri") for root in roots if isinstance(root, dict)] if isinstance(roots, list) else []
    parts = [urlsplit(uri) for uri in uris if isinstance(uri, str) and uri.startswith("file://")]
    folders = [parse_folder(unquote(part.path, errors="surrogateescape")) for part in parts]
    return [folder for folder in folders if folder is not None]


def choose_folder(declared: str | None, roots: Iterable[str]) -> str | None:
    """Return the folder an agent works in: the declared one where it lies in a root, else the first root."""
    folders = list(roots)
    if not folders or (declared is not None and any(is_within(declared, root) for root in folders)):
        return declared
    return folders[0]


def is_within(folder: str, root: str) -> bool:
    root = os.path.normpath(root)
    return os.path.normpath(folder) == root or os.path.normpath(folder).startswith(root.rstrip("/") + "/")
