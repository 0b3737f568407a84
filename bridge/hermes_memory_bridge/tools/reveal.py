"""`memory_reveal`: the secret behind a masked fact, for a token that may."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer, NotThere
from hermes_memory_bridge.arguments import Arguments, text
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_bridge.trust import placeholder


def memory_reveal(connection: Connection, arguments: Arguments) -> Answer:
    """Take one secret of this theme out of the vault."""
    name = text(arguments, "name").removeprefix("‹secret:").removesuffix("›")
    secret = connection.trust.vault.reveal(connection.theme, name) if connection.trust is not None else None
    if secret is None:
        raise NotThere(placeholder(name))
    return Answer(secret, {"name": name, "secret": secret})


SPEC = ToolSpec(
    name="memory_reveal",
    title="Reveal a masked secret",
    description="The secret that a placeholder such as ‹secret:stripe› stands for. Needs a token with the right `secrets`.",
    arguments={"name": {"type": "string", "description": "The name in the placeholder."}},
    required=("name",),
    gives={"name": {"type": "string"}, "secret": {"type": "string"}},
    handler=memory_reveal,
    about="name",
    reads_only=True,
    repeatable=True,
    group="all",
    needs="secrets",
)
