"""Rows of the tables as data, and the one way to change them: names as integer keys, the journal, mutations, pages of facts.

May import database, notation and what is below. Read `mutation.py` first.
"""
