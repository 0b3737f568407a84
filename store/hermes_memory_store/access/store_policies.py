"""Theme policies as a store uses them: an error in their file becomes one of the store's own errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from hermes_memory_store.errors import PolicyInvalid
from hermes_memory_themes import EmbeddingSettings, Policies, ThemePolicy
from hermes_memory_themes.team_settings import TeamSettings
from hermes_memory_themes.theme_errors import PolicyError


class StorePolicies(Policies):
    """Policies whose file a person may edit while agents write: a mistake is refused and reported like any other."""

    @classmethod
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """Load as `Policies.load` does. :raises PolicyInvalid: names the file and the line"""
        try:
            return super().load(path, environ=environ)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error

    def for_theme(self, theme: str) -> ThemePolicy:
        """Return the policy as `Policies.for_theme` does.

        :raises PolicyInvalid: the file became invalid; names the line
        """
        try:
            return super().for_theme(theme)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error

    def embedding_settings(self, environ: Mapping[str, str] | None = None) -> EmbeddingSettings:
        """Return the settings as `Policies.embedding_settings` does.

        :raises PolicyInvalid: names the file and the line
        """
        try:
            return super().embedding_settings(environ)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error

    def team_settings(self) -> TeamSettings:
        """Return the settings as `Policies.team_settings` does.

        :raises PolicyInvalid: names the file and the line
        """
        try:
            return super().team_settings()
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error
