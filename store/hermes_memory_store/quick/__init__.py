"""What a program that is started for each call reads of a store: the standard library alone, and no other part of the store.

Read `hot_context.py` first.
"""
