"""When the hooks of each host were installed, and where: `<store>.hooks.json`, beside the store they serve.

A hook that was never heard since is one that the host does not run. The file holds names, paths and times; under `allowed`, by
host and place, which tools it was offered to run without a question, and whether the permission that stands there is ours.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_store.hosts.capture_switch import load_capture_switch

if TYPE_CHECKING:
    from hermes_memory_bridge.connect.file_change import TextFiles

ALLOWED = "allowed"

SAID = "said"
"""In the place of a file: the person was told that nothing is allowed yet."""


def to_record_path(store: Path) -> Path:
    """Return the file beside a store."""
    store = store.expanduser().resolve()
    return store.with_name(f"{store.name}.hooks.json")


def note_installation(files: TextFiles, store: Path, host: str, file: Path, now: int | None) -> None:
    """Note that a host's hooks were written to a file; None forgets it. A record without any goes.

    :param now: UTC milliseconds
    """
    record = parse_record(files.read(to_record_path(store)))
    change_record(files, store, {**record, host: {**record.get(host, {}), str(file): now}})


def note_offer(files: TextFiles, store: Path, host: str, place: str, offer: dict[str, bool] | None) -> None:
    """Note which tools a host was offered to run without a question in a place; None forgets it."""
    record = parse_record(files.read(to_record_path(store)))
    allowed = record.get(ALLOWED, {})
    offers = {**allowed.get(host, {}), SAID: None, place: offer}
    change_record(files, store, {**record, ALLOWED: {**allowed, host: offers}})


def list_hosts_without_offer(store: Path) -> list[str]:
    """Return the connected hosts whose person was never asked whether tools run without a question."""
    asked = parse_record(read_record_text(store)).get(ALLOWED, {})
    return [host for host in load_capture_switch(store).hosts if host not in asked]


def find_offers(files: TextFiles, store: Path, host: str) -> dict[str, dict[str, bool]]:
    """Return which tools a host was offered to run without a question, by place, and whether the permission is ours."""
    offers = parse_record(files.read(to_record_path(store))).get(ALLOWED, {}).get(host, {})
    return {place: offer for place, offer in offers.items() if isinstance(offer, dict)}


def change_record(files: TextFiles, store: Path, record: dict[str, Any]) -> None:
    """Write the record without what is None or empty, if that changes it."""
    path = to_record_path(store)
    changed = without_nothing(record)
    if changed != parse_record(files.read(path)):
        files.write(path, json.dumps(changed, indent=2, ensure_ascii=False) + "\n" if changed else None)


def without_nothing(record: dict[str, Any]) -> dict[str, Any]:
    """Return a document without members that are None or empty objects."""
    inner = {key: without_nothing(value) if isinstance(value, dict) else value for key, value in record.items()}
    return {key: value for key, value in inner.items() if value not in (None, {})}


def find_installations(store: Path, host: str) -> dict[Path, int]:
    """Return the files that hold a host's hooks, with the time of each installation in UTC milliseconds."""
    return read_installations(store).get(host, {})


def read_installations(store: Path) -> dict[str, dict[Path, int]]:
    """Return the files that hold our hooks, with the time of each installation in UTC milliseconds, by host."""
    found = parse_installations(read_record_text(store))
    return {host: {Path(place): at for place, at in places.items()} for host, places in found.items()}


def read_record_text(store: Path) -> str:
    """Return the text of the record; empty where it cannot be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return to_record_path(store).read_text(encoding="utf-8")
    return ""


def parse_installations(text: str) -> dict[str, dict[str, int]]:
    """Parse when hooks were installed."""
    return {host: places for host, places in parse_record(text).items() if host != ALLOWED}


def parse_record(text: str) -> dict[str, Any]:
    """Parse the record; a damaged one holds nothing, and the next installation writes it anew."""
    document: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text)
    if not isinstance(document, dict):
        return {}
    kinds = {ALLOWED: dict}
    return {
        host: {place: said for place, said in places.items() if isinstance(said, kinds.get(host, int))}
        for host, places in document.items()
        if isinstance(places, dict)
    }
