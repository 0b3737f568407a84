"""What the screens work on: the store facade `Memory`, bulk actions with their previews, exports, upgrades.

May import text and system; no widget, no screen. Read `memory.py` first.
"""
