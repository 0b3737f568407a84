"""What this machine knows of a shared folder: which one it is, which segments it wrote, and which it has read.

It stands beside the store, not in it, and is written after the store: what was read and not noted is read again, which
changes nothing.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from hermes_memory_bridge.trust.vault import replace_private_file
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.compact_json import to_members

SETTINGS = "folder.json"

MOST_GONE = 10_000
"""Names of removed segments that are remembered: one that a carrier brings back is removed again."""


@dataclass(slots=True)
class FolderSettings:
    """Which folder a store is exchanged through."""

    path: str
    paused: bool = False

    @classmethod
    def load(cls, paths: BridgePaths) -> Self | None:
        """Return the settings; None where no folder is named, or they cannot be read."""
        try:
            document = json.loads((Path(paths.folder) / SETTINGS).read_text(encoding="utf-8"))
            return cls(str(document["path"]), bool(document["paused"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, paths: BridgePaths) -> None:
        """Write the settings. :raises VaultError: they cannot be written"""
        paths.make_folder()
        replace_private_file(
            Path(paths.folder) / SETTINGS, json.dumps({"path": self.path, "paused": self.paused}, indent=1)
        )


@dataclass(slots=True)
class OwnSegment:
    size: int
    """Rows and turns."""
    is_written: bool = False
    """Whether it was in the folder; one that never came there is not missed."""
    is_read: bool = True
    """Whether the store has what it holds: one that was restored from a backup may not."""


@dataclass(slots=True)
class ThemeState:
    file: Path
    folder: str = ""
    """Name of the folder."""
    machine: str = field(default_factory=lambda: uuid.uuid4().hex)
    """What this machine is called in the folder, before the key makes a tag of it."""
    next: int = 1
    """Number of the next segment."""
    seq: int = 0
    """The store's position when this was written; the store's is as high, or higher."""
    turns: bool = False
    """Whether captured turns were taken from all that was read."""
    offers: bool = False
    """Whether all is to be written once everything was read."""
    own: dict[str, OwnSegment] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    gone: dict[str, None] = field(default_factory=dict)
    """Segments of this machine that it removed, or is about to; the last are the newest."""
    purged_here: set[str] = field(default_factory=set)
    """What was purged on this machine, and may stand in any segment."""
    purged_new: set[str] = field(default_factory=set)
    """What others purged since, and may stand in the segments of this machine."""
    purged_elsewhere: dict[str, int] = field(default_factory=dict)
    """What others purged, and may stand in segments of machines that do not come back; with the time when it was heard of, in
    milliseconds."""

    @classmethod
    def load(cls, file: Path) -> Self:
        """Return what is known; nothing where the file is missing or damaged, which costs reading everything again."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            return cls(
                file,
                folder=str(document["folder"]),
                machine=str(document["machine"]),
                next=int(document["next"]),
                seq=int(document["seq"]),
                turns=bool(document["turns"]),
                offers=bool(document.get("offers")),
                own={name: OwnSegment(*values) for name, values in document["own"].items()},
                read=set(document["read"]),
                gone=dict.fromkeys(document["gone"]),
                purged_here=set(document["purged_here"]),
                purged_new=set(document["purged_new"]),
                purged_elsewhere={str(uid): int(at) for uid, at in document["purged_elsewhere"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(file)

    def save(self) -> None:
        """Write it; it is on disk when this returns. :raises VaultError: it cannot be written"""
        for name in list(self.gone)[:-MOST_GONE]:
            del self.gone[name]
        document: dict[str, Any] = {
            **to_members(self, "folder machine next seq turns offers"),
            "own": {name: [segment.size, segment.is_written, segment.is_read] for name, segment in self.own.items()},
            "read": sorted(self.read),
            "gone": list(self.gone),
            "purged_here": sorted(self.purged_here),
            "purged_new": sorted(self.purged_new),
            "purged_elsewhere": self.purged_elsewhere,
        }
        replace_private_file(self.file, json.dumps(document))
