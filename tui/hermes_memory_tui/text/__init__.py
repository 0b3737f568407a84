"""Format text for the screen: ages, counts, columns, highlighting, query completion.

May import the store's types; no other package of this room. Read `display_formats.py` first.
"""
