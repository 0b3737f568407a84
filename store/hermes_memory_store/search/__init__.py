"""Find facts by words and filters: query syntax, query terms, vocabulary, ranking, the scan without an index, embedding inputs, vectors.

May import context and what is below; opens no connection. Read `search.py` first.
"""
