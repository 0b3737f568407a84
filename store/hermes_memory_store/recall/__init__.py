"""The one recall: what of a memory answers a question, and what a session is given at its start.

`recall.py` ranks facts and turns for a question, `given.py` says what is given and why.
"""
