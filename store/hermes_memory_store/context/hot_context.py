"""The hot facts of a folder's theme, read from the store's file: for a hook without a bridge, and for `instructions`.

Chosen and packed as the context block is. Nothing is copied, so that the next read has nothing of what was purged.
"""

from __future__ import annotations

import os
from time import gmtime, strftime, time

from hermes_memory_store.context import fence
from hermes_memory_store.context.packing import FENCE_TOKENS, LEFT_OUT_TOKENS, count_fitting, format_left_out
from hermes_memory_store.context.start_choice import FIRST_WORDS, ORIGIN_COLUMNS, USES, choose_start_facts
from hermes_memory_store.context.start_situation import find_situation
from hermes_memory_store.database import driver, store_reading
from hermes_memory_store.places import place_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_reading import Ask
    from hermes_memory_themes.policy import Policies

    Policy = tuple[int, str, bool, bool]
    """Of a theme: `injection_tokens`, `branches`, and whether projects have themes."""

    Access = tuple[str, bool, bool]
    """The theme that a reader is given, whether also the person's own facts, and whether no other theme."""

DEFAULT_POLICY = (180, "mark", False, True)
"""What holds without a file of policies."""

FIRST_WITH_ORIGINS, FIRST_WITH_USES = 7, 9
"""Versions of the store since which facts have an origin, and uses are counted."""

WRITTEN_AT = """
    SELECT o.id, coalesce(p.joined_id, p.id), o.branch, o.commit_id
    FROM origins o LEFT JOIN projects p ON p.id = o.project_id
    WHERE o.id IN ({marks}) AND (o.branch IS NOT NULL OR o.commit_id IS NOT NULL)
"""


CITING = """
    SELECT f.id, f.cites, coalesce(p.joined_id, p.id), f.target, f.content
    FROM facts f LEFT JOIN origins o ON o.id = f.origin_id LEFT JOIN projects p ON p.id = o.project_id
    WHERE f.id IN (SELECT value FROM json_each(?)) AND f.cites IS NOT NULL
"""

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

EXPECTED_MS = 3_600_000
"""How long after their installation hooks are expected that were never heard."""

SETTLED_MS = 60_000
"""By how much a host's first sign in a session, by its hook or by MCP, may come before the other."""


CAPTURED_SESSIONS = """
    SELECT count(*) FROM (
      SELECT 1 FROM sessions n
      WHERE theme_id = ?1 AND name IS NOT ?2 AND EXISTS (SELECT 1 FROM turns WHERE session_id = n.id) LIMIT ?3
    )
"""

LAST_SESSION = """
    SELECT session_id, at, (SELECT min(at) FROM turns WHERE theme_id = ?1) FROM turns
    WHERE theme_id = ?1 AND session_id IS NOT NULL
      AND session_id IS NOT (SELECT id FROM sessions WHERE theme_id = ?1 AND name = ?2)
    ORDER BY at DESC LIMIT 1
"""

FEWEST_SESSIONS = 3
"""With captured messages, from which a start tells of them."""

MOST_SESSIONS = 100
"""That are counted: a start is not to take longer the more there are."""

SESSIONS_TOKENS = 30
"""What that may take."""


class HotContext:
    """What an agent is given at a start."""

    __slots__ = ("costs", "left_out", "sessions", "text_lines", "theme", "uids")

    def __init__(self, theme: str, text_lines: list[str], uids: list[str], costs: list[int], left_out: int) -> None:
        """:param costs: tokens of each of the lines, its end included"""
        self.theme = theme
        self.text_lines = text_lines
        self.uids = uids
        self.costs = costs
        self.left_out = left_out
        self.sessions: str | None = None

    @property
    def tokens(self) -> int:
        """The tokens of everything given: fence, facts, and the lines on those left out and on sessions."""
        more = (LEFT_OUT_TOKENS if self.left_out else 0) + (SESSIONS_TOKENS if self.sessions else 0)
        return FENCE_TOKENS + sum(self.costs) + more if self.text else 0

    @property
    def text(self) -> str:
        """What the model is given: the facts in their fence; empty without any."""
        more = [format_left_out(self.left_out)] if self.left_out and self.text_lines else []
        more += [self.sessions] if self.sessions else []
        if not self.text_lines + more:
            return ""
        return fence.format_fenced_lines(self.text_lines + more)

    @property
    def notice(self) -> str:
        """What the person sees of it."""
        return fence.format_chat_notice([line.partition("[")[2].partition("]: ")[0] for line in self.text_lines])

    def within_bytes(self, *most: int) -> HotContext:
        """Return as many of the facts, in order, as make a text of at most so many bytes; `MOST_GIVEN_BYTES` unless given."""
        return self._cut(count_fitting(len(self.text_lines), lambda count: self._cut(count).text, *most))

    def without(self, uids: Collection[str]) -> HotContext:
        """Return the facts but these, and nothing else."""
        rest = [place for place, uid in enumerate(self.uids) if uid not in uids]
        lines, uids = [self.text_lines[place] for place in rest], [self.uids[place] for place in rest]
        return HotContext(self.theme, lines, uids, [self.costs[place] for place in rest], 0)

    def _cut(self, count: int) -> HotContext:
        left_out = self.left_out + len(self.text_lines) - count
        cut = HotContext(self.theme, self.text_lines[:count], self.uids[:count], self.costs[:count], left_out)
        cut.sessions = self.sessions
        return cut


def read_hot_context(
    store_path: str,
    folder: str,
    *,
    theme: str = "",
    budget: int | None = None,
    environ: Mapping[str, str] | None = None,
) -> HotContext | None:
    """Return the hot facts that an agent in this folder is given; None where no store of this version can be read.

    :param store_path: absolute, links resolved
    :param folder: where the agent works, absolute; empty when that is unknown
    :param theme: named by the person, which wins over the folder
    :param budget: tokens in all; without it, what the theme's policy says
    :param environ: where `HERMES_HOME` is looked for; the process's environment unless given
    """

    context = store_reading.read_store(
        store_path, lambda conn: read_theme_context(to_ask(conn), (theme, True, False), folder, environ, budget)
    )
    return None if context is None else context.within_bytes()


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
) -> HotContext | None:
    """Return the hot facts that a server gives with its handshake; None where it gives none.

    Whoever may not read the theme gets none; nor does a host whose start hook is expected, since that gives the same.

    :param client: what its program calls itself
    :param token: what it presents, if anything; without one it comes over this user's own socket
    :param personal: without a token: whether it may be given the person's own facts
    :param sealed: without a token: it reads no theme but its own
    :param reserved: tokens of the budget that something else takes
    """

    def read(conn: driver.Connection) -> HotContext | None:
        ask = to_ask(conn)
        access = read_token_access(conn, token) if token else (theme, personal, sealed)
        if access is None or is_start_expected(ask, store_path, client, folder):
            return None
        context = read_theme_context(ask, access, folder, environ, reserved=reserved)
        if token:  # which may forbid to read conversations
            context.sessions = None
        return context if context.text else None

    return store_reading.read_store(store_path, read)


def read_token_access(conn: driver.Connection, token: str) -> Access | None:
    """Return what a token gives access to; None where it may read no facts, or is good no longer."""
    import hashlib

    digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
    row = conn.execute(ALLOWED, (digest, int(time() * 1000))).fetchone()
    if row is None:
        return None
    rights = row[1].split(",")
    tools = [right for right in rights if right.startswith("tool:")]
    if "read" not in rights or (tools and STATUS_TOOL not in tools):
        return None
    return row[0], "personal" in rights, True


def is_start_expected(ask: Ask, store_path: str, client: str, folder: str) -> bool:
    """Check whether the hooks of a client's host were heard within its last sessions, or were installed just now.

    Hooks can be installed in one project alone. Then they are heard there and nowhere else, so that being heard in one
    other folder proves nothing: facts that are given twice are a blemish, facts that are never given a defect.
    """
    from hermes_memory_store.hosts.host_data import (  # here, not above: hooks need none
        find_client_host,
        list_client_names,
    )

    host = find_client_host(client)
    if host is None:
        return False
    heard_at, is_here, folders = next(iter(ask(HEARD, (host, folder))), (None, 0, 0))
    installed_at = find_installation_time(store_path, host, folder)
    names = tuple(list_client_names(host))
    starts = [at for name, at in ask(NEWEST_SESSIONS, ()) if str(name).lower().startswith(names)]
    if heard_at is None:
        is_new = installed_at is not None and time() * 1000 - installed_at < EXPECTED_MS
        return is_new and not any(at > installed_at for at in starts)
    if not (is_here or folders != 1 or installed_at is not None):
        return False
    return len(starts) < LAST_SESSIONS or heard_at >= starts[LAST_SESSIONS - 1] - SETTLED_MS


def find_installation_time(store_path: str, host: str, folder: str) -> int | None:
    """Return when the hooks of a host that run in a folder were installed last, as `connect` noted; None where none are."""
    from hermes_memory_store.compact_json import parse_whole_object
    from hermes_memory_store.hosts.host_data import load_host

    try:
        with open(f"{store_path}.hooks.json", encoding="utf-8") as file:
            files = (parse_whole_object(file.read()) or {}).get(host)
    except (OSError, ValueError):
        return None
    data = load_host(host)
    in_project = "/" + (data.get("hooks") or data.get("script", {})).get("project", "/")
    times = [
        at
        for file, at in (files.items() if isinstance(files, dict) else ())
        if isinstance(at, int)
        and (in_project not in file or f"{folder}/".startswith(file.partition(in_project)[0] + "/"))
    ]
    return max(times, default=None)


def to_ask(conn: driver.Connection) -> Ask:
    """Return a function that runs one reading statement and returns its rows.

    In a store of an older version, tables that it lacks are empty, and facts have no origin.
    """
    version = conn.execute("PRAGMA user_version").fetchone()[0]

    def ask(sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        return conn.execute(sql, args).fetchall()

    def ask_older(sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        if version < FIRST_WITH_USES:
            sql = sql.replace(USES[0], "NULL, NULL").replace(USES[1], "")
        if version < FIRST_WITH_ORIGINS:
            for column in ORIGIN_COLUMNS:
                sql = sql.replace(column, "NULL")
        try:
            return conn.execute(sql, args).fetchall()
        except driver.OperationalError:
            return []

    return ask if version == store_reading.KNOWN_STORE[1] else ask_older


def read_theme_context(
    ask: Ask,
    access: Access,
    folder: str,
    environ: Mapping[str, str] | None,
    budget: int | None = None,
    *,
    reserved: int = 0,
) -> HotContext:
    """Return the hot facts that an agent is given, fence included.

    Its theme is the one that its person named, else that of the folder it works in: empty for a project that the store does
    not know yet, `default` where projects have no themes.

    :param folder: where the agent works, which decides what matters there and what was written on another branch
    :param budget: tokens in all; without it, what the policy says
    :param reserved: tokens of it that something else takes
    """
    named, personal, sealed = access
    policies = load_policies(environ)
    theme = to_stored_theme(named) if named.strip() else place_reading.read_folder_theme(ask, folder)
    tokens, branches, stale, has_project_themes = find_policy(policies, theme)
    if not named.strip() and not has_project_themes:
        theme = place_reading.DEFAULT
        tokens, branches, stale, _ = find_policy(policies, theme)
    theme_key, now = next((key for (key,) in ask(place_reading.THEME_KEY, (theme,))), None), int(time() * 1000)
    choice = choose_start_facts(
        ask,
        theme,
        theme_key,
        find_situation(ask, folder, now),
        (tokens if budget is None else budget) - reserved - FENCE_TOKENS,
        lambda rows: place_stale_facts(
            ask, rows, folder, place_hot_facts(ask, rows, theme, folder, branches), holds=stale
        ),
        personal=personal and has_project_themes,
        sealed=sealed or not has_project_themes,
        count_line=LEFT_OUT_TOKENS,
    )
    uids = [format_uuid(candidate.uid) for candidate in choice.given]
    costs = [candidate.cost for candidate in choice.given]
    context = HotContext(theme, choice.lines, uids, costs, len(choice.left_out))
    context.sessions = describe_sessions(ask, theme_key, now)
    return context


def describe_sessions(ask: Ask, theme_key: int | None, now: int, session: str | None = None) -> str | None:
    """Return a line on the sessions that were captured in a theme before `session`; None where there are few."""
    count = sum(count for (count,) in ask(CAPTURED_SESSIONS, (theme_key, session, MOST_SESSIONS + 1)))
    newest = ask(LAST_SESSION, (theme_key, session)) if count >= FEWEST_SESSIONS else ()
    if not newest:
        return None
    last, last_at, first_at = newest[0]
    since, number = gmtime(first_at / 1000), f"over {MOST_SESSIONS}" if count > MOST_SESSIONS else f"{count}"
    year = "" if since.tm_year == gmtime(now / 1000).tm_year else f" {since.tm_year}"
    head = f"({number} sessions since {strftime('%d %b', since).lstrip('0')}{year}"
    from hermes_memory_store.notation.token_estimate import estimate_tokens  # here, not above: few need it

    content = next((content for (content,) in ask(FIRST_WORDS, (last,))), "")
    text, days = fence.to_shown_line(" ".join(content[:4_000].split())), (now - last_at) // 86_400_000
    for width in (60, 45, 30, 15) if text else ():
        words = text if len(text) <= width else f"{text[:width].rstrip()}…"
        line = f"{head}; last ({f'{days} d' if days else 'today'}): {words})"
        if estimate_tokens(line) <= SESSIONS_TOKENS:
            return line
    return f"{head})"


def place_hot_facts(
    ask: Ask, rows: list[tuple[Any, ...]], theme: str, folder: str, branches: str
) -> Mapping[int, HotPlace]:
    """Return how the branches that facts were written on change their places, by key. :param rows: of `START_FACTS`"""
    origins = sorted({row[7] for row in rows if row[7] is not None})
    if not origins or branches == "off":
        return {}
    written = ask(WRITTEN_AT.format(marks=", ".join("?" * len(origins))), origins)
    place = place_reading.find_known_folder(ask, folder) if written and folder else place_reading.FolderPlace()
    if all(at[1] == place.project and at[2] == place.branch and place.branch for at in written):
        return {}
    # Here, not above: most facts are of this branch.
    from hermes_memory_store.notation.token_estimate import estimate_tokens
    from hermes_memory_store.places.branch_marks import read_hot_places

    return read_hot_places(ask, rows, written, theme, folder, estimate_tokens, holds=branches == "hold")


def place_stale_facts(
    ask: Ask, rows: list[tuple[Any, ...]], folder: str, places: Mapping[int, HotPlace], *, holds: bool
) -> Mapping[int, HotPlace]:
    """Return places with those of facts whose cited lines are not in the folder's working tree as they were."""
    citing = ask(CITING, (str([row[0] for row in rows]),)) if folder else ()
    if not citing:
        return places
    # Here, not above: few facts cite anything.
    from hermes_memory_store.notation.token_estimate import estimate_tokens
    from hermes_memory_store.places.branch_marks import add_stale_places
    from hermes_memory_store.places.citations import find_stale
    from hermes_memory_store.places.cited_values import FactWords
    from hermes_memory_store.places.git_files import find_repository

    repository, project = (
        find_repository(os.path.realpath(folder)),
        place_reading.find_known_folder(ask, folder).project,
    )
    cited = [(key, cites, FactWords(*words)) for key, cites, of_project, *words in citing if of_project == project]
    stale = {} if repository is None or project is None else find_stale(repository.root, cited)
    return add_stale_places(places, stale, estimate_tokens, holds=holds)


def load_policies(environ: Mapping[str, str] | None = None) -> Policies | None:
    """Load the file of policies; None where there is none, or a wrong one, and the defaults hold."""
    variables = os.environ if environ is None else environ
    home = variables.get("HERMES_HOME", "").strip() or os.path.join(os.path.expanduser("~"), ".hermes")
    path = os.path.join(home, "memory-themes.toml")
    if not os.path.exists(path):
        return None
    from hermes_memory_themes.policy import Policies  # here, not above: few have the file, and its parser takes 20 ms
    from hermes_memory_themes.theme_errors import PolicyError

    try:
        return Policies.load(path)
    except PolicyError:
        return None


def find_policy(policies: Policies | None, theme: str) -> Policy:
    if policies is None:
        return DEFAULT_POLICY
    from hermes_memory_themes.theme_errors import PolicyError

    try:
        policy = policies.for_theme(theme)
        return policy.injection_tokens, policy.branches, policy.stale == "hold", policies.has_project_themes
    except PolicyError:  # the file was changed since it was loaded, and is wrong now
        return DEFAULT_POLICY


def to_stored_theme(name: str) -> str:
    """Return a theme's name in the one form in which it is stored; a name that cannot be one names no theme."""
    words = name.split("-")
    if name.isascii() and name.islower() and all(word.isalpha() for word in words) and len(name) <= 64:
        return name
    from hermes_memory_themes.theme_errors import ThemeError
    from hermes_memory_themes.theme_identity import normalise_theme

    try:
        return normalise_theme(name)
    except ThemeError:
        return ""


def format_uuid(uid: bytes) -> str:
    text = uid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
