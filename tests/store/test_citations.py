"""Cited lines are true, moved, changed or missing as the file is now; what must not be looked at is not."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_memory_store.errors import ArgumentError, FactConflict, ImportFileError
from hermes_memory_store.files.export_import import export_jsonl, export_spec, import_file
from hermes_memory_store.files.jsonl_format import parse_jsonl_line
from hermes_memory_store.model import Millis, Origin, Way
from hermes_memory_store.places.citations import (
    MOST_BYTES,
    Citation,
    CitationState,
    check_command,
    check_lines,
    cite_lines,
    cite_other,
    compare_cited_lines,
    find_stale,
    format_citations,
    format_suffix,
    is_portable_citing,
    parse_citations,
    split_suffix,
)
from hermes_memory_store.places.cited_values import FactWords, OtherValue
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep.fact_citations import find_moves
from tests.store.team import THEME, Server, converge, joining_members, load_team_policies, shown

BODY = """import os


def connect(host):
    port = 5432
    return host, port


def close(host):
    return None
"""

WORDS = st.text("abcdef ghij", min_size=3, max_size=30)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "db.py").write_text(BODY)
    return folder


def state(root: Path, citation: Citation) -> tuple[str, int]:
    check = check_lines(str(root), citation)
    return check.state.value, check.first


def test_lines_that_stand_are_true_whatever_ends_them(root: Path) -> None:
    citation = cite_lines(str(root), "db.py:4-6")
    assert state(root, citation) == ("true", 4)
    (root / "db.py").write_bytes(b"\xef\xbb\xbf" + BODY.replace("\n", " \r\n").encode())
    assert state(root, citation) == ("true", 4)


@given(above=st.lists(WORDS, max_size=20), below=st.lists(WORDS, max_size=20))
def test_lines_are_followed_however_much_is_put_around_them(above: list[str], below: list[str]) -> None:
    lines = ["def spam():", "    eggs = 12345", "    return eggs + 1"]
    content = "\n".join([*lines, ""]).encode()
    citation = parse_citations(format_citations([cite_from(content, 1, 3)]))[0]
    now = "\n".join([*above, *lines, *below]).encode()
    check = compare_cited_lines(citation, now)
    assert (check.state, check.first) == (CitationState.MOVED if above else CitationState.TRUE, len(above) + 1)


@given(at=st.integers(0, 2), word=st.text("xyz", min_size=1, max_size=5))
def test_a_line_with_another_word_is_changed(at: int, word: str) -> None:
    lines = ["def spam():", "    eggs = 12345", "    return eggs + 1"]
    citation = cite_from("\n".join(lines).encode(), 1, 3)
    lines[at] += word
    assert compare_cited_lines(citation, "\n".join(["", *lines]).encode()).state is CitationState.CHANGED


def cite_from(content: bytes, first: int, last: int) -> Citation:
    """Cite lines of a content that is written down for as long as that takes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_bytes(content)
        return cite_lines(folder, f"a.txt:{first}-{last}", "c" * 40, 1_700_000_000_000)


def test_a_closing_bracket_is_not_taken_for_another_one(root: Path) -> None:
    (root / "a.c").write_text("f() {\n  one();\n}\n\ng() {\n  two();\n}\n")
    citation = cite_lines(str(root), "a.c:7")
    (root / "a.c").write_text("f() {\n  one();\n}\n\nh();\n")
    assert state(root, citation)[0] == "changed"
    (root / "a.c").write_text("int x;\nf() {\n  one();\n}\n\ng() {\n  two();\n}\n")
    assert state(root, citation) == ("moved", 8)
    (root / "a.c").write_text("f() {\n  one();\n}\n\n" + "h() {\n  it();\n}\n" + "g() {\n  two();\n}\n")
    assert state(root, citation) == ("moved", 10), "another one stands in its line"


def test_a_citation_comes_back_as_it_was_and_odd_ones_are_left_out(root: Path) -> None:
    cited = [
        cite_lines(str(root), "db.py:5", "a" * 40, 1_700_000_000_000),
        cite_other("commit", "abc1234"),
        cite_other("command", "make lint", exit_code=2, output="no issues"),
        cite_other("url", "https://example.org/x"),
        cite_other("turn", "01a228f9-51c6-7001-b39e-bb219840026a"),
    ]
    assert parse_citations(format_citations(cited)) == tuple(cited)
    for odd in (None, "", "{", "3", "[3]", '[{"lines": 4}]', '[{"lines": "a.py:1"}]', '[{"later": "x"}]', '{"a": 1}'):
        assert parse_citations(odd) == ()


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("db.py", "names no lines"),
        ("db.py:0-3", "first line comes before"),
        ("db.py:6-4", "first line comes before"),
        ("db.py:1-900", "at most"),
        ("db.py:99", "none of number 99"),
        ("db.py:2-3", "are empty"),
        ("../db.py:1", "not in the repository"),
        ("/etc/passwd:1", "not in the repository"),
        (".git/config:1", "not in the repository"),
        ("gone.py:1", "no such file"),
        ("link.py:1", "it is a link"),
        ("linked/db.py:1", "a link leads there"),
        ("module/db.py:1", "a repository of its own"),
        ("data.bin:1", "no text"),
        ("pipe:1", "regular file"),
        ("huge.txt:1", "larger than"),
    ],
)
def test_what_cannot_be_cited_is_named(root: Path, place: str, problem: str) -> None:
    (root / "link.py").symlink_to("/etc/passwd")
    (root / "linked").symlink_to(root)
    (root / "module" / ".git").mkdir(parents=True)
    (root / "module" / "db.py").write_text("x\n")
    (root / "data.bin").write_bytes(b"a\0b\n")
    os.mkfifo(root / "pipe")
    with (root / "huge.txt").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ArgumentError, match=problem):
        cite_lines(str(root), place)


@pytest.mark.parametrize(
    ("kind", "what"), [("commit", "HEAD"), ("url", "file:///etc"), ("turn", "x"), ("command", ""), ("command", "a\nb")]
)
def test_other_things_have_their_forms(kind: str, what: str) -> None:
    with pytest.raises(ArgumentError):
        cite_other(kind, what)


def test_a_command_is_compared_by_its_exit_code_and_what_it_prints() -> None:
    with pytest.raises(ArgumentError, match="no pattern"):
        cite_other("command", "make", output="(")
    citation = cite_other("command", "make lint", output=r"\b0 issues")
    assert check_command(citation, 0, "found 0 issues").state is CitationState.TRUE
    assert check_command(citation, 0, "found 10 issues").state is CitationState.CHANGED
    assert check_command(citation, 1, "found 0 issues").note == "exit code 1, not 0"


def test_a_fact_of_changed_lines_has_a_label_with_the_day(root: Path) -> None:
    cites = format_citations([cite_lines(str(root), "db.py:4-6", "", 1_777_800_000_000)]) or ""
    facts = [("a", cites, FactWords("db.port", "5432"))]
    assert find_stale(str(root), facts) == {}
    (root / "db.py").write_text(BODY.replace("5432", "5433"))
    assert find_stale(str(root), facts) == {"a": "(cited lines changed since 3 May; the file says 5433)"}
    (root / "db.py").unlink()
    assert find_stale(str(root), facts) == {"a": "(cited lines changed since 3 May)"}


COMPARED = [
    ("db.port", "5432 on staging", "port = 5432", "port = 5433  # was 5432", ("5432", "5433")),
    ("srv.port", "it listens on 8080", 'ports:\n  - "8080:80"', "ports:\n  - '8081:80'", ("8080", "8081")),
    ("py.version", "3.11 at least", 'requires-python = ">=3.11"', 'requires-python = ">=3.12"', ("3.11", "3.12")),
    ("queue.broker", "rabbitmq for jobs", '"broker": "rabbitmq",', '"broker": "kafka",', ("rabbitmq", "kafka")),
    ("app.debug", "debug is off", "DEBUG=false", "DEBUG=true", ("off", "true")),
    ("api.url", "https://api.example.org/v1", "url: https://api.example.org/v1", "url: https://api.example.org/v2",
     ("https://api.example.org/v1", "https://api.example.org/v2")),
    ("pool", "10 connections, timeout 30 s", "pool = 10\ntimeout = 30", "pool = 10\ntimeout = 45", ("30", "45")),
    ("image", "postgres 15", "image: postgres:15", "image: postgres:16-alpine", ("15", "16")),
    ("db.port", "5432", "port = 5432", "PORT: int = 5432", None),
    ("db.timeout", "30 s", "timeout: 30s", "timeout: 30000ms", None),
    ("py.version", "3.11", 'python = "3.11"', 'python = "3.11.4"', None),
    ("queue.broker", "rabbitmq", 'broker = "rabbitmq"', "broker = ${BROKER}", None),
    ("pool", "timeout 30 s", "pool = 10\ntimeout = 30", "pool = 20\ntimeout = 30", None),
    ("app.debug", "debug is off", "debug: false\ntls: true", "debug: false\ntls: false", None),
    ("db.port", "5432", "port = 5432", "port = read_port()", None),
    ("commits", "72 characters, see 41", "max = 72", "max = 72  # by line", None),
]  # fmt: skip


@pytest.mark.parametrize(("target", "content", "before", "after", "values"), COMPARED)
def test_another_value_in_cited_lines_is_found(
    root: Path, target: str, content: str, before: str, after: str, values: tuple[str, str] | None
) -> None:
    (root / "a.yaml").write_text(f"first: 1\n{before}\nlast: 2\n")
    fact = FactWords(target, content)
    citation = cite_lines(str(root), f"a.yaml:2-{2 + before.count(chr(10))}", fact=fact)
    assert parse_citations(format_citations([citation])) == (citation,)
    (root / "a.yaml").write_text(f"# new\nfirst: 1\n{after}\nlast: 2\n")
    assert check_lines(str(root), citation, fact).other == values
    assert values is None or values[0] not in OtherValue(*values).replace_in(content)


def test_a_fact_that_was_edited_is_compared_with_unchanged_lines(root: Path) -> None:
    (root / "a.yaml").write_text("db:\n  db_port: 5432\n")
    citation = cite_lines(str(root), "a.yaml:2", fact=FactWords("db.port", "5432"))
    assert check_lines(str(root), citation, FactWords("db.port", "5433")).other == ("5433", "5432")
    assert check_lines(str(root), citation, FactWords("db.port", "5432")).other is None


@pytest.mark.parametrize(
    ("target", "content", "line", "values"),
    [
        ("python.min", "3.9 or newer", 'requires-python = ">=3.10"', ("3.9", "3.10")),
        ("werkzeug.version", "werkzeug>=3.0.0", '    "werkzeug>=3.1.0",', ("3.0.0", "3.1.0")),
        ("db.port", "5432", "DB_PORT=5433", ("5432", "5433")),
        ("app.debug", "off", "debug: true", ("off", "true")),
        ("pool.size", "10 connections", "pool_timeout = 30", None),
        ("pool.size", "10 connections", "size = POOL", None),
    ],
)
def test_a_value_that_never_stood_in_the_cited_lines_is_compared_by_its_name(
    root: Path, target: str, content: str, line: str, values: tuple[str, str] | None
) -> None:
    (root / "a.yaml").write_text(f"first: 1\n{line}\n")
    fact = FactWords(target, content)
    citation = cite_lines(str(root), f"a.yaml:2-{2 + line.count(chr(10))}", fact=fact)
    assert check_lines(str(root), citation, fact).other == values


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def test_a_fact_cites_and_is_undone_and_verified(repository: Path, tmp_path: Path) -> None:
    found = find_repository(str(repository))
    with Store.open(tmp_path / "m.db") as store:
        fact = store.facts.write("ops", "V[db.port]: 5432").fact
        citation = cite_lines(str(repository), "db.py:4-6", git(repository, "rev-parse", "HEAD"))
        changed = store.citations.add(fact.uid, [citation])
        assert [check.state for check in store.citations.verify("ops", found, None)] == ["true"]
        assert store.facts.get(fact.uid).updated_at == fact.updated_at
        (repository / "db.py").write_text("# new\n" + BODY)
        assert [check.state for check in store.citations.verify("ops", found, None)] == ["moved"]
        git(repository, "mv", "db.py", "store.py")
        git(repository, "commit", "-qam", "move")
        (check,) = store.citations.verify("ops", found, None)
        assert (check.state, check.checks[0].note, check.checks[0].first) == ("moved", "store.py", 5)
        (repository / "store.py").write_text(BODY.replace("5432", "5433"))
        assert [check.state for check in store.citations.verify("ops", found, None)] == ["missing"]
        store.undo.changes(changed.seqs)
        assert [check.state for check in store.citations.verify("ops", found, None)] == ["not cited"]
        with pytest.raises(ArgumentError, match="cites nothing"):
            store.citations.remove(fact.uid, "db.py:4-6")


def test_a_fact_that_is_right_against_its_file_is_contradicted_only_by_what_comes_next(
    repository: Path, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "m.db") as store:
        here = store.projects.locate(Origin(way=Way.COMMAND_LINE), repository)
        with store.attribute(here):
            fact = store.facts.write("ops", "V[db.port]: 5432").fact
        words = FactWords(fact.target, fact.content)
        store.citations.add(
            fact.uid, [cite_lines(str(repository), "db.py:4-6", fact=words), cite_other("url", "https://a.b/c")]
        )
        with pytest.raises(FactConflict, match="no other value now"):
            store.citations.keep_own_value(store.facts, fact.uid)
        (repository / "db.py").write_text("# new\n" + BODY.replace("5432", "5433"))
        assert [check.state for check in store.citations.check_newest()] == ["contradicted"]
        changed = store.citations.keep_own_value(store.facts, fact.uid)
        cited = parse_citations(store.facts.get(fact.uid).cites)
        assert [citation.what for citation in cited] == ["db.py", "https://a.b/c"]
        assert parse_citations(format_citations(cited)) == cited
        for text in ("# new\n", "# moved\n# down\n"):
            (repository / "db.py").write_text(text + BODY.replace("5432", "5433"))
            assert store.citations.check_newest()[0].other is None
        with store.attribute(here):
            assert "V[db.port]: 5432" in store.context.status("ops").text.splitlines(), "without a label"
        (repository / "db.py").write_text(BODY.replace("5432", "5434"))
        assert store.citations.check_newest()[0].other == ("5432", "5434")
        (repository / "db.py").write_text("# new\n" + BODY.replace("5432", "5433"))
        store.undo.changes(changed.seqs)
        assert [check.state for check in store.citations.check_newest()] == ["contradicted"]


def test_the_place_of_a_changed_last_line_is_that_line(root: Path) -> None:
    (root / "a.toml").write_text("[db]\nport = 5432\n")
    citation = cite_lines(str(root), "a.toml:2")
    (root / "a.toml").write_text("[db]\nport = 5433\n")
    check = check_lines(str(root), citation)
    assert (check.state, check.first, check.last) == ("changed", 2, 2)


def test_lines_that_had_gone_before_are_not_looked_for_again(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "mv", "db.py", "store.py")
    git(repository, "commit", "-qm", "moved")
    with Store.open(tmp_path / "m.db") as store:
        fact = store.facts.write("ops", "V[db.port]: 5432").fact
        store.citations.add(fact.uid, [replace(cite_lines(str(repository), "store.py:4-6", first), what="db.py")])
        facts = [store.facts.get(fact.uid)]
    ((moved,),) = (moves.values() for moves in find_moves(str(repository), facts, (first, Millis(1))).values())
    assert moved.label == "store.py:4-6"
    head = git(repository, "rev-parse", "HEAD")
    assert find_moves(str(repository), facts, (head, Millis(1))) == {}
    assert find_moves(str(repository), facts, (head, Millis(0))) != {}, "it was cited after that look"


def test_a_commit_that_the_branch_lacks_is_missing(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-qb", "side")
    git(repository, "commit", "-q", "--allow-empty", "-m", "aside")
    side = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "main")
    found = find_repository(str(repository))
    with Store.open(tmp_path / "m.db") as store:
        for commit in (git(repository, "rev-parse", "HEAD"), side):
            fact = store.facts.write("ops", f"D[at.{commit[:4]}]: as of then").fact
            store.citations.add(fact.uid, [cite_other("commit", commit)])
        assert [check.state for check in store.citations.verify("ops", found, None)] == ["true", "missing"]


def test_a_reader_in_the_project_is_told_last_of_changed_lines(repository: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db") as store:
        here = store.projects.locate(Origin(way=Way.COMMAND_LINE), repository)
        with store.attribute(here):
            port = store.facts.write("ops", "V[db.port]: 5432").fact
            store.facts.write("ops", "V[db.host]: here")
        store.citations.add(port.uid, [cite_lines(str(repository), "db.py:4-6", "", Millis(1_777_800_000_000))])
        (repository / "db.py").write_text(BODY.replace("5432", "5433"))
        with store.attribute(here):
            lines = store.context.status("ops").text.splitlines()
            told = "V[db.port]: 5432 (cited lines changed since 3 May; the file says 5433)"
            assert lines.index("V[db.host]: here") < lines.index(told)
        with store.attribute(store.projects.locate(Origin(way=Way.COMMAND_LINE), tmp_path)):
            assert "V[db.port]: 5432" in store.context.status("ops").text.splitlines()


PATHS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=' "\\:@-'), min_size=1).map(str.strip)


@given(st.text(st.characters(exclude_categories=("C",))), st.lists(st.tuples(PATHS.filter(bool), st.integers(1, 99))))
@example("V[desk]: ask at @desk:12", [])
@example("V[desk]: ask at @desk:12 @-", [("a b.py", 3), ('"odd".py', 4)])
@example('V[desk]: "@x:1"', [("-", 1), ("a:2", 3)])
def test_suffix_is_taken_off_as_it_was_written(line: str, places: list[tuple[str, int]]) -> None:
    cited = [Citation("lines", path, first, first + 1) for path, first in places]
    labels = tuple(citation.label for citation in cited)
    assert split_suffix(line + format_suffix(line, [*cited, Citation("commit", "abcdef1")])) == (line, labels)


def test_suffix_written_by_hand_is_read() -> None:
    line = 'V[db.port]: 5433 in @home @src/db.py:12-20 @"my notes.md:3"'
    assert split_suffix(line) == ("V[db.port]: 5433 in @home", ("src/db.py:12-20", "my notes.md:3"))
    assert split_suffix('V[a]: b @"\\q:1"')[1] == ()


def test_citations_go_to_teammates_and_into_files_and_come_back(root: Path, tmp_path: Path) -> None:
    words = FactWords("db.port", "5432")
    citing = [
        cite_lines(str(root), "db.py:4-6", "a" * 40, 1_777_800_000_000, words),
        cite_other("url", "https://a.example/b"),
    ]
    server = Server()
    with joining_members(tmp_path, load_team_policies(tmp_path)) as join:
        one, two = join(), join()
        fact = one.store.facts.write(THEME, "V[db.port]: 5432").fact
        converge([one, two], server)
        changed = one.store.citations.add(fact.uid, citing)
        converge([one, two], server)
        assert two.store.facts.get(fact.uid).cites == format_citations(citing)
        assert two.store.sync.standing.conflicts() == []
        one.store.undo.changes(changed.seqs)
        two.store.facts.pin(fact.uid)
        converge([one, two], server)
        left = [member.store.facts.get(fact.uid).cites for member in (one, two)]
        assert left in ([None] * 2, [format_citations(citing)] * 2)
        assert shown(one.store) == shown(two.store)
        one.store.citations.add(fact.uid, citing)
        lines = [*export_jsonl(one.store, THEME)]
        assert [*export_spec(one.store, THEME, with_citations=True)][-1] == "V[db.port]: 5432 @db.py:4-6"
    (tmp_path / "facts.jsonl").write_text("\n".join(lines))
    with Store.open(tmp_path / "other.db") as other:
        import_file(other, tmp_path / "facts.jsonl", theme="ops")
        assert other.facts.get(fact.uid).cites == format_citations(citing)


ODD_CITINGS = [
    {"lines": "/etc/passwd:1", "marks": [1, 2, 3]},
    {"lines": "../other/a.py:1", "marks": [1, 2, 3]},
    {"lines": "a/../../b.py:1", "marks": [1, 2, 3]},
    {"lines": ".git/config:1", "marks": [1, 2, 3]},
    {"lines": "a.py:9-3", "marks": [1, 2, 3]},
    {"lines": "a.py:1-9999999", "marks": [1, 2, 3]},
    {"lines": "a\u202e.py:1", "marks": [1, 2, 3]},
    {"lines": "a\n.py:1", "marks": [1, 2, 3]},
    {"lines": "a.py:1", "marks": [1, 2, 3], "in": "x" * 2_000},
    {"lines": "a.py:1", "marks": [1, 2, 3], "says": [["\u202e", 1]]},
    {"command": "make\u0000lint"},
    {"command": "make", "output": "x" * 999},
    {"url": "file:///etc/passwd"},
    {"commit": "HEAD"},
    "no object",
]


@pytest.mark.parametrize(
    "odd", [json.dumps([odd]) for odd in ODD_CITINGS] + ["{", "[" * 9_999, 3, json.dumps([{}] * 9)]
)
def test_what_a_teammate_cites_is_refused_where_it_leads_out_or_is_no_citation(
    odd: object, root: Path, tmp_path: Path
) -> None:
    good = format_citations([cite_lines(str(root), "db.py:4-6")])
    later = json.dumps([{"ticket": "A-1", "note": "of a later program"}])
    assert [is_portable_citing(citing) for citing in (good, later, odd)] == [True, True, False]
    with Store.open(tmp_path / "m.db") as store:
        fact = store.facts.write("ops", "V[db.port]: 5432").fact
        store.citations.add(fact.uid, parse_citations(good))
        (line,) = [line for line in export_jsonl(store, "ops") if line.startswith('{"kind":"fact"')]
    document = json.loads(line) | {"cites": odd}
    with pytest.raises(ImportFileError, match="cites"):
        parse_jsonl_line(json.dumps(document), 400)


def test_a_file_that_became_something_else_is_not_looked_at(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text(BODY)
    citation = cite_lines(str(root), "src/a.py:4-6")
    (root / "src" / ".git").write_text("gitdir: ../.git/modules/src\n")
    assert state(root, citation)[0] == "unknown", "a submodule"
    (root / "src" / ".git").unlink()
    for make in (
        lambda file: file.symlink_to(root / "db.py"),
        lambda file: file.write_bytes(BODY.encode() + b"\0"),
        lambda file: (file.touch(), os.truncate(file, 1 << 30)),
        lambda file: file.mkdir(),
        os.mkfifo,
    ):
        (root / "src" / "a.py").unlink()
        make(root / "src" / "a.py")
        assert state(root, citation)[0] == "unknown"
        if (root / "src" / "a.py").is_dir():
            (root / "src" / "a.py").rmdir()
            (root / "src" / "a.py").touch()


def test_a_shallow_clone_and_a_rebased_commit_are_told_as_far_as_they_go(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    cited = cite_lines(str(repository), "db.py:4-6", first)
    (repository / "db.py").write_text("# other\n")
    git(repository, "commit", "-qam", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    git(repository, "commit", "-q", "--amend", "-m", "rebased")
    with Store.open(tmp_path / "m.db") as store:
        for target, citation in (("db.port", cited), ("db.commit", cite_other("commit", first))):
            store.citations.add(store.facts.write("ops", f"V[{target}]: 5432").fact.uid, [citation])
        here, there = find_repository(str(repository)), find_repository(str(tmp_path / "shallow"))
        assert [check.state for check in store.citations.verify("ops", here, None)] == ["changed", "true"]
        assert [check.state for check in store.citations.verify("ops", there, None)] == ["changed", "missing"]
