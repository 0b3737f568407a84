"""Meaning: vectors of facts, turns and questions, from an endpoint or a model on this machine, and what is near them.

Everything here is extra. Without a model, or while it does not answer, recall ranks by words and says so; nothing of it ever
fails a read or a write. Imports the store, and `httpx` and `numpy` only inside functions. Read `meaning.py` first.
"""

from __future__ import annotations
