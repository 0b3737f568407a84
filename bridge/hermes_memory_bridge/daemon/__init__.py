"""The process: life cycle, control socket, logs, service unit, status.

May import everything of this room but client and cli. Read `daemon.py` first.
"""
