"""Hybrid ranking of facts and turns by words and vectors.

Opens no connection. May import toolkit and `embedding.query_vector`. Read `hybrid.py` first.
"""
