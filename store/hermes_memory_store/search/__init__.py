"""Find facts by words and filters: query syntax and terms, vocabulary, ranking, the scan without an index, vectors.

May import context and what is below; opens no connection. Read `search.py` first.
"""
