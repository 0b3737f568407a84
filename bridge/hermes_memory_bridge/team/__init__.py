"""The team database: a background exchange of rows between this machine's store and a Postgres that a team shares.

All SQL of that database stands here and nowhere else. psycopg is the extra `team`: nothing outside of this package imports
it, and the bridge imports this package only where a team database is named. Read `server.py` for what is said to the
database, `syncer.py` for when.
"""
