"""Move memories in and out: MEMORY_SPEC, JSONL, hermes-memory 0.3.0 and, in `importers`, the files of other programs.

May import store. Read `export_import.py` first.
"""
