"""The policies of the themes, as a store asks for them: what is wrong with their file is one of the store's own errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from hermes_memory_store.errors import PolicyInvalid
from hermes_memory_themes import Embedding, Policies, Policy
from hermes_memory_themes.errors import PolicyError


class StorePolicies(Policies):
    """Policies whose file a person may edit while agents write: a mistake refuses, and is told, as any other."""

    @classmethod
    def load(cls, path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Self:
        """As `Policies.load`. :raises PolicyInvalid: names the file and the line"""
        try:
            return super().load(path, environ=environ)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error

    def for_theme(self, theme: str) -> Policy:
        """As `Policies.for_theme`. :raises PolicyInvalid: the file has become wrong; names the line"""
        try:
            return super().for_theme(theme)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error

    def embedding(self, environ: Mapping[str, str] | None = None) -> Embedding:
        """As `Policies.embedding`. :raises PolicyInvalid: names the file and the line"""
        try:
            return super().embedding(environ)
        except PolicyError as error:
            raise PolicyInvalid(error.message, error.value) from error
