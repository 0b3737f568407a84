"""Recall over a team database: vectors inside one theme of many, and whole questions.

python -m tests.benchmarks.team_recall [--facts 100000] [--themes 50] [--questions 200]

Needs the extras `team`, `team-dev` and `local`. Themes are of very different size; asked are the smallest and the largest, as the
role of the stores. The floor of the same run, taking turns: the plain statement over a copy with one HNSW index of all themes.
What is right is said by comparing every vector of the theme in numpy. Vectors are drawn around a few thousand points in a space
of 64 dimensions, so that near ones are about as near as those of sentences are.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from hermes_memory_bridge.embedding.vector_index import pack_unit_vector
from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import index_large_themes, migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.search import fact_queries
from hermes_memory_bridge.team.vector_upload import to_vector_literal
from hermes_memory_store.access.store_policies import StorePolicies
from hermes_memory_store.clock import system_clock
from hermes_memory_store.remote.remote_facts import build_remote_fact_store
from tests.benchmarks.timing import table

DIMENSIONS, MODEL, WANTED = 384, "drawn:384", 10

PLAIN = "SELECT id::text FROM hm.everybody WHERE theme = %s ORDER BY embedding <=> %s::halfvec LIMIT 10"

EXACT = "SELECT id::text FROM hm.vector WHERE theme = %s ORDER BY (embedding <=> %s::halfvec) + 0 LIMIT 10"

WORDS = [f"word{n}" for n in range(5_000)]


@dataclass
class Corpus:
    """What is in the database."""

    ids: list[str]
    themes: Any
    vectors: Any

    def nearest(self, theme: int, asked: Any) -> set[str]:
        """What is right."""
        inside = np.where(self.themes == theme)[0]
        return {self.ids[at] for at in inside[np.argsort(-(self.vectors[inside] @ asked))[:WANTED]]}


def drawn(count: int, chance: Any) -> Callable[[int], Any]:
    """A source of vectors of length one."""
    basis = chance.normal(size=(64, DIMENSIONS)).astype(np.float32)
    points = chance.normal(size=(max(20, count // 50), 64)).astype(np.float32)

    def some(number: int) -> Any:
        inner = points[chance.integers(0, len(points), number)] + 0.9 * chance.normal(size=(number, 64))
        found = (inner @ basis + 2.0 * chance.normal(size=(number, DIMENSIONS))).astype(np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    return some


def sizes_of(facts: int, themes: int) -> list[int]:
    """Skewed: each theme about as large as the first divided by its place."""
    shares = np.array([(place + 1) ** -0.9 for place in range(themes)])
    sizes = np.maximum(shares / shares.sum() * facts, 1).astype(int)
    sizes[0] += facts - sizes.sum()
    return [int(size) for size in sizes]


def fill(dsn: str, sizes: Sequence[int], vectors: Any) -> Corpus:
    """Facts of ten words, and their vectors."""
    chance = random.Random(7)
    themes = np.repeat(np.arange(len(sizes)), sizes)
    np.random.default_rng(8).shuffle(themes)
    ids = sorted(str(uuid.UUID(int=chance.getrandbits(128))) for _ in themes)
    now = system_clock()
    attrs = (
        '{{"type": "V", "target": "a{0}.b", "scope": null, "tier": "cold", "pinned": false, "created_at": {1}, "updated_at": {1},'
        ' "superseded_by": null, "cooled_by": null, "by": "person"}}'
    )
    with psycopg.connect(dsn, autocommit=True) as conn:
        with conn.cursor().copy(
            "COPY hm.item (theme, id, content, attrs, content_sha, hlc, node, seq) FROM STDIN"
        ) as copy:
            for n, (theme, uid) in enumerate(zip(themes, ids, strict=True)):
                said = " ".join(chance.choices(WORDS, k=10))
                copy.write_row((f"theme{theme}", uid, said, attrs.format(n, now), b"x", 1, uid, n + 1))
        with conn.cursor().copy("COPY hm.vector (theme, id, model, content_sha, embedding, kind) FROM STDIN") as copy:
            for theme, uid, vector in zip(themes, ids, vectors, strict=True):
                row = to_vector_literal(pack_unit_vector(vector.tolist())[1])
                copy.write_row((f"theme{theme}", uid, MODEL, b"x", f"[{row[1:-1]}]", "fact"))
        conn.execute("INSERT INTO hm.clock SELECT theme, max(seq) FROM hm.item GROUP BY theme")
        conn.execute("VACUUM ANALYZE hm.item")
        conn.execute("VACUUM ANALYZE hm.vector")
    return Corpus(ids, themes, vectors)


def literal(vector: Any) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{one:.9g}" for one in vector.tolist()) + "]"


def ways(server: TeamServer, theme: str) -> dict[str, Callable[[Any], Sequence[str]]]:
    """How a theme may be asked."""

    def plain(statement: str, settings: Sequence[str] = ()) -> Callable[[Any], Sequence[str]]:
        def ask(vector: Any) -> Sequence[str]:
            with server.conn.pipeline(), server.conn.transaction():
                for one in settings:
                    server.conn.execute(one)
                return [row[0] for row in server.conn.execute(statement, (theme, literal(vector))).fetchall()]

        return ask

    return {
        "floor: plain, one index": plain(PLAIN),
        "iterative, one index": plain(PLAIN, fact_queries.SETTINGS),
        "every vector compared": plain(EXACT),
        "as recall asks": lambda vector: [
            uid
            for uid, _ in fact_queries.find_nearest_items(
                server, theme, "fact", fact_queries.QueryEmbedding(MODEL, vector.tolist()), WANTED, -1.0
            )
        ],
    }


def looked(server: TeamServer, corpus: Corpus, theme: int, asked: Any) -> list[tuple[object, ...]]:
    """Every way of asking one theme, in turn for each question: recall@10, median and 95th percentile in ms."""
    chance = random.Random(3)
    right = [corpus.nearest(theme, vector) for vector in asked]
    found: dict[str, list[float]] = {}
    taken: dict[str, list[float]] = {}
    for turn, (vector, truth) in enumerate(zip([*asked[:10], *asked], [*right[:10], *right], strict=True)):
        line = " ".join(chance.choices(WORDS, k=4))
        for way, ask in {
            **ways(server, f"theme{theme}"),
            "a whole question": lambda vector, line=line: whole(server, f"theme{theme}", vector, line),
        }.items():
            began = time.perf_counter()
            answer = ask(vector)
            if turn >= 10:  # the first ones warm up
                taken.setdefault(way, []).append(1_000 * (time.perf_counter() - began))
                found.setdefault(way, []).append(len(truth.intersection(answer)) / len(truth))
    size = int(np.sum(corpus.themes == theme))
    return [
        (
            size,
            way,
            "" if way == "a whole question" else float(np.mean(found[way])),
            float(np.median(times)),
            float(np.percentile(times, 95)),
        )
        for way, times in taken.items()
    ]


def timed(work: Callable[[], object]) -> float:
    """Seconds of some work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def one_index(dsn: str) -> None:
    """A copy of the vectors with one index over all of them."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE hm.everybody AS SELECT * FROM hm.vector")
        conn.execute("GRANT SELECT ON hm.everybody, hm.vector TO stores")
        conn.execute("CREATE INDEX ON hm.everybody (theme)")
        conn.execute("CREATE INDEX ON hm.everybody USING hnsw (embedding halfvec_cosine_ops)")
        conn.execute("VACUUM ANALYZE hm.everybody")


def whole(server: TeamServer, theme: str, vector: Any, line: str) -> list[str]:
    """A whole question, by words and meaning: ask, gather, rank by words."""
    said = fact_queries.find_fact_answers(
        server, theme, line, fact_queries.QueryEmbedding(MODEL, vector.tolist()), 60, 0.0, system_clock
    )
    store = build_remote_fact_store(
        theme, said.facts, total=said.total, scopes=[], policies=StorePolicies.load(), clock=system_clock
    )
    try:
        return [fact.uid for fact in store.search.find(theme, line, limit=60, record=False).facts]
    finally:
        store.db.close()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--themes", type=int, default=50)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    sizes = sizes_of(options.facts, options.themes)
    some = drawn(options.facts, np.random.default_rng(7))
    asked = some(options.questions)
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = DevServer(Path(folder))
        try:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute("CREATE ROLE stores LOGIN")
            migrate_team_schema(postgres.dsn, runtime_role="stores", dimension=DIMENSIONS)
            restrict_role_to_themes(postgres.dsn, "stores", [])
            corpus = fill(postgres.dsn, sizes, some(options.facts))
            built = [("an index for each theme above 10,000", timed(lambda: index_large_themes(postgres.dsn)))]
            built.append(("one index over all themes", timed(lambda: one_index(postgres.dsn))))
            with TeamServer(make_conninfo(postgres.dsn, user="stores"), listen=False) as server:
                rows = [row for theme in (options.themes - 1, 0) for row in looked(server, corpus, theme, asked)]
            table(("vectors", "way", "recall@10", "p50 ms", "p95 ms"), rows)
            print()
            table(("built", "s"), built)
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
