"""Hooks in files of hosts: put in, taken out, trusted, and checked to have run.

May import connect's files of hosts, the launcher and the store. Read `hook_edit.py` first.
"""
