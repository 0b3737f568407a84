"""The one recall: what of a memory answers a question, and what a session is given at its start.

May import search, conversations, context, quick and what is below. Read `given.py` first, then `recall.py`.
"""
