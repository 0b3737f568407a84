"""Commands that say what goes on now, and what days are like. Read `now_commands.py` first."""
