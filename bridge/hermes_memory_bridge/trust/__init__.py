"""Content checks of writes: disguised instructions are quarantined for a person, and secrets go to the keyring.

Facts are data, but recalled facts become part of a prompt, where an imperative sentence may be obeyed long after
the conversation that planted it. Nothing here asks a model or the network. May import launcher. Read `WriteChecks`
below first.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass
from typing import Self

from hermes_memory_bridge.trust.vault import Vault, VaultEntry
from hermes_memory_store.content_checks.injection_check import Suspicion, find_name_suspicion, find_suspicion
from hermes_memory_store.content_checks.secrets import find_secret_texts, find_secrets
from hermes_memory_store.content_checks.spans import NOT_KEPT, find_mark_names, replace_text_spans
from hermes_memory_store.errors import InputError
from hermes_memory_store.memory.sources import Sources
from hermes_memory_themes import Policies, ThemePolicy

__all__ = [
    "NameRefused",
    "SecretRefused",
    "SourceRefused",
    "Suspicion",
    "Vault",
    "WriteChecks",
    "WriteVerdict",
    "to_secret_placeholder",
]


log = logging.getLogger(__name__)


LONG_ENOUGH = 12
"""Characters from which on the first three of a secret give nothing away."""


class SecretRefused(InputError):
    """The theme's policy stores no secrets."""

    code = "secret.refused"


class NameRefused(InputError):
    """A target or scope reads like an instruction.

    Names are listed beside facts and cannot be quarantined as facts are.
    """

    code = "name.refused"


class SourceRefused(InputError):
    """A person has ruled that nothing suspicious is stored from this source."""

    code = "source.refused"


@dataclass(frozen=True, slots=True)
class WriteVerdict:
    """The verdict on a write."""

    content: str
    """What may be kept of it: secrets are masked."""
    masked_names: tuple[str, ...] = ()
    """Names under which the vault has them; `NOT_KEPT` for one that no place keeps."""
    suspicion: Suspicion | None = None
    """Why it must wait for a person."""


class WriteChecks:
    """Check writes by the policy of their theme."""

    def __init__(self, policies: Policies, vault: Vault) -> None:
        self.policies = policies
        self.vault = vault
        self._fresh: list[VaultEntry] | None = None

    def for_one_call(self) -> Self:
        """Return a copy that tracks the secrets newly stored during one call."""
        one = copy.copy(self)
        one._fresh = []
        return one

    def take_back(self) -> None:
        """Remove the secrets newly stored for a failed call from the vault: no fact refers to them.

        Call it before the next write runs, which might otherwise find the same secret and rely on it.
        """
        while self._fresh:
            kept = self._fresh.pop()
            try:
                self.vault.take_back(kept)
            except Exception:
                log.exception("the secret %r of theme %s is kept although its fact is not", kept.name, kept.theme)

    def check_fact(
        self,
        theme: str,
        target: str,
        content: str,
        *,
        source: str = "",
        sources: Sources | None = None,
        policy: ThemePolicy | None = None,
    ) -> WriteVerdict:
        """Check a fact before it is written.

        :param source: the program that writes it
        :param sources: a person's rulings on programs; without it every suspicious fact is quarantined
        :raises SourceRefused: it is suspicious, and a person has ruled that nothing suspicious of this source is stored
        :raises SecretRefused: it contains a secret, and the policy stores none
        :raises VaultError: it contains a secret, and the vault cannot be read or written
        """
        policy = policy or self.policies.for_theme(theme)
        self.check_name(theme, "the target", target, policy)
        return self.check_content(theme, target, content, source=source, sources=sources, policy=policy)

    def check_content(
        self,
        theme: str,
        target: str,
        content: str,
        *,
        source: str = "",
        sources: Sources | None = None,
        policy: ThemePolicy | None = None,
    ) -> WriteVerdict:
        """Check content under an existing target, as `check_fact` does."""
        policy = policy or self.policies.for_theme(theme)
        suspected = find_suspicion(target, content) if policy.quarantine else None
        if suspected is not None and sources is not None:
            rule = sources.rule(theme, source)
            if rule == "never":
                raise SourceRefused(
                    f"it {suspected.what}, and a person has ruled that nothing suspicious from {source!r} is kept "
                    f"in theme {theme!r}; tell the user if it matters",
                    source,
                )
            if rule == "always":
                suspected = None
        return WriteVerdict(*self._mask_secrets(theme, target, content, policy.secrets), suspicion=suspected)

    def check_name(self, theme: str, what: str, name: str, policy: ThemePolicy | None = None) -> None:
        """Check a name, which is listed in clear text.

        :raises SecretRefused: it contains a secret
        :raises NameRefused: it reads like an instruction
        """
        policy = policy or self.policies.for_theme(theme)
        found = find_secret_texts("", name) if policy.secrets != "allow" else []
        if found:
            raise SecretRefused(
                f"{what} holds a secret ({format_secret_shape(found[0])}); write it as the content",
                format_secret_shape(found[0]),
            )
        suspected = find_name_suspicion(name) if policy.quarantine else None
        if suspected is not None:
            raise NameRefused(f"{what} {suspected.what}; name what the fact is about", suspected.rule)

    def mask(self, theme: str, about: str, content: str) -> WriteVerdict:
        """Mask only the secrets: for turns, which are stored verbatim and recalled as what somebody said."""
        return WriteVerdict(*self._mask_secrets(theme, about, content, self.policies.for_theme(theme).secrets))

    def _mask_secrets(self, theme: str, target: str, content: str, policy: str) -> tuple[str, tuple[str, ...]]:
        if policy == "allow":
            return content, ()
        spans = find_secrets(target, content)
        if not spans:
            return content, ()
        if policy == "refuse":
            raise SecretRefused(
                f"this holds a secret ({format_secret_shape(content[slice(*spans[0])])}), "
                f"and the theme keeps none; write where it is "
                "kept instead",
                target,
            )
        known = find_mark_names(content)
        names = []
        for start, end in spans:
            kept = self.vault.take(theme, target, content[start:end], besides=known)
            if kept is None:
                names.append(NOT_KEPT)
                continue
            if kept.fresh and self._fresh is not None:
                self._fresh.append(kept)
            names.append(kept.name)
        marks = [to_secret_placeholder(name) for name in names]
        return replace_text_spans(content, zip(spans, marks, strict=True)), tuple(dict.fromkeys(names))


def to_secret_placeholder(name: str) -> str:
    """Return the placeholder of a secret in a fact."""
    return f"‹secret:{name}›"


def format_secret_shape(secret: str) -> str:
    """Describe a secret safely: its length, and of a long one its beginning."""
    return f"{secret[:3] if len(secret) >= LONG_ENOUGH else ''}…, {len(secret)} characters"
