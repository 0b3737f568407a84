"""States of a shared folder in words."""

from __future__ import annotations

import errno

from hermes_memory_bridge.team.database.team_states import TeamError, TeamState
from hermes_memory_store.installation import to_install_command

NO_CRYPTOGRAPHY = TeamState("no cryptography", f"cryptography is missing: {to_install_command('folder')}")
NO_FOLDER = TeamState(
    "not connected", "no shared folder is named; `hermes-memory-bridge folder share DIR THEME` names one"
)
AWAY = TeamState("unreachable", "the shared folder is not there (not mounted?); what is written here waits")
UNMARKED = TeamState(
    "unreachable",
    "the shared folder has no mark of ours (not mounted, emptied, or another one?), so nothing is written into it; "
    "if it is the right one: `hermes-memory-bridge folder share DIR THEME` begins anew in it",
)
NO_KEY = TeamState(
    "no key",
    "this machine has no key for this theme: `hermes-memory-bridge folder join DIR THEME` takes the code of another one",
)
LOCKED = TeamState(
    "locked",
    "the key is behind a passphrase: `hermes-memory-bridge folder unlock` asks for it; what is written here waits",
)
FOLDER_READ_ONLY = TeamState("read-only", "the shared folder may not be written to; what is written here waits")
FOLDER_FULL = TeamState("disk full", "there is no space left for the shared folder; what is written here waits")

CROWDED = TeamState(
    "crowded",
    "there are more files in the shared folder than any memory makes, and nothing is exchanged; "
    "move away what does not end in .hms, or all files: every machine writes again what is missed",
)

OF_ERRNO = {
    errno.ENOENT: AWAY,
    errno.ENOTDIR: AWAY,
    errno.ENODEV: AWAY,
    errno.ENOTCONN: AWAY,
    errno.EIO: AWAY,
    errno.ESTALE: AWAY,
    errno.EROFS: FOLDER_READ_ONLY,
    errno.EACCES: FOLDER_READ_ONLY,
    errno.EPERM: FOLDER_READ_ONLY,
    errno.ENOSPC: FOLDER_FULL,
    errno.EDQUOT: FOLDER_FULL,
}


def to_folder_error(error: OSError) -> TeamError:
    state = OF_ERRNO.get(error.errno or 0)
    return TeamError(state or TeamState("fault", f"the shared folder cannot be used ({error.strerror or error})"))
