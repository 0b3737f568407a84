"""Commands that read and change what is in a store: facts, scopes, sessions, conversations, the journal.

May import the helpers of `cli`. Read `read_commands.py` first.
"""
