"""Work on the store file, its hosts and this program: backup, import and export, connect, demo, completion.

Imports the helpers of `cli`; each module is imported when its command is called. Read `store_commands.py` first.
"""
