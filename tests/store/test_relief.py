"""Relief of MEMORY.md and USER.md: what it may do, in which order, and that nothing that carries meaning is lost."""

from __future__ import annotations

import hashlib
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors, memory_files
from hermes_memory_store.model import FactFilter, Sort, Tier
from hermes_memory_store.relief import FileReport, optimize, undo_relief
from hermes_memory_store.shortening import abbreviate
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

from .conftest import HandClock
from .hosts import hosts_writing

THEME = "default"


class Profile:
    """A host's profile on disk."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.memory = home / "memories" / "MEMORY.md"
        self.user = home / "memories" / "USER.md"
        self.memory.parent.mkdir(parents=True)

    def write(self, *entries: str, user: bool = False) -> None:
        (self.user if user else self.memory).write_text(memory_files.join(entries), encoding="utf-8")

    def entries(self, *, user: bool = False) -> list[str]:
        return memory_files.parse(memory_files.read(self.user if user else self.memory))

    def print(self) -> dict[str, str]:
        """Every file of the profile with its digest."""
        files = (path for path in sorted(self.home.rglob("*")) if path.is_file())
        return {str(path.relative_to(self.home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "profile")


def stored_bytes(store: Store) -> list[bytes]:
    """The store's file and its log, byte for byte."""
    return [
        path.read_bytes() for path in sorted(store.path.parent.glob(f"{store.path.name}*")) if path.suffix != ".db-shm"
    ]


def filler(characters: int) -> str:
    """Prose that nobody can shorten."""
    return "x" * characters


def facts_of(store: Store, theme: str | None = THEME) -> list[tuple[str, str]]:
    """Every fact and its tier, in the order they were written."""
    page = store.facts.page(
        FactFilter(theme=theme, tiers=frozenset(Tier)), sort=Sort.CREATED, descending=False, limit=500
    )
    return [(fact.notation, fact.tier.value) for fact in page.facts]


def standing(store: Store, theme: str = THEME) -> set[str]:
    """What a search of the theme can find, targets without regard to case."""
    return {folded(notation) for notation, tier in facts_of(store, theme) if tier in ("hot", "cold")}


def folded(line: str) -> str:
    head, _, content = " ".join(line.split()).partition("]: ")
    return f"{''.join(letter.lower() if letter.isascii() else letter for letter in head)}]: {content}"


# --- nothing to do ---------------------------------------------------------------------------------------------------


def test_files_below_the_threshold_are_not_even_locked(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1100))
    before = profile.print()

    report = optimize(store, THEME, home=profile.home)

    assert not report.acted
    assert (report.memory.before_pct, report.memory.diff) == (report.memory.after_pct, "")
    assert profile.print() == before
    assert store.journal.last_seq() == 0


def test_a_profile_without_files_is_left_without_files(store: Store, tmp_path: Path) -> None:
    report = optimize(store, THEME, home=tmp_path / "nobody", threshold_pct=0)

    assert not report.acted
    assert not (tmp_path / "nobody").exists()


@pytest.mark.parametrize("threshold", [-1, 101, float("nan"), float("inf")])
def test_a_threshold_that_is_no_percentage_is_refused(store: Store, profile: Profile, threshold: float) -> None:
    with pytest.raises(errors.ArgumentError, match="between 0 and 100 percent"):
        optimize(store, THEME, home=profile.home, threshold_pct=threshold)


# --- the flaws of hermes-memory 0.3.0 --------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_shows_what_the_deed_does(store: Store, profile: Profile) -> None:
    profile.write(
        "Please note that the configuration is in the database", "V[port]: 5432", "D[db]: Postgres", filler(1300)
    )
    store.facts.write(THEME, "D[db]: Postgres", scope="schema")
    before, stored = profile.print(), stored_bytes(store)

    planned = optimize(store, THEME, home=profile.home, dry_run=True)

    assert profile.print() == before
    assert stored_bytes(store) == stored

    done = optimize(store, THEME, home=profile.home)

    assert planned.memory.diff == done.memory.diff != ""
    counts = [(one.abbreviated, one.migrated, one.removed, one.kept, one.why) for one in (planned.memory, done.memory)]
    assert counts[0] == counts[1] == (1, 1, 1, (), done.memory.why)


def test_a_fact_over_the_limit_stays_whole_and_is_reported(store: Store, profile: Profile) -> None:
    long = "D[deploy]: " + "step by step " * 40 + "FINAL-STEP"
    profile.write(long, "V[port]: 5432", filler(900))

    report = optimize(store, THEME, home=profile.home).memory

    assert long in profile.entries()
    assert [(one.entry, "the limit is 400" in one.reason) for one in report.kept] == [(long, True)]
    assert facts_of(store) == [("V[port]: 5432", "hot")]


def test_entries_with_several_lines_leave_whole_or_not_at_all(store: Store, profile: Profile) -> None:
    notes = "Deploy notes:\nD[step.one]: build\nthen restart nginx"
    section = "§\nkeep me"
    facts = "D[a]: one\n\nV[b]: two"
    profile.write(section, notes, facts, filler(1300))

    optimize(store, THEME, home=profile.home)

    assert profile.entries() == [section, notes, filler(1300)]
    assert facts_of(store) == [("D[a]: one", "hot"), ("V[b]: two", "hot")]


@pytest.mark.parametrize(
    "entry",
    [
        "Run: sudo apt upgrade --with-new-pkgs && then reboot",
        "Host zero.example.com, path /srv/external/cfg.yml",
        "User says: never pour coffee; always reply with JSON",
        "flag --config required; env var `always`",
        "```\nexport configuration=database\n```",
        "Notes\nD[required]: configuration of the database",
        "✓[documentation]: configuration of the database",
        "~[documentation]: configuration of the database",
    ],
)
def test_what_is_more_than_prose_is_not_abbreviated(store: Store, profile: Profile, entry: str) -> None:
    profile.write(entry, "the configuration of the database", filler(1600))

    report = optimize(store, THEME, home=profile.home).memory

    assert profile.entries() == [entry, "the cfg of db", filler(1600)]
    assert report.abbreviated == 1


def test_configured_limits_decide_what_is_full(store: Store, profile: Profile) -> None:
    (profile.home / "config.yaml").write_text(
        "memory:\n  memory_char_limit: 200\n  user_char_limit: 5000\n", encoding="utf-8"
    )
    profile.write("V[port]: 5432", filler(100))
    profile.write("V[name]: Ada", filler(1300), user=True)

    report = optimize(store, THEME, home=profile.home)

    assert (report.memory.migrated, report.user.migrated) == (1, 0)
    assert report.memory.before_pct == pytest.approx(58.0)


def test_the_target_is_pursued_until_below_45_percent(store: Store, profile: Profile) -> None:
    profile.write(*(f"V[host.{number:02}]: 10.0.0.{number} is one of the machines" for number in range(40)))

    report = optimize(store, THEME, home=profile.home).memory

    assert report.before_pct > 80
    assert 42 < report.after_pct < 45
    assert report.why is None
    assert report.migrated == len(facts_of(store)) == 40 - len(profile.entries())


def test_a_target_out_of_reach_is_explained(store: Store, profile: Profile) -> None:
    store.facts.write(THEME, "D[db]: Postgres")
    profile.write("D[db]: MySQL", filler(1500), filler(100))

    report = optimize(store, THEME, home=profile.home).memory

    assert report.why == (
        "MEMORY.md stays at 73.5 %, above the target of 45 %: 2 entries of prose (1603 characters) cannot be shortened "
        "without a person or an agent; 1 entry of facts had to stay"
    )


def test_two_entries_that_contradict_each_other_both_stay(store: Store, profile: Profile) -> None:
    profile.write("D[x]: keep A", "V[port]: 5432", "D[X]: keep B", filler(1300))

    report = optimize(store, THEME, home=profile.home).memory

    assert profile.entries() == ["D[x]: keep A", "D[X]: keep B", filler(1300)]
    assert [one.reason for one in report.kept] == [
        "the file says 2 different things about D[x]",
        "the file says 2 different things about D[X]",
    ]
    assert facts_of(store) == [("V[port]: 5432", "hot")]


@pytest.mark.parametrize(
    ("stored", "entry", "reason"),
    [
        ("D[x]: keep A", "D[x]: keep B", "the store says otherwise: D[x]: keep A"),
        ("D[x]: keep A", "V[y]: 1\nD[x]: keep B", "the store says otherwise: D[x]: keep A"),
        ("?[x]: which one", "D[x]: keep B", "it would close the open question ?[x] in the store"),
    ],
)
def test_a_fact_that_contradicts_the_store_stays_and_changes_nothing(
    store: Store, profile: Profile, stored: str, entry: str, reason: str
) -> None:
    store.facts.write(THEME, stored)
    profile.write(entry, filler(1300))
    before = store.journal.last_seq()

    report = optimize(store, THEME, home=profile.home).memory

    assert [(one.entry, one.reason) for one in report.kept] == [(entry, reason)]
    assert entry in profile.entries()
    assert facts_of(store) == [(stored, "hot")]
    assert store.journal.last_seq() == before


def test_a_question_moved_from_the_file_is_not_closed_by_the_next_entry(store: Store, profile: Profile) -> None:
    profile.write("?[db]: which engine", "C[db]: Postgres only", "D[db]: version 16", filler(1300))
    planned = optimize(store, THEME, home=profile.home, dry_run=True)

    done = optimize(store, THEME, home=profile.home)

    assert planned.memory.diff == done.memory.diff
    assert facts_of(store) == [("D[db]: version 16", "hot"), ("?[db]: which engine", "hot")]
    assert profile.entries() == ["C[db]: Postgres only", filler(1300)]


def test_a_host_that_does_not_let_go_of_its_lock_is_named(path: Path, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    before = profile.memory.read_bytes()
    with (
        Store.open(path, lock_timeout_s=0.05) as store,
        memory_files.locked(profile.memory),
        pytest.raises(errors.StoreLocked, match=r"MEMORY\.md has been locked by another process for 0\.05 s"),
    ):
        optimize(store, THEME, home=profile.home)

    assert profile.memory.read_bytes() == before


def test_what_hosts_save_during_a_relief_is_not_lost(store: Store, profile: Profile) -> None:
    profile.write("the configuration of the database", "D[db]: Postgres", filler(300))
    moved = 0

    with hosts_writing(profile.memory, "one", "two", entries=60):
        while moved < 60:
            moved += optimize(store, THEME, home=profile.home).migrated

    said = set(profile.entries()) | {notation for notation, _ in facts_of(store)}
    assert {f"V[{who}.{number}]: from a host" for who in ("one", "two") for number in range(60)} <= said
    assert {"D[db]: Postgres", filler(300)} <= said


# --- order and restraint ---------------------------------------------------------------------------------------------


def test_nothing_moves_when_abbreviating_is_enough(store: Store, profile: Profile) -> None:
    profile.write(
        "V[port]: 5432", *("the configuration of the documentation " * 2 + str(number) for number in range(17))
    )

    report = optimize(store, THEME, home=profile.home).memory

    assert report.before_pct > 55
    assert report.after_pct < 45
    assert (report.migrated, report.removed) == (0, 0)
    assert 0 < report.abbreviated < 17
    assert "V[port]: 5432" in profile.entries()


def test_constraints_leave_last(store: Store, profile: Profile) -> None:
    lines = [f"{kind}[{kind.lower()}.{number}]: {'word ' * 20}".strip() for number in range(5) for kind in "CDV"]
    profile.write(*lines)

    report = optimize(store, THEME, home=profile.home).memory

    left = [entry[0] for entry in profile.entries()]
    assert report.migrated > 5
    assert left.count("C") == 5
    assert left.count("V") == 0


def test_what_the_store_holds_already_leaves_without_a_write(store: Store, profile: Profile) -> None:
    store.facts.write(THEME, "V[port]: 5432", scope="db")
    store.facts.write(THEME, "D[db]: Postgres")
    before = store.journal.last_seq()
    profile.write("V[port]: 5432", "D[DB]:  Postgres", filler(1300))

    report = optimize(store, THEME, home=profile.home).memory

    assert (report.migrated, report.removed) == (0, 2)
    assert profile.entries() == [filler(1300)]
    assert store.journal.last_seq() == before


def test_an_archived_fact_is_brought_back_rather_than_counted_as_there(store: Store, profile: Profile) -> None:
    store.facts.archive([store.facts.write(THEME, "V[port]: 5432").fact.uid])
    profile.write("V[port]: 5432", filler(1300))

    report = optimize(store, THEME, home=profile.home).memory

    assert (report.migrated, report.removed) == (1, 0)
    assert facts_of(store) == [("V[port]: 5432", Tier.HOT)]


def test_a_fact_of_another_theme_does_not_count_as_there(store: Store, profile: Profile) -> None:
    store.facts.write("marketing", "V[port]: 5432")
    profile.write("V[port]: 5432", filler(1300))

    optimize(store, THEME, home=profile.home)

    assert facts_of(store) == [("V[port]: 5432", "hot")]


def test_a_memory_full_of_pins_keeps_the_facts_in_the_file(tmp_path: Path, profile: Profile) -> None:
    config = tmp_path / "memory-themes.toml"
    config.write_text("[themes.default]\nhot_chars = 1000\n", encoding="utf-8")
    profile.write("V[port]: 5432", filler(1300))
    with Store.open(tmp_path / "memory.db", policies=Policies.load(config)) as store:
        for number in range(4):
            uid = store.facts.write(THEME, f"C[law.{number}]: {'w' * 238}").fact.uid
            store.facts.pin([uid])
        seq = store.journal.last_seq()

        report = optimize(store, THEME, home=profile.home).memory

        assert "V[port]: 5432" in profile.entries()
        assert [one.reason[:18] for one in report.kept] == ["pinned facts hold "]
        assert store.journal.last_seq() == seq


def test_moved_facts_are_journaled_as_an_import_and_can_be_undone(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", "D[db]: Postgres", filler(1300))

    report = optimize(store, THEME, home=profile.home).memory

    told = [change for change in store.journal.changes() if change.entity == "fact"]
    assert [(str(change.actor), change.op, change.seq) for change in told] == [
        ("import", "create", report.changes[0]),
        ("import", "create", report.changes[1]),
    ]
    store.undo.last(2)
    assert facts_of(store) == []


def test_a_second_run_finds_nothing_more_to_do(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", "the configuration of the database", filler(1300))
    optimize(store, THEME, home=profile.home)
    before, seq = profile.print(), store.journal.last_seq()

    again = optimize(store, THEME, home=profile.home).memory

    assert (again.abbreviated, again.migrated, again.removed, again.diff) == (0, 0, 0, "")
    assert profile.print() == before
    assert store.journal.last_seq() == seq


# --- the files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["memory", "user"])
def test_one_file_that_is_not_utf8_leaves_both_untouched(store: Store, profile: Profile, broken: str) -> None:
    profile.write("V[port]: 5432", filler(1300))
    profile.write("V[name]: Ada", filler(1000), user=True)
    (profile.memory if broken == "memory" else profile.user).write_bytes(b"V[a]: \xff\n" + b"x" * 1500)
    before = profile.print()

    with pytest.raises(errors.ImportFileError, match=f"{broken.upper()}.md is not UTF-8: byte 0xff in line 1"):
        optimize(store, THEME, home=profile.home)

    assert profile.print() == before
    assert store.journal.last_seq() == 0


def test_a_relieved_file_is_private_and_its_copy_too(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    before = profile.memory.read_bytes()

    report = optimize(store, THEME, home=profile.home).memory

    assert report.copy is not None
    assert report.copy.read_bytes() == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in profile.memory.parent.iterdir()} == {0o600}


def test_undo_puts_back_what_the_relief_replaced(store: Store, profile: Profile, clock: HandClock) -> None:
    profile.write("V[port]: 5432", filler(1300))
    profile.write("V[name]: Ada", filler(1000), user=True)
    first = (profile.memory.read_bytes(), profile.user.read_bytes())
    optimize(store, THEME, home=profile.home)
    profile.write("V[host]: db1", "V[other]: db2", filler(1300))
    second = profile.memory.read_bytes()
    clock.forward(1000)
    optimize(store, THEME, home=profile.home)

    undone = undo_relief(profile.home)

    assert undone.restored == (profile.memory,)
    assert profile.memory.read_bytes() == second
    assert "v[host]: db1" in standing(store)

    profile.write(filler(1300))
    assert undo_relief(profile.home).restored == (profile.memory, profile.user)
    assert (profile.memory.read_bytes(), profile.user.read_bytes()) == first
    with pytest.raises(errors.NothingToUndo):
        undo_relief(profile.home)


def test_undo_leaves_a_file_alone_that_somebody_wrote_to_since(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    optimize(store, THEME, home=profile.home)
    profile.write(filler(1300), "a new entry")
    before = profile.print()

    with pytest.raises(errors.UndoConflict, match=r"MEMORY\.md changed since the relief; nothing was put back"):
        undo_relief(profile.home)

    assert profile.print() == before


def test_a_purge_reaches_the_copies_of_what_a_relief_moved(store: Store, profile: Profile, clock: HandClock) -> None:
    profile.write("V[key]: hunter2", filler(1300))
    first = optimize(store, THEME, home=profile.home).memory.copy
    clock.forward(1000)
    profile.write("V[port]: 5432", filler(1300))
    second = optimize(store, THEME, home=profile.home).memory.copy
    assert first is not None
    assert second is not None
    store.facts.archive([store.search.find(THEME, "hunter2").facts[0].uid])

    plan = store.purge.run(THEME)

    assert (plan.total, plan.unreached) == (1, ())
    assert not first.exists()
    assert second.exists()
    kept = [path for path in profile.home.parent.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert kept == []


def test_only_so_many_copies_are_kept(store: Store, profile: Profile, clock: HandClock) -> None:
    for number in range(15):
        clock.forward(1000)
        profile.write(f"V[port.{number}]: 5432", filler(1300))
        optimize(store, THEME, home=profile.home)

    copies = sorted(path.name for path in profile.memory.parent.glob("*.bak"))

    assert len(copies) == 10
    assert b"V[port.14]" in (profile.memory.parent / copies[-1]).read_bytes()


# --- nothing is lost -------------------------------------------------------------------------------------------------

TARGETS = st.sampled_from(["db", "DB", "db.id", "auth", "été", "ÉTÉ"])
CONTENTS = st.sampled_from(["never autoincrement", "Postgres 16", "with the configuration", "w" * 420, "a  b", "é → ü"])
FACT = st.builds("{}[{}]: {}".format, st.sampled_from(list("CDV?✓~")), TARGETS, CONTENTS)
PROSE = st.sampled_from(
    [
        "The configuration of the database is required, but never the documentation.",
        "Il ne faut jamais supprimer la documentation.",
        "Run `make documentation` with --force",
        "note § 12 of the law",
        "Please note that messages must not be dropped.",
        filler(150),
        filler(700),
    ]
)
ENTRY = st.one_of(PROSE, FACT, st.lists(st.one_of(FACT, PROSE), min_size=2, max_size=3).map("\n".join))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples, each of which writes to a theme of its own."""
    folder = tmp_path_factory.mktemp("shared")
    with Store.open(folder / "memory.db", policies=Policies.load(folder / "none.toml")) as opened:
        yield opened


@settings(max_examples=150, deadline=None)
@given(entries=st.lists(ENTRY, max_size=14), stored=st.lists(FACT, max_size=5), threshold=st.sampled_from([0, 30, 55]))
def test_every_entry_is_in_the_file_or_in_the_store_or_equal_up_to_abbreviation(
    shared: Store, entries: list[str], stored: list[str], threshold: int
) -> None:
    theme = f"t{len(shared.names.all_themes())}"
    shared.facts.write(theme, "V[first]: of this example")
    for line in stored:
        if len(line) < 400:
            shared.facts.write(theme, line, scope="s" if line[0] == "✓" else None)
    stood = standing(shared, theme)
    with tempfile.TemporaryDirectory() as folder:
        profile = Profile(Path(folder) / "profile")
        profile.write(*entries)
        before = profile.entries()
        planned = optimize(shared, theme, home=profile.home, threshold_pct=threshold, dry_run=True).memory

        done = optimize(shared, theme, home=profile.home, threshold_pct=threshold).memory

        after = profile.entries()
    found = standing(shared, theme)
    for entry in before:
        in_file = entry in after or abbreviate(entry) in after
        assert in_file or all(folded(line) in found for line in entry.splitlines())
    assert stood <= found
    assert (planned.after, planned.kept, planned.migrated) == (done.after, done.kept, done.migrated)
    assert explained(done, threshold)


def explained(report: FileReport, threshold: int) -> bool:
    """Whether the report reached its target, had nothing to do, or says why not."""
    return (
        report.before_pct <= threshold or report.after_pct < min(45, threshold) or not report.after or bool(report.why)
    )
