"""The hot facts of a folder's theme, read from the store's file: for a hook without a bridge, and for `instructions`.

Chosen and packed as the context block is. Nothing is copied: what was purged, quarantined or withdrawn is not in the
hot tier any more, so the next read has nothing of it.
"""

from __future__ import annotations

import os
from time import time

from hermes_memory_store.context import fence
from hermes_memory_store.context.packing import FENCE_TOKENS, LEFT_OUT_TOKENS, count_fitting, format_left_out
from hermes_memory_store.context.start_choice import ORIGIN_COLUMNS, USES, choose_start_facts
from hermes_memory_store.context.start_situation import find_situation
from hermes_memory_store.database import driver, store_reading
from hermes_memory_store.places import place_reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hermes_memory_store.places.branch_marks import HotPlace
    from hermes_memory_store.places.place_reading import Ask
    from hermes_memory_themes.policy import Policies

    Policy = tuple[int, str, bool]
    """Of a theme: `injection_tokens`, `branches`, and whether projects have themes."""

DEFAULT_POLICY = (180, "mark", True)
"""What holds without a file of policies."""

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
        return FENCE_TOKENS + sum(self.costs) + (LEFT_OUT_TOKENS if self.left_out else 0) if self.text_lines else 0

    @property
    def text(self) -> str:
        """Return what the model is given: the facts in their fence; empty without any."""
        if not self.text_lines:
            return ""
        more = [format_left_out(self.left_out)] if self.left_out else []
        return fence.format_fenced_lines(self.text_lines + more)

    def within_bytes(self, *most: int) -> HotContext:
        """Return as many of the facts, in order, as make a text of at most so many bytes; `MOST_GIVEN_BYTES` unless given."""
        return self._cut(count_fitting(len(self.text_lines), lambda count: self._cut(count).text, *most))

    def _cut(self, count: int) -> HotContext:
        left_out = self.left_out + len(self.text_lines) - count
        return HotContext(self.theme, self.text_lines[:count], self.uids[:count], self.costs[:count], left_out)


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

    def read(conn: driver.Connection) -> HotContext:
        ask = to_ask(conn)
        policies = load_policies(environ)
        name = find_theme(ask, folder, theme, policies)
        return read_theme_context(ask, name, folder, find_policy(policies, name), budget)

    context = store_reading.read_store(store_path, read)
    return None if context is None else context.within_bytes()


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


def find_theme(ask: Ask, folder: str, named: str, policies: Policies | None) -> str:
    """Return the theme of an agent: the one its person named, else that of the folder it works in.

    :param policies: of `load_policies`
    :return: empty for a project that the store does not know yet; `default` where projects have no themes (`projects = false`).
    """
    if named.strip():
        return to_stored_theme(named)
    theme = place_reading.read_folder_theme(ask, folder)
    return theme if find_policy(policies, theme)[2] else place_reading.DEFAULT


def read_theme_context(
    ask: Ask,
    theme: str,
    folder: str,
    policy: Policy,
    budget: int | None = None,
    *,
    reserved: int = 0,
    personal: bool = True,
    sealed: bool = False,
) -> HotContext:
    """Return the hot facts that an agent of a theme is given, fence included.

    :param folder: where the agent works, which decides what matters there and what was written on another branch
    :param budget: tokens in all; without it, what the policy says
    :param reserved: tokens of it that something else takes
    :param personal: whether it may be given the person's own facts, in at most `PERSONAL_TOKENS`
    :param sealed: it reads no theme but its own
    """
    tokens, branches, has_project_themes = policy
    choice = choose_start_facts(
        ask,
        theme,
        next((key for (key,) in ask(place_reading.THEME_KEY, (theme,))), None),
        find_situation(ask, folder, int(time() * 1000)),
        (tokens if budget is None else budget) - reserved - FENCE_TOKENS,
        lambda rows: place_hot_facts(ask, rows, theme, folder, branches),
        personal=personal and has_project_themes,
        sealed=sealed or not has_project_themes,
        count_line=LEFT_OUT_TOKENS,
    )
    uids, costs = (
        [format_uuid(candidate.uid) for candidate in choice.given],
        [candidate.cost for candidate in choice.given],
    )
    return HotContext(theme, choice.lines, uids, costs, len(choice.left_out))


def place_hot_facts(
    ask: Ask, rows: list[tuple[Any, ...]], theme: str, folder: str, branches: str
) -> Mapping[int, HotPlace]:
    """Return how the branches that facts were written on change their places, by key; most are not in it.

    :param rows: of `START_FACTS`
    :param theme: the agent's own
    :param branches: the policy: `mark`, `hold` or `off`
    """
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
    """Return the policy of a theme. :param policies: of `load_policies`"""
    if policies is None:
        return DEFAULT_POLICY
    from hermes_memory_themes.theme_errors import PolicyError

    try:
        policy = policies.for_theme(theme)
        return policy.injection_tokens, policy.branches, policies.has_project_themes
    except PolicyError:  # the file was changed since it was loaded, and is wrong now
        return DEFAULT_POLICY


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


def format_uuid(uid: bytes) -> str:
    """Return the canonical 36-character form of a uid."""
    text = uid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
