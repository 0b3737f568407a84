"""*Now*: what goes on in the memory, and while it is empty what can be done about that.

May import `views`. Read `now_view.py` first.
"""
