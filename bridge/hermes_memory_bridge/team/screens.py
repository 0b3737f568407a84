"""What comes from the team passes the screens that an agent's writes pass on this machine: another machine may have a milder
policy, an older program, or somebody else at its keyboard.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_memory_bridge.places import Places
from hermes_memory_bridge.team.dsn import vault_of
from hermes_memory_bridge.trust import Trust
from hermes_memory_store.screening import SOURCE, Screen
from hermes_memory_store.sources import Sources
from hermes_memory_store.store import Store
from hermes_memory_store.travelling import Screened


class TeamScreen:
    """Screens by the policy of a theme, and by what a person has ruled of the source `team`."""

    def __init__(self, trust: Trust, sources: Sources) -> None:
        self._trust = trust
        self._sources = sources

    def name(self, theme: str, what: str, name: str) -> None:
        """:raises InputError: it reads like an instruction, or holds a secret"""
        self._trust.check_name(theme, what, name)

    def content(self, theme: str, target: str, content: str) -> Screened:
        """:raises InputError: VaultError; it is not shown in any form"""
        verdict = self._trust.look(theme, target, content, source=SOURCE, sources=self._sources)
        shown = verdict.content if verdict.masked else None
        return Screened(shown, verdict.suspicion.rule if verdict.suspicion else None)

    def turn(self, theme: str, content: str) -> str:
        """Only the secrets, as of a turn that is captured here. :raises InputError: VaultError; it is not kept"""
        return self._trust.mask(theme, "turn", content).content


def screens(places: Places) -> Callable[[Store], Screen]:
    """The screens of a store, as its syncer opens it."""
    return lambda store: TeamScreen(Trust(store.policies, vault_of(places)), store.sources)
