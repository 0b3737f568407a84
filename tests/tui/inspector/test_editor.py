"""The editor: what a fact costs while it is typed, the person's own editor, and drafts that survive."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_memory_store.model import PERSON, Origin, Way
from hermes_memory_store.notation import token_estimate
from hermes_memory_store.places.citations import cite_lines, cite_other, parse_citations
from hermes_memory_store.store import Store
from hermes_memory_tui.screens.fact_editor import Editor
from hermes_memory_tui.system import external_editor
from tests.store.test_citations import git
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    shown_facts,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "D[cache]: redis")
    return tmp_path / "m.db"


async def editing(pilot: Pilot[int], key: str = "e") -> Editor:
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, Editor))
    screen = pilot.app.screen
    assert isinstance(screen, Editor)
    return screen


async def test_the_cost_and_the_gauge_follow_what_is_typed(path: Path) -> None:
    async with inspecting(path) as pilot:
        await editing(pilot)
        await until_shown(pilot, "hot tier after saving 0%  15 of 10,000 characters")
        await type_text(pilot, " 7 in all of the regions")
        await until_shown(pilot, "hot tier after saving 0%  39 of 10,000 characters")
        assert "type and target are fixed" in screen_text(pilot)
        cost = token_estimate.estimate_tokens("D[cache]: redis 7 in all of the regions")
        await until_shown(pilot, f"29 of 400 characters · {cost} tokens")


async def test_what_a_fact_cites_is_seen_added_and_taken_away(tmp_path: Path) -> None:
    path, shop = tmp_path / "m.db", tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    (shop / "db.toml").write_text("[db]\nport = 5432\nhost = 'here'\n")
    (shop / "link.toml").symlink_to("/etc/passwd")
    with Store.open(path) as store:
        with store.attribute(store.projects.locate(Origin(way=Way.COMMAND_LINE), shop)):
            fact = store.facts.write("default", "V[db.port]: 5432").fact
        store.citations.add(fact.uid, [cite_lines(str(shop), "db.toml:2"), cite_other("commit", "abcdef1")])

    def cited() -> list[str]:
        with Store.open(path, read_only=True) as store:
            return [citation.label for citation in parse_citations(store.facts.get(fact.uid).cites)]

    async with inspecting(path) as pilot:
        editor = await editing(pilot)
        await until_shown(pilot, "cites  db.toml:2")
        field = editor.query_one("#editor-cites", Input)
        for typed, problem in {
            "db.toml": "'db.toml' names no lines; say PATH:12-20",
            "db.toml:2, ../x:1": "not in the repository",
            "db.toml:9": "has 3 lines, none of number 9",
            "link.toml:1": "it is a link",
            ", ".join(f"db.toml:{first}-{last}" for first in (1, 2, 3) for last in (3, 2, 1)): "comes before the last",
        }.items():
            field.value = typed
            await pilot.press("ctrl+s")
            await until_shown(pilot, problem)
        assert cited() == ["db.toml:2", "commit abcdef1"]
        editor.area.text = "5432, always"
        field.value = "db.toml:2, db.toml:1-3, https://a.example/b,c"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: cited() == ["commit abcdef1", "db.toml:2", "db.toml:1-3", "https://a.example/b,c"])
        assert [one.content for one in shown_facts(pilot)] == ["5432, always"]
        editor = await editing(pilot)
        editor.query_one("#editor-cites", Input).value = " "
        await pilot.press("escape")
        await until_shown(pilot, "Not saved: ctrl+s saves what the fact cites, esc drops it")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: cited() == ["commit abcdef1"])
        await pilot.press("u")
        await until(pilot, lambda: len(cited()) == 4)
        await pilot.press("u")
        await until(pilot, lambda: cited() == ["db.toml:2", "commit abcdef1"])
        await until(pilot, lambda: [one.content for one in shown_facts(pilot)] == ["5432"])


@pytest.mark.parametrize("asked", [True, False], ids=["refused", "by itself"])
async def test_the_gauge_is_the_one_of_now_when_others_change_the_fact(path: Path, asked: bool) -> None:
    async with inspecting(path) as pilot:
        await editing(pilot)
        await type_text(pilot, " 7")
        await until_shown(pilot, "hot tier after saving 0%  17 of 10,000 characters")
        with Store.open(path) as other:
            other.facts.edit(shown_facts(pilot)[0].uid, "redis in all of the regions")
            other.facts.write("default", "V[n]: 12345", actor=PERSON)
        if asked:
            await pilot.press("ctrl+s")
        else:
            main_screen(pilot).follow_changes()
        await until(pilot, lambda: "Changed by" in screen_text(pilot))
        await until_shown(pilot, "hot tier after saving 0%  28 of 10,000 characters")


async def test_a_head_line_that_does_not_fit_ends_with_an_ellipsis(tmp_path: Path) -> None:
    line = "D[cache.of.all.the.regions]: redis"
    fill(tmp_path / "m.db", line, scope="launch-of-the-payments", session="hermes-agent")
    async with inspecting(tmp_path / "m.db", size=(60, 30)) as pilot:
        await editing(pilot)
        for width in (60, 80, 100):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: pilot.app.screen.size.width == width)
            await until(pilot, lambda: "D[cache.of" in screen_text(pilot))
            head = next(row for row in screen_text(pilot).splitlines() if "D[cache.of" in row and "│" in row)
            assert head.strip(" │").endswith(("…", "type and target are fixed")), width


async def test_the_level_that_saving_would_reach_is_said(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", *(f"V[n.{number:03}]: {'x' * 300}" for number in range(22)))
    async with inspecting(tmp_path / "m.db") as pilot:
        editor = await editing(pilot, "n")
        editor.area.text = "V[new]: " + "y" * 300
        await until(pilot, lambda: "merging duplicates" in screen_text(pilot))


def pretend(monkeypatch: pytest.MonkeyPatch, pilot: Pilot[int]) -> None:
    """Let the app be suspended where there is no terminal."""

    @contextmanager
    def suspend() -> Iterator[None]:
        yield

    monkeypatch.setattr(pilot.app, "suspend", suspend)


def script(tmp_path: Path, code: str) -> str:
    """An editor that does this to the file it is given."""
    file = tmp_path / "editor.py"
    file.write_text(f"import sys, pathlib, os\nfile = pathlib.Path(sys.argv[1])\n{code}\n")
    return f"{sys.executable} {file}"


async def test_the_own_editor_gives_the_text_back(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "assert oct(os.stat(file).st_mode)[-3:] == '600'; file.write_text(file.read_text() + ' 8\\n')"
    monkeypatch.setenv("VISUAL", script(tmp_path, code))
    async with inspecting(path) as pilot:
        pretend(monkeypatch, pilot)
        editor = await editing(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: editor.area.text == "redis 8")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: shown_facts(pilot)[0].content == "redis 8")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("file.write_text('lost'); sys.exit(3)", "ended with status 3"),
        ("file.write_bytes(b'\\xff\\xfe')", "is not UTF-8"),
        ("file.unlink()", "cannot be used: No such file"),
        ("file.write_text('x' * 2_000_000)", "longer than any fact"),
    ],
)
async def test_what_the_own_editor_spoils_is_left_out(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    monkeypatch.setenv("VISUAL", script(tmp_path, code))
    async with inspecting(path) as pilot:
        pretend(monkeypatch, pilot)
        editor = await editing(pilot)
        await type_text(pilot, ", mine")
        await pilot.press("ctrl+e")
        await until(pilot, lambda: says in said(pilot))
        assert editor.area.text == "redis, mine"


@pytest.mark.parametrize(
    ("visual", "says"), [("", "Set $VISUAL"), ("/no/such/editor", "cannot be used"), ("'", "read")]
)
async def test_a_missing_editor_is_said(path: Path, monkeypatch: pytest.MonkeyPatch, visual: str, says: str) -> None:
    monkeypatch.setenv("VISUAL", visual)
    monkeypatch.delenv("EDITOR", raising=False)
    async with inspecting(path) as pilot:
        pretend(monkeypatch, pilot)
        await editing(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: says in said(pilot))


async def test_an_app_that_cannot_be_suspended_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    async with inspecting(path) as pilot:
        editor = await editing(pilot)
        await pilot.press("ctrl+e")
        await until(pilot, lambda: "not supported" in said(pilot))
        assert editor.area.text == "redis"


def test_an_interrupt_in_the_editor_ends_nothing_else(tmp_path: Path) -> None:
    code = "import signal; os.kill(os.getppid(), signal.SIGINT); file.write_text('still here')"
    assert external_editor.edit_externally("x", {"EDITOR": script(tmp_path, code)}) == "still here"


async def test_what_was_typed_survives_a_crash(path: Path, tmp_path: Path) -> None:
    async with inspecting(path) as pilot:
        await editing(pilot)
        await type_text(pilot, " [red] 7")
        uid = shown_facts(pilot)[0].uid
        await until(pilot, lambda: main_screen(pilot).kept.drafts(str(path)) == {uid: "redis [red] 7"})
        # The app ends here without leaving the editor.
    state = tmp_path / ".hermes" / "inspector-state.json"
    assert state.stat().st_mode & 0o777 == 0o600
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "Unsaved draft: D[cache] (e)" in said(pilot))
        editor = await editing(pilot)
        assert editor.area.text == "redis [red] 7"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: shown_facts(pilot)[0].content == "redis [red] 7")
        await until(pilot, lambda: json.loads(state.read_text())["drafts"][str(path)] == {})
    async with inspecting(path) as pilot:
        await pilot.pause(0.1)
        assert said(pilot) == ""


async def test_a_draft_of_a_fact_that_is_gone_is_offered_as_a_new_one(path: Path) -> None:
    async with inspecting(path) as pilot:
        await editing(pilot)
        await type_text(pilot, " 7")
        await pilot.press("escape")
        await until(pilot, lambda: "Not saved" in said(pilot))
        uid = shown_facts(pilot)[0].uid
    with Store.open(path) as store:
        store.purge.erase([uid])
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "a fact that no longer exists (n)" in said(pilot))
        editor = await editing(pilot, "n")
        assert editor.area.text == "redis 7"
