"""What a bridge answers to a host's handshake and lists, as far as it is known before one runs. No facts stand here.

What a bridge said last time lies in a file beside its sockets; what every bridge of this version says to a host without a token
is shipped with the program. Both have a line for each answer: version of the program, revisions of the protocol, selection of
tools, digest of the token, method, and the result as JSON.
Standard library only, and little of that: the shim imports it.
"""

from __future__ import annotations

import os

from hermes_memory_bridge.version import __version__

SHIPPED_FILE = os.path.join(os.path.dirname(__file__), "handshakes.txt")
"""Written by `python -m tests.tools.handshakes`."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that begin with `initialize`, which is answered with the revision that it asks for."""

MODERN_VERSION = "2026-07-28"
"""The revision without a handshake: each request says who asks."""

LISTS = ("tools/list", "prompts/list", "resources/templates/list", "resources/list")

MOST_LINES = 200
"""Lines of the file: those of the handshakes that changed last."""

MOST_BYTES = 4 * 1024 * 1024

OTHERS_WRITE = 0o022


HandshakeKey = tuple[str, str, str]
"""Revision of the protocol, selection of tools, digest of the token."""


def to_handshake_key(version: str, tools: str, token: str) -> HandshakeKey:
    """Return what a host's answers depend on.

    :param version: the revision of the protocol
    :param tools: the selection of tools
    :param token: the token it presents, if any: only a digest of it is kept
    """
    if token:
        import hashlib  # here, not above: few shims have a token

        token = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()[:32]
    return version, quote_word(tools or "core"), token or "-"


def load_known_answers(path: str, key: HandshakeKey) -> dict[str, str]:
    """Return the results, as JSON, by their methods: of the file at `path`, else of what is shipped; empty if unknown."""
    return load_answers(path, key, private=True) or load_answers(SHIPPED_FILE, key, private=False)


def load_answers(path: str, key: HandshakeKey, *, private: bool) -> dict[str, str]:
    """Return a file's answers for one key; empty when it has none, or cannot be trusted.

    :param private: whether it must be this user's alone
    """
    version, tools, token = key
    found: dict[str, str] = {}
    for line in read_lines(path, private=private):
        words = line.split(" ", 5)
        if len(words) < 6 or words[0] != __version__ or words[2] != tools or words[3] != token:
            continue
        if version in words[1].split(",") and words[5].startswith("{") and words[5].endswith("}"):
            found[words[4]] = words[5]
    return found if all(method in found for method in LISTS) and len(found) == len(LISTS) + 1 else {}


def format_line(versions: str, tools: str, token: str, method: str, result: str) -> str:
    """Return the line of one answer. :param versions: revisions of the protocol, separated by commas"""
    return f"{__version__} {versions} {tools} {token} {method} {result}"


def save_answers(path: str, key: HandshakeKey, answers: dict[str, str]) -> None:
    """Keep the answers for a key, before those of other keys.

    :raises OSError: the folder or the file cannot be written
    """
    head = format_line(*key, "", "").rstrip() + " "
    others = [line for line in read_lines(path, private=True) if line and not line.startswith(head)]
    lines = [format_line(*key, method, result) for method, result in answers.items()] + others
    text = "\n".join(lines[:MOST_LINES]) + "\n"
    draft = f"{path}.{os.getpid()}.tmp"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def read_lines(path: str, *, private: bool) -> list[str]:
    """Return the lines of a file; none when it is missing, damaged, or could have been written by others."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        found = os.fstat(handle)
        foreign = found.st_uid != os.getuid() or bool(found.st_mode & OTHERS_WRITE)
        if found.st_mode & 0o170000 != 0o100000 or found.st_size > MOST_BYTES or (private and foreign):
            return []
        said = b""
        while part := os.read(handle, MOST_BYTES):
            said += part
        return said.decode("utf-8").split("\n")
    except (OSError, ValueError):
        return []
    finally:
        os.close(handle)


def quote_word(text: str) -> str:
    """Return a text as one word of printable ASCII."""
    return "".join(sign if "!" <= sign <= "~" and sign != "%" else f"%{ord(sign):x}" for sign in text[:200])
