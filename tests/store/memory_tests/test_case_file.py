"""`memory-tests.toml`: what is read of it, and that each mistake names its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store.errors import CaseFileError, FileError
from hermes_memory_store.memory_tests.case_file import MAX_FILE_BYTES, parse_cases, read_case_file
from hermes_memory_store.memory_tests.memory_case import CaseStart, ExpectedBy, parse_expectation
from hermes_memory_store.memory_tests.toml_lines import TomlPlaces
from tests.examples import example_count

GOOD = """\
theme = "shop"
tokens = 90

[[test]]
name = "login"
ask = "how do we log in"
given = ["D[auth.login]", "V[pool]: 20", "[auth.any]", "session cookie", "3ca146fb"]
never = ["D[auth.login]: basic auth"]
tokens = 180

[[test]]
theme = "other"
start = { project = "shop", scope = "billing", branch = "main", folder = "/src", at = 2026-03-01T12:00:00Z }
given = "C[billing.vat]"

[[test]]
ask = "how do we log in"
given = ["x"]

[[test]]
ask = "how do we log in"
never = ["x"]
"""


def mistakes(text: str) -> list[tuple[int, str]]:
    with pytest.raises(CaseFileError) as found:
        parse_cases(text)
    return list(found.value.mistakes)


def test_a_file_holds_questions_and_starts_with_what_is_expected() -> None:
    login, start, same, again = parse_cases(GOOD)
    assert (login.name, login.ask, login.theme, login.tokens, login.line) == (
        "login", "how do we log in", "shop", 180, 4,
    )  # fmt: skip
    assert [one.by for one in login.given] == [
        ExpectedBy.TARGET, ExpectedBy.NOTATION, ExpectedBy.TARGET, ExpectedBy.WORDS, ExpectedBy.UID,
    ]  # fmt: skip
    assert login.never[0].content == "basic auth"
    assert start.start == CaseStart("shop", "/src", "main", "billing", "2026-03-01T12:00:00+00:00")
    assert (start.theme, start.tokens, start.name) == (
        "other", 90, "start shop billing main /src 2026-03-01T12:00:00+00:00",
    )  # fmt: skip
    assert (same.name, again.name) == ("how do we log in", "how do we log in (2)")


def test_a_long_question_names_its_test_by_its_beginning() -> None:
    first, second = parse_cases(f"[[test]]\nask = '{'why ' * 99}'\nnever = ['x']\n" * 2)
    assert (len(first.name), first.name[-1]) == (120, "…")
    assert second.name == f"{first.name} (2)"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "there is no test"),
        ("theme = 5\n[[test]]\nask = 'q'\ngiven = ['x']", 1, "theme is a text in quotes, not 5"),
        ("[test]\nask = 'q'", 1, "[[test]], with two brackets"),
        ("test = [3]", 1, "a test is a table, not 3"),
        ("[[test]]\n\nask = 'q'\ngivn = ['x']\ngiven = ['y']", 4, "did you mean 'given'?"),
        ("[[test]]\ngiven = ['x']", 1, "needs ask"),
        ("[[test]]\nask = 'q'\nstart = {}\ngiven = ['x']", 3, "not both"),
        ("[[test]]\nask = '  '\ngiven = ['x']", 2, "ask is empty"),
        ("[[test]]\nask = 'q'", 1, "nothing is expected"),
        ("[[test]]\nask = 'q'\ngiven = []", 1, "nothing is expected"),
        ("[[test]]\nask = 'q'\ngiven = 5", 3, "given is a list of texts"),
        ("[[test]]\nask = 'q'\ngiven = [\n  'x', # [[\n  '''a\nb''',\n  5,\n]", 7, "not 5"),
        ("[[test]]\nask = 'q'\ngiven = ['x']\nnever = [\n'X']", 5, "stands in given and in never"),
        ("[[test]]\nask = 'q'\ngiven = ['D[db]:']", 3, "the content is empty"),
        ("[[test]]\nask = 'q'\ngiven = ['x']\ntokens = 3", 4, "from 20 to 1,000,000, not 3"),
        ("[[test]]\nask = 'q'\ngiven = ['x']\ntokens = true", 4, "not True"),
        ("[[test]]\nstart = 'billing'\ngiven = ['x']", 2, "start is a table"),
        ("[[test]]\ngiven = ['x']\n[test.start]\nscop = 'billing'", 4, "did you mean 'scope'?"),
        ("[[test]]\ngiven = ['x']\nstart.at = 'yesterday'", 3, "'yesterday' is not a time"),
        ("[[test]]\nname='n'\nask='q'\ngiven=['x']\n[[test]]\nname='n'\nask='r'\ngiven=['x']", 6, "of the test in line 2"),
        ("[[test]]\nask = 'q\n", 2, "this is not TOML: expected"),
        ("[[test]]\nask = '''q\n", 2, "this is not TOML"),
        ("a = " + "[" * 5000, 1, "nested too deeply"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line_and_the_way_out(text: str, line: int, said: str) -> None:
    found = mistakes(text)
    assert any(at == line and said in what for at, what in found), found


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    found = mistakes("[[test]]\nask = ''\n[[test]]\nstart = {a = 1}\ntokens = 1\n")
    assert [line for line, _ in found] == sorted(line for line, _ in found)
    assert len(found) == 5


def test_a_file_that_is_no_text_or_too_large_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "memory-tests.toml"
    path.write_bytes(b"[[test]]\nask = '\xff'\n")
    with pytest.raises(CaseFileError, match=r"toml:2: this is not UTF-8"):
        read_case_file(path)
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(CaseFileError, match="larger than"):
        read_case_file(path)
    with pytest.raises(CaseFileError, match="larger than"):
        read_case_file(Path("/dev/zero"))
    path.write_bytes("﻿[[test]]\r\nask = 'q'\r\ngiven = ['x']\r\n".encode())
    assert len(read_case_file(path).cases) == 1
    with pytest.raises(FileError, match="No such file"):
        read_case_file(tmp_path / "gone.toml")


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
ATOMS = st.one_of(
    TEXTS.filter(lambda text: "'" not in text).map(lambda text: f"'{text}'"),
    TEXTS.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
    TEXTS.filter(lambda text: "'" not in text).map(lambda text: f"'''{text}\n[[test]]\n'''"),
    TEXTS.filter(lambda text: '"' not in text and "\\" not in text).map(lambda text: f'"""\n{text}\n"""'),
    st.sampled_from(["5", "true", "{ a = [1, 2], 'b]' = '#' }", "[[], ['x', \"]\"]]"]),
)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[tuple[tuple[str | int, ...], int]]]:
    """A TOML file, and where each of its keys and elements stands."""
    text, places = "", []
    for number in range(draw(st.integers(1, 4))):
        text += draw(st.sampled_from(["", "\n", "# [[test]]\n", "  # a = '\n\n"]))
        places.append((("test", number), text.count("\n") + 1))
        text += draw(st.sampled_from(["[[test]]\n", "[[ test ]] # x\n", '[["test"]]\n']))
        for key in draw(st.lists(st.sampled_from("abcd"), unique=True)):
            places.append((("test", number, key), text.count("\n") + 1))
            text += draw(st.sampled_from([f"{key} = ", f'"{key}"=', f"  {key}\t=  "]))
            if draw(st.booleans()):
                text += draw(ATOMS) + "\n"
                continue
            text += "["
            for place, atom in enumerate(draw(st.lists(ATOMS, max_size=3))):
                text += draw(st.sampled_from(["", "\n", " # ],\n  "]))
                places.append((("test", number, key, place), text.count("\n") + 1))
                text += atom + draw(st.sampled_from([",", "\n,", " , # x\n"]))
            text += draw(st.sampled_from(["]", "\n]"])) + "\n"
    return text, places


@settings(max_examples=example_count(150), deadline=None)
@given(files())
def test_the_line_of_every_key_and_element_is_found(made: tuple[str, list[tuple[tuple[str | int, ...], int]]]) -> None:
    text, places = made
    lines = TomlPlaces(text)
    assert [(path, lines.find(*path)) for path, _ in places] == places


@settings(max_examples=example_count(300), deadline=None)
@given(st.one_of(st.text(max_size=200), files().map(lambda made: made[0])))
def test_whatever_a_file_holds_its_tests_are_read_or_its_lines_are_named(text: str) -> None:
    try:
        assert parse_cases(text)
    except CaseFileError as error:
        lines = text.replace("\r\n", "\n").count("\n") + 1
        assert error.mistakes
        assert all(1 <= line <= lines and said for line, said in error.mistakes)


@settings(max_examples=example_count(150), deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip))
def test_words_that_are_no_notation_are_expected_as_they_stand(text: str) -> None:
    expected = parse_expectation(text) if "[" not in text else None
    if expected is not None and expected.by is ExpectedBy.WORDS:
        assert expected.has_words(f"V[x]: before {text} after")
