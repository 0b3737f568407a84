"""Resources: the status block, themes, scopes and facts.

An agent sees only its own theme, unless its token allows more. What it may not see answers exactly like what does
not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import UnknownResource
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.conversations.turns import find_only_turn
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import FactFilter, Scope, ScopeStatus, Tier
from hermes_memory_store.notation.token_count import count_tokens

PAGE = 100
"""Scopes of one page of the list."""

MOST = 500
"""Facts of one resource: what a model can use, not a backup."""

KIND = "text/plain"

STRETCH_TOKENS, SUMMARY_TOKENS = 8_000, 90
"""Of a stretch of messages, and of the fence's head and the line that says which they are."""


@dataclass(frozen=True, slots=True)
class ReadableResource:
    """A readable resource, or a template of such."""

    uri: str
    name: str
    title: str
    description: str
    tools: tuple[str, ...]
    """The tools that give the same: a token restricted to others may not read it."""


STATUS = ReadableResource(
    "memory://status",
    "status",
    "Memory status",
    "Notation, gauge, the facts that matter now, and the active scopes.",
    ("memory_status",),
)

THEME = ReadableResource(
    "memory://theme/{theme}", "theme", "Theme", "Gauge, scopes and hot facts of a theme.", ("memory_export",)
)
SCOPE = ReadableResource(
    "memory://scope/{theme}/{scope}",
    "scope",
    "Scope",
    "A unit of work: its state and its facts.",
    ("memory_export",),
)
FACT = ReadableResource(
    "memory://fact/{uid}",
    "fact",
    "Fact",
    "One fact, where it stands, and what it replaced.",
    ("memory_export", "memory_history"),
)

HISTORY = ReadableResource(
    "memory://distil/{after}", "distil", "History", "Messages after one, to write facts from.", ("recall_conversation",)
)

TEMPLATES = (THEME, SCOPE, FACT, HISTORY)


def to_theme_uri(theme: str) -> str:
    return f"memory://theme/{quote(theme, safe='')}"


def to_scope_uri(theme: str, label: str) -> str:
    return f"memory://scope/{quote(theme, safe='')}/{quote(label, safe='')}"


def to_fact_uri(uid: str) -> str:
    return f"memory://fact/{uid}"


def list_resources(connection: Connection, cursor: str | None) -> tuple[list[ReadableResource], str | None]:
    """Return one page of resources, and the next page's cursor: the status, the theme, and its open scopes.

    :raises ArgumentError: no page has this cursor
    """
    theme, rights = connection.theme, connection.rights
    may_list = rights.grants_any_tool(SCOPE.tools)
    labelled = connection.store.scopes.list(theme) if may_list else []
    after = None if cursor is None else unquote(cursor)
    if after is not None and after not in [scope.label for scope in labelled]:
        raise ArgumentError(f"{cursor!r:.60} is no cursor of this list; ask without one for its first page", cursor)
    if not may_list:
        return ([STATUS] if rights.grants_any_tool(STATUS.tools) else []), None
    running = (ScopeStatus.OPEN, ScopeStatus.COOLING)
    scopes = sorted((scope for scope in labelled if scope.status in running), key=lambda s: s.label)
    page = [scope for scope in scopes if after is None or scope.label > after]
    title = to_given_name(theme)
    described = "Its gauge, scopes and hot facts."
    first = [STATUS, ReadableResource(to_theme_uri(theme), f"theme {title}", f"Theme {title}", described, THEME.tools)]
    shown = [
        ReadableResource(
            to_scope_uri(theme, scope.label),
            f"scope {to_given_name(scope.label)}",
            f"Scope {to_given_name(scope.label)}",
            format_scope_summary(scope),
            SCOPE.tools,
        )
        for scope in page[:PAGE]
    ]
    following = quote(page[PAGE - 1].label, safe="") if len(page) > PAGE else None
    listed = ([] if cursor else first) + shown
    return [resource for resource in listed if rights.grants_any_tool(resource.tools)], following


def read_resource(connection: Connection, uri: str) -> str:
    """Return the text of a resource. :raises UnknownResource: it does not exist, or not for this connection"""
    for pattern, resource, reader in READERS:
        match = pattern.fullmatch(uri)
        if match is None:
            continue
        if not connection.rights.grants_any_tool(resource.tools):
            raise UnknownResource(uri)
        try:
            return format_fenced_text(
                reader(connection, *(unquote(part, errors="strict") for part in match.groups() if part))
            )
        except (StoreError, UnicodeDecodeError) as error:
            raise UnknownResource(uri) from error
    raise UnknownResource(uri)


def read_status_resource(connection: Connection) -> str:
    """Return the status block that an agent gets when it starts."""
    return connection.context_block().text


def read_theme_resource(connection: Connection, name: str) -> str:
    """Return a theme's gauge, scopes and hot facts."""
    check_theme_access(connection, name)
    store = connection.store
    if name != connection.theme:
        store.names.theme(name)
    gauge = store.tiers.gauge(name)
    lines = [f"theme {to_given_name(name)}: {gauge.pct:.1f}% of {gauge.budget} characters used, pressure {gauge.level}"]
    scopes = store.scopes.list(name)[:PAGE]
    lines += [f"scope {to_given_name(scope.label)}: {format_scope_summary(scope)}" for scope in scopes]
    return "\n".join(lines + format_fact_lines(connection, FactFilter(theme=name, tiers=frozenset({Tier.HOT}))))


def read_scope_resource(connection: Connection, name: str, label: str) -> str:
    check_theme_access(connection, name)
    scope = connection.store.scopes.get(name, label)
    facts = FactFilter(theme=name, scopes=frozenset({label}), tiers=frozenset({Tier.HOT, Tier.COLD}))
    head = f"scope {to_given_name(label)}: {format_scope_summary(scope)}"
    return "\n".join([head, *format_fact_lines(connection, facts)])


def read_fact_resource(connection: Connection, uid: str) -> str:
    within = None if connection.rights.other_themes else connection.theme
    fact = connection.store.facts.get(uid) if within is None else connection.find_fact(uid)
    within = None if within is None else fact.theme
    chain = connection.store.facts.as_written(connection.store.facts.chain(fact.uid, theme=within))
    if fact.tier is Tier.QUARANTINED or fact not in chain:
        raise UnknownResource(to_fact_uri(uid))
    author = connection.store.sessions.name_actor(fact.theme, fact.actor)
    marked = connection.store.branch_labels.mark_named(fact)
    scope = to_given_name(fact.scope or "(none)")
    lines = [marked.line, f"tier {fact.tier}, scope {scope}, by {to_given_name(author)}"]
    return "\n".join(lines + [f"{version.tier}: {version.notation}" for version in chain if version.uid != fact.uid])


def read_history_resource(connection: Connection, after: str | None = None, most: int = STRETCH_TOKENS) -> str:
    """Return the next messages of the theme that agents are given, the oldest first: what is decided later supersedes it.

    :param after: the name of the message before them, or `start`; by default the last one that distilled facts name
    :raises ArgumentError: there is no such message
    """
    turns = connection.store.turns
    order = turns.list_in_order(connection.theme)
    uids, last = [*order], turns.find_newest_source(connection.theme, "distil", order) if after is None else None
    if after not in (None, "start"):
        last = find_only_turn(after, uids)
    start = end = 0 if last is None else uids.index(last) + 1
    room, texts, place, day = most - SUMMARY_TOKENS, list[str](), "", ""
    for turn in turns.by_uids(uids[start : start + most // 8]):  # an ID alone takes eight tokens
        head = f"{to_given_name(turn.origin.client or 'unknown host')}, {to_given_name(turn.title or 'no session')}:\n"
        content = turn.content.replace("\n", "\n  ")  # no line of it begins as a message does
        text = f"[{turn.uid[-12:]}] {format_iso_time(turn.at)[:10]} {turn.role}: {content}"
        text = text if head == place else head + text
        while not texts and count_fenced_tokens(text) > room:
            text = f"{text[: len(text) * 4 // 5 - 8]} … (cut)"
        room -= count_fenced_tokens(text)
        if room < 0:
            break
        texts.append(text)
        place, end, day = head, uids.index(turn.uid, end) + 1, format_iso_time(turn.at)[:10]
    if not texts:
        return f"all {len(uids):,} messages are read; after=start begins with the oldest" if uids else "no messages yet"
    following = f"the next ones: after={uids[end - 1][-12:]}" if end < len(uids) else "there are no more"
    return "\n".join([f"messages {start + 1:,} to {end:,} of {len(uids):,}, until {day}; {following}", *texts])


def count_fenced_tokens(text: str) -> int:
    return count_tokens(format_fenced_text(text).partition("\n")[2] + "\n")


READERS: list[tuple[re.Pattern[str], ReadableResource, Callable[..., str]]] = [
    (re.compile(r"memory://distil(?:/(start|[0-9a-fA-F-]{6,36}))?"), HISTORY, read_history_resource),
    (re.compile(r"memory://status"), STATUS, read_status_resource),
    (re.compile(r"memory://theme/([^/?#]+)"), THEME, read_theme_resource),
    (re.compile(r"memory://scope/([^/?#]+)/([^/?#]+)"), SCOPE, read_scope_resource),
    (re.compile(r"memory://fact/([0-9a-fA-F-]{6,36})"), FACT, read_fact_resource),
]

READING_TOOLS = frozenset(name for _, resource, _ in READERS for name in resource.tools)
"""A token restricted to other tools than these hears of no change either."""


def check_theme_access(connection: Connection, name: str) -> None:
    """Check read access to a theme. :raises UnknownResource: this connection may not read it"""
    if name != connection.theme and not connection.rights.other_themes:
        raise UnknownResource(to_theme_uri(name))


def format_fact_lines(connection: Connection, facts: FactFilter) -> list[str]:
    """Format facts as notation, newest first, with a count of those omitted."""
    page = connection.store.facts.page(facts, limit=MOST)
    marked = connection.store.branch_labels.mark(connection.store.facts.as_written(page.facts))
    lines = [line.line + ("" if line.fact.tier is Tier.HOT else f" [{line.fact.tier}]") for line in marked.given]
    if marked.held_note is not None:
        lines.append(f"({marked.held_note})")
    if page.next is not None:
        lines.append(f"(+{page.total - len(lines)} more: memory_search)")
    connection.store.reads.note("recall", connection.theme, page.facts, why="resource")
    return lines or ["(no facts)"]


def format_scope_summary(scope: Scope) -> str:
    counts = ", ".join(f"{count} {tier}" for tier, count in sorted(scope.facts.items()) if count)
    return f"{scope.status}, {counts or 'no facts'}"
