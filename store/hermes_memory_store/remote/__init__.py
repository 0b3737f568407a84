"""Facts and turns of another memory as a `Store` in this process's memory, so that the same search answers.

May import store. Read `remote_facts.py` first.
"""
