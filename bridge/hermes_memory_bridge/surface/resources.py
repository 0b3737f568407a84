"""Resources: the status block, each theme, each scope, each fact. An agent sees its own theme, unless its token says more.

What it may not see answers exactly like what does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hermes_memory_bridge.answers import NotThere
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.fence import fenced
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import FactFilter, Scope, ScopeStatus, Tier

PAGE = 100
"""Scopes of one page of the list."""

MOST = 500
"""Facts of one resource: what a model can use, not a backup."""

KIND = "text/plain"


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that can be read, or a template of such."""

    uri: str
    name: str
    title: str
    description: str


STATUS = Resource(
    "memory://status", "status", "Memory status", "Notation, gauge, the facts that matter now, and the active scopes."
)

TEMPLATES = (
    Resource("memory://theme/{theme}", "theme", "Theme", "Gauge, scopes and hot facts of a theme."),
    Resource("memory://scope/{theme}/{scope}", "scope", "Scope", "A unit of work: its state and its facts."),
    Resource("memory://fact/{uid}", "fact", "Fact", "One fact, where it stands, and what it replaced."),
)


def theme_uri(theme: str) -> str:
    """The address of a theme."""
    return f"memory://theme/{quote(theme, safe='')}"


def scope_uri(theme: str, label: str) -> str:
    """The address of a scope."""
    return f"memory://scope/{quote(theme, safe='')}/{quote(label, safe='')}"


def fact_uri(uid: str) -> str:
    """The address of a fact."""
    return f"memory://fact/{uid}"


def listed(connection: Connection, cursor: str | None) -> tuple[list[Resource], str | None]:
    """One page of what there is: the status, the theme, and its open scopes. With the cursor of the next page."""
    theme = connection.theme
    running = (ScopeStatus.OPEN, ScopeStatus.COOLING)
    scopes = sorted(
        (one for one in connection.store.scopes.list(theme) if one.status in running), key=lambda s: s.label
    )
    after = unquote(cursor) if cursor else None
    page = [one for one in scopes if after is None or one.label > after]
    first = [STATUS, Resource(theme_uri(theme), f"theme {theme}", f"Theme {theme}", "Its gauge, scopes and hot facts.")]
    shown = [
        Resource(scope_uri(theme, one.label), f"scope {one.label}", f"Scope {one.label}", described(one))
        for one in page[:PAGE]
    ]
    following = quote(page[PAGE - 1].label, safe="") if len(page) > PAGE else None
    return ([] if cursor else first) + shown, following


def read(connection: Connection, uri: str) -> str:
    """The text of a resource. :raises NotThere: there is none of that address, or not for this connection"""
    for pattern, reader in READERS:
        match = pattern.fullmatch(uri)
        if match is None:
            continue
        try:
            return fenced(reader(connection, *(unquote(part, errors="strict") for part in match.groups())))
        except (StoreError, UnicodeDecodeError) as error:
            raise NotThere(uri) from error
    raise NotThere(uri)


def status(connection: Connection) -> str:
    """What an agent is told at the start."""
    return connection.store.injection.status(connection.theme).text


def theme(connection: Connection, name: str) -> str:
    """A theme's gauge, scopes and hot facts."""
    allowed(connection, name)
    store = connection.store
    if name != connection.theme:
        store.names.theme(name)
    gauge = store.tiers.gauge(name)
    lines = [f"theme {name}: {gauge.pct:.1f}% of {gauge.budget} characters used, pressure {gauge.level}"]
    lines += [f"scope {one.label}: {described(one)}" for one in store.scopes.list(name)[:PAGE]]
    return "\n".join(lines + facts(connection, FactFilter(theme=name, tiers=frozenset({Tier.HOT}))))


def scope(connection: Connection, name: str, label: str) -> str:
    """A scope's state and facts."""
    allowed(connection, name)
    found = connection.store.scopes.get(name, label)
    wanted = FactFilter(theme=name, scopes=frozenset({label}), tiers=frozenset({Tier.HOT, Tier.COLD}))
    return "\n".join([f"scope {label}: {described(found)}", *facts(connection, wanted)])


def fact(connection: Connection, uid: str) -> str:
    """One fact and the chain it stands in."""
    within = None if connection.rights.other_themes else connection.theme
    found = connection.store.facts.get(uid, theme=within)
    if found.tier is Tier.QUARANTINED:
        raise NotThere(fact_uri(uid))
    lines = [found.notation, f"tier {found.tier}, scope {found.scope or '(none)'}, by {found.actor}"]
    replaced = [one for one in connection.store.facts.chain(found.uid, theme=within) if one.uid != found.uid]
    return "\n".join(lines + [f"{one.tier}: {one.notation}" for one in replaced])


READERS: list[tuple[re.Pattern[str], Callable[..., str]]] = [
    (re.compile(r"memory://status"), status),
    (re.compile(r"memory://theme/([^/?#]+)"), theme),
    (re.compile(r"memory://scope/([^/?#]+)/([^/?#]+)"), scope),
    (re.compile(r"memory://fact/([0-9a-fA-F-]{6,36})"), fact),
]


def allowed(connection: Connection, name: str) -> None:
    """:raises NotThere: the theme is not this connection's to read"""
    if name != connection.theme and not connection.rights.other_themes:
        raise NotThere(theme_uri(name))


def facts(connection: Connection, wanted: FactFilter) -> list[str]:
    """Facts as notation, newest first, with a count of those left out."""
    page = connection.store.facts.page(wanted, limit=MOST)
    lines = [one.notation + ("" if one.tier is Tier.HOT else f" [{one.tier}]") for one in page.facts]
    if page.next is not None:
        lines.append(f"(+{page.total - len(lines)} more: memory_search)")
    connection.store.reads.note("recall", connection.theme, page.facts, why="resource")
    return lines or ["(no facts)"]


def described(one: Scope) -> str:
    """A scope in a few words."""
    held = ", ".join(f"{count} {tier}" for tier, count in sorted(one.facts.items()) if count)
    return f"{one.status}, {held or 'no facts'}"
