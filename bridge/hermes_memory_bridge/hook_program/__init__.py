"""The program that hosts run at a start, a prompt, a compaction, a turn and an end. Standard library alone.

May import wire. Read `program.py` first.
"""
