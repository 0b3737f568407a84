"""For all tests: random ones try the same cases in every run, so that a failure is a change's own.

`HYPOTHESIS_PROFILE=explore` tries others each time, which is how new cases are found.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, print_blob=True)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
