"""The schema of the team database: numbered migrations, applied by its owner; all others only check the number.

Once released, a migration never changes. One owner at a time migrates, under an advisory lock; each migration runs
in the same transaction as the record that it was applied.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql

from hermes_memory_bridge.team.database.team_states import NOT_MIGRATED, TeamError, to_wrong_version_state
from hermes_memory_store.errors import ArgumentError

LOCK = 0x686D_656D
"""Number of the advisory lock that migrating holds."""

AUTHORITY = 16
"""The migration by which the database decides what a role may write, and the oldest that this program works with."""

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
  PRIMARY KEY (theme, id),
  FOREIGN KEY (theme, id) REFERENCES hm.fact (theme, id) ON DELETE CASCADE
);
ALTER TABLE hm.vector ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.vector USING (
  (SELECT hm.allowed_themes()) IS NULL OR theme = ANY ((SELECT hm.allowed_themes())::text[])
);
"""

VECTOR_SCHEMA = """
SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
"""Where pgvector is: not always on the search path."""

COLLECTED = "collected"
"""Setting: when `team collect` ran to its end last, in milliseconds UTC."""

COLLECTED_AT = f"(SELECT value::bigint FROM hm.setting WHERE name = '{COLLECTED}')"

VERSION = f"""
SELECT coalesce(max(version), 0), (SELECT value FROM hm.setting WHERE name = 'dimension'),
  (SELECT value FROM hm.setting WHERE name = 'model'), ({VECTOR_SCHEMA}),
  (SELECT value FROM hm.setting WHERE name = 'hash_key')
FROM hm.migration
"""

KEEP_SETTING = (
    "INSERT INTO hm.setting (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

THEMES_OF_VECTORS = "SELECT theme, count(*) FROM hm.vector GROUP BY theme ORDER BY theme"

INDEXES = """
SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = 'hm.vector'::regclass AND c.relname LIKE 'vector\\_of\\_%'
"""

LET_IN = """
SELECT r.rolname FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.oid = 'hm.fact'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
UNION
SELECT r.rolname FROM pg_proc p, aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE p.pronamespace = 'hm'::regnamespace AND p.proname = 'push' AND a.grantee <> p.proowner
"""
"""Roles that write rows already: by the tables before `AUTHORITY`, by a function since."""

READS = ("clock", "mark", "fact", "turn", "vector", "migration", "setting")
"""Tables that the runtime role reads, of its themes. It writes by functions alone."""


PARTITIONED = ("fact", "turn")
"""Tables that may be in partitions: those that grow with what is written. No statement here names a partition."""

MOST_PARTITIONS = 1_000

IN_PARTITIONS = """
ALTER TABLE hm.{table} RENAME TO {plain};
CREATE TABLE hm.{table} (LIKE hm.{plain} INCLUDING ALL) PARTITION BY HASH (theme);
DROP TABLE hm.{plain};
ALTER TABLE hm.{table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_themes ON hm.{table} USING (
  (SELECT hm.allowed_themes()) IS NULL OR theme = ANY ((SELECT hm.allowed_themes())::text[])
);
"""

PARTITION = "CREATE TABLE hm.{name} PARTITION OF hm.{table} FOR VALUES WITH (MODULUS {count}, REMAINDER {place})"

IS_EMPTY = (
    "SELECT NOT EXISTS (SELECT FROM hm.fact) AND NOT EXISTS (SELECT FROM hm.turn) AND to_regclass('hm.vector') IS NULL"
)

COUNT_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'hm.fact'::regclass"


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
    found = []
    for file in resources.files(__package__).joinpath("migrations").iterdir():
        named = re.fullmatch(r"(\d{3})_(\w+)\.sql", file.name)
        if named:
            found.append((int(named[1]), named[2], file.read_text(encoding="utf-8")))
    return sorted(found)


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
    :param runtime_role: the role that stores connect as; it may read and write rows, and nothing else
    :param model: the model of the vectors from now on; those of another are replaced
    :param replace_vectors: vectors of another dimension may be dropped: stores make them again
    :param partitions: into how many parts the tables of an empty database are divided, by a hash of the theme
    :raises TeamError: the database is newer than this program, has another dimension, or cannot be reached
    """
    if dimension is not None and not 1 <= dimension <= WIDEST:
        raise ArgumentError(f"--dimension must be from 1 to {WIDEST}, not {dimension}", dimension)
    if partitions is not None and not 1 <= partitions <= MOST_PARTITIONS:
        raise ArgumentError(f"--partitions must be from 1 to {MOST_PARTITIONS}, not {partitions}", partitions)
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))  # until the commit, also behind PgBouncer
        conn.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
        conn.execute(BASE)
        applied = {row[0] for row in conn.execute("SELECT version FROM hm.migration").fetchall()}
        if applied and max(applied) > find_newest_team_version():
            raise TeamError(to_wrong_version_state(max(applied), find_newest_team_version()))
        for version, name, text in load_team_migrations():
            if version not in applied:
                conn.execute(text)
                conn.execute("INSERT INTO hm.migration (version, name) VALUES (%s, %s)", (version, name))
        if partitions is not None:
            divide_tables(conn, partitions)
        if dimension is not None:
            add_vector_table(conn, dimension, replace=replace_vectors)
        if model is not None:
            conn.execute(KEEP_SETTING, ("model", model))
        roles = {role for (role,) in conn.execute(LET_IN).fetchall()}  # to what is new, too
        for role in sorted(roles | ({runtime_role} if runtime_role is not None else set())):
            grant_row_access(conn, role)
        return read_team_schema(conn)


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
            why = str(error.diag.message_primary or "it is not available")
            raise ArgumentError(
                f"vectors need the extension pgvector, which this role could not create here ({why}): a superuser runs"
                " CREATE EXTENSION vector in this database once, after installing pgvector on the server",
                dimension,
            ) from None
    place = conn.execute(VECTOR_SCHEMA).fetchone()
    assert place is not None
    conn.execute(sql.SQL(VECTORS).format(type=sql.SQL(f"{place[0]}.halfvec"), dimension=sql.Literal(dimension)))
    conn.execute(KEEP_SETTING, ("dimension", str(dimension)))


def divide_tables(conn: psycopg.Connection[Any], count: int) -> None:
    """Divide the tables that grow into partitions, by a hash of the theme.

    :raises ArgumentError: the database has rows or vectors already, or another number of partitions
    """
    (there,) = conn.execute(COUNT_PARTITIONS).fetchone() or (0,)
    if there == count:
        return
    if there or conn.execute(IS_EMPTY).fetchone() != (True,):
        found = f"{there} partitions" if there else "rows or vectors"
        raise ArgumentError(f"only an empty database is divided into partitions, and this one has {found}", count)
    for table in PARTITIONED:
        names = {"table": sql.Identifier(table), "plain": sql.Identifier(f"{table}_plain")}
        conn.execute(sql.SQL(IN_PARTITIONS).format(**names))
        for place in range(count):
            numbers = {"count": sql.Literal(count), "place": sql.Literal(place)}
            conn.execute(sql.SQL(PARTITION).format(**names, **numbers, name=sql.Identifier(f"{table}_{place}")))


def grant_row_access(conn: psycopg.Connection[Any], role: str) -> None:
    """Grant a role the right to read rows and to push. It must exist: logins are the administrator's to define."""
    refuse_unknown_role(conn, role)
    name = sql.Identifier(role)
    conn.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA hm FROM {}").format(name))
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA hm TO {}").format(name))
    conn.execute(sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hm TO {}").format(name))
    for table in READS:
        if conn.execute("SELECT to_regclass(%s)", (f"hm.{table}",)).fetchone() != (None,):
            conn.execute(sql.SQL("GRANT SELECT ON hm.{} TO {}").format(sql.Identifier(table), name))


def refuse_unknown_role(conn: psycopg.Connection[Any], role: str) -> None:
    """Raise ArgumentError when the database has no such role."""
    if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        raise ArgumentError(f"the database has no role {role!r}; make it first: CREATE ROLE … LOGIN", role)


def restrict_role_to_themes(
    dsn: str, role: str, themes: Sequence[str], *, reads: Sequence[str] = (), until: datetime | None = None
) -> None:
    """Restrict a role, and who is a member of it; see `set_member_rights`.

    :raises ArgumentError: there is no such role
    """
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        if themes or reads or until:
            refuse_unknown_role(conn, role)
        set_member_rights(conn, role, themes, reads=reads, until=until)


def set_member_rights(
    conn: psycopg.Connection[Any],
    role: str,
    themes: Sequence[str],
    *,
    reads: Sequence[str] = (),
    until: datetime | None = None,
) -> None:
    """Set the themes that a role may read and write; all of them where nothing is said.

    :param reads: themes that it may only read
    :param until: when its rights end; local time where it names no zone
    :raises ArgumentError: an end without themes, which would end nothing
    """
    conn.execute("DELETE FROM hm.member WHERE role = %s", (role,))
    if until is not None and not (themes or reads):
        raise ArgumentError("an end needs the themes whose rights end: name them", None)
    if themes or reads:
        conn.execute(
            "INSERT INTO hm.member (role, themes, reads, until) VALUES (%s, %s, %s, %s)",
            (role, list(themes), list(reads), None if until is None else until.astimezone()),
        )


def index_large_themes(dsn: str) -> list[str]:
    """Give each large theme an index over its own vectors and drop those of themes no longer large, as the owner.

    An index over all themes would find the nearest of everybody first, and hardly one of the requested theme. Writers
    continue meanwhile. Returns the themes that now have an index.
    """
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10, autocommit=True) as conn:
        schema = read_team_schema(conn)
        if schema.dimension is None or schema.place is None:
            raise ArgumentError("this database keeps no vectors: run `team migrate` with --dimension first")
        there: dict[str, bool] = dict(conn.execute(INDEXES).fetchall())
        wanted = {
            to_vector_index_name(theme): theme for theme, count in conn.execute(THEMES_OF_VECTORS) if count > LARGE
        }
        for name, whole in there.items():
            if name not in wanted or not whole:  # one whose making was cut off is of no use
                conn.execute(sql.SQL("DROP INDEX CONCURRENTLY hm.{}").format(sql.Identifier(name)))
        for name, theme in wanted.items():
            if not there.get(name):
                conn.execute(
                    sql.SQL(
                        "CREATE INDEX CONCURRENTLY {} ON hm.vector USING hnsw (embedding {}.halfvec_cosine_ops) WHERE theme = {}"
                    ).format(sql.Identifier(name), sql.SQL(schema.place), sql.Literal(theme))
                )
        conn.execute("ANALYZE hm.vector")
        return sorted(wanted.values())


def find_unindexed_themes(conn: psycopg.Connection[Any]) -> list[str]:
    """Find large themes visible to the role that have no index of their own: every vector of them is compared."""
    may = "SELECT has_table_privilege('hm.vector', 'SELECT')"
    if read_team_schema(conn).dimension is None or conn.execute(may).fetchone() != (True,):
        return []
    there: dict[str, bool] = dict(conn.execute(INDEXES).fetchall())
    large = [theme for theme, count in conn.execute(THEMES_OF_VECTORS) if count > LARGE]
    return [theme for theme in large if not there.get(to_vector_index_name(theme))]


def to_vector_index_name(theme: str) -> str:
    """Return the name of a theme's index."""
    return "vector_of_" + hashlib.md5(theme.encode(), usedforsecurity=False).hexdigest()[:16]
