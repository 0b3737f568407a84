"""Commands about recall: what an agent is given for a question, how much of the evidence that is, and tests of a memory.

May import the helpers of `cli`. Read `recall_commands.py` first.
"""
