"""What a carrier damages, loses and brings back: whoever wrote it writes it again, and nothing that was purged stays."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from hermes_memory_bridge.team.folder import theme_exchange
from hermes_memory_store.sync.wire_format import PullCursor
from tests.bridge.team.folder.laptops import KEY, THEME, Laptop, Maker, settle, words_in


def notes_of(laptop: Laptop) -> Path:
    """Return the file in which a laptop notes what it knows of the folder."""
    return Path(laptop.paths.folder) / f"folder-{KEY.tag}.json"


@pytest.mark.parametrize("length", [0, 10, 70, -1])
def test_a_segment_that_is_cut_before_anybody_read_it_is_written_again(make: Maker, length: int) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    (path,) = here.files()
    path.write_bytes(path.read_bytes()[:length])
    assert there.sync().state.name == "incomplete" or length == 0
    assert there.contents() == []
    settle(here, there)
    assert there.contents() == ["8080"]
    assert path not in here.files()
    assert there.sync().state.name == "idle"


def test_a_segment_that_is_changed_is_written_again_also_after_a_restart(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    here.restart()
    (path,) = here.files()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    settle(here, there)
    assert there.contents() == ["8080"]


def test_a_segment_that_another_one_replaced_is_written_again(make: Maker) -> None:
    here, there = make(), make()
    for n in range(2):
        here.write(f"V[port{n}]: {n}")
        here.sync()
    one, other = here.files()
    shutil.copy2(one, other)
    settle(here, there)
    assert there.contents() == ["0", "1"]


def test_what_a_bridge_finds_damaged_is_said_and_waits_for_the_carrier(make: Maker) -> None:
    here = make()
    here.write("V[port]: 8080")
    here.sync()
    (path,) = here.files()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    outcome = here.look()
    assert outcome.state.name == "incomplete"
    assert path.name in {problem.file for _, problem in here.run.problems()}
    path.write_bytes(whole)
    assert here.look().state.name == "idle"
    assert here.files() == [path]


def test_a_segment_that_is_lost_with_the_position_of_the_store_is_written_again(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    here.files()[0].unlink()
    here.store.sync.inbox.apply(THEME, [], cursor=PullCursor())
    settle(here, there)
    assert there.contents() == ["8080"]


def test_a_segment_that_came_back_after_it_was_written_again_may_be_lost_once_more(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    (old,) = here.files()
    shutil.move(old, tmp_path / "old")
    here.sync()
    (new,) = here.files()
    new.unlink()
    shutil.move(tmp_path / "old", old)
    here.sync()
    old.unlink(missing_ok=True)
    settle(here, there)
    assert there.contents() == ["8080"]


def test_what_was_written_before_a_kill_is_missed_when_it_is_gone(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.store.close()
    child = os.fork()
    if not child:
        here.open()
        # What was written is acknowledged, and then the machine is gone.
        monkeypatch.setattr(
            type(here.store.shared_turns), "acknowledge", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        )
        here.sync()
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    here.open()
    assert not here.store.sync.outbox.pending_rows(THEME)
    (path,) = here.files()
    path.unlink()
    settle(here, there)
    assert there.contents() == ["8080"]


def test_notes_that_are_lost_with_the_position_of_the_store_cost_nothing_but_writing_again(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    here.files()[0].unlink()
    here.store.sync.inbox.apply(THEME, [], cursor=PullCursor())
    notes_of(here).unlink()
    here.restart()
    settle(here, there)
    assert there.contents() == ["8080"]


def test_who_lost_his_notes_writes_again_what_he_was_about_to_offer_again(make: Maker) -> None:
    here, third = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    (before,) = here.files()
    notes_of(here).unlink()
    here.store.sync.outbox.mark_all_unsent(THEME)
    here.restart()
    here.sync()
    before.unlink()  # which belongs to nobody any more
    third.sync()
    assert third.contents() == ["8080"]


def test_who_lost_his_notes_writes_everything_again_also_beside_what_he_holds_back(make: Maker) -> None:
    here, there, third = make(), make(), make()
    there.offset_ms = 86_400_000
    there.write("V[port]: of tomorrow")
    there.sync()
    here.write("V[port]: 8080")
    here.sync()
    before = here.files()
    notes_of(here).unlink()
    here.restart()
    here.sync()
    for path in before:  # which belong to nobody any more
        path.unlink()
    third.sync()
    assert third.contents() == ["8080"]


def test_two_machines_that_each_lose_a_segment_do_not_rely_on_each_other(make: Maker, tmp_path: Path) -> None:
    here, there, third = make(), make(), make()
    here.write("V[port]: 8080")
    settle(here, there)
    (first,) = here.files()
    kept = shutil.copy2(first, tmp_path / "kept")
    notes_of(there).unlink()
    there.restart()
    there.sync()
    (second,) = set(there.files()) - {first}
    first.unlink()
    here.sync()
    shutil.copy2(kept, first)
    second.unlink()
    there.sync()
    here.sync()  # which removes the file that came back
    third.sync()
    assert third.contents() == ["8080"]


def test_a_purged_word_that_comes_back_under_another_name_is_taken_out(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    uid = here.write("V[key]: xylophone")
    here.sync()
    (old,) = here.files()
    kept = shutil.copy2(old, tmp_path / "kept")
    settle(here, there)
    here.store.purge.erase([uid])
    settle(here, there)
    shutil.copy2(kept, old.with_name(f"{old.stem} (1).hms"))
    settle(here, there)
    assert "xylophone" not in words_in(here)


def test_a_purged_word_that_comes_back_after_all_notes_were_lost_is_taken_out(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    uid = here.write("V[key]: xylophone")
    here.store.turns.add(THEME, "user", "my word is balalaika")
    settle(here, there)
    (old,) = here.files()
    kept = shutil.copy2(old, tmp_path / "kept")
    here.store.purge.erase([uid])
    here.store.turns.erase(THEME)
    settle(here, there)
    for laptop in (here, there):
        notes_of(laptop).unlink()
        laptop.restart()
    shutil.copy2(kept, old)
    settle(here, there)
    assert not {"xylophone", "balalaika"} & set(words_in(here).replace("'", " ").split())


def test_a_late_segment_with_a_word_that_was_purged_meanwhile_is_rewritten(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = make(), make()
    uid = here.write("V[key]: xylophone")
    settle(here, there)
    there.store.facts.edit(uid, "xylophone, edited")
    there.sync()
    late = max(there.files(), key=lambda path: path.stat().st_mtime_ns)
    shutil.move(late, tmp_path / "late")
    here.store.purge.erase([uid])
    here.sync()
    shutil.move(tmp_path / "late", late)
    here.look()  # its writer has ten minutes to take it out
    assert late in here.files()
    monkeypatch.setattr(theme_exchange, "LEFT_TO_WRITERS_MS", 0)
    here.look()
    assert late not in here.files()
    assert "xylophone" not in words_in(here)


def test_what_is_held_back_is_written_again_by_who_took_it_over(make: Maker) -> None:
    here, there = make(), make()
    here.sync()
    uid = here.write("V[key]: xylophone")
    here.offset_ms = 86_400_000
    here.write("V[port]: of tomorrow")
    for laptop in (here, there):
        laptop.sync()
    there.store.purge.erase([uid])  # which rewrites the segment of the first
    for laptop in (there, here):
        laptop.sync()
    for path in there.files():
        path.unlink()
    for laptop in (there, here, there, here):
        laptop.sync()
    third = make()
    third.offset_ms = 86_400_000
    third.sync()
    assert third.contents() == ["of tomorrow"]


def test_what_a_killed_machine_began_to_write_is_removed_when_it_starts_again(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    settle(here, there)
    (path,) = here.files()
    own = path.with_name(f".{path.name}.abc.tmp")
    others, old = path.with_name(f".{'0' * 16}-1.hms.x.tmp"), path.with_name(f".{'1' * 16}-1.hms.x.tmp")
    for one in (own, others, old):
        one.write_bytes(b"half")
    os.utime(old, (1, 1))
    here.restart()
    here.sync()
    assert not own.exists()
    assert not old.exists()
    assert others.exists()
