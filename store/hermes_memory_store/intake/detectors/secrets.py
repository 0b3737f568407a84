"""Secrets in a text: tokens, keys and passwords that must not be in a memory that is recalled into prompts.

They are located by first and last character, and never searched for again by content: a password of one letter
occurs in half the words of a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import islice

from hermes_memory_store import safe_text
from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.patterns import NamedPatterns, load_required_words
from hermes_memory_store.intake.secret_table import (
    SecretPattern,
    compile_secret_pattern,
    find_hinted_patterns,
    load_gated_patterns,
)
from hermes_memory_store.intake.secret_values import (
    SECRET_PATTERNS,
    SHORTEST_PASSWORD,
    SHORTEST_RANDOM,
    VALUES,
    SecretKind,
    find_secret_kind,
    find_value_span,
    get_entropy,
    is_chosen_name,
    is_example_token,
    is_ordinary_value,
    is_passphrase,
    is_password,
    is_phrase_candidate,
    is_random_or_uuid,
    is_random_value,
    is_secret_reference,
    is_stated_secret,
    is_strong_password,
    is_strong_secret,
    is_word_password,
    trim_phrase_value,
    trim_value_span,
)
from hermes_memory_store.intake.spans import FILLER, TextSpan, blank_secret_marks, merge_text_spans
from hermes_memory_store.intake.text_folding import has_hint, to_spaced_words
from hermes_memory_store.model import Suspicion
from hermes_memory_store.safe_text import load_pattern

SECRET = Suspicion("secret", "holds a secret")

CONTEXT = NamedPatterns(SECRET_PATTERNS, "context")

SENTENCE_REACH = 160
"""Characters after a word of prose in which its secret stands."""

MOST_OPERATORS = 8
"""Assignments after a word of prose that are looked at; a sentence has one or two."""

MANY_CUES = 300
"""Words of prose for secrets in one text from which on each reaches no further than `SHORT_REACH`: it is no prose."""

SHORT_REACH = 20
"""Characters within which `is` or `:` stands in most sentences."""

QUOTES = ('"', "'", "`")

LONG = 15
"""Characters of the shortest word that holds a token of a known form."""
SHORTEST_TOKEN = LONG - 1

DIGIT = re.compile(r"\d")

OTHER_SCRIPT = re.compile("[\u0141\u0142\u015e\u015f\u0400-\u1fff\u2e80-\uffff]")
"""What is in every word of another script that is translated, apart from punctuation and symbols that many texts have."""

STAND_IN_HINTS = ("$", "{", "<", "%", "__", "@@", "##", "((")

SEAL_HINTS = ("ENC[", "SHA256:", "sha256", "sha384", "sha512")

UNWORDED = ("PRIVATE KEY", "$")

RANDOM_BITS = 3.5
"""Bits per character of a token in which one character is repeated; what only shows a form has fewer."""

SHORTEST_DIGITS = 4

WELL_KNOWN_PASSWORDS = ("guest", "anonymous")
KNOWN_BUT_SECRET = ("postgres", "root", "admin", "a", "x", "test", "user")
"""They read like placeholders, and are passwords in an address."""

SIGNS_AROUND = "\"'`«»„“”‘’().,;:!?"

PGPASS_COLONS = 4

DIGIT_GATES = ("phrase", "code")
ADDRESS_GATES = ("url", "driver", "at")
CODED_GATES = (*ADDRESS_GATES, "dash", "program", "colons", "query", "cookie")
ANNOUNCED_GATES = ("name", "element", "connection", "spelling")
"""Gates of what a digit, a long word or a sign, and a name gives away."""


def has_secret_hint(lower: str, group: str) -> bool:
    return has_hint(lower, SECRET_PATTERNS.words["hints", group])


@lru_cache(maxsize=4)
def has_connection(text: str) -> bool:
    """Check whether settings of a connection stand in a text: whatever they give for a password is one."""
    return CONTEXT.connection.search(text) is not None


GATES: dict[str, Callable[[str], bool]] = {
    "phrase": lambda text: has_secret_hint(text.lower(), "phrase") and has_phrase_candidate(text),
    "code": lambda text: has_secret_hint(text.lower(), "code") and VALUES.digits.search(text) is not None,
    "url": lambda text: "://" in text and "@" in text,
    "driver": lambda text: "@tcp" in text or "@unix" in text,
    "at": lambda text: "@" in text,
    "dash": lambda text: " -" in text,
    "program": lambda text: (
        " -" in text or "/user:" in text or "/p:" in text or "net user" in text or "mc alias" in text
    ),
    "colons": lambda text: text.count(":") >= PGPASS_COLONS,
    "query": lambda text: "=" in text and "?" in text,
    "cookie": lambda text: "=" in text and "ookie" in text,
    "header": lambda text: CONTEXT.scheme.search(text) is not None,
    "name": lambda _: True,
    "element": lambda text: "</" in text,
    "connection": has_connection,
    "spelling": lambda text: has_secret_hint(text.lower(), "spelling"),
}
"""What a text must have for the patterns of a gate: most texts are spared most of them."""


class SecretDetector(Detector):
    rank = 60
    masks = True
    reads = frozenset(TextKind)

    def find(self, passage: Passage) -> Iterator[Finding]:
        if may_hold_secret(f"{passage.target} {passage.content}"):
            for span in find_secrets(passage.target, passage.content):
                yield Finding(span, SECRET)


DETECTOR = SecretDetector()


def find_secrets(target: str, content: str) -> list[TextSpan]:
    """Return the spans of secrets in a fact's content, in order and without overlaps, hidden characters in them or not.

    :param target: of the fact: `db.password` announces one as `DB_PASSWORD=` does
    """
    if not safe_text.may_hide(content) and OTHER_SCRIPT.search(f"{target} {content}") is None:
        return find_plain_secrets(target, content)
    hidden = safe_text.find_hidden_places(content)
    shown = [place for place in range(len(content)) if place not in hidden]
    text, places = translate_words("".join(content[place] for place in shown))
    return [
        TextSpan(shown[places[start]], shown[places[end - 1]] + 1)
        for start, end in find_plain_secrets(translate_words(target)[0], text)
    ]


def translate_words(text: str) -> tuple[str, list[int]]:
    """Return a text with the words of other scripts that the patterns need in English, and the place of each character."""
    words = [row[0] for row in SECRET_PATTERNS.sections["translations"]]
    pieces, places, end = [], [], 0
    for match in load_translations().finditer(text):
        word = f" {words[(match.lastindex or 0) - 1]} "
        pieces += [text[end : match.start()], word]
        places += [*range(end, match.start()), *[min(match.start(), len(text) - 1)] * len(word)]
        end = match.end()
    return "".join([*pieces, text[end:]]), [*places, *range(end, len(text))]


@cache
def load_translations() -> re.Pattern[str]:
    return re.compile("|".join(f"({pattern})" for _, pattern in SECRET_PATTERNS.sections["translations"]))


def find_plain_secrets(target: str, content: str) -> list[TextSpan]:
    lower = f"{target} {content}".lower()
    announced = has_secret_hint(lower, "announced")
    long = max(map(len, content.split()), default=0) >= LONG
    text = content
    if long and has_hint(content, SEAL_HINTS):
        text = VALUES.sealed.sub(blank, content)
    text = blank_secret_marks(text)
    if has_hint(text, STAND_IN_HINTS):
        text = CONTEXT.stand_in.sub(blank, text)
    spans = [*find_gated_secrets(text, DIGIT_GATES)] if DIGIT.search(content) else []
    if announced or long or "@" in content or " -" in content:
        # A word may be a token that is not made of words and numbers.
        long_words = " ".join(word for word in text.split() if len(word) >= SHORTEST_TOKEN) if long else ""
        words = VALUES.token.findall(long_words)
        if any(not is_chosen_name(word) or VALUES.letters.search(word) for word in words) or has_hint(text, UNWORDED):
            spans += [span for row in find_hinted_patterns(text) for span in find_pattern_secrets(row, text)]
        spans += find_gated_secrets(text, CODED_GATES)
    if announced:
        spans += [*find_gated_secrets(text, ("header",)), *find_announced_secrets(text)]
    is_coded = DIGIT.search(content) is not None and has_secret_hint(lower, "code")
    if is_coded or (announced and find_secret_kind(target) is not None):
        spans += find_target_secrets(target, text)
    return merge_text_spans(span for span in spans if text[span.start : span.end].strip(FILLER))


def blank(match: re.Match[str]) -> str:
    return FILLER * len(match[0])


def find_target_secrets(target: str, text: str) -> Iterator[TextSpan]:
    """Find what the target announces, unless the text consists of settings of which one has such a name itself."""
    settings = list(CONTEXT.setting.finditer(text))
    if any(find_secret_kind(setting["name"]) for setting in settings):
        return
    plain = SECRET_PATTERNS.words["words", "tail"] | {"key"}
    starts = [setting.end() for setting in settings if setting.start() and setting["name"].lower() in plain]
    first = settings[0]["name"] if settings and settings[0].start() == 0 else ""
    start = settings[0].end() if first and not is_ordinary_value(first) else 0
    searches: list[tuple[str, int, Callable[[str], Iterator[TextSpan]]]]
    searches = [(to_spaced_words(f"{target} {first}"), start, partial(find_gated_secrets, gates=("code",)))]
    if find_secret_kind(target) is not None:
        searches += [(target, start, find_announced_secrets) for start in (start, *starts[:MOST_OPERATORS])]
    for lead, start, find in searches:
        shift = start - len(lead) - 2
        spans = find(f"{lead}: {text[start:]}")
        yield from (TextSpan(span.start + shift, span.end + shift) for span in spans if span.start + shift >= start)


def find_secret_texts(target: str, content: str) -> list[str]:
    """Return the secrets in a fact's content, each once, longest first; none for an ordinary fact."""
    texts = dict.fromkeys(content[span.start : span.end] for span in find_secrets(target, content))
    return sorted(texts, key=len, reverse=True)


def may_hold_secret(text: str) -> bool:
    """Check quickly whether there may be a secret in a target and its content, which stand with a space between."""
    if not text.isascii():
        return True
    lower = text.lower()
    return (
        has_secret_hint(lower, "announced")
        or "@" in text
        or " -" in text
        or max(map(len, text.split()), default=0) >= LONG
        or (DIGIT.search(text) is not None and (has_secret_hint(lower, "phrase") or has_secret_hint(lower, "code")))
    )


def find_address_passwords(text: str) -> Iterator[TextSpan]:
    return find_gated_secrets(text, ADDRESS_GATES)


def find_announced_secrets(text: str) -> Iterator[TextSpan]:
    yield from find_gated_secrets(text, ANNOUNCED_GATES)
    yield from find_sentence_secrets(text)


def find_gated_secrets(text: str, gates: Iterable[str]) -> Iterator[TextSpan]:
    """Find what the patterns of these gates match, where the text has what the gate asks for."""
    lower = to_lower_case(text)
    for gate in gates:
        if GATES[gate](text):
            for row in load_gated_patterns()[gate]:
                if all(has_hint(lower, words) for words in row.required):
                    yield from find_pattern_secrets(row, text)


def find_pattern_secrets(row: SecretPattern, text: str) -> Iterator[TextSpan]:
    if row.beside and not load_pattern(row.beside).search(text):
        return
    pattern = compile_secret_pattern(row)
    for match in pattern.finditer(text) if pattern is not None else ():
        yield from judge_service(match, row) if row.service else JUDGES[row.judge](match)


def to_lower_case(text: str) -> str:
    """Return a text in lower case as patterns that ignore case read it."""
    lower = text.lower()
    return lower if text.isascii() else lower.replace("ı", "i").replace("i\u0307", "i").replace("ſ", "s")


def has_phrase_candidate(text: str) -> bool:
    return any(
        len(word) >= SHORTEST_PASSWORD
        and DIGIT.search(word)
        and VALUES.chosen.search(word)
        and is_phrase_candidate(word.strip(SIGNS_AROUND))
        for word in VALUES.phrase_break.split(text)
    )


def judge_by_value(is_secret: Callable[[str], bool]) -> Callable[[re.Match[str]], Iterator[TextSpan]]:
    """Return a judge of the last group that matched."""

    def judge(match: re.Match[str]) -> Iterator[TextSpan]:
        group = match.lastgroup or 0
        if is_secret(match[group]):
            yield TextSpan(*match.span(group))

    return judge


def judge_phrase(match: re.Match[str], *, is_loose: bool = False) -> Iterator[TextSpan]:
    """:param is_loose: whether the word may as well be the name of a product"""
    span = trim_phrase_value(match.string, *match.span("secret"))
    value = match.string[span.start : span.end]
    if is_phrase_candidate(value) and not (is_loose and VALUES.product.fullmatch(value)):
        yield span


def judge_service(match: re.Match[str], row: SecretPattern) -> Iterator[TextSpan]:
    """Judge a token of a service as gitleaks does: its only group, or the whole match, is random enough."""
    span = TextSpan(*match.span(min(match.re.groups, 1)))
    secret = match.string[span.start : span.end]
    if (
        get_entropy(secret) > max(row.entropy, RANDOM_BITS if VALUES.repeated.search(secret) else 0)
        and not VALUES.reference.fullmatch(secret)
        and not VALUES.placeholder.fullmatch(secret)
        and not (row.named and (is_chosen_name(secret) or not DIGIT.search(secret)))
    ):
        yield span


def judge_assignment(match: re.Match[str]) -> Iterator[TextSpan]:
    kind = find_secret_kind(match["name"])
    if kind is not None and (span := find_value_span(match)) is not None:
        value, name, sign = match.string[span.start : span.end], match["name"], match["op"]
        tight = "=" in sign and sign.strip() == sign
        if is_secret_value(value, kind, tight=tight, connection=has_connection(match.string), name=name):
            yield span


def judge_option(match: re.Match[str]) -> Iterator[TextSpan]:
    kind = find_secret_kind(match["name"])
    if kind is not None:
        span = TextSpan(*match.span("secret")) if "secret" in match.re.groupindex else find_value_span(match)
        if span is not None and is_secret_value(match.string[span.start : span.end], kind, tight=True):
            yield span


def judge_setting(match: re.Match[str]) -> Iterator[TextSpan]:
    if find_secret_kind(match["name"]) is SecretKind.PASSWORD and is_stated_secret(match["bare"]):
        yield TextSpan(*match.span("bare"))


def judge_each(match: re.Match[str], *, part: str, is_secret: Callable[[str], bool]) -> Iterator[TextSpan]:
    """Judge what the pattern `part` matches within the last group, one by one."""
    for one in getattr(CONTEXT, part).finditer(match.string, *match.span(match.lastgroup or 0)):
        if is_secret(one["secret"]):
            yield TextSpan(*one.span("secret"))


def judge_header(match: re.Match[str]) -> Iterator[TextSpan]:
    secret = match["secret"]
    if is_random_value(secret) or (match["scheme"].lower() == "basic" and len(secret) % 4 == 0 and is_password(secret)):
        span = trim_value_span(match.string, *match.span("secret"))
        if span is not None:
            yield span


def judge_address(match: re.Match[str]) -> Iterator[TextSpan]:
    start, end = match.start("rest"), find_password_end(match["rest"])
    if end is not None and not is_url_placeholder(match["rest"][:end]):
        yield TextSpan(start, start + end)


JUDGES: dict[str, Callable[[re.Match[str]], Iterator[TextSpan]]] = {
    "any": judge_by_value(lambda _: True),
    "token": judge_by_value(lambda value: not is_example_token(value)),
    "stated": judge_by_value(is_stated_secret),
    "password": judge_by_value(is_password),
    "random": judge_by_value(is_random_or_uuid),
    "strong": judge_by_value(is_strong_secret),
    "phrase": judge_phrase,
    "loose": partial(judge_phrase, is_loose=True),
    "assignment": judge_assignment,
    "option": judge_option,
    "setting": judge_setting,
    "cookie": partial(judge_each, part="cookie_pair", is_secret=is_random_or_uuid),
    "codes": partial(judge_each, part="code_group", is_secret=bool),
    "header": judge_header,
    "address": judge_address,
}


def is_secret_value(
    value: str, kind: SecretKind, *, tight: bool = False, connection: bool = False, name: str = ""
) -> bool:
    """Check whether a value is the secret its name announces. :param tight: given as `NAME=value`, with no space between"""
    if not is_stated_secret(value) or to_spaced_words(value).lower() in to_spaced_words(name).lower():
        return False
    if kind is SecretKind.PASSWORD:
        if connection:
            return is_stated_secret(value)
        shortest = SHORTEST_DIGITS if value.isdigit() else SHORTEST_PASSWORD
        return is_password(value) or is_passphrase(value) or (tight and len(value) >= shortest)
    if is_random_value(value):
        return True
    if VALUES.uuid.fullmatch(value):
        return len(name) > len("token") or tight
    return tight and name.isupper() and len(value) >= SHORTEST_RANDOM and is_password(value)


def find_password_end(rest: str) -> int | None:
    """Return the end of the password in what follows `scheme://user:`; None when there is none.

    The last `@` before the path ends it; a `/` in the password is recognised by the host after a later `@`.
    """
    ends = [at for at, sign in enumerate(rest) if sign == "@" and at and CONTEXT.authority.match(rest, at + 1)]
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
    match = CONTEXT.authority.match(rest, at + 1)
    return match is not None and (
        match["port"] is not None or "." in match["host"].strip(".") or match["host"] == "localhost"
    )


def is_url_placeholder(password: str) -> bool:
    return password in WELL_KNOWN_PASSWORDS or (
        is_secret_reference(password) and password.lower() not in KNOWN_BUT_SECRET
    )


def find_sentence_secrets(text: str) -> Iterator[TextSpan]:
    if not has_hint(to_lower_case(text), load_required_words()["cues"][0][0]):
        return
    searched_until = dict.fromkeys(SecretKind, 0)
    long_until = 0
    compound = has_hint(text.lower(), SECRET_PATTERNS.words["hints", "compound"])
    for number, cue in enumerate((CONTEXT.compound_cue if compound else CONTEXT.cue).finditer(text)):
        kind = SecretKind[str(cue.lastgroup)]
        around = SENTENCE_REACH if number < MANY_CUES else SHORT_REACH
        reach = cue.end() + SENTENCE_REACH
        # With the blank and the capital that follow a full stop.
        stop = CONTEXT.sentence_end.search(text, cue.end(), reach + 2)
        end = min(stop.start() + 1 if stop else len(text), reach)
        if kind is not SecretKind.LOGIN and cue.start() >= long_until:
            yield from find_after_cue(text, cue, kind, min(end, cue.end() + around))
            value = CONTEXT.long_value.match(text, cue.end())
            long_until = long_until if value is None else value.end()
        yield from find_near_cue(text, cue, kind, max(cue.end(), searched_until[kind]), end, around)
        searched_until[kind] = end


def find_after_cue(text: str, cue: re.Match[str], kind: SecretKind, end: int) -> Iterator[TextSpan]:
    for operator in islice(CONTEXT.operator.finditer(text, cue.end(), end), MOST_OPERATORS):
        word = CONTEXT.value.match(text, operator.end())
        if word is None or (span := find_value_span(word)) is None:
            continue
        value = text[span.start : span.end]
        direct = CONTEXT.link.fullmatch(text, cue.end(), operator.start()) is not None
        if CONTEXT.url.match(value) or not (direct or operator[0][-1].isspace()):
            continue
        if direct and kind is SecretKind.PASSWORD:
            phrase = CONTEXT.phrase.match(text, span.start)
            if CONTEXT.phrase_cue.match(cue[0].lower()) and phrase is not None and is_passphrase(phrase[0].strip()):
                yield TextSpan(phrase.start(), phrase.start() + len(phrase[0].rstrip()))
                return
            is_prose = word["bare"] is None and not operator[0].strip(" \t").startswith(("=", ":"))
            is_quoted_word = is_prose and len(value) >= SHORTEST_PASSWORD and is_stated_secret(value)
            if is_quoted_word or is_password(value) or (word["bare"] is None and is_word_password(value)):
                yield span
                return
            words = CONTEXT.words.match(text, span.start)
            if words is not None and is_word_password(words[0]):
                yield TextSpan(*words.span())
                return
        elif direct and len(cue[0]) > len("secrets") and VALUES.uuid.fullmatch(value):
            yield span
            return
        if is_random_value(value):
            yield span
            return


def find_near_cue(
    text: str, cue: re.Match[str], kind: SecretKind, begin: int, end: int, before: int
) -> Iterator[TextSpan]:
    """Find words near the cue that can hardly be anything but a secret, and one before `is the password`.

    :param begin: where to begin; earlier text was searched for another cue
    :param before: characters before the cue in which a secret may be named first
    """
    if text[begin : begin + 1] in QUOTES and begin == cue.end():
        begin += 1  # it closes what the cue ends: `type="password" name="…"`
    for word in CONTEXT.value.finditer(text, begin, end):
        span = find_value_span(word) if word.end() - word.start() >= SHORTEST_RANDOM else None
        if span is None:
            continue
        value = text[span.start : span.end]
        is_quoted = kind is SecretKind.PASSWORD and word["bare"] is None
        is_direct = is_quoted and CONTEXT.link.fullmatch(text, cue.end(), word.start()) is not None
        if is_direct and (is_password(value) or is_word_password(value)):
            yield span
        if (is_strong_secret if kind is SecretKind.KEY else is_strong_password)(value):
            yield span
        elif (
            kind is not SecretKind.KEY
            and (pair := CONTEXT.user_password_pair.match(text, span.start, span.end))
            and is_random_value(pair["secret"])
        ):
            yield TextSpan(*pair.span("secret"))
    if kind is SecretKind.LOGIN:
        return
    since = max(0, cue.start() - before)
    if CONTEXT.copula.search(text, since, cue.start()):
        first = CONTEXT.secret_before_cue.search(text, since, cue.start())
        span = None if first is None else trim_value_span(text, *first.span("bare"))
        if span is not None and is_random_value(text[span.start : span.end]):
            yield span
    adjacent = CONTEXT.adjacent.match(text, cue.end())
    span = None if adjacent is None else trim_value_span(text, *adjacent.span("bare"))
    value = "" if span is None else text[span.start : span.end]
    if span is not None and (
        VALUES.uuid.fullmatch(value) or (is_random_value(value) and re.fullmatch(r"[\w+/=.-]+", value))
    ):
        yield span
