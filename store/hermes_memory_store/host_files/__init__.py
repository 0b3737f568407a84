"""MEMORY.md, USER.md and ARCHIVE.jsonl of a hermes-agent host: read, measured, replaced and copied. Knows no database.

May import notation and what is below. Read `memory_files.py` first.
"""
