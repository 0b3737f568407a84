"""Score a text as an order to an agent: signals of what it demands, learned weights, and a closed list of orders.

Pure Python without a model; the weights are data made by `python -m tests.tools.train_scorer`. May import the modules of
`intake`. Read `score_check.py` first.
"""
