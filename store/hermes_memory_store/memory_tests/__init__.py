"""Tests of a memory: what must be given for a question or at a start, what must never be, within how many tokens.

May import recall, history, transfer, store and what is below. Read `memory_case.py` first, then `case_file.py` and `case_run.py`.
"""
