"""`memory_reveal`: the secret behind a masked fact, for a token with the right to it."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import Arguments, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, UnknownResource
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_store.intake.spans import to_secret_placeholder


def memory_reveal(connection: Connection, arguments: Arguments) -> ToolResult:
    """Reveal one secret of this theme from the vault."""
    name = parse_text_argument(arguments, "name").removeprefix("‹secret:").removesuffix("›")
    vault = connection.store.intake.vault
    secret = None if vault is None else vault.reveal(connection.theme, name)
    if secret is None:
        raise UnknownResource(to_secret_placeholder(name))
    return ToolResult(secret, {"name": name, "secret": secret})


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
