"""The hot facts that a server gives with its handshake: to whom, of which theme, and not where a hook gives them.

Whoever may not read the theme gets none; nor does a host whose start hook was heard, since that gives the same.
"""

from __future__ import annotations

from hermes_memory_store.context import hot_context
from hermes_memory_store.database import store_reading
from hermes_memory_store.database.driver import Connection
from hermes_memory_store.hosts.client_hosts import CLIENT_NAMES, find_client_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hermes_memory_store.places.place_reading import Ask

LAST_SESSIONS = 3
"""Sessions of a host in which its hook must have been heard once. More silence than that, and the hook is gone."""

HEARD = "SELECT max(heard_at), max(folder = ?2), count(DISTINCT folder) FROM host_sessions WHERE host = ?1"

NEWEST_SESSIONS = "SELECT client, started_at FROM sessions WHERE client IS NOT NULL ORDER BY id DESC LIMIT 500"

ALLOWED = """
    SELECT theme, rights FROM credentials
    WHERE digest = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
"""

STATUS_TOOL = "tool:memory_status"
"""The tool that gives the same facts: a token restricted to others may not read them this way either."""

SETTLED_MS = 60_000
"""By how much a host's first sign in a session, by its hook or by MCP, may come before the other."""


def read_instruction_facts(
    store_path: str,
    folder: str,
    *,
    theme: str = "",
    client: str = "",
    token: str = "",
    personal: bool = True,
    sealed: bool = False,
    reserved: int = 0,
    environ: Mapping[str, str] | None = None,
) -> hot_context.HotContext | None:
    """Return the facts for one connection; None where there are none for it.

    :param client: what its program calls itself
    :param token: what it presents, if anything; without one it comes over this user's own socket
    :param personal: without a token: whether it may be given the person's own facts
    :param sealed: without a token: it reads no theme but its own
    :param reserved: tokens of the budget that something else takes
    """

    def read(conn: Connection) -> hot_context.HotContext | None:
        ask = hot_context.to_ask(conn)
        access = read_token_access(conn, token) if token else (theme, personal, sealed)
        if access is None or is_start_heard(ask, client, folder):
            return None
        policies = hot_context.load_policies(environ)
        name = hot_context.find_theme(ask, folder, access[0], policies)
        policy = hot_context.find_policy(policies, name)
        context = hot_context.read_theme_context(
            ask, name, folder, policy, reserved=reserved, personal=access[1], sealed=access[2]
        )
        return context if context.text_lines else None

    return store_reading.read_store(store_path, read)


def read_token_access(conn: Connection, token: str) -> tuple[str, bool, bool] | None:
    """Return the theme that a token reads, whether also the person's own facts, and whether no other theme.

    None where it may read no facts, or is good no longer.
    """
    import hashlib
    import time

    digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
    row = conn.execute(ALLOWED, (digest, int(time.time() * 1000))).fetchone()
    if row is None:
        return None
    rights = row[1].split(",")
    tools = [right for right in rights if right.startswith("tool:")]
    if "read" not in rights or (tools and STATUS_TOOL not in tools):
        return None
    return row[0], "personal" in rights, True


def is_start_heard(ask: Ask, client: str, folder: str) -> bool:
    """Check whether the hooks of a client's host were heard within its last sessions.

    Hooks can be installed in one project alone. Then they are heard there and nowhere else, so that being heard in one
    other folder proves nothing: facts that are given twice are a blemish, facts that are never given a defect.
    """
    host = find_client_host(client)
    if host is None:
        return False
    heard_at, is_here, folders = next(iter(ask(HEARD, (host, folder))), (None, 0, 0))
    if heard_at is None or not (is_here or folders != 1):
        return False
    names = CLIENT_NAMES[host]
    starts = [at for name, at in ask(NEWEST_SESSIONS, ()) if str(name).lower().startswith(names)]
    return len(starts) < LAST_SESSIONS or heard_at >= starts[LAST_SESSIONS - 1] - SETTLED_MS
