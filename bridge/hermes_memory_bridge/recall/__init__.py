"""What answers a connection, in every theme that it may read, and what the team alone has.

Opens no connection. May import toolkit and `embedding.query_vector`. The ranking is the store's.
Read `connection_recall.py` first.
"""
