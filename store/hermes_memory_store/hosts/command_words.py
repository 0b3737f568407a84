"""The simple commands of a shell's command line, each as its words, and the files that it writes. Standard library alone: hooks
read it before each call.

Quotes, comments, assignments, substitutions and here-documents are read as a shell reads them; what a variable, an alias or a
program makes of its words is not known. Of what runs another command (`command_forms.json`), both are listed.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_COMMAND = 1 << 15
"""Characters of a command line that are read."""

MOST_DEPTH = 20
"""How deep commands that stand within commands are read."""

PLAIN = re.compile(r"[^\s\\'\"`$#;&|()<>]+")

QUOTED = re.compile(r"'(?P<single>[^']*)(?:'|\Z)|\\(?P<escaped>.?)", re.DOTALL)

BACK_QUOTED = re.compile(r"((?:[^\\`]|\\.)*)`?", re.DOTALL)

ESCAPED = re.compile(r"'((?:[^\\']|\\.)*)'?", re.DOTALL)

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")

RESERVED = frozenset(
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "coproc", "fi", "done", "esac"]
)
"""Words of the shell that may stand before a command."""

REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<>|<&|>>|>\||>&|[<>](?!\()")

_forms: dict[str, Any] = {}


def load_forms() -> dict[str, Any]:
    if not _forms:
        with open(os.path.join(os.path.dirname(__file__), "command_forms.json"), encoding="utf-8") as file:
            _forms.update(json.load(file))
    return _forms


class SimpleCommand:
    __slots__ = ("folder", "input", "words", "writes")

    def __init__(self, words: list[str], folder: str) -> None:
        self.words = words
        self.folder = folder
        self.writes: list[str] = []
        """What its redirections write."""
        self.input = ""
        """What it is given as a here-document."""


class CommandReader:
    """Reads a command line from left to right. `commands` are those read so far, the inner ones first."""

    def __init__(self, text: str, folder: str, depth: int) -> None:
        self.commands: list[SimpleCommand] = []
        self._text = text[:MOST_COMMAND]
        self._at = 0
        self._folder = folder
        self._depth = depth
        self._documents: list[tuple[str, str, SimpleCommand]] = []
        """Here-documents that begin behind this line: the operator, the word that ends one, and whose it is."""

    def read(self, *, is_inner: bool = False) -> None:
        """Read commands to the end, or up to and with a closing parenthesis."""
        command, operator = SimpleCommand([], self._folder), ""
        word: str | None = None
        while True:
            start = self._at
            character = self._text[start : start + 1]
            redirection = REDIRECTION.match(self._text, start)
            if word is not None and (redirection or not character or character in " \t\r\n;&|()"):
                if character == "(" and ASSIGNMENT.fullmatch(word):  # a list: only what is substituted in it runs
                    before = len(self.commands)
                    self._read_inner()
                    del self.commands[before:]
                    word += "()"
                    continue
                if operator:
                    self._redirect(command, operator, word)
                    operator = ""
                elif not (redirection and word.isdecimal()):  # the number of a handle
                    command.words.append(word)
                word = None
            if redirection:
                operator, self._at = redirection[0], redirection.end()
            elif not character or character in "\n;&|()":
                self._at += 1
                self._end(command)
                command = SimpleCommand([], self._folder)
                if not character or (character == ")" and is_inner):
                    return
                if character == "\n":
                    self._read_documents()
                elif character == "(":
                    self._at -= 1
                    self._read_inner()
            elif character == "#" and word is None:
                end = self._text.find("\n", start)
                self._at = len(self._text) if end < 0 else end
            elif character in " \t\r":
                self._at += 1
            elif self._text.startswith("\\\n", start):
                self._at += 2
            else:
                word = (word or "") + self._read_part()

    def _read_part(self) -> str:
        """Read a part of a word: plain, quoted or substituted."""
        part = PLAIN.match(self._text, self._at) or QUOTED.match(self._text, self._at)
        if part:
            self._at = part.end()
            return part["single"] or part["escaped"] or "" if part.re is QUOTED else part[0]
        character = self._text[self._at]
        self._at += 1
        if character == '"':
            return self._read_quoted('"')
        if character in "$`":
            return self._read_substitution(character)
        if character in "<>":
            self._read_inner()
        return character

    def _read_quoted(self, closing: str) -> str:
        """Read up to a closing mark, with what is substituted within."""
        parts = []
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == closing:
                break
            if character == "\\":
                escaped = self._text[self._at : self._at + 1]
                self._at += 1
                parts.append("" if escaped == "\n" else escaped if escaped in '"\\`$' else f"\\{escaped}")
            elif character in "$`":
                parts.append(self._read_substitution(character))
            elif closing == "}" and character in "'\"":
                self._at -= 1
                parts.append(self._read_part())
            else:
                parts.append(character)
        return "".join(parts)

    def _read_substitution(self, character: str) -> str:
        """Read what stands behind a dollar or a back quote; a command in it is one of the commands."""
        behind = self._text[self._at : self._at + 2]
        if character == "`" or behind[:1] == "'":
            quoted = (BACK_QUOTED if character == "`" else ESCAPED).match(self._text, self._at)
            self._at = quoted.end() if quoted else len(self._text)
            text = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else ""
            if character == "$":
                return text
            if self._depth < MOST_DEPTH:
                reader = CommandReader(text, self._folder, self._depth + 1)
                reader.read()
                self.commands += reader.commands
        elif behind == "((" and (end := self._text.find("))", self._at)) >= 0:
            self._at = end + 2
        elif behind[:1] == "(":
            self._read_inner()
        elif behind[:1] == "{":
            self._at += 1
            self._read_quoted("}")
        elif behind[:1] == '"':
            return ""
        return character

    def _read_inner(self) -> None:
        """Read the commands of a subshell, from its parenthesis on."""
        folder, self._depth, self._at = self._folder, self._depth + 1, self._at + 1
        if self._depth <= MOST_DEPTH:
            self.read(is_inner=True)
        self._folder, self._depth = folder, self._depth - 1

    def _redirect(self, command: SimpleCommand, operator: str, word: str) -> None:
        if operator == "<<<":
            command.input += word
        elif operator.startswith("<<"):
            self._documents.append((operator, word, command))
        elif ">" in operator and not (operator == ">&" and word.isdecimal()) and word not in ("-", "/dev/null"):
            command.writes.append(word)

    def _read_documents(self) -> None:
        documents, self._documents = self._documents, []
        for operator, ending, command in documents:
            tabs = r"\t*" if operator == "<<-" else ""
            end = re.compile(rf"^{tabs}{re.escape(ending)}$\n?", re.MULTILINE).search(self._text, self._at)
            command.input += self._text[self._at : end.start() if end else None]
            self._at = end.end() if end else len(self._text)

    def _end(self, command: SimpleCommand) -> None:
        if command.words or command.writes:
            self.commands.append(command)
        if command.words[:1] in (["cd"], ["pushd"]) and len(command.words) > 1:
            self._folder = os.path.join(self._folder, os.path.expanduser(command.words[-1]))


def split_commands(text: str, folder: str, depth: int = 0) -> Iterator[SimpleCommand]:
    """Yield the simple commands of a command line, with those that other commands run.

    :param folder: where it runs
    """
    reader = CommandReader(text, folder, depth)
    reader.read()
    for command in reader.commands:
        yield from unwrap_command(command, depth)


def unwrap_command(command: SimpleCommand, depth: int) -> Iterator[SimpleCommand]:
    """Yield a command without what stands before its name, and the commands that it runs."""
    words, forms = command.words, load_forms()
    while words and (words[0] in RESERVED or ASSIGNMENT.match(words[0])):
        words = words[1:]
    command.words = words
    yield command
    if not words or depth > MOST_DEPTH:
        return
    program = os.path.basename(words[0])
    inner: list[str] = []
    text = ""
    if program in forms["shells"].split():
        operands, options = split_wrapper(words[1:], "-o -O +O --rcfile --init-file", 0)
        if any(option[:2] != "--" and "c" in option for option in options):
            text = operands[0] if operands else ""
        else:
            inner, text = operands, "" if operands else command.input
    elif program in ("su", "script") and "-c" in words:
        text = " ".join(words[words.index("-c") + 1 :][:1])
    elif program == "eval":
        text = " ".join(words[1:])
    elif program in ("source", "."):
        inner = words[1:]
    elif program == "find":
        starts = [at for at, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")]
        for start in starts:
            yield from unwrap_command(SimpleCommand(words[start + 1 :], command.folder), depth + 1)
    else:
        two = f"{program} {words[1]}" if len(words) > 1 else ""
        name = two if two in forms["wrappers"] else program
        values, skipped, is_text = forms["wrappers"].get(name, ("", len(words), False))
        inner, options = split_wrapper(words[1 + (name == two) :], values, skipped)
        if name == "command" and {"-v", "-V"} & {*options}:
            return  # it only says where one is
        if is_text or inner[:1] == ["-c"] or "-S" in options:
            text, inner = " ".join(inner[inner[:1] == ["-c"] :]), []
    if inner:
        yield from unwrap_command(SimpleCommand(inner, command.folder), depth + 1)
    if text:
        yield from split_commands(text, command.folder, depth + 1)


def split_wrapper(words: list[str], values: str, skipped: int) -> tuple[list[str], list[str]]:
    """Return what stands behind the options, the assignments and the first operands of a command, and the options.

    :param values: options that take a value
    :param skipped: how many operands are left out
    """
    at, options = 0, []
    while at < len(words) and (words[at][:1] in ("-", "+") or ASSIGNMENT.match(words[at])) and "--" not in options:
        options.append(words[at])
        at += 2 if words[at] in values.split() else 1
    return words[at + skipped :], options
