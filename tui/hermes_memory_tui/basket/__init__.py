"""The basket: changes that are gathered before they are done, tried together, and done as one or not at all.

May import `model` and `text`. Read `pending_changes.py` first.
"""
