"""Ask one question each: a text, a confirmation, a choice.

Imports `widgets` and the packages below it. Read `modal.py` first, then `question.py`.
"""
