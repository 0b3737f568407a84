"""Content checks: rules that find secrets and disguised instructions in a text, and hidden characters.

Rules only: they read a text and say what they found; no file, no network, no model. May import nothing of the store but
`safe_text`. Read `injection_check.py` first.
"""
