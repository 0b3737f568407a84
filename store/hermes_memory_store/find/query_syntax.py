"""The search language: parse one line into words, phrases and filters.

    deploy "blue green" -staging type:decision,value scope:"Release 2"
    tier:cold target:srv before:2026-03-01 after:7d by:person from:import in:shop host:codex read:never cooled:scope

Everything that is not a known filter is words: no line a person or an agent can type is a syntax error. Only the
value of a filter can be wrong; the error then names it together with the values that would be right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from hermes_memory_store.clock import parse_moment
from hermes_memory_store.errors import ArgumentError, QueryError, closest_names, shorten_value
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.model import LIVE_TIERS, FactFilter, FactType, Millis, Query, Tier, Way

MAX_LINE = 4_000
"""Characters of a line that are read. A question is short; what is pasted by mistake must not cost anything."""

MAX_WORDS = 32
"""Words and phrases of a line that count, and as many excluded ones."""

TYPES: dict[str, FactType] = {
    **{kind.value.lower(): kind for kind in FactType},
    **{kind.word: kind for kind in FactType},
    **{kind.word + "s": kind for kind in FactType},
    **{alias: kind for kind in FactType for alias in kind.aliases},
}
"""What may stand after `type:`, in lower case."""

TIERS: dict[str, frozenset[Tier]] = {
    **{tier.value: frozenset({tier}) for tier in Tier if tier is not Tier.WITHDRAWN},
    "live": LIVE_TIERS,
    "all": frozenset(Tier) - {Tier.WITHDRAWN},
}
"""What may stand after `tier:`."""

READS = {"never": False, "ever": True}

COOLERS = ("scope", "pressure", "uncurated")
"""What may stand after `cooled:`: the scope was closed, room was needed, or no curator of the team made it hot."""

VALUES: dict[str, Mapping[str, Any]] = {
    "type": TYPES,
    "tier": TIERS,
    "from": {way.value: way for way in Way},
    "read": READS,
    "cooled": {cooler: cooler for cooler in COOLERS},
}
"""The filters that take one of some words, with what each word stands for."""

LISTS = ("type", "scope", "tier", "from", "in", "branch", "host")
"""The filters that take several values, separated by commas."""

_VALUE = r'"([^"]*)"|([^,"]+)'
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"


@cache
def piece_pattern() -> re.Pattern[str]:
    """Return the pattern of a word, a phrase or a filter. Compiled with the first search: a listing has none."""
    return re.compile(
        r"""
        (?P<minus>-(?=[^\s-]))?
        (?: (?P<name>type|scope|tier|target|before|after|by|from|in|branch|host|read|cooled)
            :(?P<values>(?:"[^"]*"|[^\s",])(?:"[^"]*"|[^\s"])*)
          | "(?P<phrase>[^"]*)"
          | (?P<word>\S+) )
        """,
        re.VERBOSE | re.IGNORECASE,
    )


def parse_query(line: str, *, theme: str | None = None, now: Millis) -> Query:
    """Parse a search line.

    :param theme: the theme the search is limited to, None for all
    :param now: the time from which ages such as `after:7d` count back
    :raises QueryError: for a filter value that means nothing, with the nearest that does
    """
    if not isinstance(line, str):
        raise QueryError("a search is a line of text", line)
    words, phrases, excluded, filters = split_pieces(line)
    return Query(words, phrases, excluded, filter=to_fact_filter(filters, theme, now))


@lru_cache(maxsize=64)
def split_pieces(line: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], dict[str, list[str]]]:
    """Return the words, phrases and excluded texts of a line, and the values of its filters; one question parses it often."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    filters: dict[str, list[str]] = {}
    for piece in piece_pattern().finditer(clean_query(line)) if line else ():
        if piece["name"] and not piece["minus"]:
            name = piece["name"].lower()
            filters.setdefault(name, []).extend(split_filter_values(name, piece["values"]))
        elif piece["minus"]:
            excluded.append(piece[0][1:].replace('"', " ").strip())
        elif piece["phrase"] is not None:
            phrases.append(piece["phrase"].strip())
        else:
            words.append(piece["word"])
    return (
        tuple(words[:MAX_WORDS]),
        tuple([phrase for phrase in phrases if phrase][:MAX_WORDS]),
        tuple([text for text in excluded if text][:MAX_WORDS]),
        filters,
    )


def split_host_filter(line: str) -> tuple[frozenset[str], str]:
    """Return the clients of the hosts that a line asks for, and the rest: the one filter that applies to captured messages, too.

    :raises QueryError: there is no such host, with the nearest names
    """
    names: list[str] = []

    def take(piece: re.Match[str]) -> str:
        if piece["minus"] or (piece["name"] or "").lower() != "host":
            return piece[0]
        names.extend(split_filter_values("host", piece["values"]))
        return ""

    rest = piece_pattern().sub(take, clean_query(line)) if "host:" in line.lower() else line
    return frozenset().union(*(parse_filter_word("host", name) for name in names)), rest


def clean_query(line: str) -> str:
    """Return the line bounded and safe for SQLite: no control characters or lone surrogates, normalised."""
    text = line[:MAX_LINE].encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", re.sub(_CONTROL, " ", text)).translate(_QUOTES)


def split_filter_values(name: str, text: str) -> list[str]:
    """Split the values after a filter's colon: separated by commas, quoted where they hold a comma or a space."""
    if name not in LISTS:
        return [text.replace('"', "").strip()]
    return [(quoted if bare == "" else bare).strip() for quoted, bare in re.findall(_VALUE, text)]


def to_fact_filter(filters: dict[str, list[str]], theme: str | None, now: Millis) -> FactFilter:
    """Convert the filters of a line, each with its values, to a fact filter."""
    if not filters:
        return FactFilter(theme=theme)

    def words_of(name: str) -> list[Any]:
        return [parse_filter_word(name, value) for value in filters.get(name, ())]

    def word_of(name: str) -> Any:
        value = single_filter_value(name, filters)
        return None if value is None else parse_filter_word(name, value)

    def times_of(name: str) -> list[Millis]:
        return [parse_time_filter(name, value, now) for value in filters.get(name, ())]

    tiers: frozenset[Tier] = frozenset().union(*words_of("tier"))
    return FactFilter(
        theme=theme,
        scopes=frozenset(label or None for label in filters.get("scope", ())),
        before=min(times_of("before"), default=None),
        after=max(times_of("after"), default=None),
        types=frozenset(words_of("type")),
        tiers=tiers or LIVE_TIERS,
        target=single_filter_value("target", filters),
        by=single_filter_value("by", filters),
        ways=frozenset(words_of("from")),
        projects=frozenset(filter(None, filters.get("in", ()))),
        read=word_of("read"),
        cooled_by=word_of("cooled"),
        branches=frozenset(filter(None, filters.get("branch", ()))),
        clients=frozenset().union(*words_of("host")),
    )


def parse_filter_word(name: str, text: str) -> Any:
    """Return what the value of one of the filters `VALUES` stands for, in any case."""
    values = find_hosts_with("client_names") if name == "host" else VALUES[name]
    if (word := text.lower()) in values:
        return values[word]
    names = [kind.word for kind in FactType] if name == "type" else list(values)
    near = closest_names(word, names)
    hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "write " + ", ".join(names)
    raise QueryError(f"no {name} is called {shorten_value(text)!r}; {hint}", text)


def parse_time_filter(name: str, text: str, now: Millis) -> Millis:
    try:
        return parse_moment(text, now)
    except ArgumentError as error:
        raise QueryError(f"{name}: {error.message}", text) from None


def single_filter_value(name: str, filters: dict[str, list[str]]) -> str | None:
    """Return the value of a filter that takes exactly one."""
    values = [value for value in dict.fromkeys(filters.get(name, ())) if value]
    if len(values) > 1:
        names = " and ".join(repr(shorten_value(value)) for value in values[:3])
        raise QueryError(f"{name}: can be given once, not as {names}", values[1])
    return values[0] if values else None
