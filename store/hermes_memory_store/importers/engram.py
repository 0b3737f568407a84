"""What `engram export` writes: sessions, observations and prompts.

Its form is `ExportData` of https://github.com/Gentleman-Programming/engram, `internal/store/store.go`: `version`, `exported_at`,
`sessions` (`id`, `project`, `started_at`, `summary`), `observations` (`sync_id`, `session_id`, `type`, `title`, `content`,
`project`, `scope`, `topic_key`, `created_at`, `updated_at`, `deleted_at`, and `pinned` in later versions) and `prompts`. Times
are SQLite's, in UTC.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.importers import json_places
from hermes_memory_store.importers.taking import Place, Taken, mark, moment, named, type_of, words
from hermes_memory_store.model import FactType

TAKEN = ("sessions", "observations", "prompts")


def read(path: Path, taken: Taken) -> None:
    """Take all observations, prompts and summaries. :raises ImportFileError: it is another JSON"""
    document = json_places.records(path, taken)
    if not {"observations", "prompts"} & set(document.words):
        raise errors.ImportFileError(f"{path} is no export of engram: it has neither observations nor prompts", path)
    for name, take in zip(TAKEN, (take_session, take_observation, take_prompt), strict=True):
        for line, record in document.lists.get(name, ()):
            if isinstance(record, dict):
                take(taken, Place(line), record)
            else:
                taken.refuse(Place(line), f"a record of {name} is not an object", record)
    for name, left in document.lists.items():
        if name not in TAKEN and left:
            taken.notes.append(f"{len(left):,} of {errors.shorten(name)} are left out: no fact says the same")


def take_session(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """A session: its summary, where it has one."""
    summary = words(record, "summary")
    if not summary:
        return
    name = words(record, "id")
    taken.fact(
        place,
        "summary of a session",
        FactType.VALUE,
        named("session", mark(name)),
        summary,
        names=(name,),
        scope=words(record, "project") or None,
        created_at=moment(record.get("started_at")),
        updated_at=moment(record.get("ended_at")),
    )


def take_observation(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """An observation: a fact of its topic where it has a key (a later one of the same topic replaces it there, too), else by its
    title and engram's own id of it."""
    title, content = words(record, "title"), words(record, "content")
    if record.get("deleted_at"):
        taken.skip(place, "it was deleted there")
        return
    if not title and not content:
        taken.refuse(place, "an observation needs a title or a content", record.get("id"))
        return
    kind = words(record, "type")
    own = words(record, "sync_id", "id")
    personal = words(record, "scope") == "personal"
    said = content if not title or content.lstrip().startswith(title) else f"{title}: {content}".rstrip(": ")
    taken.fact(
        place,
        f"observation [{kind or 'none'}]",
        type_of(kind),
        words(record, "topic_key") or named(title or kind or "observation", mark(own or said)),
        said,
        names=(own,),
        scope=None if personal else words(record, "project") or None,
        created_at=moment(record.get("created_at")),
        updated_at=moment(record.get("updated_at")),
        pinned=record.get("pinned") is True,
    )


def take_prompt(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """A prompt: what the user said in a session."""
    taken.turn(
        place,
        "prompt",
        "user",
        words(record, "content"),
        session=words(record, "session_id") or None,
        at=moment(record.get("created_at")),
        names=(words(record, "sync_id", "id"),),
    )
