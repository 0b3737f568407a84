"""The schema of the team database: numbered migrations, applied by its owner; all others only check the number.

Once released, a migration never changes. One owner at a time migrates, under a lock on the table of migrations; each
migration runs in the same transaction as the record that it was applied.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql

from hermes_memory_bridge.team.database.lock_holders import name_table_users
from hermes_memory_bridge.team.database.team_rights import LET_IN, grant_functions
from hermes_memory_bridge.team.database.team_states import NOT_MIGRATED, TeamError, to_wrong_version_state
from hermes_memory_store.errors import ArgumentError

LOCK = "LOCK TABLE hm.migration IN SHARE ROW EXCLUSIVE MODE"
"""Held while migrating. Who may only read the table can neither take it nor be in its way; any role can take an advisory lock."""

AUTHORITY = 17
"""The migration by which the database decides what a role may read and write, and the oldest that this program works with."""

LOCK_TIMEOUT = "5s"
"""How long migrating waits for a lock. Behind one long reader it would make everybody else wait behind it."""

WIDEST = 4_000
"""Dimensions that an index over halfvec takes."""

LARGE = 10_000
"""Vectors of a theme from which on an index of its own pays: comparing fewer takes some milliseconds, and misses none."""

BASE = """
CREATE SCHEMA IF NOT EXISTS hm;
CREATE TABLE IF NOT EXISTS hm.migration (
  version int PRIMARY KEY,
  name text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS hm.setting (
  name text PRIMARY KEY,
  value text NOT NULL
);
"""

VECTORS = """
CREATE TABLE hm.vector (
  theme text NOT NULL,
  id uuid NOT NULL,
  model text NOT NULL,
  content_sha bytea NOT NULL,
  embedding {type}({dimension}) NOT NULL,
  kind text NOT NULL,
  PRIMARY KEY (theme, id),
  FOREIGN KEY (theme, id) REFERENCES hm.item (theme, id) ON DELETE CASCADE
);
"""

VECTOR_FUNCTIONS = """
CREATE OR REPLACE FUNCTION hm.find_nearest(asked text, of_kind text, maker text, meant text, most int)
RETURNS TABLE (id text, similarity float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT v.id::text, 1 - (v.embedding::{place}.vector OPERATOR({place}.<=>) meant::{place}.vector)
      FROM (
        SELECT id, embedding FROM hm.vector WHERE theme = asked AND kind = of_kind AND model = maker
        ORDER BY embedding OPERATOR({place}.<=>) meant::{place}.halfvec LIMIT most
      ) v;
  END IF;
END $$;
CREATE OR REPLACE FUNCTION hm.compare_vectors(asked text, maker text, meant text, wanted uuid[])
RETURNS TABLE (id text, similarity float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  IF hm.may_read(asked) THEN
    RETURN QUERY SELECT v.id::text, 1 - (v.embedding::{place}.vector OPERATOR({place}.<=>) meant::{place}.vector)
      FROM hm.vector v WHERE v.theme = asked AND v.model = maker AND v.id = ANY (wanted);
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION hm.find_nearest, hm.compare_vectors FROM PUBLIC;
"""
"""The facts or the turns of a theme that have an index of their own are looked through by it, any other are compared whole: no
index spans several themes. What is nearest is compared once more in full precision, as a store does."""

VECTOR_SCHEMA = """
SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
"""Where pgvector is: not always on the search path."""

COLLECTED = "collected"
"""Setting: when `team collect` ran to its end last, in milliseconds UTC."""

VERSION = f"""
SELECT coalesce(max(version), 0), (SELECT value FROM hm.setting WHERE name = 'dimension'),
  (SELECT value FROM hm.setting WHERE name = 'model'), ({VECTOR_SCHEMA}),
  (SELECT value FROM hm.setting WHERE name = 'hash_key')
FROM hm.migration
"""

KEEP_SETTING = (
    "INSERT INTO hm.setting (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

THEMES_OF_VECTORS = "SELECT * FROM hm.count_vectors()"

INDEXES = """
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'hm.vector'::regclass AND c.relname LIKE 'vector\\_of\\_%'
"""

MOST_PARTITIONS = 1_000

IN_PARTITIONS = """
ALTER TABLE hm.item RENAME TO item_plain;
CREATE TABLE hm.item (LIKE hm.item_plain INCLUDING ALL) PARTITION BY HASH (theme);
DROP TABLE hm.item_plain;
"""
"""The table that grows with what is written. No statement here names a partition."""

PARTITION = "CREATE TABLE hm.{name} PARTITION OF hm.item FOR VALUES WITH (MODULUS {count}, REMAINDER {place})"

IS_EMPTY = "SELECT NOT EXISTS (SELECT FROM hm.item) AND to_regclass('hm.vector') IS NULL"

COUNT_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'hm.item'::regclass"


@dataclass(frozen=True, slots=True)
class TeamSchema:
    """The migration state of a database."""

    version: int
    dimension: int | None
    """Of the vectors; None where there are none."""
    model: str | None = None
    """Whose vectors these are, where the owner has said so."""
    place: str | None = field(default=None, compare=False)
    """The schema that pgvector is in, quoted."""
    hash_key: str = field(default="", compare=False, repr=False)
    """What digests of contents begin with."""


@functools.cache
def load_team_migrations() -> list[tuple[int, str, str]]:
    """Load number, name and SQL of each migration, in order."""
    migrations = []
    for file in resources.files(__package__).joinpath("migrations").iterdir():
        named = re.fullmatch(r"(\d{3})_(\w+)\.sql", file.name)
        if named:
            migrations.append((int(named[1]), named[2], file.read_text(encoding="utf-8")))
    return sorted(migrations)


def find_newest_team_version() -> int:
    """Return the number of the newest migration of this program."""
    return load_team_migrations()[-1][0]


def is_usable_team_version(version: int) -> bool:
    """Check whether rows can be synced with a database of this version."""
    return AUTHORITY <= version <= find_newest_team_version()


def migrate_team_schema(
    dsn: str,
    *,
    dimension: int | None = None,
    runtime_role: str | None = None,
    model: str | None = None,
    replace_vectors: bool = False,
    partitions: int | None = None,
) -> TeamSchema:
    """Migrate a database to the current version, as its owner. Existing content is left as it is.

    :param dimension: of the vectors, fixed with the first migration that names one; text only without
    :param runtime_role: the role that stores connect as; no theme is open to it yet, see `team_rights.py`
    :param model: the model of the vectors from now on; those of another are replaced
    :param replace_vectors: vectors of another dimension may be dropped: stores make them again
    :param partitions: into how many parts the items of an empty database are divided, by a hash of the theme
    :raises TeamError: the database is newer than this program, has another dimension, or cannot be reached
    """
    if dimension is not None and not 1 <= dimension <= WIDEST:
        raise ArgumentError(f"--dimension must be from 1 to {WIDEST}, not {dimension}", dimension)
    if partitions is not None and not 1 <= partitions <= MOST_PARTITIONS:
        raise ArgumentError(f"--partitions must be from 1 to {MOST_PARTITIONS}, not {partitions}", partitions)
    with (
        psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn,
        name_table_users(conn, "nothing was migrated"),
    ):
        create_base(conn)
        conn.execute(LOCK)  # until the commit, also behind PgBouncer
        conn.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
        applied = {row[0] for row in conn.execute("SELECT version FROM hm.migration").fetchall()}
        if applied and max(applied) > find_newest_team_version():
            raise TeamError(to_wrong_version_state(max(applied), find_newest_team_version()))
        for version, name, text in load_team_migrations():
            if version not in applied:
                conn.execute(text)
                conn.execute("INSERT INTO hm.migration (version, name) VALUES (%s, %s)", (version, name))
        if partitions is not None:
            divide_items(conn, partitions)
        if dimension is not None:
            add_vector_table(conn, dimension, replace=replace_vectors)
        if model is not None:
            conn.execute(KEEP_SETTING, ("model", model))
        renew_vector_functions(conn)
        roles = {role for (role,) in conn.execute(LET_IN).fetchall()}  # to what is new, too
        for role in sorted(roles | ({runtime_role} if runtime_role is not None else set())):
            grant_functions(conn, role)
        return read_team_schema(conn)


def create_base(conn: psycopg.Connection[Any]) -> None:
    """Create the schema and what tells its version, or wait for another owner who is about to."""
    while True:
        try:
            with conn.transaction():
                conn.execute(BASE)
            return
        except psycopg.errors.UniqueViolation:
            continue  # the other one has committed


def verify_team_schema(conn: psycopg.Connection[Any]) -> TeamSchema:
    """Check whether a database can be used as it is, without altering it.

    :raises TeamError: it was not migrated, or is of another version
    """
    try:
        schema = read_team_schema(conn)
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise TeamError(NOT_MIGRATED) from None
    if not is_usable_team_version(schema.version):
        raise TeamError(to_wrong_version_state(schema.version, find_newest_team_version()))
    return schema


def read_team_schema(conn: psycopg.Connection[Any]) -> TeamSchema:
    """Read the migration state of a database."""
    row = conn.execute(VERSION).fetchone()
    assert row is not None
    version, dimension, model, place, hash_key = row
    return TeamSchema(version, int(dimension) if dimension else None, model, place, hash_key or "")


def add_vector_table(conn: psycopg.Connection[Any], dimension: int, *, replace: bool = False) -> None:
    """Create the table of vectors, and pgvector.

    :param replace: drop a table of another dimension; its content can be recomputed
    :raises ArgumentError: there is one of another dimension, and it may not be dropped
    """
    there = read_team_schema(conn).dimension
    if there == dimension:
        return
    if there is not None and not replace:
        raise ArgumentError(
            f"the vectors of this database have {there} dimensions, not {dimension}; with --replace-vectors they are dropped,"
            " and made again by the bridges",
            dimension,
        )
    if there is not None:
        conn.execute("DROP TABLE hm.vector")
        conn.execute("DELETE FROM hm.setting WHERE name IN ('dimension', 'model')")
    if conn.execute(VECTOR_SCHEMA).fetchone() is None:
        try:
            conn.execute("CREATE EXTENSION vector")
        except psycopg.Error as error:
            reason = str(error.diag.message_primary or "it is not available")
            raise ArgumentError(
                f"vectors need the extension pgvector, which this role could not create here ({reason}): a superuser runs"
                " CREATE EXTENSION vector in this database once, after installing pgvector on the server",
                dimension,
            ) from None
    place = conn.execute(VECTOR_SCHEMA).fetchone()
    assert place is not None
    conn.execute(sql.SQL(VECTORS).format(type=sql.SQL(f"{place[0]}.halfvec"), dimension=sql.Literal(dimension)))
    conn.execute(KEEP_SETTING, ("dimension", str(dimension)))


def renew_vector_functions(conn: psycopg.Connection[Any]) -> None:
    """Make the functions that compare vectors, which name the schema that pgvector is in."""
    schema = read_team_schema(conn)
    if schema.dimension is not None and schema.place is not None:
        conn.execute(sql.SQL(VECTOR_FUNCTIONS).format(place=sql.SQL(schema.place)))


def divide_items(conn: psycopg.Connection[Any], count: int) -> None:
    """Divide the table of items into partitions, by a hash of the theme.

    :raises ArgumentError: the database has rows or vectors already, or another number of partitions
    """
    (there,) = conn.execute(COUNT_PARTITIONS).fetchone() or (0,)
    if there == count:
        return
    if there or conn.execute(IS_EMPTY).fetchone() != (True,):
        contents = f"{there} partitions" if there else "rows or vectors"
        raise ArgumentError(f"only an empty database is divided into partitions, and this one has {contents}", count)
    conn.execute(IN_PARTITIONS)
    for place in range(count):
        numbers = {"count": sql.Literal(count), "place": sql.Literal(place)}
        conn.execute(sql.SQL(PARTITION).format(name=sql.Identifier(f"item_{place}"), **numbers))


def index_large_themes(dsn: str) -> list[str]:
    """Give the facts or turns of each large theme an index over their vectors, and drop what is no longer needed, as the owner.

    An index over all themes would find the nearest of everybody first, and hardly one of the requested theme. Writers
    continue meanwhile. Returns the themes that now have an index.
    """
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10, autocommit=True) as conn:
        schema = read_team_schema(conn)
        if schema.dimension is None or schema.place is None:
            raise ArgumentError("this database keeps no vectors: run `team migrate` with --dimension first")
        there: dict[str, bool] = dict(conn.execute(INDEXES).fetchall())
        names = {
            to_vector_index_name(theme, kind): (theme, kind)
            for theme, kind, count in conn.execute(THEMES_OF_VECTORS)
            if count > LARGE
        }
        for name, whole in there.items():
            if name not in names or not whole:  # one whose making was cut off is of no use
                conn.execute(sql.SQL("DROP INDEX CONCURRENTLY hm.{}").format(sql.Identifier(name)))
        for name, of in names.items():
            if not there.get(name):
                conn.execute(
                    sql.SQL(
                        "CREATE INDEX CONCURRENTLY {} ON hm.vector USING hnsw (embedding {}.halfvec_cosine_ops)"
                        " WHERE theme = {} AND kind = {}"
                    ).format(sql.Identifier(name), sql.SQL(schema.place), *map(sql.Literal, of))
                )
        conn.execute("ANALYZE hm.vector")
        return sorted({theme for theme, _ in names.values()})


def find_unindexed_themes(conn: psycopg.Connection[Any]) -> list[str]:
    """Find large themes visible to the role that have no index of their own: every vector of them is compared."""
    if read_team_schema(conn).dimension is None:
        return []
    there: dict[str, bool] = dict(conn.execute(INDEXES).fetchall())
    large = [(theme, kind) for theme, kind, count in conn.execute(THEMES_OF_VECTORS) if count > LARGE]
    return sorted({theme for theme, kind in large if not there.get(to_vector_index_name(theme, kind))})


def to_vector_index_name(theme: str, kind: str) -> str:
    """Return the name of the index over the vectors of a theme's facts, or of its turns."""
    return "vector_of_" + hashlib.md5(f"{kind} {theme}".encode(), usedforsecurity=False).hexdigest()[:16]
