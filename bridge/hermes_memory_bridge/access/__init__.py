"""Who may connect over HTTP: the gate in front of it, identity, limits, refusals.

May import runtime and launcher. Read `gate.py` first.
"""
