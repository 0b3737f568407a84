"""Theme policies as a store uses them: an error in their file becomes one of the store's own errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from hermes_memory_store.errors import PolicyInvalid
from hermes_memory_themes import EmbeddingSettings, Policies, ThemePolicy
from hermes_memory_themes.team_settings import TeamSettings
from hermes_memory_themes.theme_errors import PolicyError


@contextmanager
def as_store_errors() -> Iterator[None]:
    """Raise an error of the policies' file as one of the store."""
    try:
        yield
    except PolicyError as error:
        raise PolicyInvalid(error.message, error.value) from error


class StorePolicies(Policies):
    """Policies whose file a person may edit while agents write: a mistake is refused and reported like any other.

    :raises PolicyInvalid: from each of these; names the file and the line
    """

    @classmethod
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        with as_store_errors():
            return super().load(path, environ=environ)

    def for_theme(self, theme: str) -> ThemePolicy:
        with as_store_errors():
            return super().for_theme(theme)

    def embedding_settings(self, environ: Mapping[str, str] | None = None) -> EmbeddingSettings:
        with as_store_errors():
            return super().embedding_settings(environ)

    def team_settings(self) -> TeamSettings:
        with as_store_errors():
            return super().team_settings()
