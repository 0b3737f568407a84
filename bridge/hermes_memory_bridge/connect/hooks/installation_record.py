"""When the hooks of each host were installed, and where: `<store>.hooks.json`, beside the store they serve.

A hook that was never heard since is one that the host does not run. The file holds names, paths and times; under `allowed`, by
host and place, which tools run without a question by us: an empty list is a no.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_store.hosts.capture_switch import load_capture_switch

if TYPE_CHECKING:
    from hermes_memory_bridge.connect.host_config_files import FileEdits

ALLOWED = "allowed"

SAID = "said"
"""In the place of a file: the person was told that nothing is allowed yet."""


def to_record_path(store: Path) -> Path:
    store = store.expanduser().resolve()
    return store.with_name(f"{store.name}.hooks.json")


def note_installation(files: FileEdits, store: Path, host: str, file: Path, now: int | None) -> None:
    """Note that a host's hooks were written to a file; None forgets it. A record without any goes.

    :param now: UTC milliseconds
    """
    change_record(files, store, host, {str(file): now})


def note_offer(files: FileEdits, store: Path, host: str, place: str, offer: list[str] | None) -> None:
    """Note which tools run without a question by us in a place, after the person was asked; None forgets it."""
    allowed = parse_record(files.read(to_record_path(store))).get(ALLOWED, {})
    change_record(files, store, ALLOWED, {host: {**allowed.get(host, {}), place: offer}})


def list_hosts_without_offer(store: Path) -> list[str]:
    """Return the connected hosts whose person was never asked whether tools run without a question."""
    allowed = read_installation_record(store).get(ALLOWED, {})
    return [host for host in load_capture_switch(store).hosts if host not in allowed]


def find_offers(files: FileEdits, store: Path, host: str) -> dict[str, list[str]]:
    """Return which tools run without a question by us, for each place where the person of a host was asked."""
    offers = parse_record(files.read(to_record_path(store))).get(ALLOWED, {}).get(host, {})
    return {place: offer for place, offer in offers.items() if isinstance(offer, list)}


def change_record(files: FileEdits, store: Path, key: str, places: dict[str, Any]) -> None:
    """Note places under a key of the record, if that changes it; what is None or an empty object goes."""
    path = to_record_path(store)
    record = parse_record(files.read(path))
    changed = without_nothing({**record, key: {**record.get(key, {}), **places}})
    if changed != record:
        files.write(path, json.dumps(changed, indent=2, ensure_ascii=False) + "\n" if changed else None)


def without_nothing(record: dict[str, Any]) -> dict[str, Any]:
    inner = {key: without_nothing(value) if isinstance(value, dict) else value for key, value in record.items()}
    return {key: value for key, value in inner.items() if value not in (None, {})}


def find_installations(store: Path, host: str) -> dict[Path, int]:
    """Return the files that hold a host's hooks, with the time of each installation in UTC milliseconds."""
    return read_installations(store).get(host, {})


def read_installations(store: Path) -> dict[str, dict[Path, int]]:
    return {
        host: {Path(place): at for place, at in places.items()}
        for host, places in read_installation_record(store).items()
        if host != ALLOWED
    }


def read_installation_record(store: Path) -> dict[str, Any]:
    """Return the record; one that cannot be read holds nothing."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return parse_record(to_record_path(store).read_text(encoding="utf-8"))
    return {}


def parse_record(text: str) -> dict[str, Any]:
    """Parse the record; a damaged one holds nothing, and the next installation writes it anew."""
    document: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads(text)
    if not isinstance(document, dict):
        return {}
    return {
        key: {name: value for name, value in places.items() if isinstance(value, dict if key == ALLOWED else int)}
        for key, places in document.items()
        if isinstance(places, dict)
    }
