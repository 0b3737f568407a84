"""The store over time: the transaction log, its replay, and the store as of a past moment.

May import store. Read `time_travel.py` first.
"""
