"""Hooks in files of hosts: put in, taken out, trusted, and checked to have run.

May import connect's files of hosts, wire and the store. Read `hook_edit.py` first.
"""
