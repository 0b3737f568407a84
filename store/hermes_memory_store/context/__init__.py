"""What an agent is given: the context block within its token budget, the log of reads, and records of what each session saw.

May import memory and what is below. Read `context_block.py` first.
"""
