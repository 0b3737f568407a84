"""Content checks: the intake every text passes, and the rules that find secrets, disguised instructions and hidden characters.

The rules read a text and say what they found; no file, no network, no model. They import nothing of the store but
`safe_text`; the intake knows notation and errors besides. Read `intake.py` first.
"""
