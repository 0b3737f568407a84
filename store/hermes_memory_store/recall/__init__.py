"""What is given of a memory: items with reasons for the answer to a question, and what a session is given at its start.

May import context, quick and what is below. Read `given.py` first.
"""
