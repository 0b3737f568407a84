"""Random histories of a team: what several machines do and exchange, played from a seed and checked when all is at rest.

`python -m tests.tools.histories --help` runs many of them. A history is data (`steps.py`) made from its seed alone, so that
a failing one can be played again and made smaller (`shrinking.py`); `player.py` plays it, `checks.py` says what must hold.
"""
