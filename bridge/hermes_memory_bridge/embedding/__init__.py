"""Embeddings: vectors of facts, turns and queries from an endpoint or a local model, and what is near them.

All of it is optional. Without a model, or while it does not answer, recall ranks by words and says so; nothing
here ever fails a read or a write. `query_vector` is what recall sees of it. May import the store and trust, and
`httpx` and `numpy` only inside functions. Read `embedder.py` first.
"""

from __future__ import annotations
