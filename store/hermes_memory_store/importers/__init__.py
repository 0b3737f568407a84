"""Memories of other programs, brought in as facts and turns: one module reads each format, `running.py` brings in what it read.

Imports the standard library and the store's own files; the command line and scripts call `bring`. Read `running.py` first.
"""

from __future__ import annotations

from hermes_memory_store.importers.recognising import KINDS, recognise
from hermes_memory_store.importers.running import ForeignReport, bring
from hermes_memory_store.importers.taking import Screen, Screened

__all__ = ["KINDS", "ForeignReport", "Screen", "Screened", "bring", "recognise"]
