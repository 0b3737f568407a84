"""Where something is: the project, branch and theme of a folder, and what is read there. Standard library alone.

Nothing here opens a store: a reader hands in a function that runs a statement. Read `place_reading.py` first.
"""
