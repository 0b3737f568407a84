"""Whose memory a connection speaks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_themes import ThemeError, ThemeKind, classify_theme, normalise_theme, resolve_theme

NAMES = st.text(max_size=300) | st.text(alphabet="aB1234567890 -_.:+()é", max_size=80)
"""Anything, and often what looks like numbers with separators between."""


@given(NAMES)
def test_a_name_is_refused_or_becomes_a_theme_that_stays_as_it_is(name: str) -> None:
    try:
        theme = normalise_theme(name)
    except ThemeError as error:
        assert error.message
    else:
        assert normalise_theme(theme) == theme
        assert 0 < len(theme) <= 64
        assert set(theme) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


@pytest.mark.parametrize(
    ("name", "theme"),
    [
        ("Marketing", "marketing"),
        ("  intraday_SRE ", "intraday-sre"),
        ("Équipe Données", "equipe-donnees"),
        ("agent:main:telegram:dm:491701234567", "telegram-dm"),
        ("agent:main:slack:channel:C024BE91L:1699999999.123", "slack-channel"),
        ("agent:main:telegram:forum:-1001234:5", "telegram-forum"),
        ("agent:main:matrix:room:!abc:example.org", "matrix-room"),
        ("agent:main:signal:dm:one\ntwo", "signal-dm"),
        ("release 2026", "release-2026"),
        ("a--b__c", "a-b-c"),
    ],
)
def test_names_are_normalised(name: str, theme: str) -> None:
    assert normalise_theme(name) == theme


@pytest.mark.parametrize("name", ["", "!!!", "日本", "x" * 65, "y" * 10_000, "\x00"])
def test_what_cannot_be_a_theme_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ThemeError, match="theme"):
        normalise_theme(name)


@pytest.mark.parametrize(
    "number",
    ["491701234567", "+49 170 1234567", "(555) 123-4567", "0170.12.34.56", "4 9 1 7 0 1 2 3", "555 -- 123 / 45_67"],
)
def test_no_phone_number_nor_a_part_of_one_becomes_part_of_a_theme(number: str) -> None:
    assert normalise_theme(f"sales {number} north") == "sales-north"
    with pytest.raises(ThemeError, match="numbers"):
        normalise_theme(number)


@pytest.mark.parametrize(
    ("given", "theme"),
    [
        ({"header": "a", "token": "b", "flag": "c", "profile": "d"}, "a"),
        ({"token": "b", "flag": "c", "profile": "d"}, "b"),
        ({"flag": "c", "profile": "d"}, "c"),
        ({"profile": "d"}, "e"),
        ({"header": "  "}, "e"),
        ({}, "e"),
    ],
)
def test_the_first_name_given_counts(given: dict[str, str], theme: str) -> None:
    assert resolve_theme(**given, environ={"HERMES_MEMORY_THEME": "e"}) == theme  # type: ignore[arg-type]


def test_without_any_name_it_is_the_profile_and_then_the_default() -> None:
    assert resolve_theme(environ={}, profile="Work") == "work"
    assert resolve_theme(environ={}) == "default"


def test_a_name_that_cannot_be_a_theme_is_never_replaced_by_the_next() -> None:
    with pytest.raises(ThemeError):
        resolve_theme(header="!!!", flag="marketing", environ={})


@pytest.mark.parametrize(
    ("theme", "kind"),
    [
        ("default", ThemeKind.DEFAULT),
        ("marketing", ThemeKind.THEME),
        ("morning-report", ThemeKind.THEME),
        ("intraday-sre", ThemeKind.WORKER),
        ("indexer-3", ThemeKind.WORKER),
        ("telegram-dm", ThemeKind.USER),
        ("user-ann", ThemeKind.USER),
        ("bench-1", ThemeKind.BENCH),
    ],
)
def test_kinds_follow_the_conventions_of_names(theme: str, kind: ThemeKind) -> None:
    assert classify_theme(theme) is kind
