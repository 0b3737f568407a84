"""Secrets recognised only by their context: a name, an address, a header, a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from hermes_memory_store.intake.secret_names import (
    COMPOUND_CUE,
    COMPOUND_HINTS,
    CUE,
    SecretKind,
    find_secret_kind,
    has_hint,
)
from hermes_memory_store.intake.secret_values import (
    UUID,
    is_ordinary_value,
    is_passphrase,
    is_password,
    is_random_value,
    is_secret_reference,
    is_stated_secret,
    is_strong_password,
    is_strong_secret,
)
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.safe_text import lazy_pattern

QUOTED = (
    r"\\\"(?P<escaped>[^\"\\\n]{1,4000})\\\"|\"(?P<double>(?:[^\"\\\n]|\\.){1,4000})\"|'(?P<single>(?:[^'\\\n]|\\.){1,4000})'|`(?P<tick>[^`\n]{1,400})`"
    r"|«\s?(?P<french>[^»\n]{1,400}?)\s?»|[„“](?P<german>[^“”\n]{1,400})[“”]|‘(?P<curly>[^’\n]{1,400})’"
)

BARE = r"(?P<bare>(?:[^\s;&,\"'`]|[;&,](?!\s|$|[\"'`]|[A-Za-z][\w .-]{0,40}[=:])|(?<=\S)[\"'`](?=[^\s;&,:\]})]))+)"
"""A value without quotes: it ends where white space, or the next setting, begins."""

ASSIGNMENT = lazy_pattern(
    r"(?<![\w.-])(?P<name>[A-Za-zà-ÿÀ-Þ_][\w.-]{0,79})(?P<close>\\?[\"'`]?\]?)(?P<op>[^\S\n]*(?:=>|:=|==|=|:)[^\S\n]*)(?P<value>(?:"
    + QUOTED
    + r")"
    r"|" + BARE + ")"
)
"""A name and its value: `NAME=value`, `"name": "value"`, `name: value`."""

OPTION = lazy_pattern(r"(?<!\S)--?(?P<name>[A-Za-z][\w-]*)\s+(?P<value>" + QUOTED + r"|(?P<bare>[^\s-]\S*))")
"""`--token value`."""

SEMICOLONS = lazy_pattern(
    r"(?i)(?:^|(?<=[;\"'\s]))(?P<name>[A-Za-z][A-Za-z ]{1,30})=(?P<bare>[^;\"'\n]{1,400}|\"[^\"]*\"|'[^']*')(?=;)"
)
"""One setting of `Server=…;Password=two words;`."""

CONNECTION = lazy_pattern(
    r"(?i)(?<![\w.])(?:host|hostaddr|server|data source|dbname|database|initial catalog|uid|user(?: ?id)?|accountname|endpoint)\s*="
)
"""Where settings of a connection stand, whatever is given for a password is one."""

URL = lazy_pattern(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<user>[^\s/:@?#\"'<>]*):(?P<rest>\S+)")
AUTHORITY = lazy_pattern(
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w.%{}$<>*-]+)(?P<port>:\d+)?(?:,[\w.:-]+)*(?=[/?#\s\"'`<>)\]},;.]|\\|$)"
)
DRIVER = lazy_pattern(r"(?<![\w/:])[\w.-]{1,200}:(?P<secret>\S{1,400})@(?:tcp|unix|tcp6)\(")
SCHEME = lazy_pattern(r"[Bb]earer|BEARER|[Bb]asic|[Tt]oken|[Aa]pi[Kk]ey|[Dd]igest|[Nn]egotiate")
SLASH = lazy_pattern(r"jdbc:oracle:[\w:]*?:?[\w$#]+/(?P<secret>[^\s@/]+)@|(?<!\S)[\w.-]+/(?P<plus>[^\s@/]+)@//")
"""Oracle's `user/password@host`."""

ELEMENT = lazy_pattern(r"<(?P<name>[A-Za-z][\w:.-]*)>(?P<secret>[^<>\n]{1,400})</")
HEADER = lazy_pattern(r"(?i)\b(?P<scheme>bearer|basic|apikey|token|digest|negotiate)\s+(?P<secret>[\w~+/.=:-]{8,})")

OPERATOR = lazy_pattern(
    r"(?=[\s=:,→-])(?:\s*(?:=>|:=|->|→|=|:)\s*"
    r"|\s+[-–—]\s+"
    r"|,?\s+(?:is|are|was|were|be|reads|equals|remains|stays|becomes|est|vaut|sont|était|reste|devient|sera|serait|c['’]est|lautet|lauten|ist|sind|war|heißt"
    r"|heisst|bleibt|es|son|era|será|fue|sigue siendo|queda|é|zijn|still|hasn['’]t changed[,:]? still)\b"
    r"(?:\s+(?:now|still|currently|just|simply|always|temporarily|probably|maintenant|toujours|actuellement|désormais|simplement|jetzt|nun|noch"
    r"|derzeit|aktuell|einfach|immer noch|weiterhin|ahora|todavía|actualmente|siempre|simplemente))?\s*:?\s+"
    r"|\s+(?:(?:has been|was|were|got|is now)\s+)?(?:(?:changed|set|reset|rotated|updated)\s+)?to:?\s+(?=\S*\d)"
    r"|\s+(?:(?:a|ont) été )?(?:changée?|mise?|modifiée?|remplacée?)\s+(?:en|à|par):?\s+"
    r"|\s+(?:(?:wurde|ist|haben wir|habe ich|hat er|steht)\s+)?(?:nun |jetzt )?(?:auf|zu|in)\s+(?=\S+\s+(?:geändert|gesetzt|umgestellt|zurückgesetzt|abgeändert))"
    r"|\s+(?:(?:se|fue|ha sido|está)\s+)?(?:cambi(?:ó|ada?|ado)|puesta?|restablecida?)\s+(?:a|por|en):?\s+|\s+(?:a|por)\s+(?=\S*\d))",
    re.IGNORECASE,
)
LINK = lazy_pattern(
    r"(?i)\s*(?:\([^)]{0,40}\))?|\s+(?:for|of|to|on|at|in|used by|from|fürs?|beim|vom|von|zum|zur|der|des|am|im|pour|de|du|des|d['’]|à|au|para"
    r"|del|de la|da|do|van|voor)\b.{0,80}"
)
"""What stands between `password` and `is`, when it is said whose."""

WORDS = lazy_pattern(QUOTED + "|" + BARE)
SENTENCE_END = lazy_pattern(r"[.!?]\s+(?=[A-ZÄÖÜÉÀ¿¡\"])|\n")
SHORTEST_STRONG = 8
"""Characters, as in `is_random`."""

SENTENCE_REACH = 160
"""Characters after a word of prose in which its secret stands."""

MOST_OPERATORS = 8
"""Assignments after a word of prose that are looked at; a sentence has one or two."""

MANY_CUES = 300
"""Words of prose for secrets in one text from which on each reaches no further than `SHORT_REACH`: it is no prose."""

SHORT_REACH = 20
"""Characters within which `is` or `:` stands in most sentences."""

LONG_VALUE = lazy_pattern(r"\S{1000,}+")
"""A word in which no further assignments are looked for: each would be read to its end again."""

SECRET_BEFORE_CUE = lazy_pattern(r"(?P<bare>\S+)\s+(?:is|ist|est|es|=|was)\s+(?:[\w'’]+\s+){0,4}$")
PHRASE = lazy_pattern(r"[^.,;:!?()\"'\n]{1,400}")
ADJACENT = lazy_pattern(r"\s*[:(\"'`]?\s*(?P<bare>[A-Za-z0-9]\S{15,})")
USER_PASSWORD_PAIR = lazy_pattern(r"[A-Za-z][\w.@-]{0,30}[/:](?P<secret>[^\s/:]{8,})")
"""`user/password` or `user:password`."""

COPULA = lazy_pattern(r"\s(?:is|ist|est|es|=|was)\s")
QUOTES = ('"', "'", "`")
OPENING, CLOSING = "([{<\"'`«„“‘", ".,;:?)]}>\"'`»”’"


def find_named_secrets(text: str) -> Iterator[TextSpan]:
    """Find values whose names announce a secret: in assignments, fields, options and connection settings."""
    connection = CONNECTION.search(text) is not None
    for match in ASSIGNMENT.finditer(text):
        kind = find_secret_kind(match["name"])
        if kind is not None and (span := find_value_span(match)) is not None:
            tight = "=" in match["op"] and match["op"].strip() == match["op"]
            if is_secret_value(
                text[span.start : span.end], kind, tight=tight, connection=connection, name=match["name"]
            ):
                yield span
    for match in OPTION.finditer(text):
        kind = find_secret_kind(match["name"])
        if (
            kind is not None
            and (span := find_value_span(match)) is not None
            and is_secret_value(text[span.start : span.end], kind, tight=True)
        ):
            yield span
    for match in ELEMENT.finditer(text) if "</" in text else ():
        kind = find_secret_kind(match["name"])
        if kind is not None and is_secret_value(match["secret"], kind, tight=True):
            yield TextSpan(*match.span("secret"))
    if connection:
        for match in SEMICOLONS.finditer(text):
            if find_secret_kind(match["name"]) is SecretKind.PASSWORD and is_stated_secret(match["bare"].strip("\"'")):
                yield TextSpan(*match.span("bare"))


def find_value_span(match: re.Match[str]) -> TextSpan | None:
    """Return the span of the value, without its quotes and final punctuation."""
    for group in ("escaped", "double", "single", "tick", "french", "german", "curly"):
        if match[group] is not None:
            start, end = match.span(group)
            while match.string[start:end].endswith(("\\n", "\\")):
                end -= 2 if match.string[start:end].endswith("\\n") else 1
            return TextSpan(start, end) if end > start else None
    return trim_value_span(match.string, *match.span("bare"))


def trim_value_span(text: str, start: int, end: int) -> TextSpan | None:
    """Trim the quotes, brackets and final punctuation around a bare word."""
    if is_secret_reference(text[start:end].rstrip(".,;:!?")):
        return None
    while start < end and text[start] in OPENING:
        start += 1
    while start < end and text[end - 1] in CLOSING:
        if text[end - 1] in ")]}" and text.count({")": "(", "]": "[", "}": "{"}[text[end - 1]], start, end):
            break
        end -= 1
    return TextSpan(start, end) if end > start else None


def is_secret_value(
    value: str, kind: SecretKind, *, tight: bool = False, connection: bool = False, name: str = ""
) -> bool:
    """Check whether a value is the secret its name announces.

    :param tight: given as `NAME=value`, with no space between
    """
    if is_secret_reference(value) or is_ordinary_value(value) or URL.match(value):
        return False
    if kind is SecretKind.PASSWORD:
        if connection:
            return is_stated_secret(value)
        return is_password(value) or is_passphrase(value) or (tight and len(value) >= (4 if value.isdigit() else 6))
    if is_random_value(value):
        return True
    if UUID.fullmatch(value):
        return len(name) > len("token") or tight
    return tight and name.isupper() and len(value) >= 8 and is_password(value)


def find_address_passwords(text: str) -> Iterator[TextSpan]:
    """Find passwords in addresses."""
    if "://" in text and "@" in text:
        for match in URL.finditer(text):
            start = match.start("rest")
            end = find_password_end(match["rest"])
            if end is not None and not is_url_placeholder(match["rest"][:end]):
                yield TextSpan(start, start + end)
    if "@" in text:
        yield from (
            TextSpan(*match.span("secret"))
            for match in (DRIVER.finditer(text) if "@tcp" in text or "@unix" in text else ())
            if is_stated_secret(match["secret"])
        )
        for match in SLASH.finditer(text):
            if is_stated_secret(match[match.lastgroup or 0]):
                yield TextSpan(*match.span(match.lastgroup or 0))


def find_header_secrets(text: str) -> Iterator[TextSpan]:
    """Find tokens and passwords in headers: `Authorization: Bearer …`."""
    for match in HEADER.finditer(text) if SCHEME.search(text) else ():
        if is_random_value(match["secret"]) or (
            match["scheme"].lower() == "basic" and len(match["secret"]) % 4 == 0 and is_password(match["secret"])
        ):
            span = trim_value_span(text, *match.span("secret"))
            if span is not None:
                yield span


def find_password_end(rest: str) -> int | None:
    """Return the end of the password in what follows `scheme://user:`; None when there is none.

    The last `@` before the path ends it. A password that contains a `/` itself is recognised by the host after a later
    `@`.
    """
    ends = [at for at, sign in enumerate(rest) if sign == "@" and at and AUTHORITY.match(rest, at + 1)]
    if not ends:
        return None
    query = re.search(r"\?[\w.-]+=", rest)
    ends = [at for at in ends if query is None or at < query.start()] or ends
    path = re.search(r"[/?#]", rest)
    within = [at for at in ends if path is None or at < path.start()]
    if within and is_url_host(rest, within[-1]):
        return within[-1]
    plausible = [at for at in ends if is_url_host(rest, at)]
    return (plausible or within or ends)[-1]


def is_url_host(rest: str, at: int) -> bool:
    """Check whether what follows an `@` can hardly be anything but a host: dots, a port, or localhost."""
    match = AUTHORITY.match(rest, at + 1)
    return match is not None and (
        match["port"] is not None or "." in match["host"].strip(".") or match["host"] in ("localhost",)
    )


def is_url_placeholder(password: str) -> bool:
    """Check whether the password is only a placeholder, or one that everybody knows."""
    if password in ("guest", "anonymous"):
        return True
    return is_secret_reference(password) and password.lower() not in (
        "postgres",
        "root",
        "admin",
        "a",
        "x",
        "test",
        "user",
    )


def find_sentence_secrets(text: str) -> Iterator[TextSpan]:
    """Find secrets that a sentence states."""
    looked = dict.fromkeys(SecretKind, 0)
    long_until = 0
    cue_pattern = COMPOUND_CUE if has_hint(text.lower(), COMPOUND_HINTS) else CUE
    for number, cue in enumerate(cue_pattern.finditer(text)):
        kind = SecretKind[str(cue.lastgroup)]
        around = SENTENCE_REACH if number < MANY_CUES else SHORT_REACH
        reach = cue.end() + SENTENCE_REACH
        stop = SENTENCE_END.search(text, cue.end(), reach + 2)  # with the blank and the capital that follow it
        end = min(stop.start() + 1 if stop else len(text), reach)
        if kind is not SecretKind.LOGIN and cue.start() >= long_until:
            yield from find_after_cue(text, cue, kind, min(end, cue.end() + around))
            value = LONG_VALUE.match(text, cue.end())
            long_until = long_until if value is None else value.end()
        yield from find_near_cue(text, cue, kind, max(cue.end(), looked[kind]), end, around)
        looked[kind] = end


def find_after_cue(text: str, cue: re.Match[str], kind: SecretKind, end: int) -> Iterator[TextSpan]:
    """Return the value that `is`, `:` or `changed to` assigns to the word."""
    for operator in islice(OPERATOR.finditer(text, cue.end(), end), MOST_OPERATORS):
        word = WORDS.match(text, operator.end())
        if word is None or (span := find_value_span(word)) is None:
            continue
        value, direct = text[span.start : span.end], LINK.fullmatch(text, cue.end(), operator.start()) is not None
        if URL.match(value) or not (direct or operator[0][-1].isspace()):
            continue
        if direct and kind is SecretKind.PASSWORD:
            phrase = PHRASE.match(text, span.start)
            if is_phrase_cue(cue[0]) and phrase is not None and is_passphrase(phrase[0].strip()):
                yield TextSpan(phrase.start(), phrase.start() + len(phrase[0].rstrip()))
                return
            if is_password(value) or (word["bare"] is None and is_quoted_word(value, operator[0])):
                yield span
                return
        elif direct and len(cue[0]) > len("secrets") and UUID.fullmatch(value):
            yield span
            return
        if is_random_value(value):
            yield span
            return


def is_phrase_cue(word: str) -> bool:
    """Check whether the word may announce several words."""
    return word.lower().startswith(
        (
            "pass",
            "phrase",
            "unlock",
            "secret p",
            "seed",
            "recovery p",
            "backup p",
            "mnemonic",
            "frase",
            "mot",
            "kenn",
            "contra",
            "senha",
            "wacht",
        )
    )


def is_quoted_word(value: str, operator: str) -> bool:
    """Check whether a sentence gives a quoted word of letters as a password."""
    return not operator.strip(" \t").startswith(("=", ":")) and len(value) >= 6 and is_stated_secret(value)


def find_near_cue(
    text: str, cue: re.Match[str], kind: SecretKind, begin: int, end: int, before: int
) -> Iterator[TextSpan]:
    """Find words near the cue that can hardly be anything but a secret, and one before `is the password`.

    :param begin: where to begin; earlier text was searched for another cue
    :param before: characters before the cue in which a secret may be named first
    """
    if text[begin : begin + 1] in QUOTES and begin == cue.end():
        begin += 1  # it closes what the cue ends: `type="password" name="…"`
    for word in WORDS.finditer(text, begin, end):
        span = find_value_span(word) if word.end() - word.start() >= SHORTEST_STRONG else None
        if span is not None:
            quoted = kind is SecretKind.PASSWORD and word["bare"] is None
            if quoted and LINK.fullmatch(text, cue.end(), word.start()) and is_password(text[span.start : span.end]):
                yield span
            if (is_strong_secret if kind is SecretKind.KEY else is_strong_password)(text[span.start : span.end]):
                yield span
            elif (
                kind is not SecretKind.KEY
                and (pair := USER_PASSWORD_PAIR.match(text, span.start, span.end))
                and is_random_value(pair["secret"])
            ):
                yield TextSpan(*pair.span("secret"))
    if kind is not SecretKind.LOGIN:
        since = max(0, cue.start() - before)
        first = SECRET_BEFORE_CUE.search(text, since, cue.start()) if COPULA.search(text, since, cue.start()) else None
        span = None if first is None else trim_value_span(text, *first.span("bare"))
        if span is not None and is_random_value(text[span.start : span.end]):
            yield span
    adjacent = ADJACENT.match(text, cue.end())
    span = None if adjacent is None else trim_value_span(text, *adjacent.span("bare"))
    if kind is not SecretKind.LOGIN and span is not None and is_adjacent_key(text[span.start : span.end]):
        yield span


def is_adjacent_key(value: str) -> bool:
    """Check whether a long word right after `token` or `key` is it: letters and digits mixed."""
    return UUID.fullmatch(value) is not None or (
        is_random_value(value) and re.fullmatch(r"[\w+/=.-]+", value) is not None
    )
