"""MEMORY_SPEC: the one-line notation of a fact, its abbreviations, shortened prose, and what a text costs in tokens.

May import errors, model and safe_text. Read `memory_spec.py` first.
"""
