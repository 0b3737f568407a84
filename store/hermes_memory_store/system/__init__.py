"""What is asked of the operating system: private files, handles, locks, processes. Another system changes this folder alone.

May import errors. Read `filesystem.py` first.
"""
