"""Answers a recall from the team database.

May import team.database, runtime and toolkit. Read `team_search.py` first.
"""
