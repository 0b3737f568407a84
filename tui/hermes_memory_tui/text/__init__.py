"""Format text for the screen: ages, counts, columns, highlighting and query completion.

Imports the types of the store; no screen and no other package of this room.
Read `display_formats.py` first.
"""
