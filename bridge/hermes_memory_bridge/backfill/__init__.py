"""Backfill: sessions that lie on the disk of this machine become captured messages.

May import the store, `connect` and `hook_service`. Read `disk_sessions.py` first.
"""
