"""Every command of the team database's owner, run as a process on a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bridge.team.conftest import Database
from tests.bridge.team.machines import Machine, team


def test_every_owner_command_answers(empty: Database, tmp_path: Path) -> None:
    role = f"{empty.name}_runtime"

    def answer(machine: Machine, *words: str, given: str) -> Any:
        done = machine.command("team", *words, "--json", given=given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    with team(tmp_path, None) as (here,):
        migrated = answer(here, "migrate", "--runtime-role", role, "--dimension", "32", given=empty.admin)
        assert migrated["members"] == [
            {"role": role, "logs_in": True, "themes": [], "reads": [], "curates": [], "until": None}
        ]
        assert answer(here, "open", role, "sales", "--read", "law", given=empty.admin)["reads"] == ["law"]
        assert answer(here, "open", role, "support", given=empty.admin)["themes"] == ["support"]
        members = answer(here, "members", given=empty.admin)["members"]
        assert [(one["themes"], one["reads"]) for one in members] == [(["sales", "support"], ["law"])]
        assert answer(here, "restrict", role, "marketing", given=empty.admin) == {"role": role, "themes": ["marketing"]}
        assert answer(here, "restrict", role, given=empty.admin) == {"role": role, "themes": ["*"]}
        assert answer(here, "index", given=empty.admin) == {"indexed": []}
        assert answer(here, "collect", given=empty.admin) == {"collected": [], "rewritten": [], "left": []}
        answer(here, "connect", "-", given=empty.runtime + "\n")
        canary = answer(here, "verify", "--canary", given=empty.admin)["canary"]
        assert canary == {"words": 100, "before": 100, "found": [], "left": []}
        assert answer(here, "status", given="")["dimension"] == 32
