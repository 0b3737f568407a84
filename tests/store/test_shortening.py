"""Abbreviating prose: what may become shorter, and what must come back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.notation.shortening import SHORT, shorten_prose


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("The configuration of the database is mandatory.", "The cfg of db is mandatory"),
        ("Please note that messages expire with the application", "msgs expire w/ app"),
        ("Read the documentation in order to understand the implementation", "Read doc to understand impl"),
        ("Documentation, then performance!", "Doc, then perf!"),
        ("La documentation est toujours à jour, jamais la configuration.", "La doc est toujours à jour, jamais la cfg"),
    ],
)
def test_prose_becomes_shorter(long: str, short: str) -> None:
    assert shorten_prose(long) == short


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Run: sudo apt upgrade --with-new-pkgs && then reboot",
        "Host zero.example.com, path /srv/external/cfg.yml",
        "User says: never pour coffee; always reply with JSON",
        "flag --config required; env var `always`",
        "git config user database",
        "deploy: make documentation",
        "    indented configuration of the database",
        "```\nconfiguration of the database\n```",
        "~~~\nnever closed configuration",
        "'the configuration' and \"the database\" «la documentation»",
        "service: web",
        "database=production",
        "database/production error-prone user_index v2database user@production",
        "The Database Migration Service, by Index Ventures",
        "authorization is not authentic",
        "push to branch production, column index, user table",
        "cat messages | sort",
        "Never, always, jamais, toujours: nicht, never, no",
        "\\configuration",
    ],
)
def test_what_is_not_plainly_prose_stays_as_it_is(text: str) -> None:
    assert shorten_prose(text) == text


@pytest.mark.parametrize(
    "word", ["never", "always", "mandatory", "must", "jamais", "toujours", "not", "without", "niemals"]
)
def test_a_word_that_binds_or_forbids_stays_written_out(word: str) -> None:
    assert word in shorten_prose(f"The database must {word} hold the configuration of the users.").split()


LONG = st.sampled_from([*SHORT, "never", "the", "always", "port", "8080", "db.id", "not", "`configuration`", "Bob"])


@given(st.lists(LONG, min_size=1, max_size=12))
def test_every_word_is_still_there_or_in_its_short_form(words: list[str]) -> None:
    left = [word for word in shorten_prose(" ".join(words)).split() if word != "the"]

    expected = [word for word in words if word != "the"]
    assert len(left) == len(expected)
    for before, after in zip(expected, left, strict=True):
        assert after in (before, SHORT.get(before))


@given(st.text(alphabet="ab .,'\"`\n(§)-→é", max_size=80))
def test_text_without_a_known_word_only_loses_a_final_stop(text: str) -> None:
    assert shorten_prose(text) in (text, text.removesuffix("."))


@given(st.lists(LONG, min_size=1, max_size=12))
def test_abbreviating_twice_changes_nothing_more(words: list[str]) -> None:
    once = shorten_prose(" ".join(words))

    assert shorten_prose(once) == once
