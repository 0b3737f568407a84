"""Whether a person wants rules files in his workspaces: his answer for each host, in `<store>.rules.json`."""

from __future__ import annotations

import json
import os
from pathlib import Path


def find_rules_consent_file(store_path: str | os.PathLike[str]) -> Path:
    store = Path(store_path).expanduser().resolve()
    return store.with_name(f"{store.name}.rules.json")


def may_write_rules(store_path: str | os.PathLike[str], host: str) -> bool:
    """Check whether a person said yes for this host; a damaged file is a no."""
    try:
        return host in parse_rules_consent(find_rules_consent_file(store_path).read_bytes())
    except (OSError, ValueError):
        return False


def parse_rules_consent(content: bytes | None) -> list[str]:
    """Return the hosts for which a person said yes. :raises ValueError: the content is something else"""
    document = json.loads(content) if content and content.strip() else {}
    hosts = document.get("hosts", []) if isinstance(document, dict) else None
    if not isinstance(hosts, list):
        raise ValueError("it holds no answers")
    return [host for host in hosts if isinstance(host, str)]


def to_rules_consent(content: bytes | None, host: str, *, answer: bool) -> bytes | None:
    """Return the file's content with an answer for a host; None where no yes is left.

    :raises ValueError: the content is something else
    """
    hosts = [agreed for agreed in parse_rules_consent(content) if agreed != host] + [host] * answer
    return (json.dumps({"hosts": hosts}) + "\n").encode() if hosts else None
