"""The memory files that agent hosts read beside the memory. Read `files_view.py`."""
