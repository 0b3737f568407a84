"""Content checks for rows from the team, the same as for an agent's writes on this machine.

Another machine may have a laxer policy, an older program, or somebody else at its keyboard.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_bridge.team.dsn import open_store_vault
from hermes_memory_bridge.trust import WriteChecks
from hermes_memory_store.memory.sources import Sources
from hermes_memory_store.store import Store
from hermes_memory_store.sync.content_checks import SOURCE, ContentCheck
from hermes_memory_store.sync.wire_format import CheckedVersion


class TeamContentChecks:
    """Check content by the policy of a theme, and by a person's ruling on the source `team`."""

    def __init__(self, trust: WriteChecks, sources: Sources) -> None:
        self._trust = trust
        self._sources = sources

    def name(self, theme: str, what: str, name: str) -> None:
        """Check a name.

        :raises InputError: it reads like an instruction, or contains a secret
        """
        self._trust.check_name(theme, what, name)

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        """Return the content as it may be shown.

        :raises InputError: it is not shown in any form
        :raises VaultError: it is not shown in any form
        """
        verdict = self._trust.check_content(theme, target, content, source=SOURCE, sources=self._sources)
        shown = verdict.content if verdict.masked_names else None
        return CheckedVersion(shown, verdict.suspicion.rule if verdict.suspicion else None)

    def turn(self, theme: str, content: str) -> str:
        """Mask only the secrets, as for a turn captured here.

        :raises InputError: it is not stored
        :raises VaultError: it is not stored
        """
        return self._trust.mask(theme, "turn", content).content


def to_team_content_checks(paths: BridgePaths) -> Callable[[Store], ContentCheck]:
    """Return the content checks of a store, as its syncer opens it."""
    return lambda store: TeamContentChecks(WriteChecks(store.policies, open_store_vault(paths)), store.sources)
