"""Find what answers: facts by words and filters, facts and turns in one recall, query syntax, ranking, vectors.

May import recall, context, quick, projects and what is below; opens no connection. Read `search.py` first, then `recall.py`.
"""
