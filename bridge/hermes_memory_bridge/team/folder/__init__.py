"""Sync through a shared folder: encrypted segments that something else carries from machine to machine.

No server and no driver. May import trust, wire and the states of a sync. Read `segment.py` first.
"""
