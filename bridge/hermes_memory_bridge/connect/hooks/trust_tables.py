"""Tables `[hooks.state."KEY"]` of Codex's `config.toml`: trust is added and taken out, and the rest stays byte for byte."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from hermes_memory_bridge.connect.hosts import without_marks
from hermes_memory_bridge.connect.jsonc_edit import find_original
from hermes_memory_bridge.connect.toml_yaml_edit import (
    UneditableConfig,
    append_lines,
    format_toml_table,
    parse_toml,
    parse_toml_header,
    split_config_lines,
    to_trimmed_variants,
    without_toml_tables,
)

STATE = ["hooks", "state"]


def find_trusted_hashes(text: str) -> dict[str, Any]:
    """Return what `hooks.state` says of each key. :raises UneditableConfig: the text is not valid TOML"""
    hooks = parse_toml(without_marks(text)[0]).get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return {key: entry for key, entry in state.items() if isinstance(entry, dict)} if isinstance(state, dict) else {}


def add_trust(text: str, entries: Mapping[str, str]) -> str:
    """Append a table for each key; one that is there already is replaced, so that none ever stands twice.

    :raises UneditableConfig: the text cannot be changed safely
    """
    present = find_trusted_hashes(text)
    missing = {
        key: {"trusted_hash": digest}
        for key, digest in entries.items()
        if present.get(key, {}).get("trusted_hash") != digest
    }
    if not missing:
        return text
    text = remove_trust(text, [key for key in missing if key in present])
    bare, put_back = without_marks(text)
    after = bare
    for key, table in missing.items():
        after = append_lines(after, [""] * bool(after) + format_toml_table([*STATE, key], table))
    prove_trust(bare, after, find_trusted_hashes(bare) | missing)
    return put_back(after)


def remove_trust(text: str, keys: Collection[str]) -> str:
    """Take the tables of these keys out. Unchanged where there are none.

    :raises UneditableConfig: one is written in a way that cannot be taken out safely
    """
    bare, put_back = without_marks(text)
    before = find_trusted_hashes(bare)
    present = {key: str(before[key].get("trusted_hash", "")) for key in before if key in keys}
    if not present:
        return text
    body = without_toml_tables(bare, lambda path: path[:2] == STATE and path[2:] != [] and path[2] in present)
    original = find_original(
        bare, (*to_trimmed_variants(body), body), lambda original_text: add_trust(original_text, present)
    )
    after = body if original is None else original
    prove_trust(bare, after, {key: entry for key, entry in before.items() if key not in present})
    return put_back(after)


def rename_trust(text: str, names: Mapping[str, str]) -> str:
    """Give tables another key, whatever else stands in them.

    :param names: the new key of each; a key that becomes free may be taken by a later one
    :raises UneditableConfig: one is written in a way that cannot be changed safely
    """
    bare, put_back = without_marks(text)
    before = find_trusted_hashes(bare)
    if not before.keys() & names.keys():
        return text
    lines, read = split_config_lines(bare), ""
    for number, line in enumerate(lines):
        path = parse_toml_header(line, read) or []
        read += line
        if path[:2] == STATE and path[2:] and path[2] in names:
            old, new = (json.dumps(key, ensure_ascii=False)[1:-1] for key in (path[2], names[path[2]]))
            lines[number] = line.replace(old, new, 1)
    after = "".join(lines)
    prove_trust(bare, after, {names.get(key, key): entry for key, entry in before.items()})
    return put_back(after)


def prove_trust(before: str, after: str, expected: Mapping[str, Any]) -> None:
    """Check that an edit changed the trust that was meant and nothing else. :raises UneditableConfig: it did not"""
    if find_trusted_hashes(after) != expected or without_state(before) != without_state(after):
        raise UneditableConfig("hooks.state is written in a way that cannot be changed safely; use /hooks in Codex")


def without_state(text: str) -> dict[str, Any]:
    """Return a document without `hooks.state`, and without `hooks` when it holds nothing else."""
    document = parse_toml(text)
    hooks = document.get("hooks")
    if isinstance(hooks, dict):
        document["hooks"] = {key: value for key, value in hooks.items() if key != "state"}
    return {key: value for key, value in document.items() if key != "hooks" or value}
