"""Members of a team: one role a person, invited by a code that works once, with rights to themes that may end."""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import conninfo, sql

from hermes_memory_bridge.team.database.team_rights import (
    LET_IN,
    grant_functions,
    refuse_unknown_role,
    set_member_rights,
)
from hermes_memory_bridge.team.database.team_schema import verify_team_schema
from hermes_memory_bridge.team.database.team_states import INVITATION
from hermes_memory_store.errors import ArgumentError

ROLE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

MOST_CONNECTIONS = 20
"""Of one member: fewer than a server has, so that he cannot take all of them."""

IDLE_IN_TRANSACTION = "60s"
"""After what time a member's transaction that does nothing is ended, unless his program says otherwise."""

OUR_ROLE = "SELECT rolcanlogin AND NOT rolsuper AND rolconnlimit = %s FROM pg_roles WHERE rolname = %s"
"""Whether a role looks as an invitation makes it; None where there is no such role."""

END_SESSIONS = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = %s AND pid <> pg_backend_pid()"
)

OWNERS_ALONE = ("user", "password", "passfile", "sslkey", "sslcert", "sslpassword", "service")
"""Parts of the owner's DSN that no member is given."""

MEMBERS = f"""
SELECT l.rolname::text, r.rolcanlogin, coalesce(m.themes, '{{}}'), coalesce(m.reads, '{{}}'), coalesce(m.curates, '{{}}'), m.until
FROM ({LET_IN}) l JOIN pg_roles r ON r.rolname = l.rolname LEFT JOIN hm.member m ON m.role = l.rolname ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Member:
    """A role that exchanges rows, and what it may."""

    role: str
    logs_in: bool
    """Whether somebody connects as it; else it is a group."""
    themes: list[str]
    """Themes that it reads and writes; `*` for every theme."""
    reads: list[str]
    """Themes that it only reads."""
    curates: list[str]
    """Themes in which it also makes facts hot and pinned for everybody."""
    until: str | None
    """When its rights end, as ISO 8601."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def invite_member(
    dsn: str,
    role: str,
    *,
    themes: Sequence[str] = (),
    reads: Sequence[str] = (),
    curates: Sequence[str] = (),
    until: datetime | None = None,
    reach: str | None = None,
) -> str:
    """Make a role for a person, and return the code by which one machine of his connects, as the owner.

    For a role that an invitation made before, an earlier code, password or connection ends, and its rights stay unless
    some are named; those of a revoked one begin anew.

    :param themes: themes that it may read and write; with the other two empty, too: every theme
    :param reads: themes that it may only read
    :param curates: themes in which it may also make facts hot and pinned for everybody
    :param reach: a DSN that says where members reach the database, when that is not where the owner does
    :raises ArgumentError: a name that no role can have, or that one has which no invitation made
    """
    if not ROLE_NAME.fullmatch(role):
        raise ArgumentError(
            f"{role!r} is no name for a role: lower-case letters, digits and _, at most 63, no digit first", role
        )
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        verify_team_schema(conn)
        there = conn.execute(OUR_ROLE, (MOST_CONNECTIONS, role)).fetchone()
        if there == (False,):
            raise ArgumentError(
                f"the database has a role {role!r} that no invitation made: `team open` and `team restrict` change its"
                " rights; choose another name to invite",
                role,
            )
        is_member = conn.execute(f"SELECT 1 FROM ({LET_IN}) l WHERE l.rolname = %s", (role,)).fetchone() is not None
        password = secrets.token_urlsafe(24)
        conn.execute(
            sql.SQL(
                "{verb} ROLE {role} LOGIN CONNECTION LIMIT {most} PASSWORD {password};"
                " ALTER ROLE {role} SET idle_in_transaction_session_timeout = {idle}"
            ).format(
                verb=sql.SQL("CREATE" if there is None else "ALTER"),
                role=sql.Identifier(role),
                most=sql.Literal(MOST_CONNECTIONS),
                password=to_password_hash(conn, role, password),
                idle=sql.Literal(IDLE_IN_TRANSACTION),
            )
        )
        let_owner_end_sessions(conn, role)
        if there is not None:
            conn.execute(END_SESSIONS, (role,))
        grant_functions(conn, role)
        if not is_member or themes or reads or curates or until:
            set_member_rights(conn, role, themes, reads=reads, curates=curates, until=until)
    place = conninfo.conninfo_to_dict(reach or dsn)
    parameters = {name: value for name, value in place.items() if name not in OWNERS_ALONE}
    document = json.dumps({**parameters, "user": role, "password": password})
    return INVITATION + base64.urlsafe_b64encode(document.encode()).decode().rstrip("=")


def redeem_invitation(code: str, store_dsn: Callable[[str], None]) -> str:
    """Connect by a code, replace its password by one that nobody has seen, and return the DSN with it.

    :param store_dsn: called with that DSN before the code's password ends: where it raises, the code stays good
    :raises ArgumentError: it is no code
    :raises psycopg.Error: the database cannot be reached, or the code was used already
    """
    try:
        body = code.strip().removeprefix(INVITATION)
        invitation = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        dsn = conninfo.make_conninfo(**invitation)
        role = str(invitation["user"])
    except (ValueError, KeyError, TypeError, binascii.Error, psycopg.Error):
        raise ArgumentError("this is no whole code of an invitation: copy all of it", None) from None
    password = secrets.token_urlsafe(24)
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        lasting_dsn = conninfo.make_conninfo(dsn, password=password)
        store_dsn(lasting_dsn)
        conn.execute(sql.SQL("ALTER ROLE CURRENT_USER PASSWORD {}").format(to_password_hash(conn, role, password)))
    return lasting_dsn


def to_password_hash(conn: psycopg.Connection[Any], role: str, password: str) -> sql.Literal:
    """Hash a password as the server keeps it, so that no log of its statements holds it."""
    hashed = conn.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    return sql.Literal(hashed.decode())


def let_owner_end_sessions(conn: psycopg.Connection[Any], role: str) -> None:
    """Let the owner, and so `hm.release`, end the sessions of a role, which takes the privileges of the role.

    :raises psycopg.errors.InsufficientPrivilege: the owner may not give himself those
    """
    can = conn.execute(
        "SELECT pg_has_role(%s, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE')", (role,)
    ).fetchone()
    if can == (True,):
        return
    how = " WITH INHERIT TRUE" if conn.info.server_version >= 160_000 else ""
    conn.execute(sql.SQL("GRANT {} TO CURRENT_USER" + how).format(sql.Identifier(role)))


def list_members(dsn: str) -> list[Member]:
    """Return the roles that exchange rows, as the owner."""
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        verify_team_schema(conn)
        rows = conn.execute(MEMBERS).fetchall()
    return [
        Member(role, logs_in, list(themes), list(reads), list(curates), None if until is None else until.isoformat())
        for role, logs_in, themes, reads, curates, until in rows
    ]


def revoke_member(dsn: str, role: str) -> list[str]:
    """End what a role may in the team database, and its connections, as the owner; what it brought stays.

    Returns the groups by which it still may something.

    :raises ArgumentError: there is no such role, or its rights are ended, and its connections are not the owner's to end
    """
    name = sql.Identifier(role)
    with psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn:
        verify_team_schema(conn)
        refuse_unknown_role(conn, role)
        for privileges in ("ALL ON ALL TABLES IN SCHEMA hm", "ALL ON ALL FUNCTIONS IN SCHEMA hm", "ALL ON SCHEMA hm"):
            conn.execute(sql.SQL(f"REVOKE {privileges} FROM {{}}").format(name))
        for table in ("member", "chain_head"):
            conn.execute(sql.SQL("DELETE FROM hm.{} WHERE role = %s").format(sql.Identifier(table)), (role,))
        groups = conn.execute(
            f"SELECT l.rolname::text FROM ({LET_IN}) l JOIN pg_roles g ON g.rolname = l.rolname"
            " JOIN pg_roles r ON r.rolname = %s WHERE pg_has_role(r.oid, g.oid, 'MEMBER') AND NOT r.rolsuper ORDER BY 1",
            (role,),
        ).fetchall()
        conn.commit()  # before its sessions end: one that began in between would still have its rights
        try:
            let_owner_end_sessions(conn, role)
            conn.execute(END_SESSIONS, (role,))
        except psycopg.errors.InsufficientPrivilege:
            raise ArgumentError(
                f"{role} has no rights any more, but what it began goes on: the owner may not end its connections; a superuser"
                f" runs SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}', and once GRANT"
                " pg_signal_backend TO the owner",
                role,
            ) from None
    return [group for (group,) in groups]
