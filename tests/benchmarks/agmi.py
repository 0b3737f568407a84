"""agmi, the at-rest edits of the package `agent-memory-integrity`, against what an agent is given and against the doctor.

    pip install agent-memory-integrity
    python -m tests.benchmarks.agmi

Its attacker writes to the folder of the store. What an agent is given is the context block and a search for everything: an edit
is rejected where the block says that something is not as it was written, and neither repeats what was edited.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from agmi.adapters.base import MemoryAdapter, Record
from agmi.check import run

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.store import Store

OWN, OTHER = "own", "other"
PLACE = ("id", "uid", "theme", "theme_id", "scope_id")


class Given(MemoryAdapter):
    """What an agent is given."""

    name = "given to an agent"
    supports_replay = supports_metadata = supports_snapshot = True

    def setup(self) -> None:
        self.home = tempfile.TemporaryDirectory()
        os.environ["XDG_STATE_HOME"] = os.path.join(self.home.name, "state")
        self.folder = Path(self.home.name, "store")
        self.folder.mkdir()
        self.store = Store.open(self.folder / "memory.db")
        self.written: set[str] = set()

    def teardown(self) -> None:
        self.store.close()
        self.home.cleanup()

    def write(self, theme: str, count: int) -> None:
        for number in range(count):
            content = f"{theme} {len(self.written)} holds {50 + number}"
            self.store.facts.write(theme, f"V[{theme}.{len(self.written)}]: {content}")
            self.written.add(content)

    def seed(self, n: int) -> None:
        self.write(OWN, n)

    def seed_other(self, n: int) -> None:
        self.write(OTHER, n)

    def append_genuine(self) -> None:
        self.write(OWN, 1)

    def reload(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "memory.db")

    def change(self, sql: str, values: Any = ()) -> None:
        with closing(sqlite3.connect(self.folder / "memory.db")) as conn, conn:
            conn.execute(sql, values)

    def read(self, theme: str) -> list[Record]:
        sql = (
            "SELECT f.*, t.name AS theme FROM facts f JOIN themes t ON t.id = f.theme_id WHERE t.name = ? ORDER BY f.id"
        )
        with closing(sqlite3.connect(self.folder / "memory.db")) as conn:
            conn.row_factory = sqlite3.Row
            return [Record(seq, dict(row)) for seq, row in enumerate(conn.execute(sql, (theme,)))]

    def read_all_raw(self) -> list[Record]:
        return self.read(OWN)

    def read_other_raw(self) -> list[Record]:
        return self.read(OTHER)

    def write_raw(self, record: Record) -> None:
        rows = self.read(OWN)
        columns = {name: value for name, value in record.fields.items() if name not in PLACE}
        if record.seq < len(rows):
            columns.pop("target")  # the place of a row in its index
            self.update(rows[record.seq], columns)
            return
        last = rows[-1].fields
        columns |= {"id": last["id"] + 1, "uid": os.urandom(16), "target": "forged"}
        columns |= {name: last[name] for name in ("theme_id", "scope_id")}
        marks = ", ".join("?" * len(columns))
        self.change(f"INSERT INTO facts ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))

    def update(self, row: Record, columns: dict[str, Any]) -> None:
        assignments = ", ".join(f"{name} = ?" for name in columns)
        self.change(f"UPDATE facts SET {assignments} WHERE id = ?", (*columns.values(), row.fields["id"]))

    def delete_raw(self, seq: int) -> None:
        self.change("DELETE FROM facts WHERE id = ?", (self.read(OWN)[seq].fields["id"],))

    def mutate_payload(self, record: Record) -> Record:
        record.fields["content"] += " and a forged word"
        return record

    def payload_of(self, record: Record) -> str:
        return str(record.fields["content"])

    def owner_of(self, record: Record) -> str:
        return str(record.fields["theme"])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self.update(self.read(OWN)[victim_seq], {"content": donor.fields["content"]})

    def read_meta(self, seq: int) -> dict[str, Any]:
        return dict(json.loads(self.read(OWN)[seq].fields["origin_detail"] or "{}"))

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        self.update(self.read(OWN)[seq], {"origin_detail": json.dumps(meta)})

    def snapshot_store(self) -> Path:
        self.store.close()
        copy = Path(self.home.name, "copy")
        shutil.copytree(self.folder, copy)
        self.store = Store.open(self.folder / "memory.db")
        return copy

    def restore_store(self, token: Any) -> None:
        self.store.close()
        shutil.rmtree(self.folder)
        shutil.copytree(token, self.folder)
        self.store = Store.open(self.folder / "memory.db")

    def verify(self) -> bool:
        block = self.store.context.status(OWN, record=False)
        found = self.store.recall.rank([OWN], "own other holds forged", kinds=("fact",)).items
        contents = {fact.content for fact in (*block.facts, *(item.fact for item in found if item.fact is not None))}
        assert contents <= self.written, contents - self.written
        return block.doubt is None


class Audited(Given):
    """What the doctor says."""

    name = "examined by the doctor"
    detection_point = "audit"

    def verify(self) -> bool:
        return all(check.ok for check in examine_store(self.store))


def main() -> int:
    adapters = (Audited(), Given())
    columns = [run(adapter) for adapter in adapters]
    lines = [f"| edit | {' | '.join(adapter.name for adapter in adapters)} |", "| --- | --- | --- |"]
    for row in zip(*columns, strict=True):
        lines.append(f"| {row[0]['edit']} | {' | '.join(cell['verdict'].lower() for cell in row)} |")
    print(*lines, sep="\n")
    print(
        *[cell["detail"] for cells in columns for cell in cells if cell["verdict"] in ("ERROR", "NOT EVALUABLE")],
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
