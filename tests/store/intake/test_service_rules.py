"""Each of gitleaks' rules finds a token of its service whole; a file or a rule that cannot be read costs those alone."""

from __future__ import annotations

import json
import logging
import random
import re
import time
from pathlib import Path

import pytest

from hermes_memory_store.intake import secret_table
from hermes_memory_store.intake.detectors.secrets import find_pattern_secrets, find_secrets
from hermes_memory_store.intake.secret_table import RULE_FILE, RuleFileError, SecretPattern, read_service_rules
from hermes_memory_store.intake.spans import TextSpan
from tests.store.intake.regex_samples import draw_match
from tests.tools.convert_rules import LEFT_OUT, convert_rule, keep_group, scope_flags

RULES = read_service_rules(RULE_FILE)
OWN = "GITHUB_TOKEN=ghp_" + "016C7f8a9B2c3D4e5F6g7H8i9J0k1L2m3N4o"


def draw_sample(rule: SecretPattern) -> tuple[str, TextSpan]:
    """A text with a token of the rule's service, and where it stands."""
    source = random.Random(rule.service)
    for _ in range(200):
        text = f"deploy with {draw_match(rule.pattern, source)} since May"
        if not any(keyword in text.lower() for keyword in rule.hints):
            text = f"{rule.hints[0]}: {text}"
        found = list(find_pattern_secrets(rule, text))
        if found:
            return text, found[0]
    raise AssertionError(f"{rule.service}: nothing drawn from the pattern is found")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.service)
def test_a_token_of_each_service_is_found_whole(rule: SecretPattern) -> None:
    text, secret = draw_sample(rule)
    assert any(span.start <= secret.start and secret.end <= span.end for span in find_secrets("note", text)), text


def test_the_file_says_where_it_is_from_and_under_which_licence() -> None:
    head = json.loads(RULE_FILE.read_text(encoding="utf-8"))
    assert head["source"].startswith("https://github.com/gitleaks/gitleaks")
    assert re.fullmatch(r"v\d+\.\d+\.\d+", head["release"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", head["date"])
    assert re.fullmatch(r"[0-9a-f]{64}", head["sha256"])
    assert "MIT License" in RULE_FILE.with_name("LICENSE").read_text(encoding="utf-8")
    assert not {rule.service for rule in RULES} & set(" ".join(LEFT_OUT.values()).split())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ('{"rules": [{"name": "a"}]}', "no file of rules"),
        ('{"rules": 3}', "no file of rules"),
        ("[]", "no file of rules"),
        (
            '{"rules": [{"name": "a", "keywords": ["a"], "pattern": "a", "entropy": "high", "named": false}]}',
            "cannot be read",
        ),
    ],
)
def test_a_file_that_does_not_parse_is_an_error_that_names_it(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(content)
    with pytest.raises(RuleFileError, match=said) as error:
        read_service_rules(file)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("content", [None, "{", '{"rules": [{}]}'])
def test_without_their_file_our_own_rules_go_on_and_the_log_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    file = tmp_path / "rules.json"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(secret_table, "RULE_FILE", file)
    secret_table.load_service_rules.cache_clear()
    try:
        with caplog.at_level(logging.ERROR):
            assert [OWN[slice(*span)] for span in find_secrets("note", OWN)] == [OWN.partition("=")[2]]
            assert find_secrets("note", OWN)
        (record,) = caplog.records
        assert str(file) in record.getMessage()
    finally:
        secret_table.load_service_rules.cache_clear()


def test_a_rule_that_does_not_compile_is_named_once_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    bad = SecretPattern("service", "glpat-(", ("glpat-",), service="broken-one")
    with caplog.at_level(logging.ERROR):
        assert list(find_pattern_secrets(bad, "glpat-")) == []
        assert list(find_pattern_secrets(bad, "glpat-")) == []
    (record,) = caplog.records
    assert "broken-one" in record.getMessage()
    assert find_secrets("note", "HEROKU_KEY=5e8f2c1a-9b7d-4e6f-a0c1-d2e3f4a5b6c7")


def test_notation_of_go_becomes_that_of_python() -> None:
    assert scope_flags(r"\b(p8e-(?i)[a-z)]{3})x") == r"\b(p8e-(?i:[a-z)]{3}))x"
    assert scope_flags("(?i)abc") == "(?i)abc"
    assert keep_group(r"(a|[(]b)\((c(?:d)(e))", 2) == r"(?:a|[(]b)\((c(?:d)(?:e))"
    rule = {"id": "a", "regex": r"(?i)[\w.-]{0,50}?(?:acme)=([a-z]{9})\z", "keywords": ["ACME"], "entropy": 2}
    assert convert_rule(rule) == {
        "name": "a", "keywords": ["acme"], "pattern": r"(?i)(?:acme)=([a-z]{9})\Z", "entropy": 2.0, "named": True
    }  # fmt: skip


HOSTILE = {
    "one token": "ghp_" + "aB3" * 33_000,
    "every keyword": " ".join(keyword for rule in RULES for keyword in rule.hints) * 20,
    "one keyword": "adafruit." * 11_000,
    "many words": "aB3dE" * 3 + " " + "aB3dE6hI9lM2pQ5tU8 " * 5_000,
    "no end": "-----BEGIN PRIVATE KEY-----" + "A1b2" * 25_000,
    "cookies": "cookie a=b;" * 9_000,
    "users": "user ops pass " * 7_000,
    "codes": "the code of the door 1234 " * 4_000,
}


@pytest.mark.long
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hundred_thousand_characters_take_no_minute(text: str) -> None:
    start = time.process_time()
    find_secrets("note", text)
    assert time.process_time() - start < 10, "seconds of processor time; a pattern that backtracks takes minutes"
