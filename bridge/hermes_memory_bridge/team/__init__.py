"""The team database: background sync of rows between this machine's store and a team's PostgreSQL database.

All SQL of that database is in this package and nowhere else. psycopg is the extra `team`: nothing outside of this
package imports it, and the bridge imports this package only if a team database is configured. See
`database/team_server.py` for the statements, `syncer.py` for the timing.
"""
