"""What connecting Codex changes: its entry and its trust in `config.toml`, its hooks in `hooks.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hermes_memory_bridge.connect.hooks.codex_trust import (
    CodexUnavailable,
    find_own_keys,
    find_trust_entries,
    to_key_file,
    to_snake_case,
)
from hermes_memory_bridge.connect.hooks.hook_edit import is_own_handler, read_hook_document
from hermes_memory_bridge.connect.hooks.trust_tables import add_trust, find_trusted_hashes, remove_trust, rename_trust
from hermes_memory_bridge.connect.host_config_files import HostFileError
from hermes_memory_bridge.connect.host_entries import to_changed_config
from hermes_memory_bridge.connect.hosts import Entry, Host, HostEnvironment, without_marks

TRUST_QUESTION = (
    "Codex runs no hook that you have not trusted, and does not say so. Mark the hooks of hermes-memory as trusted?"
)
BY_HAND = (
    "Codex runs none of them before you trust them: start Codex, type /hooks, and trust those of hermes-memory-hook"
)


def to_codex_config(
    host: Host,
    file: Path,
    text: str,
    entry: Entry | None,
    hooks_file: Path,
    hooks_texts: tuple[str, str],
    place: HostEnvironment,
    *,
    trusts: bool,
) -> tuple[str, list[str]]:
    """Return the text of `config.toml`, and what its person must know.

    :param hooks_texts: `hooks.json` as it is, and as it is to be
    :param trusts: whether our hooks are to be trusted
    :raises HostFileError: the file cannot be changed safely
    """
    notes: list[str] = []
    wanted: dict[str, str] = {}
    try:
        before, after = (find_own_keys(one, to_key_file(hooks_file, place)) for one in hooks_texts)
        if after and trusts:
            try:
                wanted = find_trust_entries(hooks_texts[1], hooks_file, place)
            except CodexUnavailable as error:
                notes.append(f"{error}. {BY_HAND}")
                if hooks_texts[0] == hooks_texts[1]:
                    return to_changed_config(host, file, text, entry), notes
        elif after:
            notes.append(BY_HAND)
        # Hooks of others whose place in a list changes, the first ones first.
        foreign = (list_foreign_keys(one, str(to_key_file(hooks_file, place))) for one in hooks_texts)
        moved = {old: new for old, new in zip(*foreign, strict=True) if old != new}
        trusted = {key: said.get("trusted_hash") for key, said in find_trusted_hashes(text).items()}
        stale = [key for key in before if key not in wanted]
        if (
            wanted.items() <= trusted.items()
            and not moved.keys() & trusted.keys()
            and not trusted.keys() & set(stale)
            and to_changed_config(host, file, text, entry) == text
        ):
            return text, notes
        bare = rename_trust(remove_trust(text, before), moved)
        changed = to_changed_config(host, file, bare, entry)
        try:
            return add_trust(changed, wanted), notes
        except ValueError as error:
            return changed, [*notes, f"{file}: {error}. {BY_HAND}"]
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error


def list_foreign_keys(text: str, prefix: str) -> Sequence[str]:
    """Return the keys of the hooks of others, event by event."""
    events = read_hook_document(without_marks(text)[0]).get("hooks") or {}
    return [
        f"{prefix}:{to_snake_case(event)}:{group}:{index}"
        for event, elements in sorted(events.items())
        for group, element in enumerate(elements)
        for index, handler in enumerate(element.get("hooks") or [] if isinstance(element, dict) else [])
        if not is_own_handler(handler)
    ]
