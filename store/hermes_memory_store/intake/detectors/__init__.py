"""Detectors of what must not come in as it is: orders to agents, claims, secrets, hidden characters. No network, no model.

Each module with a `DETECTOR` is one, and one more is one more file here. What they look for stands in the text files
beside them. They import the modules of `intake` below them and the store's `model`. Read `../detector.py` first.
"""
