"""One sync between a store and a shared folder, theme by theme."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from hermes_memory_bridge.team.database.team_states import IDLE, TeamError, TeamState
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys
from hermes_memory_bridge.team.folder.folder_state import ThemeState
from hermes_memory_bridge.team.folder.folder_states import LOCKED, NO_KEY
from hermes_memory_bridge.team.folder.shared_folder import SharedFolder
from hermes_memory_bridge.team.folder.theme_exchange import FolderProblem, ThemeExchange
from hermes_memory_bridge.team.sync_outcome import ProgressCallback, SyncOutcome, ThemeSyncCount, to_theme_state
from hermes_memory_store.store import Store
from hermes_memory_themes import SyncCarrier


class FolderRun:
    """Sync the rows of one store, again and again."""

    def __init__(
        self, store: Store, keys: FolderKeys, notes: Path, *, on_progress: ProgressCallback, author: str = ""
    ) -> None:
        """:param notes: the folder for what this machine knows of the themes
        :param on_progress: called after each page and segment; what it raises ends the sync
        :param author: what others know this machine as; its own name unless given
        """
        self.store = store
        self.outcome = SyncOutcome()
        self._keys = keys
        self._notes = notes
        self._on_progress = on_progress
        self._author = author or platform.node().partition(".")[0] or "another machine"
        self._themes: dict[str, ThemeExchange] = {}
        self._hurry = False
        self.look_s = 0.0
        """How long the last look took that found nothing to do."""

    def run(self, server: SharedFolder) -> SyncOutcome:
        """Sync until nothing is left. :raises TeamError: the folder cannot be used now"""
        sync, began = self.store.sync, time.monotonic()
        themes = sync.themes(SyncCarrier.FOLDER)
        self.outcome = outcome = SyncOutcome()
        outcome.themes = {theme: ThemeSyncCount(server_seq=sync.inbox.cursor(theme).seq) for theme in themes}
        server.verify()
        sync.restamp_future()
        for theme in themes:
            count = outcome.themes[theme]
            try:
                exchange = self._find_exchange(theme)
            except TeamError as error:
                if error.state.name not in (LOCKED.name, NO_KEY.name):
                    raise
                self._note_state(theme, error.state)
                continue
            exchange.count = count
            try:
                exchange.sync(server, at_once=self._hurry)
            except TeamError as error:
                if len(themes) == 1:
                    raise
                self._note_state(theme, error.state)
                continue
            count.server_seq = sync.inbox.cursor(theme).seq
            if (state := exchange.to_state()) is not None:
                self._note_state(theme, state)
        self._hurry = False
        outcome.admitted = sync.inbox.admit_held()
        if outcome.idle:
            self.look_s = time.monotonic() - began
        return outcome

    def expire_backoffs(self) -> None:
        """End all delays before the next sync: a person asks for it."""
        self._hurry = True

    def problems(self) -> list[tuple[str, FolderProblem]]:
        """Return the files that could not be taken in, with the theme in whose folder they are."""
        return [(theme, problem) for theme, at in self._themes.items() for _, problem in at.problems.values()]

    def exchange_of(self, theme: str) -> ThemeExchange:
        """Return the exchange of a theme. :raises TeamError: its key is missing"""
        return self._find_exchange(theme)

    def _find_exchange(self, theme: str) -> ThemeExchange:
        key = self._keys.find(theme)
        if key is None:
            self._themes.pop(theme, None)
            raise TeamError(NO_KEY)
        exchange = self._themes.get(theme)
        if exchange is None or exchange.key != key:
            state = ThemeState.load(self._notes / f"folder-{key.tag}.json")
            exchange = ThemeExchange(self.store, theme, key, state, self._author, self._on_progress)
            self._themes[theme] = exchange
        return exchange

    def _note_state(self, theme: str, state: TeamState) -> None:
        self.outcome.themes[theme].state = state
        if self.outcome.state == IDLE:
            self.outcome.state = to_theme_state(theme, state)
