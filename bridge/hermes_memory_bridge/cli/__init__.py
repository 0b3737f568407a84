"""The command line, one file a group of commands; the only package beside `__main__` that imports click.

May import everything of this room. Read `bridge_commands.py` first.
"""
