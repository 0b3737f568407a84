"""The errors of the store, one class hierarchy: each leaf has a code, a sentence a person can act on, and the offending value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hermes_memory_themes.theme_errors import ThemeError

MAX_SHOWN_VALUE = 120
"""Characters of an offending value that an error repeats: enough to recognise it, never a wall of text."""


class StoreError(Exception):
    """Base class of all errors of the store. Catch it and show `str(error)`, which is written for a person."""

    code = "store.error"

    def __init_subclass__(cls, code: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.code = code or cls.code

    def __init__(self, message: str, value: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.value = shorten_value(value)

    def as_dict(self) -> dict[str, Any]:
        """Return the error as the command line's `--json` prints it."""
        return {"code": self.code, "message": self.message, "value": self.value}


class InputError(StoreError):
    """The input cannot be understood; nothing was changed."""

    code = "input.invalid"


class NotationError(InputError, code="notation.invalid"): ...


class ContentTooLong(InputError, code="content.too_long"): ...


class UnsafeText(InputError, code="text.unsafe"): ...


class QueryError(InputError, code="query.invalid"): ...


class ArgumentError(InputError, code="argument.invalid"): ...


class ThemeInvalid(InputError, ThemeError):
    """A name that cannot be a theme: no agent can have it, so nothing may be stored under it."""

    code = "theme.invalid"


class ImportFileError(InputError, code="import.invalid"): ...


class CaseFileError(InputError):
    """A file of tests of a memory has mistakes; none of its tests was run."""

    code = "tests.invalid"

    def __init__(self, path: Path, mistakes: Sequence[tuple[int, str]]) -> None:
        self.mistakes = tuple(mistakes)
        """Each as its line and what is wrong."""
        super().__init__("\n".join(f"{path}:{line}: {mistake}" for line, mistake in mistakes), path)


class PolicyInvalid(InputError, code="policy.invalid"): ...


class SecretRefused(InputError):
    """The theme's policy stores no secrets, or the secret stands in a name."""

    code = "secret.refused"


class NameRefused(InputError):
    """A name reads like an instruction: it is listed beside facts, and cannot be quarantined as facts are."""

    code = "name.refused"


class SourceRefused(InputError):
    """A person has ruled that nothing suspicious is stored from this source."""

    code = "source.refused"


class SecretUnconfirmed(InputError):
    """A person writes a secret, and was not asked yet whether to mask it. Nothing was stored."""

    code = "secret.unconfirmed"


class NotFound(StoreError):
    """A name that matches nothing; `near` holds the closest names that exist."""

    code = "not_found"
    noun = "name"

    def __init_subclass__(cls, noun: str = "", **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.noun = noun or cls.noun

    def __init__(self, value: str, known: Iterable[str] = (), hint: str = "") -> None:
        names = list(known)
        self.near = closest_names(value, names)
        message = f"no {self.noun} named {shorten_value(value)!r}"
        if self.near:
            message += "; did you mean " + " or ".join(repr(name) for name in self.near) + "?"
        elif names:
            message += "; known: " + ", ".join(sorted(names)[:8])
        if hint:
            message += f"; {hint}"
        super().__init__(message, value)


class UnknownTheme(NotFound, code="theme.unknown", noun="theme"): ...


class UnknownScope(NotFound, code="scope.unknown", noun="scope"): ...


class UnknownFact(NotFound, code="fact.unknown", noun="fact"): ...


class UnknownSession(NotFound, code="session.unknown", noun="session"): ...


class UnknownTurn(NotFound, code="turn.unknown", noun="captured message"): ...


class UnknownToken(NotFound, code="token.unknown", noun="token"): ...


class UnknownChange(NotFound, code="change.unknown", noun="change"): ...


class Conflict(StoreError):
    """It is understood, but the memory has changed meanwhile."""

    code = "conflict"


class AmbiguousUid(Conflict, code="fact.ambiguous"): ...


class AmbiguousSession(Conflict):
    """A text that names several sessions; the message shows them."""

    code = "session.ambiguous"


class NothingToUndo(Conflict, code="undo.nothing"): ...


class UndoConflict(Conflict, code="undo.conflict"): ...


class BackfillUnconfirmed(UndoConflict, code="undo.backfill"): ...


class ScopeExists(Conflict, code="scope.exists"): ...


class FactConflict(Conflict, code="fact.conflict"): ...


class MemoryFull(StoreError, code="memory.full"): ...


class FileError(StoreError):
    """It is about the store's file, not its content."""

    code = "store.file"


class StoreUnreadable(FileError, code="store.unreadable"): ...


class StoreMissing(StoreUnreadable):
    """There is no store at a path, and it was not to be created."""


class StoreUnfinished(StoreUnreadable):
    """The creation of a store was interrupted; the next process that opens it for writing finishes it."""


class StoreReplaced(StoreUnreadable):
    """The file was deleted or replaced while it was open; it can still be read. `rescued` says where its content was saved."""

    def __init__(self, path: Path, rescued: str | None) -> None:
        self.rescued = rescued
        saved = f"; {rescued}" if rescued else ""
        fate = (
            f" was deleted while in use, and nothing was changed{saved}: put that or a backup back, and open it again"
        )
        if path.exists():
            fate = f" was replaced while in use; nothing was changed{saved}. Open it again to use the file that is there now"
        super().__init__(f"the memory at {path}{fate}", path)


class StoreTooNew(FileError, code="store.too_new"): ...


class StoreNeedsUpgrade(FileError, code="store.needs_upgrade"): ...


class StoreOlder(StoreNeedsUpgrade):
    """A store written by an older version of this program, opened for reading only."""


class IndexDamaged(FileError):
    """A write met a damaged index. Nothing was changed; the index is disabled, so that a retry succeeds."""

    code = "store.index_damaged"


class StoreLocked(FileError, code="store.locked"): ...


class StoreReadOnly(FileError, code="store.read_only"): ...


class DiskFull(FileError, code="store.disk_full"): ...


class NetworkFileSystem(FileError, code="store.network_fs"): ...


class JournalBroken(FileError, code="journal.broken"): ...


def closest_names(value: str, candidates: Iterable[str]) -> list[str]:
    """Return up to three known names closest to `value`, best first."""
    import difflib  # here, not above: few names are wrong

    return difflib.get_close_matches(value[:200], list(candidates), n=3, cutoff=0.5)


def shorten_value(value: Any) -> Any:
    """Return the value as an error may repeat it: printable, at most `MAX_SHOWN_VALUE` characters."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[: MAX_SHOWN_VALUE + 1])
    return text if len(text) <= MAX_SHOWN_VALUE else text[: MAX_SHOWN_VALUE - 1] + "…"
