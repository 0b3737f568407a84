"""Examine a store, rebuild what can be rebuilt, and name the processes that have it open.

May import store. Read `doctor.py` first.
"""
