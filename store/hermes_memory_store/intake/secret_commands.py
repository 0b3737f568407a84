"""Secrets in command lines, in the parameters of addresses, in cookies and in lines of `.pgpass`."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_memory_store.intake.secret_values import (
    UUID,
    is_password,
    is_random_value,
    is_stated_secret,
)
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.safe_text import lazy_pattern

CURL = lazy_pattern(r"(?<!\S)(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[\w.@+-]+:(?P<secret>[^\s\"']+)")
COMMAND = lazy_pattern(
    r"\b(?:docker login|podman login|helm registry login|sshpass|redis-cli|mysql\w*|mariadb\w*|mongo\w*|ldapsearch|ldapadd|smbclient)\b"
    r"[^|;&\n]{0,120}?\s-[paw][ =]?(?:'(?P<single>[^'\n]+)'|(?P<bare>[^\s'\"-][^\s'\"]*))"
)
"""Programs that take a password after `-p`, `-a` or `-w`."""


PROGRAM = lazy_pattern(
    r"(?i)\bnet use\b[^\n]{0,120}?/user:\S+\s+(?P<before>[^\s/]\S*)|\bnet use\b\s+(?:\w:\s+)?\\\\\S+\s+(?P<after>[^\s/]\S*)\s+/user:"
    r"|\b(?:smbclient|mount\.cifs|rpcclient)\b[^\n]{0,80}?\s-U\s?[\w.\\@-]+%(?P<percent>\S+)"
    r"|\bopenssl\b[^\n]{0,120}?\s-(?:k|passin pass:|passout pass:|pass pass:)\s?(?P<openssl>[^\s-]\S*)"
    r"|\b(?:mysql\w*|mariadb\w*)\b[^\n]{0,80}?\s-p(?P<mysql>[^\s-]\S*)|\b(?:7z|zip|unzip|unrar)\b[^\n]{0,80}?\s-[pP]\s?(?P<zip>[^\s-]\S*)"
)
"""Programs that take a password in a way of their own: `net use`, `smbclient`, `openssl`, `mysql -pX`, `zip -P`."""

PGPASS = lazy_pattern(r"(?<!\S)[\w.*-]+:(?:\d{2,5}|\*):[\w.*-]+:[\w.*-]+:(?P<secret>[^\s:]\S*)")
"""A line of `.pgpass`: host, port, database, user, password."""

PGPASS_COLONS = 4

COOKIE = lazy_pattern(r"(?i)\b(?:set-)?cookies?:?(?P<pairs>\s+[\w.-]+=[^\n]+)")
PAIR = lazy_pattern(r"[;\s]\s*[\w.-]+=\"?(?P<secret>[^;\s\"]+)")

QUERY = lazy_pattern(
    r"(?i)[?&](?:app_?id|api_?key|key|code|access_?token|auth|auth_token|token|sig|signature|secret|client_secret|pwd|pass|password|hash|hmac|st|t)"
    r"=(?P<secret>[^&\s\"'<>#)]{12,})"
)
"""A parameter of an address that carries a key."""


def find_command_secrets(text: str) -> Iterator[TextSpan]:
    """Find passwords given to programs."""
    if " -" in text:
        for match in CURL.finditer(text):
            if is_stated_secret(match["secret"]):
                yield TextSpan(*match.span("secret"))
        for match in COMMAND.finditer(text):
            group = "single" if match["single"] is not None else "bare"
            if is_password(match[group]):
                yield TextSpan(*match.span(group))
    if " -" in text or "/user:" in text:
        for match in PROGRAM.finditer(text):
            if is_password(match[match.lastgroup or 0]):
                yield TextSpan(*match.span(match.lastgroup or 0))
    if text.count(":") >= PGPASS_COLONS:
        for match in PGPASS.finditer(text):
            if is_password(match["secret"]):
                yield TextSpan(*match.span("secret"))


def find_parameter_secrets(text: str) -> Iterator[TextSpan]:
    """Find keys in the parameters of addresses and in cookies."""
    for match in QUERY.finditer(text) if "?" in text else ():
        if is_random_value(match["secret"]) or UUID.fullmatch(match["secret"]):
            yield TextSpan(*match.span("secret"))
    for cookie in COOKIE.finditer(text) if "ookie" in text else ():
        for pair in PAIR.finditer(text, *cookie.span("pairs")):
            if is_random_value(pair["secret"]) or UUID.fullmatch(pair["secret"]):
                yield TextSpan(*pair.span("secret"))
