"""Whether a write can be trusted: instructions in disguise wait for a person, and secrets go to the keyring.

Facts are data, but what is recalled stands in a prompt, where a sentence that commands may be obeyed long after the
conversation that planted it. Nothing here asks a model or the network.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass
from typing import Self

from hermes_memory_bridge.trust.screening import Suspicion, suspicion, suspicion_of_name
from hermes_memory_bridge.trust.secrets import find_secrets, secrets_in
from hermes_memory_bridge.trust.spans import mark_names, replace_spans
from hermes_memory_bridge.trust.vault import Kept, Vault
from hermes_memory_store.errors import InputError
from hermes_memory_store.sources import Sources
from hermes_memory_themes import Policies, Policy

__all__ = ["NameRefused", "SecretRefused", "SourceRefused", "Suspicion", "Trust", "Vault", "Verdict", "placeholder"]


log = logging.getLogger(__name__)


LONG_ENOUGH = 12
"""Characters from which on the first three of a secret give nothing away."""


class SecretRefused(InputError):
    """The theme's policy keeps no secrets."""

    code = "secret.refused"


class NameRefused(InputError):
    """A target or scope reads like an instruction. Names are listed beside facts and cannot wait for a person as those do."""

    code = "name.refused"


class SourceRefused(InputError):
    """A person has ruled that nothing suspicious is kept of this source."""

    code = "source.refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a write."""

    content: str
    """What may be kept of it: secrets are masked."""
    masked: tuple[str, ...] = ()
    """Names under which the vault has them."""
    suspicion: Suspicion | None = None
    """Why it must wait for a person."""


class Trust:
    """Screens writes by the policy of their theme."""

    def __init__(self, policies: Policies, vault: Vault) -> None:
        self.policies = policies
        self.vault = vault
        self._fresh: list[Kept] | None = None

    def for_one_call(self) -> Self:
        """The same, remembering what it newly kept until the call is through."""
        one = copy.copy(self)
        one._fresh = []
        return one

    def take_back(self) -> None:
        """The call failed: no fact stands for what was newly kept for it, so it is taken out of the vault again.

        Call it before the next write runs: that may come to need the same secret, and would find it.
        """
        while self._fresh:
            kept = self._fresh.pop()
            try:
                self.vault.forget(kept.theme, kept.name)
            except Exception:
                log.exception("the secret %r of theme %s is kept although its fact is not", kept.name, kept.theme)

    def screen(
        self,
        theme: str,
        target: str,
        content: str,
        *,
        source: str = "",
        sources: Sources | None = None,
        policy: Policy | None = None,
    ) -> Verdict:
        """Look at a fact before it is written.

        :param source: the program that writes it
        :param sources: what a person has ruled about programs; without it every suspicious fact waits
        :param policy: what holds for the theme, where the caller has looked it up
        :raises SourceRefused: it is suspicious, and a person has ruled that nothing suspicious of this source is kept
        :raises SecretRefused: it holds a secret, and the policy keeps none
        :raises VaultError: it holds a secret that could not be kept
        """
        policy = policy or self.policies.for_theme(theme)
        self.check_name(theme, "the target", target, policy)
        return self.look(theme, target, content, source=source, sources=sources, policy=policy)

    def look(
        self,
        theme: str,
        target: str,
        content: str,
        *,
        source: str = "",
        sources: Sources | None = None,
        policy: Policy | None = None,
    ) -> Verdict:
        """As `screen`, under a target that stands already."""
        policy = policy or self.policies.for_theme(theme)
        suspected = suspicion(target, content) if policy.quarantine else None
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
        return Verdict(*self._masked(theme, target, content, policy.secrets), suspicion=suspected)

    def check_name(self, theme: str, what: str, name: str, policy: Policy | None = None) -> None:
        """Look at a name, which stands in clear wherever it is listed. :raises SecretRefused: NameRefused"""
        policy = policy or self.policies.for_theme(theme)
        found = secrets_in("", name) if policy.secrets != "allow" else []
        if found:
            raise SecretRefused(f"{what} holds a secret ({shape(found[0])}); write it as the content", shape(found[0]))
        suspected = suspicion_of_name(name) if policy.quarantine else None
        if suspected is not None:
            raise NameRefused(f"{what} {suspected.what}; name what the fact is about", suspected.rule)

    def mask(self, theme: str, about: str, content: str) -> Verdict:
        """Only the secrets: for turns, which are kept word for word and recalled as what somebody said."""
        return Verdict(*self._masked(theme, about, content, self.policies.for_theme(theme).secrets))

    def _masked(self, theme: str, target: str, content: str, policy: str) -> tuple[str, tuple[str, ...]]:
        if policy == "allow":
            return content, ()
        spans = find_secrets(target, content)
        if not spans:
            return content, ()
        if policy == "refuse":
            raise SecretRefused(
                f"this holds a secret ({shape(content[slice(*spans[0])])}), and the theme keeps none; write where it is "
                "kept instead",
                target,
            )
        known = mark_names(content)
        names = []
        for start, end in spans:
            kept = self.vault.take(theme, target, content[start:end], besides=known)
            if kept.fresh and self._fresh is not None:
                self._fresh.append(kept)
            names.append(kept.name)
        marks = [placeholder(name) for name in names]
        return replace_spans(content, zip(spans, marks, strict=True)), tuple(dict.fromkeys(names))


def placeholder(name: str) -> str:
    """What stands for a secret in a fact."""
    return f"‹secret:{name}›"


def shape(secret: str) -> str:
    """A secret as it may be mentioned: how long it is, and of a long one how it begins."""
    return f"{secret[:3] if len(secret) >= LONG_ENOUGH else ''}…, {len(secret)} characters"
