"""Naming the bridge in the configuration of an MCP host, without losing a comment of it, and taking it out again."""
