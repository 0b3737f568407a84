"""Two and more laptops that share a folder."""

from __future__ import annotations

import random
import shutil
import uuid
from pathlib import Path

import pytest

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder import theme_exchange
from hermes_memory_bridge.team.folder.segment import SegmentName, ThemeKey, open_segment, seal_segment
from tests.bridge.team.conftest import LONG
from tests.bridge.team.folder.laptops import KEY, THEME, Laptop, Maker, carry, settle, words_in

LATER_MS = 41 * 86_400_000
"""When nothing is ahead of any clock."""


def test_what_one_writes_is_on_the_other_with_its_author(make: Maker) -> None:
    here, there = make(), make()
    uid = here.write("C[db.id]: UUID mndtry")
    here.store.turns.add(THEME, "user", "use UUIDs everywhere")
    settle(here, there)
    assert there.contents() == ["UUID mndtry"]
    assert there.heard() == ["use UUIDs everywhere"]
    there.store.facts.edit(uid, "UUID v7 mndtry")
    settle(there, here)
    assert here.contents() == ["UUID v7 mndtry"]


def test_a_theme_may_have_another_name_on_each_machine(make: Maker) -> None:
    here, there = make(), make(theme="work")
    here.write("C[db.id]: UUID mndtry")
    here.store.facts.write(THEME, "V[port]: 8080", scope="billing")
    for _ in range(3):
        here.sync(), there.sync()
    there.store.scopes.close("work", "billing")
    for _ in range(3):
        there.sync(), here.sync()
    assert there.contents() == here.contents() == ["8080", "UUID mndtry"]
    assert [one.status for one in here.store.scopes.list(THEME)] == [
        one.status for one in there.store.scopes.list("work")
    ]


def test_edits_at_once_keep_one_and_show_the_other(make: Maker) -> None:
    here, there = make("a"), make("b")
    carry(here.folder, there.folder)
    uid = here.write("V[port]: 8080")
    settle_apart(here, there)
    here.store.facts.edit(uid, "8081")
    there.store.facts.edit(uid, "8082")
    settle_apart(here, there)
    assert len(here.contents()) == 1
    kept = here.store.sync.standing.conflicts() + there.store.sync.standing.conflicts()
    assert {one.theirs.content for one in kept} | set(here.contents()) == {"8081", "8082"}


def settle_apart(*laptops: Laptop) -> None:
    """Sync laptops with folders of their own until all agree."""
    for _ in range(12):
        done = [laptop.sync() for laptop in laptops]
        carry(*(one.folder for one in laptops))
        if all(one.idle for one in done) and len({str(laptop.digest()) for laptop in laptops}) == 1:
            return
    raise AssertionError([laptop.digest() for laptop in laptops])


def test_what_is_purged_stands_in_no_segment_whoever_wrote_it(make: Maker) -> None:
    here, there = make(), make()
    uid = here.write("V[key]: the secret word xylophone")
    here.write("V[port]: 8080")
    here.store.turns.add(THEME, "user", "my word is balalaika")
    settle(here, there)
    assert "xylophone" in words_in(here)
    there.store.facts.edit(uid, "the secret word xylophone, edited")
    settle(there, here)
    there.store.purge.erase([uid])
    there.store.turns.erase(THEME)
    there.sync()
    assert "xylophone" not in words_in(here)
    assert "balalaika" not in words_in(here)
    settle(here, there)
    assert here.contents() == ["8080"]
    assert "8080" in words_in(here)
    third = make()
    settle(third, here, there)


def test_a_purge_reaches_what_was_written_apart(make: Maker) -> None:
    here, there = make("a"), make("b")
    carry(here.folder, there.folder)
    uid = here.write("V[key]: xylophone")
    settle_apart(here, there)
    here.store.purge.erase([uid])
    there.store.facts.edit(uid, "xylophone, edited")
    settle_apart(here, there)
    assert "xylophone" not in words_in(here) + words_in(there)
    assert not here.contents() + there.contents()


def test_a_removed_segment_that_a_carrier_brings_back_is_removed_again(make: Maker, tmp_path: Path) -> None:
    here = make()
    uid = here.write("V[key]: xylophone")
    here.sync()
    (old,) = here.files()
    shutil.copy2(old, tmp_path / "kept")
    here.store.purge.erase([uid])
    here.sync()
    shutil.copy2(tmp_path / "kept", old)
    here.sync()
    assert old not in here.files()


def test_stamps_of_a_clock_that_runs_ahead_are_held_back_and_said(make: Maker) -> None:
    here, there = make(), make()
    here.offset_ms = 86_400_000
    uid = here.write("V[port]: 8080")
    here.sync(), there.sync()
    assert there.contents() == []
    (held,) = there.store.sync.standing.held_versions()
    assert "23 h ahead" in held.why
    here.offset_ms = 0
    here.restart()
    here.store.facts.edit(uid, "8081")  # made from what is ahead: it waits as long
    for laptop in (here, there, here):
        laptop.sync()
    assert there.contents() == []
    there.offset_ms = here.offset_ms = 86_460_000
    settle(there, here)
    assert there.contents() == ["8081"]
    assert not there.store.sync.standing.held_versions()


def test_files_that_are_no_segments_are_said_and_harmless(make: Maker, tmp_path: Path) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    here.sync()
    (good,) = here.files()
    data, at = good.read_bytes(), good.parent
    (at / "notes.txt").write_text("hello")
    (at / "half.hms").write_bytes(data[:-10])
    (at / "few.hms").write_bytes(data[:3])
    (at / "more.hms").write_bytes(data + b"x")
    (at / "flipped.hms").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (at / f"{good.stem} (1).hms").write_bytes(data)
    (at / "empty.hms").write_bytes(b"")
    (at / "link.hms").symlink_to(tmp_path / "elsewhere")
    (at / "folder.hms").mkdir()
    foreign = ThemeKey(b"k" * 32)
    name = SegmentName("0" * 16, 1, "1" * 16)
    segment = open_segment(KEY, THEME, data)[1]
    (at / str(name)).write_bytes(seal_segment(foreign, name, segment))
    outcome = there.sync()
    assert there.contents() == ["8080"]
    said = {problem.file: problem.why for _, problem in there.run.problems()}
    assert said.keys() == {
        *(
            "notes.txt",
            "half.hms",
            "few.hms",
            "more.hms",
            "flipped.hms",
            "empty.hms",
            str(name),
            "link.hms",
            "folder.hms",
        ),
        f"{good.stem} (1).hms",
    }
    assert outcome.state.name == "incomplete"
    (at / "half.hms").write_bytes(data)
    assert "half.hms" not in {p.file for _, p in there.run.problems() if p.is_missed} or there.sync()
    assert here.sync().themes[THEME].pulled == 0


def test_a_folder_that_is_away_or_empty_is_not_written_to(make: Maker) -> None:
    here = make()
    here.write("V[port]: 8080")
    shutil.rmtree(here.folder)
    with pytest.raises(TeamError, match="not there"):
        here.sync()
    here.folder.mkdir()
    with pytest.raises(TeamError, match="no mark"):
        here.sync()
    assert list(here.folder.iterdir()) == []


def test_what_a_folder_lost_is_written_again(make: Maker) -> None:
    here, there = make(), make()
    here.write("V[port]: 8080")
    there.write("V[host]: db")
    settle(here, there)
    for path in here.files():
        path.unlink()
    settle(here, there)
    third = make()
    settle(third, here, there)
    assert third.contents() == ["8080", "db"]


def test_a_store_that_is_restored_reads_what_it_wrote_after_the_backup(make: Maker, tmp_path: Path) -> None:
    here = make()
    here.write("V[port]: 8080")
    here.sync()
    here.store.close()
    shutil.copy2(here.home / "memory.db", tmp_path / "backup.db")
    here.open()
    here.write("V[host]: db")
    here.sync()
    here.store.close()
    for path in here.home.glob("memory.db*"):
        if path.is_file():
            path.unlink()
    shutil.copy2(tmp_path / "backup.db", here.home / "memory.db")
    here.open()
    here.sync()
    assert here.contents() == ["8080", "db"]


def test_a_copy_of_a_memory_goes_on_under_a_name_of_its_own(make: Maker, tmp_path: Path) -> None:
    here = make()
    here.write("V[port]: 8080")
    here.sync()
    here.store.close()
    shutil.copytree(here.home, tmp_path / "laptop1", dirs_exist_ok=True)
    here.open()
    copy = make()
    here.write("V[a]: of the first")
    copy.write("V[b]: of the copy")
    settle(here, copy)
    assert here.contents() == ["8080", "of the copy", "of the first"]


def test_small_segments_are_merged_and_nobody_misses_anything(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme_exchange, "MOST_SMALL", 3)
    here, there = make(), make()
    for n in range(12):
        here.write(f"V[port{n}]: {n}")
        here.sync()
        if n % 5 == 0:
            there.sync()
    assert len(here.files()) <= 4
    settle(here, there)
    assert len(there.contents()) == 12
    settle(make(), here, there)


@pytest.mark.parametrize("seed", range(300 if LONG else 5))
def test_random_histories_end_with_the_same_on_every_machine(
    make: Maker, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(theme_exchange, "MOST_SMALL", chance.choice([2, 32]))
    monkeypatch.setattr(theme_exchange, "SEGMENT_ROWS", chance.choice([4, 12, 2_000]))
    laptops = [make(f"folder{n}") for n in range(chance.randint(2, 4))]
    purged: set[str] = set()
    carry(*(one.folder for one in laptops))
    for _ in range(chance.randint(20, 60)):
        act(chance.choice(laptops), chance, purged)
        if chance.random() < 0.3:
            one, other = chance.sample(laptops, 2)
            chance.choice([one, other]).sync()
            carry(*sorted((one.folder, other.folder)))
        if chance.random() < 0.05:
            chance.choice(laptops).restart()
    for laptop in laptops:
        laptop.offset_ms = LATER_MS
        laptop.restart()
    settle_apart(*laptops)
    for laptop in laptops:
        standing = {str(uuid.UUID(uid)) for (uid,) in laptop.store.db.rows("SELECT lower(hex(uid)) FROM facts")}
        assert not standing & purged
        assert not any(f"of {uid}" in words_in(laptop) for uid in purged)


def act(laptop: Laptop, chance: random.Random, purged: set[str]) -> None:
    """Something that agents and people do."""
    store = laptop.store
    rows = store.db.rows("SELECT lower(hex(uid)) FROM facts WHERE tier IN ('hot', 'cold') ORDER BY uid")
    facts = [str(uuid.UUID(row[0])) for row in rows]
    what = chance.random()
    if what < 0.1:
        store.turns.add(THEME, "user", f"heard {chance.getrandbits(40)}")
    elif what < 0.14:
        laptop.offset_ms = chance.choice([0, 0, 3_600_000, -3_600_000, 40 * 86_400_000])
    elif what < 0.55 or not facts:
        store.facts.write(THEME, f"V[t{chance.randrange(30)}]: said {chance.getrandbits(40)}")
    elif what < 0.75:
        uid = chance.choice(facts)
        store.facts.edit(uid, f"edited {chance.getrandbits(40)} of {uid}")
    elif what < 0.85:
        store.facts.archive([chance.choice(facts)])
    else:
        uid = chance.choice(facts)
        store.purge.erase([uid])
        purged.add(uid)
