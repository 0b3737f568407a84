"""Changes to the configuration of MCP hosts: the bridge's entry is added and removed without losing a comment.

May import the store, provider and wire. Read `host_connection.py` first.
"""
