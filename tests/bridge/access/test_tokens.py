"""Tokens from the command line to the store: made once, bound, revoked at once, and nowhere in plain text."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError, UnknownToken
from hermes_memory_store.model import Millis, Rights
from hermes_memory_store.store import Store
from tests.bridge.running import run_command


def token(db: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command("token", *words, "--db", str(db), HOME=str(db.parent), HERMES_MEMORY_SECRETS="file")


def test_a_token_is_made_listed_shown_rotated_and_revoked(db: Path) -> None:
    made = json.loads(token(db, "add", "ci bot", "--theme", "Mark Eting", "--rights", "read", "--json").stdout)
    assert (made["theme"], made["rights"], made["token"][:4]) == ("mark-eting", "read", "hmt_")
    assert token(db, "show", "ci bot").stdout.strip() == made["token"]
    listed = token(db, "list")
    assert "ci bot: theme mark-eting, read" in listed.stdout
    assert made["token"] not in listed.stdout
    rotated = json.loads(token(db, "rotate", "ci bot", "--json").stdout)["token"]
    with Store.open(db) as store:
        assert store.credentials.verify(made["token"]) is None
        assert store.credentials.verify(rotated) is not None
    assert "revoked" in token(db, "revoke", "ci bot").stdout
    with Store.open(db) as store:
        assert store.credentials.verify(rotated) is None
        assert store.journal.verify().ok
        assert [change.op for change in store.journal.changes()] == ["token-add", "token-rotate", "token-revoke"]
    assert token(db, "show", "ci bot").returncode == 1
    kept = Path(BridgePaths.of(db).folder) / "secrets.json"  # not beside a store whose path is long
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for secret in (made["token"], rotated):
        for file in [*db.parent.glob("memory.db*"), kept]:
            assert file.is_dir() or secret.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "a", "--rights", "everything"), "'everything' is no right"),
        (("add", "a", "--theme", "???"), "cannot be a theme"),
        (("add", "a", "--expires", "soon"), "soon"),
        (("add", " "), "1 to 64 characters"),
        (("revoke", "nobody"), "nobody"),
        (("add", "a", "--rights", ""), "a token without a right opens nothing"),
        (("add", "a", "--rights", " , "), "a token without a right opens nothing"),
        (("add", "a", "--rights", "other-themes"), "give read as well"),
        (("add", "a", "--rights", "read,tool:memory_search"), "with --tools"),
        (("add", "a", "--tools", "memory_serch"), "did you mean memory_search?"),
        (("add", "a", "--tools", ""), "--tools names no tool"),
        (("add", "a", "--tools", ","), "--tools names no tool"),
        (("add", "a", "--tools", "memory_search,memory_purge"), "memory_purge needs the right to purge"),
        (("add", "a", "--tools", "memory_optimize"), "no token opens MEMORY.md or USER.md"),
    ],
)
def test_a_mistake_is_told_with_its_value(db: Path, words: tuple[str, ...], said: str) -> None:
    Store.open(db).close()
    answer = token(db, *words)
    assert answer.returncode == 1
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr
    with Store.open(db) as store:
        assert store.credentials.list() == []


def test_a_token_restricted_to_tools_says_so(db: Path) -> None:
    made = json.loads(token(db, "add", "narrow", "--tools", "memory_search, memory_write", "--json").stdout)
    assert (made["rights"], made["tools"]) == ("read,write", ["memory_search", "memory_write"])
    core = json.loads(token(db, "add", "core", "--rights", "read", "--tools", "core", "--json").stdout)
    assert "memory_search" in core["tools"]
    assert not {"memory_write", "memory_purge", "memory_optimize", "memory_history"} & set(core["tools"])
    assert json.loads(token(db, "add", "wide", "--tools", "all", "--json").stdout)["tools"] is None
    listed = token(db, "list").stdout
    assert "narrow: theme default, read,write, only memory_search, memory_write" in listed
    assert "wide: theme default, read,write\n" in listed
    rotated = json.loads(token(db, "rotate", "narrow", "--json").stdout)
    assert rotated["tools"] == ["memory_search", "memory_write"]


def test_names_are_unique_and_unknown_ones_offer_the_nearest(db: Path) -> None:
    with Store.open(db) as store:
        store.credentials.add("laptop", "default", Rights())
        with pytest.raises(ArgumentError, match="already"):
            store.credentials.add("laptop", "default", Rights())
        with pytest.raises(UnknownToken, match="laptop"):
            store.credentials.revoke("labtop")


def test_an_expired_token_opens_nothing(db: Path) -> None:
    now = [Millis(1_000_000)]
    with Store.open(db, clock=lambda: now[0]) as store:
        _, secret = store.credentials.add("short", "default", Rights(), expires_at=2_000_000)
        assert store.credentials.verify(secret) is not None
        now[0] = Millis(2_000_000)
        assert store.credentials.verify(secret) is None
        assert store.credentials.verify("") is None
        assert store.credentials.verify("hmt_\ud800") is None


@pytest.mark.parametrize(
    "words", ["", "read", "read,write", "read,write,purge,other-themes", "secrets,tool:memory_reveal,tool:memory_turn"]
)
def test_rights_read_back_as_they_are_written(words: str) -> None:
    assert str(Rights.parse(words)) == words
