"""The basket as a view: the gathered changes, and what would come of them.

May import `views`. Read `basket_view.py` first.
"""
