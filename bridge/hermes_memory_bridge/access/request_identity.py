"""The identity of an admitted request."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_memory_store.access.credentials import Credential
from hermes_memory_store.model import Rights


@dataclass(frozen=True, slots=True)
class Identity:
    """The theme a request may access, and its rights."""

    theme: str
    rights: Rights = Rights()
    credential_shown: Credential | None = None
    """The token presented, as the store had it at that time; None for a process of this user on a unix socket."""
    pid: int | None = None
    is_placed: bool = False
    """Whether its theme is that of the folder it works in: nobody named one."""

    @property
    def credential(self) -> str | None:
        return None if self.credential_shown is None else self.credential_shown.name

    @property
    def client(self) -> str:
        """Return the client for counting and for messages: the token, or the process of this user."""
        return f"process {self.pid}" if self.credential_shown is None else f"token {self.credential_shown.name!r}"

    @property
    def account(self) -> str:
        """Return the owner of a session.

        Another token, another secret of the same token or another theme cannot resume it.
        """
        return f"theme {self.theme}" if self.credential_shown is None else f"token {self.credential_shown.digest.hex()}"
