"""Tables `[hooks.state."KEY"]` of Codex's `config.toml`: trust is added and taken out, and the rest stays byte for byte."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from typing import Any

from hermes_memory_bridge.connect.hosts import without_marks
from hermes_memory_bridge.connect.jsonc_edit import find_newline_style, is_result_of
from hermes_memory_bridge.connect.toml_yaml_edit import (
    UneditableConfig,
    append_lines,
    find_trailing_lines,
    parse_toml,
    split_config_lines,
    to_trimmed_variants,
)


def find_trusted_hashes(text: str) -> dict[str, Any]:
    """Return what `hooks.state` says of each key. :raises UneditableConfig: the text is not valid TOML"""
    hooks = parse_toml(without_marks(text)[0]).get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return {key: said for key, said in state.items() if isinstance(said, dict)} if isinstance(state, dict) else {}


def add_trust(text: str, entries: Mapping[str, str]) -> str:
    """Append a table for each key; one that is there already is replaced, so that none ever stands twice.

    :raises UneditableConfig: the text cannot be changed safely
    """
    present = find_trusted_hashes(text)
    missing = {key: said for key, said in entries.items() if present.get(key, {}).get("trusted_hash") != said}
    if not missing:
        return text
    text = remove_trust(text, [key for key in missing if key in present])
    bare, marks = without_marks(text)
    lines = [
        line
        for number, (key, said) in enumerate(missing.items())
        for line in (
            [""] * bool(bare or number) + [f"[hooks.state.{json.dumps(key, ensure_ascii=False)}]", to_hash_line(said)]
        )
    ]
    after = append_lines(bare, lines, find_newline_style(bare))
    expected = find_trusted_hashes(bare) | {key: {"trusted_hash": said} for key, said in missing.items()}
    prove_trust(bare, after, expected)
    return marks.put_back(after)


def remove_trust(text: str, keys: Collection[str]) -> str:
    """Take the tables of these keys out. Unchanged where there are none.

    :raises UneditableConfig: one is written in a way that cannot be taken out safely
    """
    bare, marks = without_marks(text)
    before = find_trusted_hashes(bare)
    present = {key: str(before[key].get("trusted_hash", "")) for key in before if key in keys}
    if not present:
        return text
    after = "".join(find_other_lines(bare, present))
    for original in (*to_trimmed_variants(after), after):
        if is_result_of(lambda one: add_trust(one, present), original, bare):
            after = original
            break
    prove_trust(bare, after, {key: said for key, said in before.items() if key not in present})
    return marks.put_back(after)


def rename_trust(text: str, names: Mapping[str, str]) -> str:
    """Give tables another key, whatever else stands in them.

    :param names: the new key of each; a key that becomes free may be taken by a later one
    :raises UneditableConfig: one is written in a way that cannot be changed safely
    """
    bare, marks = without_marks(text)
    before = find_trusted_hashes(bare)
    if not before.keys() & names.keys():
        return text
    lines, read = split_config_lines(bare), ""
    for number, line in enumerate(lines):
        key = find_state_key(line, read) if line.lstrip().startswith("[") else None
        read += line
        if key is not None and key in names:
            old, new = (json.dumps(one, ensure_ascii=False)[1:-1] for one in (key, names[key]))
            lines[number] = line.replace(old, new, 1)
    after = "".join(lines)
    prove_trust(bare, after, {names.get(key, key): said for key, said in before.items()})
    return marks.put_back(after)


def find_other_lines(text: str, keys: Collection[str]) -> list[str]:
    """Return the lines outside the tables of these keys, without the blank line above each."""
    kept: list[str] = []
    ours: list[str] = []
    is_inside = False
    read = ""
    for line in split_config_lines(text):
        key = find_state_key(line, read) if line.lstrip().startswith("[") else ""
        if key != "":
            kept += find_trailing_lines(ours)
            ours = []
            is_inside = key is not None and key in keys
            if is_inside and kept and not kept[-1].strip():
                kept.pop()
        (ours if is_inside else kept).append(line)
        read += line
    return kept + find_trailing_lines(ours)


def find_state_key(line: str, before: str) -> str | None:
    """Return the key of a table's header; None for another header, and nothing for a line within a value."""
    try:
        tomllib.loads(before)
    except tomllib.TOMLDecodeError:
        return ""
    try:
        state = tomllib.loads(line)["hooks"]["state"]
        return str(next(iter(state)))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, StopIteration):
        return None


def to_hash_line(said: str) -> str:
    return f"trusted_hash = {json.dumps(said)}"


def prove_trust(before: str, after: str, expected: Mapping[str, Any]) -> None:
    """Check that an edit changed the trust that was meant and nothing else. :raises UneditableConfig: it did not"""
    if find_trusted_hashes(after) != expected or without_state(before) != without_state(after):
        raise UneditableConfig("hooks.state is written in a way that cannot be changed safely; use /hooks in Codex")


def without_state(text: str) -> dict[str, Any]:
    """Return a document without `hooks.state`, and without `hooks` when it holds nothing else."""
    document = parse_toml(text)
    hooks = document.get("hooks")
    if isinstance(hooks, dict):
        document["hooks"] = {key: said for key, said in hooks.items() if key != "state"}
    return {key: said for key, said in document.items() if key != "hooks" or said}
