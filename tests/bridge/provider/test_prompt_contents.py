"""Recall repeats nothing that the prompt of its host says already, and leaves out nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.provider import file_entries
from hermes_memory_bridge.provider.prefetch import MARK
from hermes_memory_bridge.provider.prompt_contents import PromptContents, read_prompt_entries
from hermes_memory_store.store import Store
from tests.bridge.provider.conftest import Host, Profile
from tests.bridge.running import until

Begin = Callable[..., Host]

ENTRIES = [
    "The database runs on port 5433",
    "C[db.id]: UUID mandatory in the database",
    "Backups of the database go to Oslo",
    "The database is never touched on a Friday",
    "D[db]: the database is Postgres 16",
]


def recalled(block: str) -> list[str]:
    """The lines that a host is given."""
    return [line.removeprefix(MARK) for line in block.splitlines() if line.startswith(MARK)]


def test_what_the_system_prompt_holds_is_not_recalled(profile: Profile, begin: Begin) -> None:
    profile.file().write_text("\n§\n".join(ENTRIES))
    profile.file("user").write_text("Asks about the database in the morning")
    host = begin()
    until(lambda: len(profile.facts()) == len(ENTRIES) + 1, "the import")
    other = "V[db.owner]: the database belongs to Ada"
    host("handle_tool_call", args=["memory_write", {"content": other}])
    seen = until(lambda: host("turn", turn=1, user="who looks after the database"), "a recall")
    assert recalled(seen) == [other]
    host("turn", turn=2, user="tell me more about the database")
    seen = host("turn", turn=3, user="and what else about the database")
    assert not set(recalled(seen)) & {other, *ENTRIES}, "it stays in the conversation as it was sent"
    host("on_session_switch", args=["s2"], kwargs={"reset": True})
    assert other in recalled(until(lambda: host("turn", turn=1, user="about the database", session="s2"), "a recall"))
    host.end()


def test_an_entry_that_came_after_the_prompt_was_frozen_is_recalled(profile: Profile, begin: Begin) -> None:
    profile.file().write_text(ENTRIES[0])
    host = begin()
    host.memory("add", ENTRIES[4])
    profile.holds("The database runs on port 5433", "the database is Postgres 16")
    assert recalled(until(lambda: host("turn", turn=1, user="which database"), "a recall")) == [ENTRIES[4]]
    host("on_session_switch", args=["s1"], kwargs={"reason": "compression"})
    host("turn", turn=2, user="which database")
    assert recalled(host("turn", turn=3, user="which database")) == [], "the host reads its files again"
    host.end()


def test_an_entry_that_the_host_keeps_out_of_its_prompt_is_recalled(profile: Profile, begin: Begin) -> None:
    config = profile.home / "config.yaml"
    config.write_text(config.read_text().replace("memory:\n", "memory:\n  memory_enabled: false  # quiet\n"))
    assert "memory_enabled: false" in config.read_text()
    profile.file().write_text(ENTRIES[4])
    host = begin()
    profile.holds("the database is Postgres 16")
    assert recalled(until(lambda: host("turn", turn=1, user="which database"), "a recall")) == [ENTRIES[4]]
    host.end()


def test_what_the_user_has_just_said_is_not_recalled(profile: Profile, begin: Begin) -> None:
    with Store.open(profile.db) as store:
        store.facts.write("default", "D[deploy]: releases go out on Tuesday mornings")
        store.facts.write("default", "V[deploy.host]: releases go to db1")
    host = begin()
    message = "As agreed, releases go out on Tuesday mornings. Prepare the deploy"
    until(lambda: recalled(host("turn", turn=1, user=message)) == ["V[deploy.host]: releases go to db1"], "the other")
    asked = "Do releases go out on Tuesday mornings?"
    until(lambda: "D[deploy]: releases go out on Tuesday mornings" in recalled(host("turn", turn=2, user=asked)), "it")
    host("on_session_switch", args=["s2"], kwargs={"reset": True})
    seen = [*recalled(host("turn", turn=1, user=message, session="s2")), *recalled(host("turn", turn=2, user=message))]
    assert not [line for line in seen if "As agreed" in line], "nor the message of another session that said it"
    host.end()


@pytest.mark.parametrize(
    ("fact", "text", "held"),
    [
        ("D[db]: Postgres 16", "D[db]: Postgres 16", True),
        ("D[db]: Postgres 16", "d[DB]:  postgres   16", True),
        ("D[db]: Postgres 16", "D[cache]: Postgres 16", False),
        ("D[db]: Postgres 16", "the db is Postgres 16, as ever", True),
        ("D[db]: Postgres 16", "the queue is Postgres 16", False),
        ("D[lang]: always use C", "we always use C++", False),
        ("D[lang]: always use C++", "We always use C++.", True),
        ("V[port]: listens on 5433", "it listens on 54331", False),
        ("V[port]: listens on port 5", "it listens on port 5.5", False),
        ("V[memory.0123456789ab]: tea", "tea", True),
        ("V[memory.0123456789ab.2]: the end of it", "the beginning and the end of it", True),
        ("V[city]: 服务器在法兰克福", "提醒:服务器在法兰克福。", True),
        ("V[city]: 东京", "东京很远", False),
        ("D[api]: REST and no GraphQL", "D[web]: x\nREST and no GraphQL", True),
        ("2026-01-01 user: no fact at all", "2026-01-01 user: no fact at all", False),
    ],
)
def test_a_fact_is_held_by_what_says_the_same(fact: str, text: str, held: bool) -> None:
    assert PromptContents([text]).has_fact(fact) is held


@pytest.mark.parametrize(
    ("message", "held"),
    [
        ("Deploy on Friday only", True),
        ("Deploy on Friday only?", False),
        ("Is it so? Deploy on Friday only.", True),
        ("Is it true: deploy on Friday only?", False),
        ("C[release]: Deploy on Friday only", True),
    ],
)
def test_a_question_does_not_say_what_it_asks(message: str, held: bool) -> None:
    assert PromptContents.of_message(message).has_fact("C[release]: deploy on Friday only") is held


@given(st.lists(st.text(alphabet="ab §\n[]:CD?", min_size=1, max_size=30), max_size=5))
def test_every_fact_of_an_entry_is_held_by_the_entries(said: list[str]) -> None:
    entries = file_entries.parse_memory_entries("\n§\n".join(said))
    held = PromptContents(entries)
    for entry in entries:
        for line in file_entries.to_fact_lines(entry, "memory"):
            assert held.has_fact(line)


@pytest.mark.parametrize(
    ("config", "held"),
    [
        ("memory:\n  provider: hermes-memory\n", ["a", "b"]),
        ("memory:\n  memory_enabled: false\n", ["b"]),
        ("# c\nmemory:  # mine\n\n  # c\n  user_profile_enabled: 'No'\n  memory_enabled: true\nother: 1\n", ["a"]),
        ("other:\n  memory_enabled: false\nmemory:\n  provider: x\n", ["a", "b"]),
        ("memory:\n  memory_enabled: off", ["b"]),
        ("", ["a", "b"]),
    ],
)
def test_files_that_the_host_leaves_out_are_in_no_prompt(tmp_path: Path, config: str, held: list[str]) -> None:
    (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories" / "MEMORY.md").write_text("a")
    (tmp_path / "memories" / "USER.md").write_text("b")
    assert read_prompt_entries(str(tmp_path)) == held
