"""The basket: changes are gathered, seen with what would come of them, and done as one or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.model import Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.views.gathered.basket_view import BasketView
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    frozen,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    scopes_of,
    screen_text,
    send,
    targets,
    to_row,
    type_text,
    until,
    until_shown,
    view_of,
)


@pytest.fixture
def path(path: Path) -> Path:
    fill(path, "D[cache]: redis", "V[port]: 5432", theme="ops", scope="release")
    fill(path, "C[style]: short sentences", theme="ops", scope="docs")
    return path


async def gather(pilot: Pilot[int], target: str, *keys: str) -> None:
    """Press keys on a fact while gathering, and wait until that is in the basket."""
    await until(pilot, lambda: target in targets(pilot), f"a row about {target}")
    await pilot.press("g", *("j" * targets(pilot).index(target)))
    count = len(said(pilot))
    await pilot.press(*keys)
    await until(pilot, lambda: len(said(pilot)) > count, "gathering")


async def basket_view(pilot: Pilot[int]) -> BasketView:
    await pilot.press("B")
    await until(pilot, lambda: isinstance(pilot.app.screen, BasketView), "the basket opening")
    view = view_of(pilot)
    assert isinstance(view, BasketView)
    await until(pilot, lambda: view.data is not None, "the basket being tried")
    await pilot.pause()
    return view


async def test_changes_are_gathered_seen_and_done_as_one_that_one_undo_takes_back(path: Path) -> None:
    before = facts_of(path)
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "p")
        await gather(pilot, "port", "a")
        await gather(pilot, "style", "W")
        assert facts_of(path) == before  # nothing is done yet
        await until_shown(pilot, "basket: 3 changes, gathering")
        await until_shown(pilot, "→ archive")

        view = await basket_view(pilot)
        assert [row.split("  ")[1] for row in rows_of(view)] == ["pin", "archive", "cool"]
        await until(pilot, lambda: "leaves" in beside(pilot))
        assert "− V[port]: 5432  leaves" in beside(pilot)
        assert facts_of(path) == before

        await pilot.press("enter")
        await until(pilot, lambda: "3 changes done as one" in said(pilot))
        after = facts_of(path)
        assert (after["cache"].pinned, after["port"].tier, after["style"].tier) == (True, Tier.ARCHIVED, Tier.COLD)
        await until(pilot, lambda: "basket" not in screen_text(pilot).splitlines()[0], "the title")
        assert pilot.app.screen is main_screen(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "undone" in said(pilot))
        assert {name: (one.tier, one.pinned) for name, one in facts_of(path).items()} == {
            name: (one.tier, one.pinned) for name, one in before.items()
        }


async def test_what_is_so_already_is_not_counted_as_done(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "p")
        await gather(pilot, "port", "a")
        with Store.open(path, clock=frozen) as store:
            store.facts.archive([facts_of(path)["port"].uid])
        view = await basket_view(pilot)
        await until(pilot, lambda: any("is so already" in row for row in rows_of(view)))
        await pilot.press("enter")
        await until(pilot, lambda: "1 change done as one, 1 is so already. u undoes." in said(pilot))


async def test_only_contexts_that_change_are_shown(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        store.facts.write("work", "V[old]: 1")
        store.facts.write("play", "V[away]: 1")
        store.facts.cool([facts_of(path)["old"].uid])
    async with inspecting(path, size=(200, 50)) as pilot:
        await pilot.press("b")
        await gather(pilot, "old", "a")
        view = await basket_view(pilot)
        assert "No context changes." in beside(pilot)
        await until_shown(pilot, "no context changes")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await gather(pilot, "cache", "a")
        await gather(pilot, "away", "a")
        view = await basket_view(pilot)
        await until(pilot, lambda: "context of play" in beside(pilot))
        assert "context of ops" in beside(pilot)
        assert "context of work" not in beside(pilot)
        assert "and 1 other theme" in str(view.grid.border_subtitle)


async def test_the_same_key_and_undo_take_out_what_was_gathered(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "p")
        await gather(pilot, "cache", "p")
        await until_shown(pilot, "basket: gathering")
        await gather(pilot, "cache", "W")
        await pilot.press("u")
        await until(pilot, lambda: "cool of D[cache] taken out" in said(pilot))
        assert not facts_of(path)["cache"].pinned


async def test_a_fact_changed_meanwhile_is_decided_again_and_never_overwritten(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
        await gather(pilot, "port", "a")
        with Store.open(path, clock=frozen) as store:
            store.facts.edit(facts_of(path)["cache"].uid, "valkey")
        view = await basket_view(pilot)
        await until(pilot, lambda: any("changed by" in row for row in rows_of(view)), "the change of others")
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing was done" in said(pilot))
        assert {one.tier for one in facts_of(path).values()} == {Tier.HOT}
        await until(pilot, lambda: "valkey" in beside(pilot), "theirs beside")
        assert "redis" in beside(pilot)

        await pilot.press("greater_than_sign")
        await until(pilot, lambda: len(rows_of(view)) == 1, "theirs being taken")
        await pilot.press("enter")
        await until(pilot, lambda: "1 change done" in said(pilot))
        assert facts_of(path)["cache"].tier is Tier.HOT
        assert facts_of(path)["port"].tier is Tier.ARCHIVED


async def test_mine_is_done_all_the_same_and_what_is_skipped_stays(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
        await gather(pilot, "port", "a")
        for target, content in (("cache", "valkey"), ("port", "5433")):
            with Store.open(path, clock=frozen) as store:
                store.facts.edit(facts_of(path)[target].uid, content)
        view = await basket_view(pilot)
        await until(pilot, lambda: sum("changed by" in row for row in rows_of(view)) == 2, "the changes of others")
        await to_row(pilot, "└  D[cache]")
        await pilot.press("less_than_sign")
        await until(pilot, lambda: sum("changed by" in row for row in rows_of(view)) == 1, "mine being taken")
        await to_row(pilot, "└  V[port]")
        await pilot.press("I")
        await until(pilot, lambda: not any("changed by" in row for row in rows_of(view)), "ignoring")
        await pilot.press("enter")
        await until(pilot, lambda: "1 change done" in said(pilot))
        assert facts_of(path)["cache"].tier is Tier.ARCHIVED
        assert facts_of(path)["port"].tier is Tier.HOT
        await until_shown(pilot, "basket: 1 change")


async def test_one_refused_change_keeps_all_from_being_done(path: Path) -> None:
    fill(path, "D[cache]: none", theme="ops", scope="docs")
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "port", "a")
        await until(pilot, lambda: "cache" in targets(pilot))
        await pilot.press("g", *("j" * targets(pilot).index("cache")), "m")
        await until(pilot, lambda: "move to a scope" in screen_text(pilot))
        await type_text(pilot, "release")
        await pilot.press("enter")
        await until(pilot, lambda: "gathered: move to release" in said(pilot))
        view = await basket_view(pilot)
        await until(pilot, lambda: "refused" in "".join(rows_of(view)))
        await pilot.press("enter")
        await until(pilot, lambda: "would be refused, so nothing was done" in said(pilot))
        assert facts_of(path)["port"].tier is Tier.HOT
        await until(pilot, lambda: "scope 'release' already has" in beside(pilot), "why, beside it")
        await pilot.press("d")
        await until(pilot, lambda: len(rows_of(view)) == 1, "it being taken out")
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.ARCHIVED, "the rest")


async def test_what_was_gathered_is_there_after_the_inspector_ended(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "basket: 1 change" in screen_text(pilot), "the basket of before")
        assert "gathering" not in screen_text(pilot).splitlines()[0]
        await basket_view(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.ARCHIVED, "the change")


async def test_scopes_are_gathered_too(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("b")
        await to_row(pilot, "docs")
        await pilot.press("m")
        await type_text(pilot, "release")
        await pilot.press("enter")
        await until(pilot, lambda: any("→ merge into release" in row for row in rows_of(view)), "the row saying so")
        await pilot.press("G", "c")
        await until(pilot, lambda: any("→ close" in row for row in rows_of(view)), "the row saying so")
        await basket_view(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "2 changes done" in said(pilot))
        assert pilot.app.screen is view  # back to where it was opened
        assert list(scopes_of(path)) == ["release"]
        await pilot.press("u")
        await until(pilot, lambda: set(scopes_of(path)) == {"release", "docs"}, "both being back")


async def test_an_edit_waits_and_a_secret_does_not(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await until(pilot, lambda: "cache" in targets(pilot))
        await pilot.press("g", *("j" * targets(pilot).index("cache")), "e")
        await pilot.press("ctrl+a")
        await type_text(pilot, "!")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "gathered: edit of D[cache]" in said(pilot))
        assert facts_of(path)["cache"].content == "redis"
        await basket_view(pilot)
        await until(pilot, lambda: "becomes" in beside(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "!" in facts_of(path)["cache"].content, "the edit")


async def test_an_empty_basket_the_past_and_a_memory_that_is_only_read_say_so(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("B")
        await until(pilot, lambda: "The basket is empty" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "The basket is empty: b in" in said(pilot))
        await pilot.press("escape", "left_square_bracket")
        await until(pilot, lambda: pilot.app.is_past, "the past")  # type: ignore[attr-defined]
        await pilot.press("b", "B")
        await until(pilot, lambda: "The basket is of the present" in said(pilot))
        assert "This is the past" in said(pilot)
    async with inspecting(path, read_only=True) as pilot:
        await pilot.press("b")
        await until(pilot, lambda: "read-only: there is nothing to gather" in said(pilot))


async def test_a_basket_of_before_is_shown_and_not_done_in_a_memory_that_is_only_read(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
    async with inspecting(path, read_only=True) as pilot:
        view = await basket_view(pilot)
        assert len(rows_of(view)) == 1
        await pilot.press("enter")
        await until(pilot, lambda: "read-only: nothing can be done" in said(pilot))


async def test_a_key_that_is_held_does_the_changes_once(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
        await basket_view(pilot)
        for _ in range(4):
            send(pilot, "enter")
        await until(pilot, lambda: "1 change done as one" in said(pilot))
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot), "the facts")
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.HOT, "undo")
        assert said(pilot).count("done as one") == 1


async def test_a_purged_fact_leaves_the_basket_and_its_file(path: Path) -> None:
    state = Path(os.environ["HERMES_HOME"]) / "inspector-state.json"
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "p")
        assert "redis" in state.read_text()
        with Store.open(path, clock=frozen) as store:
            store.purge.execute_facts([facts_of(path)["cache"].uid])
        await basket_view(pilot)
        await until(pilot, lambda: "Purged, and out of the basket: D[cache]" in said(pilot))
        assert "redis" not in state.read_text()
        await pilot.press("escape")
        await gather(pilot, "port", "p")
        fact = facts_of(path)["port"].uid
    with Store.open(path, clock=frozen) as store:
        store.purge.execute_facts([fact])
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "out of the basket: V[port]" in said(pilot), "the start looking")
        assert "5432" not in state.read_text()


async def test_a_fact_whose_creation_was_undone_is_taken_out(path: Path) -> None:
    fill(path, "V[new]: fact", theme="ops")
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "new", "p")
        with Store.open(path, clock=frozen) as store:
            store.undo.last()
        view = await basket_view(pilot)
        await to_row(pilot, "└  V[new]")
        assert "no more" in rows_of(view)[1]
        await pilot.press("less_than_sign")
        await until(pilot, lambda: "there no more; > takes it out" in said(pilot))
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: not rows_of(view), "the basket being empty")


async def test_context_and_review_gather_too(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        store.facts.quarantine("ops", "C[odd]: obey", why="orders")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "told")
        await to_row(pilot, "cache")
        await pilot.press("b", "W")
        await until(pilot, lambda: any("→ cool" in row for row in rows_of(view)), "the row saying so")
        view = await opened(pilot, "review")
        await pilot.press("A")
        await until(pilot, lambda: any("→ approve" in row for row in rows_of(view)), "the row saying so")
        await basket_view(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "2 changes done" in said(pilot))
        assert (facts_of(path)["cache"].tier, facts_of(path)["odd"].tier) == (Tier.COLD, Tier.HOT)


async def test_a_secret_does_not_wait_in_the_basket(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await until(pilot, lambda: "cache" in targets(pilot))
        await pilot.press("g", *("j" * targets(pilot).index("cache")), "e", "ctrl+a")
        await type_text(pilot, " key ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "a secret cannot wait in the basket" in screen_text(pilot))
        state = Path(os.environ["HERMES_HOME"]) / "inspector-state.json"
        assert "gathered: edit" not in said(pilot)
        assert not state.exists() or '"baskets"' not in state.read_text()


async def test_the_past_is_entered_from_the_basket_and_left_again(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("b")
        await gather(pilot, "cache", "a")
        view = await basket_view(pilot)
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: pilot.app.is_past, "the past")  # type: ignore[attr-defined]
        await pilot.pause()
        assert pilot.app.screen is not view  # what would come of it is no matter of the past
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_past, "the present")  # type: ignore[attr-defined]
        await until_shown(pilot, "basket: 1 change, gathering")
        await basket_view(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["cache"].tier is Tier.ARCHIVED, "the change")


async def test_what_could_be_tidied_is_added_with_reasons_and_single_ones_are_dropped(path: Path) -> None:
    fill(
        path,
        "D[caching]: redis 7",
        "D[tests]: pytest",
        "D[testing]: pytest with coverage",
        theme="ops",
        scope="release",
    )
    async with inspecting(path) as pilot:
        view = await basket_view(pilot)
        await pilot.press("tilde")
        await until(pilot, lambda: "2 proposals added" in said(pilot))
        await until(pilot, lambda: len(rows_of(view)) == 2)
        await until(pilot, lambda: "D[caching]: redis 7 says all of it, and" in beside(pilot))
        await pilot.press("d")
        await until(pilot, lambda: len(rows_of(view)) == 1)
        await until(pilot, lambda: "D[testing]: pytest with" in beside(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "1 change done as one" in said(pilot))
    facts = facts_of(path)
    assert (facts["cache"].tier, facts["tests"].tier) == (Tier.HOT, Tier.SUPERSEDED)


async def test_a_proposal_to_merge_into_a_fact_leaves_the_basket_when_that_is_purged(path: Path) -> None:
    state = Path(os.environ["HERMES_HOME"]) / "inspector-state.json"
    fill(path, "D[caching]: redis 7 behind nginx", theme="ops", scope="release")
    async with inspecting(path) as pilot:
        view = await basket_view(pilot)
        await pilot.press("tilde")
        await until(pilot, lambda: len(rows_of(view)) == 1)
        assert "nginx" in state.read_text()
        with Store.open(path, clock=frozen) as store:
            store.purge.execute_facts([facts_of(path)["caching"].uid])
        await until(pilot, lambda: "out of the basket: merge into" in said(pilot))
        assert "nginx" not in state.read_text()
        await until(pilot, lambda: not rows_of(view))
