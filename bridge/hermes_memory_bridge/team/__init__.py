"""The team database: background sync of rows between this machine's store and a team's PostgreSQL database.

Knows no screen and no protocol. All SQL of that database is in `team.database`, the only package that imports
psycopg (the extra `team`); the bridge imports this package only if a team database is configured. May import
runtime, toolkit, trust and wire. Read `syncer.py` first for the timing, `database/team_server.py` for the
statements.
"""
