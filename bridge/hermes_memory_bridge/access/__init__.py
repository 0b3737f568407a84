"""Who may connect over HTTP: the gate in front of it, identity, limits, refusals.

May import runtime and wire. Read `gate.py` first.
"""
