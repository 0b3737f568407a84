"""The memory files that agent hosts read beside the memory.

May import `views`. Read `files_view.py` first.
"""
