"""The forms in which hosts keep sessions. Each tells the sessions that a file holds, and what was said in one of them.

A host's `sessions` name theirs as `form`; without one, a file is a session in lines. A `database` has two queries: `list` gives
the name, folder, branch, version and time of each session, `read` the role, text, time and message of each text of one. `tasks`
are the documents of Cline, whose `kinds` are roles. Read in what released hosts wrote: opencode 1.18.33, hermes-agent 0.19.0 and
Cline 3.0.65.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from hermes_memory_bridge.hook_service.transcripts.transcript_file import (
    MOST_LINE_BYTES,
    TranscriptMessage,
    find_member,
    is_unknown_form,
    join_messages,
    join_parts,
    load_document,
    parse_document,
    to_message,
)
from hermes_memory_store.database.store_reading import file_size, query_database
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.system.file_handles import open_regular

if TYPE_CHECKING:
    from hermes_memory_bridge.backfill.tool_calls import SessionCalls

HEAD_BYTES = 1 << 18
"""Of a file in which its head is looked for: what hosts add before the first message is long."""

JSON_MARK = "\0json:"
"""How hermes-agent begins a message of several parts."""


def find_session_heads(path: str, member: dict[str, Any]) -> list[dict[str, Any]]:
    """Find what a file says of each of its sessions. :raises OSError: it cannot be read, or is a link, or another user's"""
    return list(FORMS[member.get("form", "lines")][0](path, member))


def read_session(host: str, path: str, name: str, calls: SessionCalls | None = None) -> Iterator[TranscriptMessage]:
    """Read what was said in a session, in order. :raises OSError: as `find_session_heads`

    :param calls: gathers what was done in it; complete once everything was read
    """
    return FORMS[load_host(host)["sessions"].get("form", "lines")][1](host, path, name, calls)


def open_session_file(path: str) -> BinaryIO:
    file = os.fdopen(open_regular(path, follow_links=False), "rb")
    if os.fstat(file.fileno()).st_uid != os.getuid():
        file.close()
        raise PermissionError(0, "another user's file")
    return decompress(file) if path.endswith(".zst") else file


def decompress(file: BinaryIO) -> BinaryIO:
    with file:
        for name in ("compression.zstd", "backports.zstd"):
            try:
                zstd = import_module(name)
                return io.BytesIO(zstd.decompress(file.read()))
            except ImportError:
                continue
            except (zstd.ZstdError, EOFError) as error:
                raise OSError(0, f"it cannot be decompressed: {error}") from error
    raise OSError(0, "it is compressed: Python 3.14 reads it, or the package backports.zstd installed beside this one")


def find_lines_head(path: str, member: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the first lines say; nothing for the session of a subagent."""
    head: dict[str, Any] = {}
    keys: dict[str, str] = member["head"]
    with open_session_file(path) as file:
        rest = HEAD_BYTES
        while head.keys() != keys.keys() and (line := file.readline(rest)):
            rest -= len(line)
            document = load_document(line)
            for key, value in member.get("apart", {}).items():
                found = find_member(document, key)
                if found is not None and value in ("*", found):
                    return
            for name, key in keys.items():
                values = [find_member(document, one) for one in key.split(" or ")]
                value = next((value for value in values if isinstance(value, str) and value), None)
                if name not in head and value is not None:
                    head[name] = value
    yield head


def read_lines(host: str, path: str, _name: str, calls: SessionCalls | None) -> Iterator[TranscriptMessage]:
    """Yield the messages of a file's lines. Of a line that writes the whole history again, only what no line before it said."""
    from hermes_memory_bridge.hook_service.turn_capture import (
        to_spoken_text,  # who looks for heads alone needs no tools
    )

    messages, unknown = list[TranscriptMessage](), 0
    form = load_host(host)["transcript"]
    history_key = form.get("history", "") if isinstance(form, dict) else ""
    said: Counter[tuple[str, str]] = Counter()
    named: set[tuple[str, str, str]] = set()
    with open_session_file(path) as file:
        for number, line in enumerate(iter(partial(file.readline, MOST_LINE_BYTES), b""), 1):
            document = load_document(line)
            unknown = unknown or number * is_unknown_form(host, document)
            history = find_member(document, history_key)
            again: Counter[tuple[str, str]] = Counter()
            for entry in history if isinstance(history, list) else [document]:
                if calls is not None:
                    calls.read(entry)
                message = parse_document(host, entry)
                if message is None:
                    continue
                if history_key:
                    words = (message.role, to_spoken_text(message.text))
                    again[words] += 1
                    if again[words] <= said[words] if isinstance(history, list) else (message.name, *words) in named:
                        continue
                    said[words] += 1
                    named.add((message.name, *words))
                messages.append(message)
    yield from join_messages(messages)
    if unknown:
        raise OSError(0, f"line {unknown} says who spoke in a form that is not known; such lines are left out")


def find_rows(path: str, member: dict[str, Any]) -> Iterator[dict[str, Any]]:
    open_session_file(path).close()
    for row in query_database(path, member["list"]):
        head = dict(zip(("name", "folder", "branch", "version", "changed_at"), row, strict=True))
        yield {key: value for key, value in head.items() if isinstance(value, int if key == "changed_at" else str)}


def read_rows(host: str, path: str, name: str, calls: SessionCalls | None) -> Iterator[TranscriptMessage]:
    open_session_file(path).close()
    messages = []
    for role, content, at, message_name in query_database(path, load_host(host)["sessions"]["read"], name):
        if content.startswith(JSON_MARK):
            content = join_parts(
                find_member(load_document(f'{{"parts":{content[len(JSON_MARK) :]}}}'.encode()), "parts")
            )
        message = to_message(role, content, {"timestamp": at}, message_name)
        messages += [message] if message is not None else []
    if calls is not None and calls.query:
        for (document,) in query_database(path, calls.query, name):
            calls.read(load_document(document.encode()))
    yield from join_messages(messages)


UNSAID = re.compile(
    r"<(environment_details|file_content|folder_content|url_content|workspace_diagnostics|terminal_output|"
    r"explicit_instructions|mode_notice|user_command|thinking)\b.*?</\1>",
    re.DOTALL,
)
"""What Cline adds to a message."""

SAID = re.compile(
    r"\s*(?:The user [^\n]*\n)?\s*<(user_input|task|feedback|user_message|answer)\b[^>]*>(.*)</\1>", re.DOTALL
)
"""Between what Cline puts a message of the person."""

CALL = re.compile(r"^<\w+>\s*<\w+>.*", re.DOTALL | re.MULTILINE)
"""A tool that the model calls in its text, and what comes behind it."""


def find_task(path: str, _member: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the head of a task of Cline, or of a session of its command line; nothing for another agent's."""
    file = Path(path)
    folder = file.parent
    if file.name == f"{folder.name}.messages.json":
        head = load_json(str(folder / f"{folder.name}.json"))
        made = find_member(head, "metadata.sessionHistoryOrigin")
        if find_member(made, "mode") in (None, "user"):
            yield {"name": folder.name, "folder": find_member(head, "cwd"), "version": find_member(made, "version")}
    elif file.name == "ui_messages.json" or not (file_size(f"{folder}/ui_messages.json") or ".messages." in file.name):
        listed = folder.parent.parent / "state" / "taskHistory.json"
        tasks = load_json(str(listed)) if listed.exists() else None
        named = [one for one in (tasks if isinstance(tasks, list) else []) if find_member(one, "id") == folder.name]
        task: dict[str, Any] = named[0] if named else {}
        place = task.get("cwdOnTaskInitialization") or task.get("shadowGitConfigWorkTree")
        yield {"name": folder.name, "folder": place}


def load_json(path: str) -> Any:
    with open_session_file(path) as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError):
            raise OSError(0, f"{Path(path).name} is no whole document") from None


def read_task(host: str, path: str, _name: str, _calls: SessionCalls | None) -> Iterator[TranscriptMessage]:
    document = load_json(path)
    kinds: dict[str, str] = load_host(host)["sessions"]["kinds"]
    entries = find_member(document, "messages") if isinstance(document, dict) else document
    for number, entry in enumerate(entries if isinstance(entries, list) else []):
        if not isinstance(entry, dict) or entry.get("partial"):
            continue
        role, texts = str(entry.get("role", "")), [""]
        if "type" in entry:  # what the person was shown; older versions begin with a task that is no `task`
            kind = str(entry.get(str(entry["type"])))
            role = "user" if number == 0 and kind == "text" else kinds.get(kind, "")
            texts = [to_shown_text(entry.get("text"))]
        elif role in ("user", "assistant"):
            content = entry.get("content")
            texts = [join_parts([part]) for part in (content if isinstance(content, list) else [content])]
            texts = [UNSAID.sub("", text) for text in texts]
            if role == "user":
                matches = [SAID.match(text) for text in texts]
                is_bare = isinstance(document, dict) and not any(matches)
                texts = texts if is_bare else [match[2] for match in matches if match is not None]
            elif isinstance(document, list):
                texts = [CALL.sub("", text) for text in texts]
        text = "\n".join(text for text in texts if text.strip()) if role else ""
        message = to_message(role, text, {"timestamp": entry.get("ts")}, str(entry.get("id") or ""))
        if message is not None:
            yield message


def to_shown_text(text: Any) -> str:
    """Return a text of Cline, of which some stand in a document beside the answers that are offered."""
    if not isinstance(text, str):
        return ""
    document = load_document(text.encode(errors="replace"))
    shown = [find_member(document, key) for key in ("question", "response")]
    return next((one for one in shown if isinstance(one, str)), text.removesuffix("HAS_CHANGES"))


FORMS: dict[str, tuple[Callable[..., Iterator[dict[str, Any]]], Callable[..., Iterator[TranscriptMessage]]]] = {
    "lines": (find_lines_head, read_lines),
    "database": (find_rows, read_rows),
    "tasks": (find_task, read_task),
}
