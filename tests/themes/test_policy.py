"""Policies from memory-themes.toml, and mistakes named with their line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from hermes_memory_themes import Policies, SyncCarrier, ThemeError, ThemePolicy
from hermes_memory_themes.team_settings import TeamSettings


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert Policies.load(tmp_path / "none.toml").for_theme("any") == ThemePolicy()


def test_a_themes_own_table_wins_over_its_kind_and_that_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        "[defaults]\nhot_chars = 5000\ninjection_tokens = 100\nretention_days = 9\n"
        "[kinds.worker]\ninjection_tokens = 200\nretention_days = 1\n"
        "[themes.intraday-sre]\nretention_days = 3\n"
    )
    policy = Policies.load(file).for_theme("intraday-sre")
    assert (policy.hot_chars, policy.injection_tokens, policy.retention_days) == (5000, 200, 3)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            "[defaults]\nhot_chars = 5000\n\n[themes.marketing]\ninjecton_tokens = 3\n",
            5,
            "did you mean 'injection_tokens'",
        ),
        ("[defaults]\n\nhot_chars = 3\n", 3, "from 1000 to 1000000"),
        ("[defaults]\nhot_chars = '10'\n", 2, "whole number"),
        ("[defaults]\nsecrets = 'hide'\n", 2, "mask, refuse, allow"),
        ("[defaults]\nsync = 1\n", 2, 'true, false or "folder"'),
        ('[defaults]\nsync = "floder"\n', 2, 'true, false or "folder"'),
        ("[defaults]\nturns = 'some'\n", 2, "all, filtered, none"),
        ("[defaults]\nturn_days = -1\n", 2, "from 0 to 36500"),
        ("# a remark\n[default]\nsync = true\n", 2, "did you mean 'defaults'"),
        ("\n[themes.Marketing]\nsync = true\n", 2, "'marketing'"),
        ("[kinds.workers]\nsync = true\n", 1, "did you mean 'worker'"),
        ("[themes]\nmarketing = 3\n", 2, "must be a table"),
        ("[defaults]\nhot_chars = = 3\n", 2, "line 2"),
        ("[defaults]\nsync = true\n[themes", 3, "end of"),
        ("\nkinds = 3\n", 2, "'kinds' must be a table"),
        ("\n\n[[themes.marketing]]\nsync = true\n", 3, "must be a table"),
        ("\n[themes]\nmarketing = {hot_charz = 3}\n", 3, "did you mean 'hot_chars'"),
        ("[embedding]\nkey = 'k'\n", 2, "docs/recall.md"),
        ("[team]\nidel = 'sleep'\n", 2, "did you mean 'idle'"),
        ("[team]\nidle = 'snore'\n", 2, "listen, sleep"),
        ("[team]\nsleep_s = true\n", 2, "from 0 to 86400"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text)
    with pytest.raises(ThemeError) as caught:
        Policies.load(file)
    assert f"line {line}" in caught.value.message
    assert said in caught.value.message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ThemeError, match="UTF-8"):
        Policies.load(file)


def test_a_changed_file_counts_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory_themes.policy.LOOK_AGAIN_S", 0.0)
    file = tmp_path / "t.toml"
    file.write_text("[defaults]\nhot_chars = 5000\n")
    policies = Policies.load(file)
    assert policies.for_theme("a").hot_chars == 5000

    file.write_text("[defaults]\nhot_chars = 6000\n")
    os.utime(file, ns=(1, 1))

    assert policies.for_theme("a").hot_chars == 6000


def test_a_changed_file_is_noticed_without_a_question(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    policies = Policies.load(file)
    assert not policies.is_outdated()
    file.write_text('[team]\nidle = "sleep"\nsleep_s = 900\n')
    assert policies.is_outdated()
    assert (policies.team_settings().idle, policies.team_settings().sleep_s) == ("sleep", 900)
    assert not policies.is_outdated()


def test_a_file_that_became_wrong_is_refused_until_it_is_right_again(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    policies = Policies.load(file)
    file.write_text("[defaults]\nhot_chars = 5\n")
    policies.reload()
    for _ in range(2):
        with pytest.raises(ThemeError, match="line 2"):
            policies.for_theme("a")

    file.write_text("[defaults]\nhot_chars = 6000\n")

    assert policies.for_theme("a").hot_chars == 6000


def test_a_path_that_cannot_be_looked_at_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 300)
    with pytest.raises(ThemeError, match="cannot be read"):
        Policies.load(file)


def test_every_setting_is_documented() -> None:
    docs = Path(__file__).parents[2] / "docs"
    for page, settings in (("themes.md", ThemePolicy), ("team.md", TeamSettings)):
        text = (docs / page).read_text(encoding="utf-8")
        assert [name for name in settings.__dataclass_fields__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_themes_a_file_names_are_told(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text("[themes.writer]\nsync = true\n[themes.intraday-sre]\nretention_days = 3\n")
    assert Policies.load(file).theme_names() == ["intraday-sre", "writer"]
    assert Policies.load(tmp_path / "none.toml").theme_names() == []


@pytest.mark.parametrize(
    ("said", "carrier"), [("true", SyncCarrier.DATABASE), ("false", None), ('"folder"', SyncCarrier.FOLDER)]
)
def test_a_theme_is_carried_by_the_database_or_by_a_folder(
    tmp_path: Path, said: str, carrier: SyncCarrier | None
) -> None:
    path = tmp_path / "memory-themes.toml"
    path.write_text(f"[themes.ours]\nsync = {said}\n", encoding="utf-8")
    assert Policies.load(path).for_theme("ours").carrier is carrier
