"""The hot facts of a folder's theme, read from the store's file: for a hook without a bridge, and for `instructions`.

Ranked and packed as the context block is. Nothing is copied: what was purged, quarantined or withdrawn is not in the
hot tier any more, so the next read has nothing of it.
"""

from __future__ import annotations

from time import time

from hermes_memory_store.context import fence
from hermes_memory_store.context.fact_packing import MOST_GIVEN_BYTES
from hermes_memory_store.context.start_choice import USES, choose_start_facts
from hermes_memory_store.context.start_situation import find_situation
from hermes_memory_store.database import store_reading
from hermes_memory_store.database.driver import Connection, OperationalError
from hermes_memory_store.places import place_queries, place_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_queries import Ask
    from hermes_memory_themes.policy import Policies

INJECTION_TOKENS = 180
"""The default of `ThemePolicy.injection_tokens`."""

FENCE_TOKENS = 10
"""What the head of the fence takes; the mark of a line is in `fact_packing.LINE_TOKENS`."""

COUNT_TOKENS = 12
"""What the line takes that counts the facts left out."""

FIRST_WITH_ORIGINS, FIRST_WITH_USES = 7, 9
"""Versions of the store since which facts have an origin, and uses are counted."""

WRITTEN_AT = """
    SELECT o.id, coalesce(p.joined_id, p.id), o.branch, o.commit_id
    FROM origins o LEFT JOIN projects p ON p.id = o.project_id
    WHERE o.id IN ({marks}) AND (o.branch IS NOT NULL OR o.commit_id IS NOT NULL)
"""


class HotContext:
    """What an agent is given at a start."""

    __slots__ = ("costs", "left_out", "text_lines", "theme", "uids")

    def __init__(self, theme: str, text_lines: list[str], uids: list[str], costs: list[int], left_out: int) -> None:
        """:param text_lines: facts as MEMORY_SPEC writes them, one a line
        :param uids: of these facts, in the same order
        :param costs: tokens of each of these lines, its end included
        :param left_out: facts that did not fit
        """
        self.theme = theme
        self.text_lines = text_lines
        self.uids = uids
        self.costs = costs
        self.left_out = left_out

    @property
    def tokens(self) -> int:
        """Return the tokens of everything given: fence, facts, and the line that counts those left out."""
        if not self.text_lines:
            return 0
        return FENCE_TOKENS + sum(self.costs) + (COUNT_TOKENS if self.left_out else 0)

    @property
    def text(self) -> str:
        """Return what the model is given: the facts in their fence; empty without any."""
        if not self.text_lines:
            return ""
        more = [format_left_out(self.left_out)] if self.left_out else []
        return fence.format_fenced_lines(self.text_lines + more)

    def within_bytes(self, most: int) -> HotContext:
        """Return as many of the facts, in order, as make a text of at most `most` bytes of UTF-8."""
        fitting, count = self, len(self.text_lines)
        while count and len(fitting.text.encode("utf-8", "replace")) > most:
            count -= 1
            left_out = self.left_out + len(self.text_lines) - count
            fitting = HotContext(self.theme, self.text_lines[:count], self.uids[:count], self.costs[:count], left_out)
        return fitting


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

    def read(conn: Connection) -> HotContext:
        ask = to_ask(conn)
        policies = load_policies(environ)
        name = find_theme(ask, folder, theme, policies)
        policy = to_quick_policy(policies, name)
        return read_theme_context(ask, name, policy.injection_tokens if budget is None else budget, folder, policy)

    found = store_reading.read_store(store_path, read)
    return None if found is None else found.within_bytes(MOST_GIVEN_BYTES)


def to_ask(conn: Connection) -> Ask:
    """Return a function that runs one reading statement and returns its rows.

    In a store of an older version, tables that it lacks are empty, and facts have no origin.
    """
    version = conn.execute("PRAGMA user_version").fetchone()[0]

    def ask(sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        return conn.execute(sql, args).fetchall()

    def ask_older(sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            known = sql.replace(USES[0], "NULL, NULL").replace(USES[1], "") if version < FIRST_WITH_USES else sql
            known = (
                known.replace("f.origin_id", "NULL").replace("f.verdict", "NULL")
                if version < FIRST_WITH_ORIGINS
                else known
            )
            return conn.execute(known, args).fetchall()
        except OperationalError:
            return []

    return ask if version == store_reading.KNOWN_STORE[1] else ask_older


def find_theme(ask: Ask, folder: str, named: str, policies: Policies | None) -> str:
    """Return the theme of an agent: the one its person named, else that of the folder it works in.

    :param policies: of `load_policies`
    :return: empty for a project that the store does not know yet; `default` where projects have no themes (`projects = false`).
    """
    if named.strip():
        return to_stored_theme(named)
    theme = place_reading.read_folder_theme(ask, folder)
    return theme if to_quick_policy(policies, theme).has_project_themes else place_queries.DEFAULT


def read_theme_context(
    ask: Ask,
    theme: str,
    budget: int,
    folder: str,
    policy: QuickPolicy,
    *,
    personal: bool = True,
    sealed: bool = False,
) -> HotContext:
    """Return the hot facts that an agent of a theme is given within `budget` tokens, fence included.

    :param folder: where the agent works, which decides what matters there and what was written on another branch
    :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
    :param sealed: it reads no theme but its own
    """
    if not policy.has_project_themes:
        personal, sealed = False, True
    chosen = choose_start_facts(
        ask,
        theme,
        next((key for (key,) in ask(place_queries.THEME_KEY, (theme,))), None),
        find_situation(ask, folder, int(time() * 1000)),
        budget - FENCE_TOKENS,
        lambda rows: place_hot_facts(ask, rows, theme, folder, policy.branches),
        personal=personal,
        sealed=sealed,
        count_line=COUNT_TOKENS,
    )
    given, places = chosen.given, chosen.places
    lines = [f"{one.line} {places[one.key].mark.label}" if one.key in places else one.line for one in given]
    named, costs = [format_uuid(one.uid) for one in given], [one.cost for one in given]
    return HotContext(theme, lines, named, costs, len(chosen.left_out))


def place_hot_facts(
    ask: Ask, rows: list[tuple[Any, ...]], theme: str, folder: str, branches: str
) -> dict[int, HotPlace]:
    """Return how the branches that facts were written on change their places, by key; most are not in it.

    :param rows: of `START_FACTS`
    :param theme: the agent's own
    :param branches: the policy: `mark`, `hold` or `off`
    """
    origins = sorted({row[7] for row in rows if row[7] is not None})
    if not origins or branches == "off":
        return {}
    written = ask(WRITTEN_AT.format(marks=", ".join("?" * len(origins))), origins)
    known = place_reading.find_known_folder(ask, folder) if written and folder else place_reading.FolderPlace()
    if all(at[1] == known.project and at[2] == known.branch and known.branch for at in written):
        return {}
    from hermes_memory_store.places.branch_places import (
        find_hot_places,  # here, not above: most facts are of this branch
    )

    return find_hot_places(ask, rows, written, theme, folder, branches)


class QuickPolicy:
    """What of a theme's policy matters here."""

    __slots__ = ("branches", "has_project_themes", "injection_tokens")

    def __init__(
        self, injection_tokens: int = INJECTION_TOKENS, branches: str = "mark", has_project_themes: bool = True
    ) -> None:
        self.injection_tokens = injection_tokens
        self.branches = branches
        self.has_project_themes = has_project_themes


def load_policies(environ: Mapping[str, str] | None = None) -> Policies | None:
    """Load the file of policies; None where there is none, or a wrong one, and the defaults hold."""
    import os

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


def to_quick_policy(policies: Policies | None, theme: str) -> QuickPolicy:
    """Return the policy of a theme. :param policies: of `load_policies`"""
    if policies is None:
        return QuickPolicy()
    from hermes_memory_themes.theme_errors import PolicyError

    try:
        policy = policies.for_theme(theme)
        return QuickPolicy(policy.injection_tokens, policy.branches, policies.has_project_themes)
    except PolicyError:  # the file was changed since it was loaded, and is wrong now
        return QuickPolicy()


def to_stored_theme(name: str) -> str:
    """Return a theme's name in the one form in which it is stored; a name that cannot be one names no theme.

    What has only letters and single dashes is in that form already.
    """
    words = name.split("-")
    if name.isascii() and name.islower() and all(word.isalpha() for word in words) and len(name) <= 64:
        return name
    from hermes_memory_themes.theme_errors import ThemeError
    from hermes_memory_themes.theme_identity import normalise_theme

    try:
        return normalise_theme(name)
    except ThemeError:
        return ""


def format_left_out(count: int) -> str:
    """Format the line that counts the facts left out."""
    return f"(+{count} more: memory_search)"


def format_uuid(uid: bytes) -> str:
    """Return the canonical 36-character form of a uid."""
    text = uid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
