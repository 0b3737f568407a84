"""The store's half of team sync: versions, clocks, pending rows, conflicts; how versions are validated and applied.

Opens no connection and knows no screen. May import conversations and what is below. Read `merge.py` first, then `standing.py`
and `apply.py`.
"""
