"""Draw data and post messages: a widget never reads the store.

Imports `text`, `system` and the types of `model`. Read `lists/line_list.py` first.
"""
