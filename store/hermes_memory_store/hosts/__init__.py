"""What is known of agent hosts: their sessions and windows, what they were given, and whether what is said may be kept.

May import rows and what is below. Read `host_sessions.py` first.
"""
