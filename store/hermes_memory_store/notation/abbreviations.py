"""The MEMORY_SPEC abbreviation table, in both directions."""

from __future__ import annotations

import re

TABLE = {
    "cfg": "configuration", "impl": "implementation", "msg": "message", "req": "requirement", "usr": "user",
    "resp": "response", "prod": "production", "feat": "feature", "dev": "development", "deps": "dependencies",
    "auth": "authentication", "err": "error", "db": "database", "btn": "button", "env": "environment",
    "doc": "documentation", "perf": "performance", "init": "initialization", "mgmt": "management",
    "refct": "refactor", "mvmt": "movement", "notif": "notification", "perms": "permissions", "val": "validation",
    "async": "asynchronous", "sync": "synchronization", "mndtry": "mandatory", "nvr": "never", "alw": "always",
    "tmp": "temporary", "idx": "index", "tbl": "table", "svc": "service", "pkg": "package", "repo": "repository",
    "api": "api", "clt": "client", "srv": "server",
}  # fmt: skip
"""Short form to long form, in the order hermes-memory 0.3.0 lists them."""

EXTRA_FORMS = {
    "config": "cfg", "authorization": "auth", "request": "req", "required": "req", "docs": "doc", "initialize": "init",
    "permission": "perms", "dependency": "deps", "implement": "impl", "refactoring": "refct", "synchronous": "sync",
}  # fmt: skip
"""Further long forms of a short one."""

_SHORT = {long: short for short, long in TABLE.items()} | EXTRA_FORMS
_GROUPS: dict[str, frozenset[str]] = {
    short: frozenset({short, long} | {also for also, of in EXTRA_FORMS.items() if of == short})
    for short, long in TABLE.items()
}
_WORD = re.compile(r"[^\W_]+")


def abbreviation_variants(word: str) -> frozenset[str]:
    """Return every way to write a word, itself included: `auth` gives `authentication`, and the other way round."""
    folded = word.casefold()
    return _GROUPS.get(_SHORT.get(folded, folded), frozenset({folded})) | {folded}


def fold_abbreviations(text: str) -> str:
    """Fold text for comparison: case, abbreviations, spacing and final punctuation do not count."""
    return " ".join(_WORD.sub(lambda match: _SHORT.get(match[0], match[0]), text.casefold()).split()).rstrip(".!; ")
