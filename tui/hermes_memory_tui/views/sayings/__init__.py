"""Why an agent said something: the facts that its words most likely came from, and what it was given before.

May import `views`. Read `saying_view.py` first.
"""
