"""Lists: rows with a cursor, marks, columns, an order and a filter.

May import the store, `text` and `widgets`. Read `line_list.py` first.
"""
