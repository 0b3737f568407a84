"""What an MCP host's process runs before a bridge answers: the shim, dialing, paths, peers.

The standard library alone; the provider's copies are made from these files. Read `shim.py` first.
"""
