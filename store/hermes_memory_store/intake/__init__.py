"""The intake every text passes, and the detectors of secrets, orders, claims and hidden characters.

Detectors read a text and say what they found; the intake, which knows notation and errors besides, says what becomes of
it. Words and patterns stand in the text files, read at the first text that is looked through. Read `intake.py` first.
"""
