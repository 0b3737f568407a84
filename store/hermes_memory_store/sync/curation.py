"""Facts of a team that no curator made hot: they are kept cold and not pinned here, until a person agrees.

What is hot reaches agents unasked, so who may write to a theme may not decide that for everybody. Whether a curator
decided it is the server's word (`SyncRow.trusted`).
"""

from __future__ import annotations

from typing import Any

from hermes_memory_store.model import Tier
from hermes_memory_store.sync.wire_format import LIVE, SyncRow

UNCURATED = "uncurated"
"""What `cooled_by` says of a fact that is kept cold."""


def is_uncurated(row: SyncRow) -> bool:
    """Check whether a version asks to be given unasked, now or when its scope is warmed, and may not."""
    if row.trusted or row.kind != "fact" or row.state != LIVE:
        return False
    attrs: Any = row.attrs  # of a malformed row anything
    if not isinstance(attrs, dict):
        return True
    return attrs.get("tier") == Tier.HOT or bool(attrs.get("pinned")) or attrs.get("cooled_by") is not None


def to_kept_cold(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes with which such a fact is shown."""
    tier = Tier.COLD.value if attrs["tier"] == Tier.HOT else attrs["tier"]
    return attrs | {"tier": tier, "pinned": False, "cooled_by": UNCURATED}
