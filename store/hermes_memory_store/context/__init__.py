"""What a session is given of a memory: chosen, packed into a budget of tokens, fenced, and recorded.

What a program that a host starts imports of it needs no `Store`. Read `start_choice.py` first, then `context_block.py`.
"""
