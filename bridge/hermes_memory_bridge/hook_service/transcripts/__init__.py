"""Transcripts of hosts: where a piece of one is read, and what user and assistant said in a line of each form.

May import the store. Read `transcript_file.py` first.
"""
