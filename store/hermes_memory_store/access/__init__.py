"""Who may call, and by which policy: tokens, idempotency keys, policies of themes.

May import rows and what is below. Read `credentials.py` first.
"""
