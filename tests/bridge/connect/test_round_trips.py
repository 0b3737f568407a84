"""Connecting a host and taking it out again gives its file back byte for byte, whatever stood in it and however it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Host
from tests.examples import example_count

ENTRY = ("/opt/my tools/hermes-memory-bridge", ["--db", "/home/ü/memory.db", "--theme", "me"])

WORD = st.text("abcxyz-_ü", min_size=1, max_size=6).filter(
    lambda word: word.lower() not in ("y", "no", "yes", "on", "off")
)
COMMENT = st.text("abc #:[]{}\"',", max_size=12)


@st.composite
def json_texts(draw: Any, key: str) -> str:
    """JSON as programs and people write it, the servers' object missing, empty or filled."""
    servers = draw(
        st.none()
        | st.dictionaries(WORD, st.dictionaries(WORD, WORD | st.lists(WORD, max_size=2), max_size=2), max_size=2)
    )
    others = draw(
        st.dictionaries(WORD, WORD | st.lists(WORD, max_size=2) | st.dictionaries(WORD, WORD, max_size=2), max_size=3)
    )
    document: dict[str, Any] = {**others} if servers is None else {**others, key: servers}
    if draw(st.booleans()):
        document = dict(reversed(document.items()))
    indent = draw(st.sampled_from([None, None, 2, 4, "\t", 0]))
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    if indent is not None and document and draw(st.booleans()):
        text = text[: text.rindex("\n")] + "," + text[text.rindex("\n") :]  # a trailing comma
    if indent is not None and draw(st.booleans()):
        at = draw(st.sampled_from([n for n, c in enumerate(text) if c == "\n"] or [len(text)]))
        text = text[:at] + " // " + draw(COMMENT).replace("\n", "") + text[at:]
    return draw(st.sampled_from(["", "", "// mine\n", "\n", "/* a\n b */ "])) + draw(
        st.sampled_from([text, text, text, ""])
    )


@st.composite
def toml_texts(draw: Any, key: str) -> str:
    """TOML with tables, comments and values on several lines, some of which look like tables."""
    lines = draw(
        st.lists(st.sampled_from(["# mine", "", "model = 'o3' # good", "  # indented"]), max_size=3, unique=True)
    )
    tables = {
        "other": [f"[{key}.other]", "command = 'npx'", "args = [", "  ['a'],", "  # within", "]"],
        "tui": ["[tui]", "theme = 'dark' # last"],
        "text": ["[text]", "long = '''", f"[{key}.{NAME}]", "# no comment", "'''"],
        "empty": [f"[{key}.none]"],
    }
    for name in draw(st.lists(st.sampled_from(sorted(tables)), unique=True)):
        lines += draw(st.sampled_from([[], ["# about it"], ["", "# about it", ""]])) + tables[name]
    return "\n".join(lines)


@st.composite
def yaml_texts(draw: Any, key: str, listed: bool) -> str:
    """YAML with the servers missing, empty in every way of saying so, or filled; comments anywhere."""
    lines = draw(
        st.sampled_from([[], ["# mine"], ["model: fast  # good", ""], ["deep:", "  - a", "  # within", "  - b: c"]])
    )
    step = draw(st.sampled_from(["  ", "    "]))
    filled = (
        [f"{step}- name: other   # keep", f"{step}  command: npx", f"{step}  args: ['-y']", f"{step}  # behind"]
        if listed
        else [f"{step}other:", f"{step}{step}command: npx   # keep", f"{step}{step}args: ['-y']", f"{step}  # behind"]
    )
    empty = st.sampled_from(
        [[f"{key}:{said}{behind}"] for said in ("", " {}", " []", " null", "  ~") for behind in ("", "  # none")]
    )
    servers = draw(
        st.none() | empty | st.just([f"{key}:  # here", *filled]) | st.just([f"{key}:", "  # first", "", *filled])
    )
    if servers is not None:
        lines = lines + servers + draw(st.sampled_from([[], ["# about the next"], ["", "   # deep"]]))
    return "\n".join(lines + draw(st.sampled_from([[], ["last: true"], ["last: |", "  some", "  text"]])))


def texts_of(host: Host) -> st.SearchStrategy[str]:
    """Files of a host, with each line end and ending, with and without a byte order mark."""
    texts = (
        json_texts(host.key)
        if host.kind == "json"
        else toml_texts(host.key)
        if host.kind == "toml"
        else yaml_texts(host.key, host.kind == "yaml-list")
    )
    marks = st.just("") if host.kind == "toml" else st.sampled_from(["", "", "\ufeff"])
    finish: Callable[[str, str, str, str], str] = lambda text, end, line, mark: mark + (text + end).replace("\n", line)  # noqa: E731
    return st.builds(finish, texts, st.sampled_from(["", "\n", "\n\n"]), st.sampled_from(["\n", "\r\n"]), marks)


@pytest.mark.parametrize("name", HOSTS)
@settings(max_examples=example_count(300), deadline=None)
@given(data=st.data())
def test_taking_out_gives_back_what_putting_in_was_given(name: str, data: st.DataObject) -> None:
    host = HOSTS[name]
    text = data.draw(texts_of(host))
    entry = host.entry(*ENTRY)
    try:
        assert host.find_entry(text) is None
        after = host.add_entry(text, entry)
        assert host.find_entry(after) == entry
    except ValueError:
        assume(False)  # left alone
    assert host.remove_entry(after) == text
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("name", HOSTS)
def test_few_of_the_generated_files_are_left_alone(name: str) -> None:
    host, taken, tried = HOSTS[name], 0, 0

    @settings(max_examples=example_count(100), deadline=None)
    @given(text=texts_of(host))
    def count(text: str) -> None:
        nonlocal taken, tried
        tried += 1
        try:
            taken += host.find_entry(host.add_entry(text, host.entry(*ENTRY))) is not None
        except ValueError:
            return

    count()
    assert taken > tried * 0.6


def test_what_is_taken_out_of_a_file_that_was_changed_since_leaves_the_rest() -> None:
    codex, goose = HOSTS["codex"], HOSTS["goose"]
    after = codex.add_entry("a = 1\n", codex.entry(*ENTRY)) + "\n# about the next\n[tui]\ntheme = 'dark'\n"
    assert codex.remove_entry(after) == "a = 1\n\n# about the next\n[tui]\ntheme = 'dark'\n"
    after = goose.add_entry("extensions: {}\n", goose.entry(*ENTRY)) + "# about the next\nlast: true\n"
    assert goose.remove_entry(after) == "extensions: {}\n# about the next\nlast: true\n"
    assert yaml.safe_load(goose.remove_entry(goose.add_entry("", goose.entry(*ENTRY)) + "last: true\n")) == {
        "last": True
    }
    cursor = HOSTS["cursor"]
    rewritten = json.dumps(json.loads(cursor.add_entry('{"mcpServers": {}, "a": 1}', cursor.entry(*ENTRY))), indent=3)
    assert json.loads(cursor.remove_entry(rewritten)) == {"mcpServers": {}, "a": 1}
