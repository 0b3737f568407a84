"""Import memories of other programs: one module reads each format, `import_run.py` restores what it read.

Imports the standard library and the store's own files; the command line and scripts call `import_foreign_memory`.
Read `import_batch.py` first.
"""

from __future__ import annotations

from hermes_memory_store.files.importers.formats import KINDS, detect_format, find_usual_place
from hermes_memory_store.files.importers.import_run import ForeignImportReport, import_foreign_memory

__all__ = ["KINDS", "ForeignImportReport", "detect_format", "find_usual_place", "import_foreign_memory"]
