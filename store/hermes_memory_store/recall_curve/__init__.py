"""How much of what answers a question is given, at one budget after another.

May import recall, store and what is below. Read `evidence_curve.py` first; `conversation_file.py` reads what is measured.
"""
