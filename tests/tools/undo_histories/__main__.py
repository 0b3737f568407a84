"""Play random histories of undo until one fails: `python -m tests.tools.undo_histories --count 5000 --jobs 2`."""

from __future__ import annotations

import sys
from functools import partial

from tests.tools.histories.__main__ import parser, run
from tests.tools.undo_histories.undo_player import SHAPES, try_undo_seed

if __name__ == "__main__":
    made = parser("tests.tools.undo_histories", __doc__)
    made.add_argument("--shape", choices=[*SHAPES], default="", help="only crowded places, or the longest histories")
    options = made.parse_args()
    sys.exit(run(options, partial(try_undo_seed, seconds=options.shrink, shape=options.shape)))
