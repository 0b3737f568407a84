"""Commands that work on the store file, its hosts and this program: backup, import, export, connect, demo, completion.

May import the helpers of `cli`. Read `store_commands.py` first.
"""
