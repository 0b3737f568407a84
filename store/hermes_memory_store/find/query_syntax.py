"""The search language: parse one line into words, phrases and filters.

    deploy "blue green" -staging type:decision,value scope:"Release 2"
    tier:cold target:srv before:2026-03-01 after:7d by:person from:import in:shop read:never cooled:scope

Everything that is not a known filter is words: no line a person or an agent can type is a syntax error. Only the
value of a filter can be wrong; the error then names it together with the values that would be right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from hermes_memory_store.clock import parse_moment
from hermes_memory_store.errors import ArgumentError, QueryError, closest_names, shorten_value
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
"""What may stand after `read:`."""

COOLERS = ("scope", "pressure", "uncurated")
"""What may stand after `cooled:`: the scope was closed, room was needed, or no curator of the team made it hot."""

_VALUE = r'"([^"]*)"|([^,"]+)'
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"


@cache
def piece_pattern() -> re.Pattern[str]:
    """Return the pattern of a word, a phrase or a filter. Compiled with the first search: a listing has none."""
    return re.compile(
        r"""
        (?P<minus>-(?=[^\s-]))?
        (?: (?P<name>type|scope|tier|target|before|after|by|from|in|branch|read|cooled)
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
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    given: dict[str, list[str]] = {}
    for piece in piece_pattern().finditer(clean_query(line)) if line else ():
        if piece["name"] and not piece["minus"]:
            name = piece["name"].lower()
            given.setdefault(name, []).extend(split_filter_values(name, piece["values"]))
        elif piece["minus"]:
            excluded.append(piece[0][1:].replace('"', " ").strip())
        elif piece["phrase"] is not None:
            phrases.append(piece["phrase"].strip())
        else:
            words.append(piece["word"])
    return Query(
        words=tuple(words[:MAX_WORDS]),
        phrases=tuple([phrase for phrase in phrases if phrase][:MAX_WORDS]),
        excluded=tuple([text for text in excluded if text][:MAX_WORDS]),
        filter=to_fact_filter(given, theme, now),
    )


def clean_query(line: str) -> str:
    """Return the line bounded and safe for SQLite: no control characters or lone surrogates, normalised."""
    text = line[:MAX_LINE].encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", re.sub(_CONTROL, " ", text)).translate(_QUOTES)


def split_filter_values(name: str, text: str) -> list[str]:
    """Split the values after a filter's colon: separated by commas, quoted where they hold a comma or a space."""
    if name in ("target", "before", "after", "by", "read", "cooled"):
        return [text.replace('"', "").strip()]
    return [(quoted if bare == "" else bare).strip() for quoted, bare in re.findall(_VALUE, text)]


def to_fact_filter(given: dict[str, list[str]], theme: str | None, now: Millis) -> FactFilter:
    """Convert the filters of a line to a fact filter."""
    tiers = frozenset().union(*(parse_tier_filter(value) for value in given.get("tier", ())))
    before = [parse_time_filter("before", value, now) for value in given.get("before", ())]
    after = [parse_time_filter("after", value, now) for value in given.get("after", ())]
    return FactFilter(
        theme=theme,
        scopes=frozenset(label or None for label in given.get("scope", ())),
        types=frozenset(parse_type_filter(value) for value in given.get("type", ())),
        tiers=tiers or LIVE_TIERS,
        target=single_filter_value("target", given),
        before=min(before, default=None),
        after=max(after, default=None),
        by=single_filter_value("by", given),
        ways=frozenset(parse_way_filter(value) for value in given.get("from", ())),
        projects=frozenset(value for value in given.get("in", ()) if value),
        read=parse_read_filter(single_filter_value("read", given)),
        cooled_by=parse_cooled_filter(single_filter_value("cooled", given)),
        branches=frozenset(value for value in given.get("branch", ()) if value),
    )


def parse_type_filter(text: str) -> FactType:
    """Parse a fact type from its symbol, letter or word."""
    kind = TYPES.get(text.lower())
    if kind is None:
        raise unknown_filter_value("type", text, [kind.word for kind in FactType])
    return kind


def parse_tier_filter(text: str) -> frozenset[Tier]:
    """Parse a word into the tiers it stands for."""
    tiers = TIERS.get(text.lower())
    if tiers is None:
        raise unknown_filter_value("tier", text, list(TIERS))
    return tiers


def parse_way_filter(text: str) -> Way:
    """Parse the name of a way in."""
    way = text.lower()
    if way not in list(Way):
        raise unknown_filter_value("from", text, [way.value for way in Way])
    return Way(way)


def parse_read_filter(text: str | None) -> bool | None:
    """Parse whether a fact was ever given to a session."""
    if text is not None and text.lower() not in READS:
        raise unknown_filter_value("read", text, READS)
    return None if text is None else READS[text.lower()]


def parse_cooled_filter(text: str | None) -> str | None:
    """Parse what made a fact cold."""
    if text is not None and text.lower() not in COOLERS:
        raise unknown_filter_value("cooled", text, COOLERS)
    return None if text is None else text.lower()


def parse_time_filter(name: str, text: str, now: Millis) -> Millis:
    """Parse a date, a time, or an age before now."""
    try:
        return parse_moment(text, now)
    except ArgumentError as error:
        raise QueryError(f"{name}: {error.message}", text) from None


def single_filter_value(name: str, given: dict[str, list[str]]) -> str | None:
    """Return the value of a filter that takes exactly one."""
    values = [value for value in dict.fromkeys(given.get(name, ())) if value]
    if len(values) > 1:
        raise QueryError(
            f"{name}: can be given once, not as {' and '.join(repr(shorten_value(v)) for v in values[:3])}", values[1]
        )
    return values[0] if values else None


def unknown_filter_value(name: str, text: str, known: Iterable[str]) -> QueryError:
    """Return the error for a value that a filter does not accept."""
    names = list(known)
    near = closest_names(text.lower(), names)
    hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "write " + ", ".join(names)
    return QueryError(f"no {name} is called {shorten_value(text)!r}; {hint}", text)
