"""Relieve MEMORY.md and USER.md: shorten entries, or move them to the store.

May import store and host_files. Read `file_relief.py` first.
"""
