"""Rights of the roles that stores connect as: functions they may call, and the themes that are open to them.

A theme is open to nobody but the owner until the owner opens it. What a role was given itself counts alone; a role that
was given nothing has what the roles have that it is a member of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql

from hermes_memory_store.errors import ArgumentError

EVERY_THEME = "*"
"""In the rights of a role: all themes, those of the future too."""

LET_IN = """
SELECT r.rolname FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.oid = 'hm.item'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
UNION
SELECT r.rolname FROM pg_proc p, aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE p.pronamespace = 'hm'::regnamespace AND p.proname = 'push' AND a.grantee <> p.proowner
"""
"""Roles that were let in: by the tables in programs before 0.4.0, by a function since."""

READS = ("migration", "setting")
"""Tables that they read: programs of before ask them for the version first. All else goes through functions."""

GROUPS_WITH_RIGHTS = """
SELECT m.role::text FROM hm.member m JOIN pg_roles g ON g.rolname = m.role JOIN pg_roles r ON r.rolname = %s
WHERE g.oid <> r.oid AND NOT r.rolsuper AND pg_has_role(r.oid, g.oid, 'MEMBER')
  AND NOT EXISTS (SELECT FROM hm.member o WHERE o.role = r.rolname)
ORDER BY 1
"""

OPEN = """
INSERT INTO hm.member AS m (role, themes, reads, curates) VALUES (%s, %s, %s, %s)
ON CONFLICT (role) DO UPDATE SET
  themes = ARRAY(SELECT DISTINCT t FROM unnest(m.themes || excluded.themes) AS t ORDER BY t),
  reads = ARRAY(SELECT DISTINCT t FROM unnest(m.reads || excluded.reads) AS t ORDER BY t),
  curates = ARRAY(SELECT DISTINCT t FROM unnest(m.curates || excluded.curates) AS t ORDER BY t)
"""


def grant_functions(conn: psycopg.Connection[Any], role: str) -> None:
    """Let a role in: it may call the functions, and no more. It must exist: logins are the administrator's to define."""
    refuse_unknown_role(conn, role)
    name = sql.Identifier(role)
    conn.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA hm FROM {}").format(name))
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA hm TO {}").format(name))
    conn.execute(sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hm TO {}").format(name))
    for table in READS:
        conn.execute(sql.SQL("GRANT SELECT ON hm.{} TO {}").format(sql.Identifier(table), name))


def refuse_unknown_role(conn: psycopg.Connection[Any], role: str) -> None:
    """Raise ArgumentError when the database has no such role."""
    if conn.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        raise ArgumentError(f"the database has no role {role!r}; make it first: CREATE ROLE … LOGIN", role)


def restrict_role_to_themes(
    dsn: str,
    role: str,
    themes: Sequence[str],
    *,
    reads: Sequence[str] = (),
    curates: Sequence[str] = (),
    until: datetime | None = None,
) -> list[str]:
    """Set what is open to a role, and to who is a member of it, in place of what was; see `set_member_rights`.

    :raises ArgumentError: there is no such role
    """
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        refuse_unknown_role(conn, role)
        return set_member_rights(conn, role, themes, reads=reads, curates=curates, until=until)


def set_member_rights(
    conn: psycopg.Connection[Any],
    role: str,
    themes: Sequence[str],
    *,
    reads: Sequence[str] = (),
    curates: Sequence[str] = (),
    until: datetime | None = None,
) -> list[str]:
    """Set the themes that a role may read and write; every theme, those of the future too, where nothing is said.

    Returns those that it may read and write now.

    :param reads: themes that it may only read
    :param curates: themes in which it may also make facts hot and pinned for everybody
    :param until: when its rights end; local time where it names no zone
    """
    granted = list(themes) if themes or reads or curates else [EVERY_THEME]
    conn.execute("DELETE FROM hm.member WHERE role = %s", (role,))
    conn.execute(
        "INSERT INTO hm.member (role, themes, reads, curates, until) VALUES (%s, %s, %s, %s, %s)",
        (role, granted, list(reads), list(curates), None if until is None else until.astimezone()),
    )
    return granted


def open_themes(
    dsn: str, role: str, themes: Sequence[str], *, reads: Sequence[str] = (), curates: Sequence[str] = ()
) -> None:
    """Open more themes to a role, and to who is a member of it, as the owner.

    :param reads: themes that it may only read
    :param curates: themes in which it may also make facts hot and pinned for everybody
    :raises ArgumentError: there is no such role, or it has its rights by another that it is a member of
    """
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        refuse_unknown_role(conn, role)
        groups = [group for (group,) in conn.execute(GROUPS_WITH_RIGHTS, (role,)).fetchall()]
        if groups:
            raise ArgumentError(
                f"{role} has its rights as a member of {', '.join(groups)}: open the theme to that one, or give {role}"
                " rights of its own with `team restrict`",
                role,
            )
        conn.execute(OPEN, (role, list(themes), list(reads), list(curates)))
