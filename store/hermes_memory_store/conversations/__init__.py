"""Captured turns: stored, found and erased.

May import upkeep, search and what is below. Read `turns.py` first.
"""
