"""The search language: filters are understood, everything else is words, nothing is a syntax error."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.query_syntax import MAX_WORDS, parse_query
from hermes_memory_store.model import LIVE_TIERS, FactType, Millis, Query, Tier

NOW = Millis(1_790_000_000_000)
DAY = 86_400_000


def parsed(line: str) -> Query:
    return parse_query(line, theme="default", now=NOW)


def test_words_phrases_and_exclusions_are_told_apart() -> None:
    query = parsed('deploy "blue green" -staging -"bad idea" on-call')
    assert query.words == ("deploy", "on-call")
    assert query.phrases == ("blue green",)
    assert query.excluded == ("staging", "bad idea")
    assert query.filter.theme == "default"
    assert query.filter.tiers == LIVE_TIERS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("C", FactType.CONSTRAINT),
        ("c", FactType.CONSTRAINT),
        ("constraint", FactType.CONSTRAINT),
        ("Constraints", FactType.CONSTRAINT),
        ("D", FactType.DECISION),
        ("value", FactType.VALUE),
        ("?", FactType.UNKNOWN),
        ("unknown", FactType.UNKNOWN),
        ("✓", FactType.DONE),
        ("done", FactType.DONE),
        ("~", FactType.OBSOLETE),
        ("obsolete", FactType.OBSOLETE),
    ],
)
def test_a_type_is_accepted_as_symbol_letter_or_word(text: str, kind: FactType) -> None:
    assert parsed(f"type:{text}").filter.types == {kind}


def test_several_values_come_by_comma_or_by_repeating_the_filter() -> None:
    assert parsed("type:C,decision type:?").filter.types == {FactType.CONSTRAINT, FactType.DECISION, FactType.UNKNOWN}
    assert parsed("tier:cold,archived").filter.tiers == {Tier.COLD, Tier.ARCHIVED}
    assert parsed('scope:alpha,"release, two" scope:beta').filter.scopes == {"alpha", "release, two", "beta"}


def test_a_quoted_scope_may_hold_spaces_and_an_empty_one_means_facts_without_scope() -> None:
    assert parsed('scope:"Release 2" x').filter.scopes == {"Release 2"}
    assert parsed('scope:""').filter.scopes == {None}


def test_times_are_dates_or_ages() -> None:
    query = parsed("before:2026-03-01 after:7d")
    assert query.filter.before == 1_772_323_200_000
    assert query.filter.after == NOW - 7 * DAY
    assert parsed("after:12h").filter.after == NOW - DAY // 2
    assert parsed("after:30m").filter.after == NOW - 1_800_000


@pytest.mark.parametrize(
    ("line", "value", "near"),
    [
        ("type:decison", "decison", "decision"),
        ("tier:arcived", "arcived", "archived"),
        ("tier:withdrawn", "withdrawn", "hot"),
        ("before:yesterday", "yesterday", "7d"),
        ("by:ann by:bob", "bob", "once"),
    ],
)
def test_a_value_that_means_nothing_is_named_with_what_would_be_right(line: str, value: str, near: str) -> None:
    with pytest.raises(QueryError) as caught:
        parsed(line)
    assert value in str(caught.value)
    assert near in str(caught.value)
    assert caught.value.value == value


@pytest.mark.parametrize("line", ["type:", "a:b", "http://x.y", 'col:"x"', "NEAR(a b)", '"open', "- -- *", "C++", "x:"])
def test_what_is_not_our_filter_is_words(line: str) -> None:
    query = parsed(line)
    assert query.words
    assert query.filter.types == frozenset()


def test_a_line_of_ten_megabytes_is_bounded() -> None:
    query = parsed("word " * 2_000_000)
    assert len(query.words) == MAX_WORDS
    assert len(parsed("x" * 10_000_000).words[0]) < 10_000


def test_nul_and_half_surrogates_do_not_survive() -> None:
    query = parsed("a\x00b \ud800 scope:\udfff")
    assert query.words == ("a", "b", "?")
    assert query.filter.scopes == {"?"}


@given(st.text(max_size=200) | st.text(alphabet='":-*()^,. typescoeragbfr', max_size=60))
def test_any_line_parses_or_says_what_is_wrong(line: str) -> None:
    with suppress(QueryError):
        assert parsed(line).filter.theme == "default"
