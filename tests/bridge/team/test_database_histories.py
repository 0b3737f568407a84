"""Random histories through the functions of a real PostgreSQL end as those through a server in memory do.

A fixed portion; `python -m tests.tools.histories --carrier database --count 5000` plays fresh ones.
"""

from __future__ import annotations

from functools import partial

from tests.bridge.team.conftest import Database
from tests.tools.histories.database_player import DatabasePlayer
from tests.tools.histories.player import play
from tests.tools.histories.steps import BROUGHT_BACK, make_history


def test_histories_through_a_database_end_with_the_same_on_every_machine(database: Database) -> None:
    player = partial(DatabasePlayer, owner_dsn=database.admin, runtime_dsn=database.runtime)
    for history in (BROUGHT_BACK, *map(make_history, range(1, 7))):
        play(history, player=player)
