"""What could be tidied: each step with a reason that a person can check, and nothing of a constraint is ever lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import FactConflict
from hermes_memory_store.model import Fact, FactFilter, Millis, Origin, Tier, Way
from hermes_memory_store.relief.tidying import TidyStep, plan_tidying
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock
from tests.store.test_projects import git, make_repository

NEAR_PAIRS = Path(__file__).parent / "near_pairs"

USE = "INSERT INTO fact_uses (fact_id, given, used, contradicted) VALUES (?, ?, ?, ?)"


def write(store: Store, line: str, given: int = 0, used: int = 0, contradicted: int = 0) -> Fact:
    fact = store.facts.write("ops", line).fact
    with store.db.write_transaction() as conn:
        conn.execute(USE, (fact.id, given, used, contradicted))
    return fact


def plan(store: Store) -> dict[str, TidyStep]:
    return {step.fact.target: step for step in plan_tidying(store, FactFilter("ops"))}


def pass_days(clock: HandClock, days: int) -> None:
    clock.now = Millis(clock.now + days * DAY_MS)


def test_what_sessions_do_with_facts_says_what_is_worth_its_tokens(store: Store, clock: HandClock) -> None:
    unused = write(store, "D[mail]: SES in production", given=12)
    for line, *counts in (
        ("D[mail.local]: mailpit", 12, 1, 0),
        ("V[upload.max]: 25 MB", 9, 0, 3),
        ("V[page.size]: 100", 9, 2, 3),
        ("✓[login]: shipped", 1, 0, 0),
        ("C[secrets]: never in the repository", 90, 0, 5),
        ("D[release]: never on a Friday !", 90, 0, 5),
    ):
        write(store, line, *counts)
    store.facts.pin(write(store, "D[queue]: rabbitmq", given=40).uid)
    store.guards.add(write(store, "D[push]: after the tests", given=40).uid, "git push*")
    assert plan(store) == {}, "changed a moment ago"
    pass_days(clock, 20)

    steps = plan(store)

    assert {target: step.action for target, step in steps.items()} == {
        "mail": "cool",
        "upload.max": "archive",
        "login": "cool",
    }
    assert steps["mail"].reason == f"given 12 times for {12 * (unused.tokens + 1)} tokens, and no session used it"
    assert steps["mail"].tokens == unused.tokens + 1
    assert steps["upload.max"].reason == "acts of 3 sessions contradicted it, none used it"


def test_where_no_use_was_ever_counted_none_is_missed(store: Store, clock: HandClock) -> None:
    for number in range(3):
        write(store, f"D[part{number}]: the decision number {number}", given=30)
    pass_days(clock, 20)
    assert plan(store) == {}


def test_what_pressure_cooled_and_sessions_use_is_pinned_while_there_is_room(store: Store) -> None:
    used, rare, own = (
        write(store, line, 9, count)
        for line, count in (("V[host]: prod-3", 6), ("V[user]: deploy", 2), ("V[shell]: fish", 6))
    )
    store.facts.cool([used.uid, rare.uid, own.uid])
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE facts SET cooled_by = 'pressure' WHERE id IN (?, ?)", (used.id, rare.id))
    assert {target: step.action for target, step in plan(store).items()} == {"host": "pin"}
    assert plan(store)["host"].tokens == -(used.tokens + 1)


def test_what_nobody_touched_for_long_is_archived_and_what_was_archived_for_long_may_be_purged(
    store: Store, clock: HandClock
) -> None:
    for line in ("V[legacy.host]: db1", "C[logs]: keep them a year", "V[read.host]: db2", "D[new]: yes"):
        store.facts.cool([write(store, line).uid])
    store.facts.archive([write(store, line).uid for line in ("D[bundler]: webpack", "C[jquery]: none of it")])
    pass_days(clock, 190)
    store.reads.note(
        "search", "ops", [fact for fact in store.facts.page(FactFilter("ops")).facts if "read" in fact.target]
    )
    store.reads.flush()
    store.facts.edit(store.facts.page(FactFilter("ops", target="new")).facts[0].uid, "yes, still")
    assert {target: step.action for target, step in plan(store).items()} == {"legacy.host": "archive"}
    pass_days(clock, 190)
    assert plan(store)["bundler"].action == "purge"
    assert "jquery" not in plan(store)


@pytest.mark.parametrize(
    ("line", "other", "merged"),
    [
        ("D[cache]: redis", "D[caching]: redis 7", "cache"),
        ("D[caching]: redis 7", "D[cache]: redis", "cache"),
        ("C[migrations]: never edit a released one", "C[migration]: never edit a released one", "migrations"),
        ("C[deploys]: no deploys", "C[deploy]: no deploys on Fridays", None),
        ("C[web.tests]: run the whole suite before a merge", "C[api.tests]: run the whole suite before a merge", None),
        ("D[cache]: redis 7 behind the proxy", "D[web.cache]: redis 7 behind the proxy", "web.cache"),
        ("V[db.port]: 5432", "V[database.port]: 5433", None),
    ],
)
def test_a_fact_is_merged_into_one_that_says_all_of_it_about_no_less(
    store: Store, line: str, other: str, merged: str | None
) -> None:
    facts = [write(store, line), write(store, other)]
    steps = plan_tidying(store, FactFilter("ops"))
    assert [step.fact.target for step in steps] == ([] if merged is None else [merged])
    assert [step.value for step in steps] == [fact.uid for fact in facts if merged not in (None, fact.target)]


def test_of_facts_that_are_all_apart_none_is_merged(store: Store) -> None:
    for number, family in enumerate((NEAR_PAIRS / "apart.txt").read_text(encoding="utf-8").splitlines()[1:]):
        kind, _, facts = family.partition(" | ")
        for fact in filter(None, facts.split(" ; ")):
            target, _, content = fact.partition(": ")
            store.facts.write("ops", f"{kind}[{target.strip()}]: {content}", scope=f"family {number}")
    assert plan_tidying(store, FactFilter("ops")) == []


def test_a_merge_is_undone_and_leads_to_nothing_that_is_gone(store: Store) -> None:
    short, whole = write(store, "D[cache]: redis"), write(store, "D[caching]: redis 7")
    change = store.facts.merge_into(whole.uid, [short.uid])
    assert store.facts.get(short.uid).superseded_by == whole.uid
    store.undo.change(change.seqs[0])
    assert store.facts.get(short.uid).tier is Tier.HOT
    store.facts.archive([whole.uid])
    with pytest.raises(FactConflict, match="is archived, so nothing is merged into it"):
        store.facts.merge_into(whole.uid, [short.uid])


def test_a_value_that_stands_in_a_file_is_cited_where_it_is_said_of_the_same(store: Store, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "shop")
    files = {
        "config.py": "SMTP_PORT: int = 587\nDB_PORT = 5432\nPAGE_SIZE = 250\n",
        "tests/config.py": "SMTP_PORT = 587\n",
        "CHANGELOG.md": "cache: redis instead of memcached\n",
        "notes.txt": "the room has 8025 seats\n",
        "compose.yml": 'mailpit:\n  command: mailpit --port 1025\nmodel: "users.User"\n',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "all")
    (root / "config.py").write_text(files["config.py"].replace("250", "300"))
    with store.attribute(store.projects.locate(Origin(way=Way.TOOL), root)):
        for line in (
            "V[smtp.port]: 587",
            "V[mailpit.port]: 1025",
            "V[seats]: 8025 at most",
            "V[office.port]: 5432",
            "V[page.size]: 250",
            "D[cache]: redis",
        ):
            write(store, line)

    steps = plan(store)

    assert {target: (step.action, step.value) for target, step in steps.items()} == {
        "smtp.port": ("cite", f"{root}/config.py:1"),
        "mailpit.port": ("cite", f"{root}/compose.yml:2"),
        "seats": ("cite", f"{root}/notes.txt:1"),
    }
    assert steps["smtp.port"].reason == "config.py:1 says so: SMTP_PORT: int = 587"
