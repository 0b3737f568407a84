"""Backups and purges: copies of the store, and how what is purged leaves all of them.

May import search, host_files and what is below. Read `purge.py` first.
"""
