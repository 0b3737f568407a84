"""Read and change what is in a store: facts, scopes, sessions, conversations, the journal.

Imports the helpers of `cli`; each module is imported when its command is called. Read `read_commands.py` first.
"""
