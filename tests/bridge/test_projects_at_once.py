"""Ten repositories that write at once are not mixed, and a shim speaks for the project of its folder unless a theme is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import FactFilter, Rights
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, data
from tests.store.test_projects import make_repository
from tests.tools.ten_projects import run_projects


@pytest.mark.long
def test_ten_repositories_that_write_at_once_are_not_mixed(tmp_path: Path) -> None:
    found = run_projects(tmp_path, 10, 100)
    assert (found.written, found.lost, found.wrong, found.empty, found.themes) == (1_000, 0, 0, 0, 10)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop", commit=False)


def themes_of(db: Path, target: str) -> list[str]:
    with Store.open(db, read_only=True) as store:
        return [fact.theme for fact in store.facts.page(FactFilter(target=target)).facts]


def test_a_named_theme_wins_over_the_folder(served: Path, shop: Path) -> None:
    with Shim(served, "--theme", "marketing", cwd=shop) as shim:
        shim.open()
        shim.call("memory_write", content="D[ad]: banner")
        shim.call("memory_write", content="V[user.name]: Ann")
    assert themes_of(served, "ad") == themes_of(served, "user.name") == ["marketing"]


def test_what_default_says_of_a_project_can_be_found_and_corrected_there(served: Path, shop: Path) -> None:
    with Shim(served, "--theme", "default", cwd=shop) as shim:
        shim.open()
        uid = data(shim.call("memory_write", content="D[db]: Postgres 14"))["uid"]
        other = data(shim.call("memory_write", content="V[port]: 5432"))["uid"]
    with Shim(served, "--tools", "all", cwd=shop) as shim:
        shim.open()
        assert {fact["content"] for fact in data(shim.call("memory_status"))["facts"]} == {"Postgres 14", "5432"}
        for tool, argument in (("memory_search", "query"), ("memory_reflect", "topic")):
            assert [fact["uid"] for fact in data(shim.call(tool, **{argument: "postgres"}))["facts"]] == [uid]
        assert data(shim.call("memory_context", message="which postgres do we use"))["facts"] == [uid]
        assert [one["id"] for one in data(shim.call("recall_memory", query="postgres"))["results"]] == [uid]
        assert data(shim.call("memory_edit", uid=uid, content="Postgres 16"))["uid"] == uid
        assert data(shim.call("memory_history", uid=uid))["fact"]["content"] == "Postgres 16"
        assert data(shim.call("memory_archive", uid=other))["uid"] == other
        shim.call("memory_write", content="D[db]: SQLite")
        assert [fact["content"] for fact in data(shim.call("memory_status"))["facts"]] == ["SQLite"]
    assert sorted(themes_of(served, "db")) == ["default", "shop"]


def test_facts_about_the_person_are_given_in_every_project(served: Path, shop: Path, tmp_path: Path) -> None:
    with Shim(served, cwd=shop) as shim:
        shim.open()
        shim.call("memory_write", content="V[user.name]: Ann")
        shim.call("memory_write", content="V[machine.gpu]: none")
        shim.call("memory_write", content="V[users.table]: accounts")
    bank = make_repository(tmp_path / "bank", commit=False)
    for folder in (bank, None):
        with Shim(served, cwd=folder) as shim:
            shim.open()
            assert {fact["target"] for fact in data(shim.call("memory_status"))["facts"]} == {
                "user.name",
                "machine.gpu",
            }
    assert themes_of(served, "user.name") == ["personal"]
    assert themes_of(served, "users.table") == ["shop"]


def test_an_agent_is_refused_hidden_characters_whatever_the_theme_of_its_fact(served: Path, shop: Path) -> None:
    with Shim(served, cwd=shop) as shim:
        shim.open()
        for target in ("db", "user.name"):
            answer = shim.call("memory_write", content=f"V[{target}]: mnd\u202etry")["result"]
            assert answer["isError"]
            assert "U+202E" in answer["content"][0]["text"]
            assert themes_of(served, target) == []


def test_a_token_reads_the_persons_facts_with_the_right_alone_and_never_default(served: Path, shop: Path) -> None:
    with Store.open(served) as store:
        store.facts.write("default", "C[style]: short names")
        store.facts.write("personal", "V[user.name]: Ann")
        _, sealed = store.credentials.add("sealed", "shop", Rights())
        _, trusted = store.credentials.add("trusted", "shop", Rights(personal=True))
    with Shim(served, cwd=shop) as shim:
        shim.open()
        assert {fact["target"] for fact in data(shim.call("memory_status"))["facts"]} == {"style", "user.name"}
    for token, seen in ((sealed, set()), (trusted, {"user.name"})):
        with Shim(served, "--token", token, "--tools", "all", cwd=shop) as shim:
            shim.open()
            assert {fact["target"] for fact in data(shim.call("memory_status"))["facts"]} == seen
            assert {
                fact["target"] for fact in data(shim.call("memory_search", query="tier:all type:V type:C"))["facts"]
            } <= seen
            assert {one["target"] for one in data(shim.call("memory_reflect", topic="short names"))["facts"]} <= seen
