"""Relief of MEMORY.md and USER.md: the flaws of hermes-memory 0.3.0 it must not have, its order and its restraint."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.model import Tier
from hermes_memory_store.notation.shortening import shorten_prose
from hermes_memory_store.relief.file_relief import relieve_files
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

from .file_writers import hosts_writing
from .profiles import THEME, Profile, facts_of, filler, stored_bytes


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "profile")


# --- nothing to do ---------------------------------------------------------------------------------------------------


def test_files_below_the_threshold_are_not_even_locked(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1100))
    before = profile.print()

    report = relieve_files(store, THEME, home=profile.home)

    assert not report.has_acted
    assert (report.memory.before_pct, report.memory.diff) == (report.memory.after_pct, "")
    assert profile.print() == before
    assert store.journal.last_seq() == 0


def test_a_profile_without_files_is_left_without_files(store: Store, tmp_path: Path) -> None:
    report = relieve_files(store, THEME, home=tmp_path / "nobody", threshold_pct=0)

    assert not report.has_acted
    assert not (tmp_path / "nobody").exists()


@pytest.mark.parametrize("threshold", [-1, 101, float("nan"), float("inf")])
def test_a_threshold_that_is_no_percentage_is_refused(store: Store, profile: Profile, threshold: float) -> None:
    with pytest.raises(errors.ArgumentError, match="between 0 and 100 percent"):
        relieve_files(store, THEME, home=profile.home, threshold_pct=threshold)


# --- the flaws of hermes-memory 0.3.0 --------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing_and_shows_what_the_deed_does(store: Store, profile: Profile) -> None:
    profile.write(
        "Please note that the configuration is in the database", "V[port]: 5432", "D[db]: Postgres", filler(1300)
    )
    store.facts.write(THEME, "D[db]: Postgres", scope="schema")
    before, stored = profile.print(), stored_bytes(store)

    planned = relieve_files(store, THEME, home=profile.home, dry_run=True)

    assert profile.print() == before
    assert stored_bytes(store) == stored

    done = relieve_files(store, THEME, home=profile.home)

    assert planned.memory.diff == done.memory.diff != ""
    counts = [(one.abbreviated, one.migrated, one.removed, one.kept, one.why) for one in (planned.memory, done.memory)]
    assert counts[0] == counts[1] == (0, 2, 1, (), done.memory.why)


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
    profile.write(entry, "the configuration of the database", filler(900), user=True)

    report = relieve_files(store, THEME, home=profile.home).user

    assert profile.entries(user=True) == [entry, "the cfg of db", filler(900)]
    assert report.abbreviated == 1


def test_configured_limits_decide_what_is_full(store: Store, profile: Profile) -> None:
    (profile.home / "config.yaml").write_text(
        "memory:\n  memory_char_limit: 200\n  user_char_limit: 5000\n", encoding="utf-8"
    )
    profile.write("V[port]: 5432", filler(100))
    profile.write("V[name]: Ada", filler(1300), user=True)

    report = relieve_files(store, THEME, home=profile.home)

    assert (report.memory.migrated, report.user.migrated) == (1, 0)
    assert report.memory.before_pct == pytest.approx(58.0)


def test_the_target_is_pursued_until_below_45_percent(store: Store, profile: Profile) -> None:
    profile.write(*(f"V[host.{number:02}]: 10.0.0.{number} is one of the machines" for number in range(40)))

    report = relieve_files(store, THEME, home=profile.home).memory

    assert report.before_pct > 80
    assert 42 < report.after_pct < 45
    assert report.why is None
    assert report.migrated == len(facts_of(store)) == 40 - len(profile.entries())


def test_a_target_out_of_reach_is_explained(store: Store, profile: Profile) -> None:
    store.facts.write(THEME, "D[db]: Postgres")
    profile.write("D[db]: MySQL", filler(1500), filler(100))

    report = relieve_files(store, THEME, home=profile.home).memory

    assert report.why == (
        "MEMORY.md stays at 73.5 %, above the target of 45 %: 2 entries of prose (1603 characters) cannot be shortened "
        "without a person or an agent; 1 entry of facts had to stay"
    )


def test_a_host_that_does_not_let_go_of_its_lock_is_named(path: Path, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    before = profile.memory.read_bytes()
    with (
        Store.open(path, lock_timeout_s=0.05) as store,
        memory_files.host_file_lock(profile.memory),
        pytest.raises(errors.StoreLocked, match=r"MEMORY\.md has been locked by another process for 0\.05 s"),
    ):
        relieve_files(store, THEME, home=profile.home)

    assert profile.memory.read_bytes() == before


def test_what_hosts_save_during_a_relief_is_not_lost(store: Store, profile: Profile) -> None:
    profile.write("the configuration of the database", "D[db]: Postgres", filler(300))
    moved = 0

    with hosts_writing(profile.memory, "one", "two", entries=60):
        while moved < 60:
            moved += relieve_files(store, THEME, home=profile.home).migrated_count

    said = set(profile.entries()) | {notation for notation, _ in facts_of(store)}
    assert {f"V[{who}.{number}]: from a host" for who in ("one", "two") for number in range(60)} <= said
    assert {"D[db]: Postgres", filler(300)} <= said


# --- order and restraint ---------------------------------------------------------------------------------------------


def test_nothing_moves_when_abbreviating_is_enough(store: Store, profile: Profile) -> None:
    profile.write(
        "V[port]: 5432", *("the configuration of the documentation " * 2 + str(number) for number in range(17))
    )

    report = relieve_files(store, THEME, home=profile.home).memory

    assert report.before_pct > 55
    assert report.after_pct < 45
    assert (report.migrated, report.removed) == (0, 0)
    assert 0 < report.abbreviated < 17
    assert "V[port]: 5432" in profile.entries()


def test_constraints_leave_last(store: Store, profile: Profile) -> None:
    lines = [f"{kind}[{kind.lower()}.{number}]: {'word ' * 20}".strip() for number in range(5) for kind in "CDV"]
    profile.write(*lines)

    report = relieve_files(store, THEME, home=profile.home).memory

    left = [entry[0] for entry in profile.entries()]
    assert report.migrated > 5
    assert left.count("C") == 5
    assert left.count("V") == 0


def test_a_memory_full_of_pins_keeps_the_facts_in_the_file(tmp_path: Path, profile: Profile) -> None:
    config = tmp_path / "memory-themes.toml"
    config.write_text("[themes.default]\nhot_chars = 1000\n", encoding="utf-8")
    profile.write("V[port]: 5432", filler(1300))
    with Store.open(tmp_path / "memory.db", policies=Policies.load(config)) as store:
        for number in range(4):
            uid = store.facts.write(THEME, f"C[law.{number}]: {'w' * 238}").fact.uid
            store.facts.pin([uid])
        seq = store.journal.last_seq()

        report = relieve_files(store, THEME, home=profile.home).memory

        assert "V[port]: 5432" in profile.entries()
        assert [one.reason[:18] for one in report.kept] == ["pinned facts hold "]
        assert store.journal.last_seq() == seq


def test_moved_facts_are_journaled_as_an_import_and_can_be_undone(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", "D[db]: Postgres", filler(1300))

    report = relieve_files(store, THEME, home=profile.home).memory

    told = [change for change in store.journal.changes() if change.entity == "fact"]
    assert [(str(change.actor), change.op, change.seq) for change in told] == [
        ("import", "create", report.changes[0]),
        ("import", "create", report.changes[1]),
    ]
    store.undo.last(2)
    assert facts_of(store) == []


def test_a_second_run_finds_nothing_more_to_do(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", "the configuration of the database", filler(1300))
    relieve_files(store, THEME, home=profile.home)
    before, seq = profile.print(), store.journal.last_seq()

    again = relieve_files(store, THEME, home=profile.home).memory

    assert (again.abbreviated, again.migrated, again.removed, again.diff) == (0, 0, 0, "")
    assert profile.print() == before
    assert store.journal.last_seq() == seq


def test_a_file_that_would_be_read_differently_once_written_is_left_alone(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "memories" / "MEMORY.md"
    file.parent.mkdir()
    text = "V[a]: " + "x" * 1500 + "\n§ \n§\nD[b]: c"
    file.write_text(text)

    with pytest.raises(errors.ImportFileError, match="§"):
        relieve_files(store, "default", home=tmp_path)
    assert file.read_text() == text
    assert store.journal.last_seq() == 0


# --- what leaves and what stays --------------------------------------------------------------------------------------

REST = filler(1300)

LONG = "D[deploy]: " + "step by step " * 40 + "FINAL-STEP"
NOTES, SECTION = "Deploy notes:\nD[step.one]: build\nthen restart nginx", "§\nkeep me"

PROSE = (
    "Deploys to production never between 09:30 and 10:00 UTC: the opening auction runs.",
    "Checkout form: reducer and context; validation on blur, then on change of the field.",
    "Nightly load test writes its report to s3://reports/load/, compare with last Tuesday.",
)

WEDNESDAY = PROSE[2].replace("Tuesday", "Wednesday")

# What the store held, in `scope/` or not; the entries besides the rest; those that stay, each with the reason where one is told;
# and all the store holds then.
RELIEFS: dict[str, tuple[list[str], list[str], dict[str, str | None], list[str]]] = {
    "over the limit": ([], [LONG, "V[port]: 5432"], {LONG: "the limit is 400"}, ["V[port]: 5432"]),
    "whole or not at all": (
        [], [SECTION, NOTES, "D[a]: one\n\nV[b]: two"], {SECTION: None, NOTES: None}, ["D[a]: one", "V[b]: two"],
    ),
    "contradict each other": (
        [], ["D[x]: keep A", "V[port]: 5432", "D[X]: keep B"],
        {
            "D[x]: keep A": "the file says 2 different things about D[x]",
            "D[X]: keep B": "the file says 2 different things about D[X]",
        },
        ["V[port]: 5432"],
    ),
    "contradicts the store": (
        ["D[x]: keep A"], ["D[x]: keep B"], {"D[x]: keep B": "the store says otherwise: D[x]: keep A"}, ["D[x]: keep A"],
    ),
    "one line contradicts the store": (
        ["D[x]: keep A"], ["V[y]: 1\nD[x]: keep B"],
        {"V[y]: 1\nD[x]: keep B": "the store says otherwise: D[x]: keep A"}, ["D[x]: keep A"],
    ),
    "would close a question": (
        ["?[x]: which one"], ["D[x]: keep B"],
        {"D[x]: keep B": "it would close the open question ?[x] in the store"}, ["?[x]: which one"],
    ),
    "would close a question that moves": (
        [], ["?[db]: which engine", "C[db]: Postgres only", "D[db]: version 16"],
        {"C[db]: Postgres only": "it would close the open question ?[db] in the store"},
        ["D[db]: version 16", "?[db]: which engine"],
    ),
    "is there": (
        ["db/V[port]: 5432", "D[db]: Postgres"], ["V[port]: 5432", "D[DB]:  Postgres"], {}, ["V[port]: 5432", "D[db]: Postgres"],
    ),
    "prose": (
        [], [*PROSE], {},
        [f"V[nightly.load]: {PROSE[2]}", f"V[checkout.form]: {PROSE[1]}", f"C[deploys.production]: {PROSE[0]}"],
    ),
    "prose about one thing": (
        ["V[nightly.load]: runs at two"], [PROSE[2], WEDNESDAY], {},
        ["V[nightly.load]: runs at two", f"V[nightly.load.2]: {WEDNESDAY}", f"V[nightly.load.3]: {PROSE[2]}"],
    ),
    "prose without spaces": (
        [], ["夜间报表保存在共享目录里，供财务团队每天早上查看。", "部署规则：禁止直接推送到主分支，必须先经过审核。"], {},
        [
            "V[夜间报表保存在共.供财务团队每天早]: 夜间报表保存在共享目录里，供财务团队每天早上查看。",
            "C[部署规则]: 部署规则：禁止直接推送到主分支，必须先经过审核。",
        ],
    ),
    "several lines": ([], [steps := "Steps to deploy:\n- build an image\n- push it twice"], {steps: None}, []),
    "code": ([], [code := "```make all the things```"], {code: None}, []),
    "prose over the limit": ([], [long := "x" * 420 + " a b c d"], {long: None}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", RELIEFS)
def test_what_leaves_is_in_the_store_and_what_stays_says_why(store: Store, profile: Profile, case: str) -> None:
    stored, entries, staying, facts = RELIEFS[case]
    for line in stored:
        scope, _, notation = line.rpartition("/")
        store.facts.write(THEME, notation, scope=scope or None)
    profile.write(*entries, REST)
    before = store.journal.last_seq()
    planned = relieve_files(store, THEME, home=profile.home, dry_run=True).memory

    report = relieve_files(store, THEME, home=profile.home).memory

    assert profile.entries() == [*staying, REST]
    assert facts_of(store) == [(fact, "hot") for fact in facts]
    reasons = {entry: reason for entry, reason in staying.items() if reason is not None}
    assert {kept.entry for kept in report.kept} == reasons.keys()
    assert all(reasons[kept.entry] in kept.reason for kept in report.kept)
    assert (planned.after, planned.migrated, planned.removed, planned.kept) == (
        report.after, report.migrated, report.removed, report.kept,
    )  # fmt: skip
    assert report.migrated == len(facts) - len(stored)
    assert report.removed == len(entries) - len(staying) if report.migrated == 0 else report.removed == 0
    assert (store.journal.last_seq() == before) is (report.migrated == 0)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["archived", "in another theme"])
def test_a_fact_that_no_search_of_the_theme_finds_does_not_count_as_there(
    store: Store, profile: Profile, elsewhere: bool
) -> None:
    uid = store.facts.write("marketing" if elsewhere else THEME, "V[port]: 5432").fact.uid
    store.facts.archive([uid])
    profile.write("V[port]: 5432", REST)

    report = relieve_files(store, THEME, home=profile.home).memory

    assert (report.migrated, report.removed) == (1, 0)
    assert facts_of(store) == [("V[port]: 5432", Tier.HOT)]


ENTRIES = [
    (head.split()[1], entry, head.endswith("+"))
    for head, _, text in (
        line.partition(": ")
        for line in Path(__file__).with_name("binding_entries.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    for entry in text.split("|")
]


@pytest.mark.parametrize("language", sorted({language for language, *_ in ENTRIES}))
def test_what_forbids_or_obliges_is_told_from_what_holds(language: str) -> None:
    binding = [is_binding(entry) for spoken, entry, expected in ENTRIES if spoken == language and expected]
    holding = [is_binding(entry) for spoken, entry, expected in ENTRIES if spoken == language and not expected]
    assert sum(binding) >= 0.95 * len(binding)
    assert sum(holding) <= 0.1 * len(holding)


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        (["The user prefers short answers.", "User prefers short answers"], 1),
        (["Prefers tea.", "Lives in Oslo. Prefers tea. Has two cats."], 1),
        (["- Prefers tea\n- Has two cats", "Has two cats.", "Prefers tea!"], 2),
        (["Timezone: Europe/Berlin", "Timezone: Europe/Lisbon"], 1),
        (["User's editor is vim", "The user's editor is now Helix"], 1),
        (["时区：上海", "时区：东京"], 1),
        (["城市: 北京", "Stadt: Köln", "Ville : Lyon", "Ville : Nantes"], 3),
        (["Prefers tea", "Prefers tea only in the morning"], 2),
        (["Knows C", "Knows C++"], 2),
        (["Offset: -5", "Offset: 5"], 2),
        (["Child: Anna", "Child: Ben"], 2),
        (["Timezone: Europe/Berlin", "Timezone: Asia/Tokyo until May"], 2),
        (["Likes green tea", "Dislikes green tea"], 2),
    ],
)
def test_what_entries_of_user_md_say_twice_or_a_newer_one_supersedes_goes(
    store: Store, profile: Profile, entries: list[str], left: int
) -> None:
    profile.write(*entries, filler(1200), user=True)

    report = relieve_files(store, THEME, home=profile.home).user

    assert len(profile.entries(user=True)) == left + 1
    assert profile.entries(user=True)[-2] in (entries[-1], shorten_prose(entries[-1]))
    assert report.removed == len(entries) - left
    assert "of which none repeats or supersedes another" in (report.why or "")
    assert facts_of(store) == []


def test_prose_of_user_md_stays_before_every_turn(store: Store, profile: Profile) -> None:
    profile.write(*PROSE, filler(700), user=True)

    relieve_files(store, THEME, home=profile.home)

    assert facts_of(store) == []
    assert len(profile.entries(user=True)) == 4
