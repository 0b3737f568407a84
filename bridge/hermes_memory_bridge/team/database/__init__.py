"""The SQL of the team database, and the one connection to it; the only package that imports psycopg.

May import the store. Read `team_server.py` first.
"""
