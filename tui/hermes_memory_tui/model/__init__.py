"""Hold what the screens work on: the store facade `Memory`, bulk actions with previews, exports, the catalogue of views.

Imports `text` and `system`; no widget, no screen. Read `memory.py` first.
"""
