"""What a memory does with facts, scopes, sessions and tiers, and how a change is undone.

May import rows, language, notation and what is below. Read `facts.py` first, then `write_rules.py`.
"""
