"""The memory itself: typed facts, scopes, tiers, sessions and the journal, in one SQLite file.

No network and no screen: this package imports `hermes_memory_themes`, sqlite-utils and the standard library only,
and is usable as a library on its own. The bridge, the inspector and the command line call it; it calls none of them.
Read `store.py` first: `Store` opens a file and hands out the nouns (`store.facts`, `store.scopes`, `store.journal` …).
"""
