"""Adding the bridge to an MCP host's configuration without losing a comment in it, and removing it again."""
