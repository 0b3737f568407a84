"""What a member of the team may not do, with any statement his role allows; and that the others go on all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from psycopg import IntegrityError, conninfo, sql
from psycopg.errors import InsufficientPrivilege, ProgramLimitExceeded

from hermes_memory_bridge.team.database import team_schema, team_server
from hermes_memory_bridge.team.database.team_members import list_members
from hermes_memory_bridge.team.database.team_rights import open_themes, restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import LOAD_BYTES, TeamServer, new_push_token
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.sync_outcome import take_bytes
from hermes_memory_store.errors import ArgumentError
from tests.bridge.team.conftest import PARTITIONS, Database
from tests.bridge.team.side import Side
from tests.bridge.team.test_exchange import exchange_of, settle

TICKED = "INSERT INTO hm.clock (theme, seq) VALUES ('ours', 1) ON CONFLICT (theme) DO UPDATE SET seq = hm.clock.seq + 1"

ROW = (
    "INSERT INTO hm.item (theme, id, content, attrs, hlc, node, seq) VALUES"
    " ('ours', gen_random_uuid(), 'forged', '{{\"target\": \"a\"}}', {hlc}, gen_random_uuid(), {seq})"
)

NEXT = "(SELECT seq FROM hm.clock WHERE theme = 'ours')"

ATTACKS = {
    "sets the counter back": ["UPDATE hm.clock SET seq = 0"],
    "sets the counter back, in two steps": [TICKED, "UPDATE hm.clock SET seq = seq - 2"],
    "sets the counter far ahead": ["UPDATE hm.clock SET seq = 9000000000000000000"],
    "says that deletions were collected": ["UPDATE hm.clock SET gc_seq = seq"],
    "renames a counter": ["UPDATE hm.clock SET theme = 'theirs'"],
    "begins a theme far ahead": ["INSERT INTO hm.clock (theme, seq) VALUES ('new', 4000000000)"],
    "takes a number ahead of the counter": [ROW.format(hlc=1, seq=500)],
    "takes a number ahead, with a tick": [TICKED, ROW.format(hlc=1, seq=f"{NEXT} + 1")],
    "takes a number that others have passed": [TICKED, ROW.format(hlc=1, seq=0)],
    "takes a number without a tick": [ROW.format(hlc=1, seq=NEXT)],
    "moves a row to another number": [TICKED, "UPDATE hm.item SET seq = 70000"],
    "changes a row that nobody pulls again": ["UPDATE hm.item SET content = 'forged' WHERE state = 0"],
    "stamps a row years ahead": [TICKED, ROW.format(hlc=(1 << 63) - 1, seq=NEXT)],
    "stamps a row an hour ahead": [
        TICKED,
        ROW.format(hlc="((extract(epoch FROM now()) * 1000)::bigint + 3600000) << 16", seq=NEXT),
    ],
    "brings back what was purged": [
        TICKED,
        f"UPDATE hm.item SET state = 0, content = 'back', seq = {NEXT} WHERE state = 2",
    ],
    "brings it back as a deletion": [TICKED, f"UPDATE hm.item SET state = 1, seq = {NEXT} WHERE state = 2"],
    "renames a row": [TICKED, f"UPDATE hm.item SET id = gen_random_uuid(), seq = {NEXT} WHERE state = 2"],
    "moves a row to another theme": [TICKED, f"UPDATE hm.item SET theme = 'theirs', seq = {NEXT} WHERE state = 0"],
    "plants a mark": ["INSERT INTO hm.mark VALUES ('ours', 900, gen_random_uuid(), gen_random_uuid())"],
    "plants the next mark": [f"INSERT INTO hm.mark VALUES ('ours', {NEXT} + 1, gen_random_uuid(), gen_random_uuid())"],
    "writes ten megabytes": [TICKED, ROW.format(hlc=1, seq=NEXT).replace("'forged'", "repeat('x', 10000000)")],
    "writes megabytes beside the text": [
        TICKED,
        ROW.format(hlc=1, seq=NEXT).replace(
            '\'{"target": "a"}\'', "(SELECT jsonb_agg(md5(n::text)) FROM generate_series(1, 50000) n)"
        ),
    ],
    "reads who may what": ["SELECT * FROM hm.member"],
    "reads rows past the functions": ["SELECT * FROM hm.item"],
    "reads counters past the functions": ["SELECT * FROM hm.clock"],
    "waits for whoever alters a table": ["LOCK TABLE hm.item IN ACCESS SHARE MODE"],
    "reads the statistics of words": ["SELECT stavalues1 FROM pg_statistic"],
    "is greeted without the function that looks at rights": [
        "SELECT hm.hello(gen_random_uuid(), ARRAY['ours'], '{0}', '{NULL}', '{NULL}')"
    ],
    "asks what he may by the owner's function": ["SELECT hm.allowed_themes()", "DELETE FROM hm.member"],
    "opens a theme for himself": ["INSERT INTO hm.member VALUES (session_user, '{ours}')"],
    "locks everybody out": ["LOCK TABLE hm.item IN ACCESS EXCLUSIVE MODE"],
    "holds a counter": ["SELECT * FROM hm.clock FOR UPDATE"],
    "holds a gate": ["SELECT * FROM hm.gate FOR UPDATE"],
    "takes a turn by itself": ["SELECT hm.take_turn('ours')"],
    "notes that somebody is in the way": ["INSERT INTO hm.hold VALUES (1, '1', now() - interval '1 day')"],
    "shortens what others may hold": ["INSERT INTO hm.setting VALUES ('hold_s', '0')"],
    "keeps others from migrating": ["LOCK TABLE hm.migration IN SHARE ROW EXCLUSIVE MODE"],
    "holds the rows": ["SELECT * FROM hm.item FOR SHARE"],
    "reads whose project a theme is": ["SELECT * FROM hm.identity"],
    "looks for a project among closed themes": [
        "SELECT hm.find_name('mine', '{remote example.com/shop}', false, NULL)"
    ],
    "says whose project a theme is without a push": [
        "SELECT hm.claim('ours', gen_random_uuid(), '{remote example.com/shop}')"
    ],
    "reads the heads of journals past the functions": ["SELECT * FROM hm.chain_head"],
    "forgets the heads of journals": ["DELETE FROM hm.chain_head"],
    "ticks a counter by itself": ["SELECT hm.tick('ours', gen_random_uuid(), gen_random_uuid(), 1, 0)"],
    "has a function look at a table of his own": [
        "CREATE TEMPORARY TABLE clock (LIKE hm.clock)",
        "INSERT INTO pg_temp.clock SELECT theme, 9000, 0 FROM hm.clock",
        "SET LOCAL search_path = pg_temp, hm",
        ROW.format(hlc=1, seq=700),
    ],
}


def run_as_member(database: Database, statements: list[str]) -> None:
    """Run statements in one transaction, as the role of the stores."""
    with psycopg.connect(database.runtime) as conn:
        for statement in statements:
            conn.execute(statement)


def share_a_purge(database: Database) -> tuple[Side, Side, str]:
    """Two machines that share a fact and a purged one, and the uid of that."""
    here, there = Side("ours"), Side("ours")
    here.write("ours", "one")
    purged = here.write("ours", "a secret word")
    settle(database, here, there)
    here.write("ours", None, purged, state=2)
    settle(database, here, there)
    return here, there, purged


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_member_is_refused_and_the_others_go_on(database: Database, attack: str) -> None:
    here, there, purged = share_a_purge(database)

    with pytest.raises(InsufficientPrivilege):
        run_as_member(database, ATTACKS[attack])

    here.write("ours", "two")
    there.write("ours", "three")
    settle(database, here, there)
    assert here.digest("ours") == there.digest("ours")
    assert not here.unsent
    assert not here.refusals
    assert database.one("SELECT content FROM hm.item WHERE id = %s", purged) is None
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'forged'") == 0


@contextmanager
def member_of(database: Database, group: str) -> Iterator[str]:
    """A role that logs in and has its rights by a group alone; its DSN."""
    name = f"{database.name}_{group}_member"
    group_name = f"{database.name}_{group}"
    names = {"group": sql.Identifier(group_name), "member": sql.Identifier(name)}
    with psycopg.connect(database.admin, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE ROLE {group}").format(**names))
        conn.execute(sql.SQL("CREATE ROLE {member} LOGIN PASSWORD 'x' IN ROLE {group}").format(**names))
    migrate_team_schema(database.admin, runtime_role=group_name)
    try:
        yield conninfo.make_conninfo(database.admin, user=name, password="x")
    finally:
        with psycopg.connect(database.admin, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP OWNED BY {group}; DROP ROLE {member}, {group}").format(**names))


def test_a_group_that_is_restricted_restricts_its_members(database: Database) -> None:
    side = Side("ours", "theirs")
    for theme in side.themes():
        side.write(theme, f"what only {theme} may know")
    with TeamServer(database.admin) as owner:
        for theme in side.themes():
            owner.push(theme, side.node, side.pending_rows(theme), new_push_token())
    with member_of(database, "sales") as dsn:
        restrict_role_to_themes(database.admin, f"{database.name}_sales", ["ours"])
        with TeamServer(dsn) as server:
            assert len(server.pull("ours", 0).rows) == 1
            assert server.pull("theirs", 0).rows == []
            asked = "SELECT count(*) FROM hm.worded(%s, 'fact', ARRAY[''], NULL, NULL, NULL, 10, 10)"
            assert server.value(asked, ("ours",)) == 1
            assert server.value(asked, ("theirs",)) == 0
        restrict_role_to_themes(database.admin, f"{database.name}_sales", [])
        with TeamServer(dsn) as server:
            assert len(server.pull("theirs", 0).rows) == 1


READING = {
    "pull": "SELECT * FROM hm.pull('{theme}', true, true, 0, NULL, 10, 1000000) WHERE id IS NOT NULL",
    "pull_winners": "SELECT * FROM hm.pull_winners('{theme}', ARRAY['{uid}']::uuid[], '{{1}}', ARRAY['{uid}']::uuid[])",
    "list_turn_states": "SELECT * FROM hm.list_turn_states('{theme}')",
    "count_items": "SELECT 1 WHERE hm.count_items('{theme}', 'turn', 10) > 0",
    "find_facts": "SELECT * FROM hm.find_facts('{theme}', ARRAY['{uid}']::uuid[])",
    "find_scopes": "SELECT * FROM hm.find_scopes('{theme}', ARRAY['{scope}']::uuid[])",
    "find_turns_around": "SELECT * FROM hm.find_turns_around('{theme}', ARRAY['{turn}']::uuid[], '{{}}', 1, 9, 9)",
    "list_missing_vectors": "SELECT * FROM hm.list_missing_vectors('{theme}', 'turn', 'other', 0, 10)",
    "find_vector_model": "SELECT 1 WHERE hm.find_vector_model('{theme}') IS NOT NULL",
    "count_vectors": "SELECT 1 FROM hm.count_vectors() WHERE theme = '{theme}'",
    "find_nearest": "SELECT * FROM hm.find_nearest('{theme}', 'fact', 'm', '[1,1,1]', 10)",
    "compare_vectors": "SELECT * FROM hm.compare_vectors('{theme}', 'm', '[1,1,1]', ARRAY['{uid}']::uuid[])",
    "worded": "SELECT * FROM hm.worded('{theme}', 'turn', ARRAY['said'], NULL, NULL, NULL, 10, 10)",
    "list_themes": "SELECT * FROM hm.list_themes(NULL) WHERE theme = '{theme}'",
    "greet": "SELECT 1 FROM hm.greet('{uid}', ARRAY['{theme}'], '{{0}}', '{{NULL}}', '{{NULL}}') WHERE news::text <> '[]'",
    "list_conflicts": "SELECT * FROM hm.list_conflicts('{theme}')",
    "is_changed": "SELECT 1 WHERE hm.is_changed(ARRAY['{theme}'], '{{0}}')",
}
"""A statement for each function that reads; each finds something in a theme that is open."""

CHECKED_ELSEWHERE = {
    "hello", "push", "push_conflicts", "keep_vectors", "tick", "refuse_reader", "folded", "allowed_themes", "may_read",
    "list_identities", "find_name", "claim", "list_gates", "take_turn", "list_lockers", "release", "to_curated",
    "is_trusted", "keep_head", "list_heads",
}  # fmt: skip


@pytest.fixture
def theirs(empty: Database) -> Iterator[tuple[Database, dict[str, str]]]:
    """A theme with an item of each kind, and their uids; nothing is open to the role."""
    migrate_team_schema(empty.admin, dimension=3, runtime_role=f"{empty.name}_runtime", partitions=PARTITIONS)
    uids = {name: f"01890000-0000-7000-8000-00000000000{n}" for n, name in enumerate(("uid", "scope", "turn"))}
    empty.run("INSERT INTO hm.clock VALUES ('theirs', 3)")
    columns = "(theme, id, kind, content, attrs, content_sha, hlc, node, seq)"
    attrs = '{"tier": "cold", "session": null, "role": "user", "said_at": 1}'
    for seq, (name, kind) in enumerate((("uid", "fact"), ("scope", "scope"), ("turn", "turn")), 1):
        row = f"('theirs', '{uids[name]}', '{kind}', 'said', '{attrs}', 'x', 0, '{uids['uid']}', {seq})"
        empty.run(f"INSERT INTO hm.item {columns} VALUES {row}")
    uid = uids["uid"]
    lost = f"('theirs', '{uid}', 4, '{uid}', 'fact', 'lost', '{{}}', 0, '{{}}', 'ann/1')"
    empty.run(f"INSERT INTO hm.conflict VALUES {lost}")
    empty.run(f"INSERT INTO hm.vector VALUES ('theirs', '{uids['uid']}', 'm', 'x', '[1,1,1]', 'fact')")
    return empty, uids


def test_no_function_reads_a_theme_that_is_not_open(theirs: tuple[Database, dict[str, str]]) -> None:
    database, uids = theirs
    role = f"{database.name}_runtime"

    def found() -> set[str]:
        with psycopg.connect(database.runtime) as conn:
            asked = {name: said.format(theme="theirs", **uids) for name, said in READING.items()}
            return {name for name, said in asked.items() if conn.execute(said).fetchall()}

    with psycopg.connect(database.admin) as conn:
        there = conn.execute("SELECT proname::text FROM pg_proc WHERE pronamespace = 'hm'::regnamespace").fetchall()
    assert {name for (name,) in there} == READING.keys() | CHECKED_ELSEWHERE
    assert found() == set()
    open_themes(database.admin, role, [], reads=["theirs"])
    assert found() == READING.keys()
    restrict_role_to_themes(database.admin, role, ["ours"])
    assert found() == set()


def test_a_new_theme_is_open_to_nobody_until_it_is_opened(database: Database) -> None:
    role = f"{database.name}_runtime"
    restrict_role_to_themes(database.admin, role, ["ours"])
    here, there = Side("ours", "new"), Side("ours", "new")
    for theme in here.themes():
        here.write(theme, f"of {theme}")
    with TeamServer(database.runtime) as server:
        run = exchange_of(here)
        outcome = run.run(server)
        assert outcome.state.name == "closed"
        assert "not open to this role in the team database: new;" in outcome.state.words
        assert outcome.themes["ours"].pushed == 1
        assert len(here.pending_rows("new")) == 1
        open_themes(database.admin, role, ["new"])
        run.expire_backoffs()
        assert run.run(server).state.name == "idle"
    settle(database, here, there)
    assert here.digest("new") == there.digest("new")
    assert [row.content for row in there.rows.values() if row.theme == "new"] == ["of new"]


def test_what_is_there_stays_open_to_who_could_reach_it(former: Database) -> None:
    former.run("INSERT INTO hm.clock VALUES ('ours', 1), ('law', 1)")
    with member_of(former, "sales"):
        former.run(f"INSERT INTO hm.member VALUES ('{former.name}_sales', '{{law}}')")
        former.run(f"GRANT INSERT ON hm.item TO {former.name}_sales")
        migrate_team_schema(former.admin)
        found = {one.role: one.themes for one in list_members(former.admin)}
        assert found == {f"{former.name}_runtime": ["law", "ours"], f"{former.name}_sales": ["law"]}


def test_rights_of_ones_own_count_alone_and_are_not_opened_by_the_way(database: Database) -> None:
    with member_of(database, "sales") as dsn:
        group, member = f"{database.name}_sales", f"{database.name}_sales_member"
        restrict_role_to_themes(database.admin, group, ["sales"])
        with pytest.raises(ArgumentError, match=f"{member} has its rights as a member of {group}"):
            open_themes(database.admin, member, ["law"])
        restrict_role_to_themes(database.admin, member, ["law"])
        with psycopg.connect(dsn) as conn:
            assert conn.execute("SELECT hm.allowed_themes()").fetchone() == (["law"],)


def test_a_role_that_is_misspelt_is_not_restricted(database: Database) -> None:
    with pytest.raises(ArgumentError, match="no role 'runtme'; make it first"):
        restrict_role_to_themes(database.admin, "runtme", ["ours"])


def test_a_restricted_role_that_was_dropped_stops_nobody(database: Database) -> None:
    database.run("INSERT INTO hm.member VALUES ('gone', '{ours}')")
    side = Side("theirs")
    side.write("theirs", "one")
    settle(database, side)
    assert not side.unsent


PUSHED = (
    "SELECT hm.push({theme}, gen_random_uuid(), gen_random_uuid(), {own_ms}, ARRAY[{uid}]::uuid[], ARRAY['fact'], ARRAY[{text}],"
    " ARRAY[{attrs}], ARRAY[NULL]::uuid[], ARRAY[{state}]::smallint[], ARRAY[{stamp}]::bigint[], ARRAY[{node}]::uuid[],"
    " ARRAY['{{}}'], ARRAY[{origin}]::text[])"
)

HARMLESS = {
    "theme": "'ours'",
    "own_ms": "0",
    "uid": "gen_random_uuid()",
    "text": "'forged'",
    "attrs": '\'{"target": "a"}\'',
    "state": "0",
    "stamp": "1",
    "node": "gen_random_uuid()",
    "origin": "NULL",
}

SOON = "((extract(epoch FROM now()) * 1000)::bigint + {ms}) << 16"

PUSHES = {
    "stamped years ahead": {"stamp": "9223372036854775807"},
    "stamped an hour ahead, by a clock of his own": {
        "stamp": SOON.format(ms=3_600_000),
        "own_ms": SOON.format(ms=3_600_000),
    },
    "over what was purged": {"uid": "'{purged}'", "stamp": SOON.format(ms=1_000)},
    "over what was purged, as a deletion": {"uid": "'{purged}'", "stamp": SOON.format(ms=1_000), "state": "1"},
    "of ten megabytes": {"text": "repeat('x', 10000000)"},
    "of megabytes beside the text": {
        "attrs": "(SELECT jsonb_agg(md5(n::text))::text FROM generate_series(1, 50000) n)"
    },
    "of another state": {"state": "7"},
    "of a theme with a name of a megabyte": {"theme": "repeat('x', 1000000)"},
}


@pytest.mark.parametrize("push", PUSHES)
def test_a_hostile_push_is_refused_or_changes_nothing(database: Database, push: str) -> None:
    here, there, purged = share_a_purge(database)

    named = {**HARMLESS, **PUSHES[push]}
    with suppress(IntegrityError, ProgramLimitExceeded):
        run_as_member(database, [PUSHED.format(**named).replace("{purged}", purged)])

    here.write("ours", "two")
    settle(database, here, there)
    assert here.digest("ours") == there.digest("ours")
    assert not here.unsent
    assert database.one("SELECT content FROM hm.item WHERE id = %s", purged) is None
    assert database.one("SELECT count(*) FROM hm.item WHERE state = 0") == 2


def test_a_push_of_more_than_a_push_is_refused(database: Database) -> None:
    uids = "ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 2001))"
    many = PUSHED.format(**HARMLESS).replace("ARRAY[gen_random_uuid()]::uuid[]", uids, 1)
    with pytest.raises(ProgramLimitExceeded, match=f"{database.name}_runtime pushed more than 2,000 rows"):
        run_as_member(database, [many])


def test_a_purge_says_nothing_whatever_its_push_carries(database: Database) -> None:
    named = {**HARMLESS, "state": "2", "origin": '\'{"way": "tool"}\''}
    run_as_member(database, [PUSHED.format(**named)])
    row = "SELECT to_jsonb(f) - ARRAY['theme', 'id', 'kind', 'hlc', 'node', 'seq', 'words', 'is_turn'] FROM hm.item f"
    empty = {
        "anc": [],
        "attrs": {},
        "changed_by": f"{database.name}_runtime",
        "content": None,
        "content_sha": None,
        "curated": None,
        "curated_pin": False,
        "worded_by": None,
        "origin": None,
        "pushed_by": None,
        "state": 2,
    }
    assert database.one(row) == {**empty, "supersedes": None}


def test_who_acts_as_his_group_is_named_all_the_same(database: Database) -> None:
    with member_of(database, "sales") as dsn, psycopg.connect(dsn) as conn:
        open_themes(database.admin, f"{database.name}_sales", ["ours"])
        conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(f"{database.name}_sales")))
        conn.execute(PUSHED.format(**HARMLESS))
        conn.commit()
        name = str(database.one("SELECT pushed_by FROM hm.item"))
    assert name.startswith(f"{database.name}_sales_member/")


def test_who_is_restricted_pushes_no_other_theme(database: Database) -> None:
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["theirs"])
    vectors = "SELECT hm.keep_vectors('ours', 'm', '{}', '{}', '{}')"
    for statement in (PUSHED.format(**HARMLESS), vectors):
        with pytest.raises(InsufficientPrivilege, match=f"{database.name}_runtime may not write"):
            run_as_member(database, [statement])


def test_migrating_does_not_wait_behind_a_long_reader(former: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_schema, "LOCK_TIMEOUT", "100ms")
    with psycopg.connect(former.runtime) as reader:
        reader.execute("SELECT count(*) FROM hm.fact")
        with pytest.raises(TeamError, match=f"in use by {former.name}_runtime .*, so nothing was migrated"):
            migrate_team_schema(former.admin)
        with psycopg.connect(former.runtime) as another:  # nobody waits behind it
            assert another.execute("SELECT count(*) FROM hm.fact").fetchone() == (0,)
    migrate_team_schema(former.admin)


def test_a_push_and_a_page_are_bounded_in_bytes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_server, "PAGE_BYTES", 1_000_000)
    here = Side("ours")
    for number in range(30):
        here.write("ours", f"{number} " + "x" * 300_000)
    rows = here.pending_rows("ours")
    assert [len(take_bytes(some, LOAD_BYTES)) for some in (rows, rows[:1], [])] == [13, 1, 0]
    with TeamServer(database.runtime) as server:
        for row in rows:
            server.push("ours", here.node, [row], new_push_token())
        after, sizes, more = 0, [], True
        while more:
            page = server.pull("ours", after)
            after, more = page.cursor.seq, page.more
            sizes.append(len(page.rows))
    assert sum(sizes) == 30
    assert max(sizes) == 4
    assert after == 30


def test_a_page_is_bounded_by_what_describes_the_text_too(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_server, "PAGE_BYTES", 100_000)
    many = "jsonb_build_object('target', repeat('x', 60000))::text"
    for _ in range(6):
        run_as_member(database, [PUSHED.format(**{**HARMLESS, "attrs": many})])
    with TeamServer(database.runtime) as server:
        after, sizes, more = 0, [], True
        while more:
            page = server.pull("ours", after)
            after, more = page.cursor.seq, page.more
            sizes.append(len(page.rows))
    assert (sum(sizes), max(sizes)) == (6, 2)
    large = PUSHED.format(**HARMLESS).replace(f"ARRAY[{HARMLESS['attrs']}]", f"array_fill({many}, ARRAY[80])")
    large = large.replace(
        "ARRAY[gen_random_uuid()]::uuid[]", "ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 80))", 1
    )
    with pytest.raises(ProgramLimitExceeded, match="4 MiB"):
        run_as_member(database, [large])


def test_a_pull_names_each_row_once_whatever_the_pages(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Side("ours")
    written = [here.write("ours", "x" * (number * 97 % 400)) for number in range(120)]
    settle(database, here)
    for size, limit in ((1, 7), (500, 50), (10_000, 120), (10_000, 121)):
        monkeypatch.setattr(team_server, "PAGE_BYTES", size)
        with TeamServer(database.runtime) as server:
            seen: list[str] = []
            after, more = 0, True
            while more:
                page = server.pull("ours", after, limit)
                after, more = page.cursor.seq, page.more
                seen += [str(row.uid) for _, row in page.rows]
        assert seen == written
