"""Agent memory in one SQLite file: typed facts, scopes, tiers, sessions and the journal.

No network and no user interface: this package imports `hermes_memory_themes`, sqlite-utils and the standard
library only, and can be used as a library on its own. The bridge, the inspector and the command line call it; it
calls none of them. Read `store.py` first: `Store` opens a file and gives access to its parts (`store.facts`,
`store.scopes`, `store.journal` …).
"""
