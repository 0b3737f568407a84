"""Classification of words: secret value, reference, placeholder, name, digest or technical term."""

from __future__ import annotations

import re

from hermes_memory_store.safe_text import lazy_pattern

UUID = lazy_pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

REFERENCE = lazy_pattern(
    r"ref\+.*|!(?:Ref|GetAtt|Sub|vault|secret|ENV|env_var)\b.*|%[-+\d.]*[sdrqvif]|\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*\b.*|\$[a-z_]+|%[A-Za-z_]\w*%|%\(.*|\{[^}]*\}\S*|\{\{.*|<[^>]*>\S*|\[.*|‹.*|#\{.*|@[a-z_.]+"
    r"|(?:env|vault|file|ssm|sops|arn|secretsmanager|gcpsm|kv|ref|op|https?|data|sha\d+|md5|ssh-\w+|urn|s3|gs):.*"
    r"|aws:secretsmanager.*|.*\d{12}:secret:.*|\d+\$m=.*|%20.*|[\w.-]*(?:\.[A-Za-z]\w*){2,}|v?\d+\.\d+\.\d+\S*"
    r"|(?:os|process|import\.meta|System|std|config|settings|secrets|vars|ENV|env|self|this|var|local|data|module|args)"
    r"(?:[.\[]|::).*|[\w.:]+\(.*|[\w.]+\[.*|\$argon2.*|\$2[aby]\$.*|pbkdf2.*|scrypt:.*|bcrypt.*"
)
"""Where the value comes from, or how it is made; not the value."""

PLACEHOLDER_WORDS = (
    "your my the a an some insert enter put replace change add new old secret password passwd pass pwd pw token api "
    "key access auth here me this it in with value example sample dummy test placeholder redacted hidden masked todo "
    "tbd fixme none null nil true false undefined required optional string str text user username admin root postgres "
    "mysql default empty unset disabled enabled changeme foo bar baz abc client service id from real actual goes x"
).split()

PLACEHOLDER = lazy_pattern(rf"(?i)(?:[-_.]|\d|{'|'.join(sorted(PLACEHOLDER_WORDS, key=len, reverse=True))})++")
"""Stands where a value would: `your-key-here`, `changeme`, `xxx`. Possessive, so that no value takes long to refuse."""

TRADE = lazy_pattern(
    r"(?i)(?:[-_/+.,:;()=&|]|argon2(?:id|i|d)?|bcrypt|scrypt|yescrypt|pbkdf2|hkdf|sha-?[0-9]{1,3}|md5|blake[23][bs]?|hmac|aes-?\d*|gcm"
    r"|cbc|siv|rsa-?\d*|ecdsa|[ehpr]s\d{3}|ed(?:25519|448|dsa)|x25519|curve25519|x?chacha20|poly1305|p-?(?:256|384|521)|oauth"
    r"(?:2|1)?(?:\.\d)?|oidc|jwt|jwe|jws|jwks?|saml2?|pkce|pkcs\d+|x\.?509|x5c|tls\d?|ssl\d?|mtls|totp|hotp|fido2?|u2f|webauthn"
    r"|[12]fa|mfa|sso|ldaps?|base(?:16|32|58|62|64)(?:url)?|utf-?(?:8|16)|ascii|hex|k8s|kms|hsm|kv-?v?2?|s3|ec2|r2|gcp|aws|azure"
    r"|1password|keepass(?:xc|x)?\d?|bitwarden|lastpass|auth0|okta|vault|cl100k_base|o200k_base|bearer|basic|digest|http[s123]?"
    r"|rfc-?\d+|iso-?\d+|v?\d++(?:\.\d++)*+(?:-?(?:characters|letters|words|digits|bits?|bytes?|chars?|days?|hours?|hrs?|minutes?|mins?|weeks?|months?|years?"
    r"|rounds?|times?|zeichen|tage|jours|heures|caractères|caracteres|días|kib|mib|kb|mb|gb|rem|px|em|th|st|nd|rd|ms|s|m|h|d|w|y|b|x))?)++"
)
"""Words of the trade and measures: `argon2id`, `RS256`, `30d`, `AES-256-GCM`."""

PLACE = lazy_pattern(
    r"(?:~|\.{1,2})?/[\w.@%+~-]+(?:/[\w.@%+~-]*)*|[A-Za-z]:\\.*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/.*)?"
    r"|\d{4}-\d\d-\d\d(?:[T_].*)?|\d{1,2}[.:/]\d{1,2}(?:[.:/]\d{2,4})?|\d+(?:\.\d+){3}(?::\d+)?|[\w.-]+:\d{2,5}"
    r"|\S+\.(?:ya?ml|json|toml|env|txt|pem|key|pub|crt|py|ts|js|go|rs|md|enc|gpg|age|ini|cfg|conf|sh|kdbx|p12|pfx|jks|xml|html|png)"
)
"""A path, an address, a file, a date, a port."""

PART = lazy_pattern(
    r"[A-Z]?[a-z]*|[A-Z]+|(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,5})++\d{0,3}|\d{1,8}|v\d+|[a-z]{1,4}\d{1,3}[a-z]?"
)
"""One part of a name that a person chose."""

SIGNS = lazy_pattern(r"[!@#$%^&*~€£§?+=]")
KINDS = tuple(
    map(lazy_pattern, ("[a-z\u00df-\u00f6\u00f8-\u00ff]", "[A-Z\u00c0-\u00d6\u00d8-\u00de]", r"\d", r"[^\w\s.‹›-]"))
)


UNLIKE_WORD = r"[\s/\\(){}\[\]<>|:=,;\"'`]"
"""Characters of code and addresses: a word with one is taken for a secret only where it is announced as one."""


def is_secret_reference(value: str) -> bool:
    """Check whether a value is a reference to a secret or a placeholder, or repeats one character."""
    return bool(
        not value.strip("-_.*…‹›•·xX")
        or REFERENCE.fullmatch(value)
        or PLACEHOLDER.fullmatch(value)
        or "****" in value
        or "…" in value
        or "..." in value
        or re.search(r"(.)\1{5,}", value)
        or re.match(r"(?i)<|your[-_]", value)
    )


def is_ordinary_value(value: str) -> bool:
    """Check whether a value is a technical term, a measure, a path, an address, a file or a date."""
    return bool(TRADE.fullmatch(value) or PLACE.fullmatch(value))


def is_chosen_name(value: str) -> bool:
    """Check whether a value reads like a name that a person chose: words, numbers and versions separated by signs."""
    return all(PART.fullmatch(part) for part in re.split(r"[-_./:@#?&=,+|]", value))


def is_random_value(value: str) -> bool:
    """Check whether a value looks random: three of lower case, upper case, digits and signs; or two, and long."""
    if (
        len(value) < 8
        or is_secret_reference(value)
        or is_ordinary_value(value)
        or UUID.fullmatch(value)
        or is_chosen_name(value)
    ):
        return False
    kinds = count_character_kinds(value)
    return kinds >= 3 or (len(value) >= 16 and kinds >= 2 and bool(re.search(r"\d", value)))


def is_strong_secret(value: str) -> bool:
    """Check whether a value can hardly be anything but a key, in any context.

    It has all kinds of characters, or three and is long.
    """
    value = value.strip("*~")
    if not is_random_value(value) or re.search(UNLIKE_WORD, value):
        return False
    kinds = count_character_kinds(value)
    return kinds == 4 or (kinds == 3 and len(value) >= 20)


def is_strong_password(value: str) -> bool:
    """Check whether a value can hardly be anything but a password where one is mentioned: three kinds, one a sign."""
    bare = value.strip("*~")
    return is_strong_secret(value) or (
        is_random_value(bare) and SIGNS.search(bare) is not None and not re.search(UNLIKE_WORD, bare)
    )


def is_password(value: str) -> bool:
    """Check whether a value looks like a chosen password: a letter with a digit or a sign, six characters or more."""
    if is_random_value(value):
        return True
    if len(value) < 6 or is_secret_reference(value) or is_ordinary_value(value) or UUID.fullmatch(value):
        return False
    inner = value.rstrip("!?")
    return bool(re.search(r"[^\W\d_]", value)) and bool(re.search(r"\d", value) or SIGNS.search(inner))


TICKET = lazy_pattern(
    r"[#.][a-z][\w-]*|[A-Z]{2,8}-\d{1,6}|[A-Z]{1,5}\d{1,5}|v?\d[\d.,:]*[a-z%]{0,3}|\d{4}[-/]\d\d.*|[a-z][a-z0-9]*(?:-[a-z0-9]+){2,}"
)
"""A ticket, an error code, a measure, a date or a host name: letters and digits, and no password."""


CHOSEN = lazy_pattern(r"[A-Z!@#$%^&*~€£§?+=]|(?:\d\D*){3}")
"""A capital, a sign, or three digits."""

CODE_WORD = lazy_pattern(UNLIKE_WORD + r"|^[\w-]+\.\w+$")
"""Of code, an address or a file."""


def is_likely_password(value: str) -> bool:
    """Check whether a value looks like a password that a person chose, where one may stand: `Falcon42`, `harbor-2931!`.

    Letters with digits, and among them a capital, a sign or three digits; no ticket, host, version or term of the trade.
    """
    return bool(
        CHOSEN.search(value)
        and not CODE_WORD.search(value)
        and not TICKET.fullmatch(value)
        and re.search(r"\d", value)
        and is_password(value)
    )


def is_stated_secret(value: str) -> bool:
    """Check whether a value given as a password is one: anything but a reference or a placeholder."""
    return bool(value.strip()) and not is_secret_reference(value) and not is_ordinary_value(value)


LONGEST_PASSPHRASE = 200
"""Characters: ten words of twelve letters, with room between them."""


def is_passphrase(value: str) -> bool:
    """Check whether a value is a phrase of four to ten lower-case words, none of them a function word of a sentence."""
    if len(value) > LONGEST_PASSPHRASE:
        return False
    words = re.split(r"[\s._-]+", value)
    return (
        4 <= len(words) <= 10
        and all(re.fullmatch(r"[a-zäöüßàâçéèêëîïôûùñáíóú]{3,12}", word) for word in words)
        and not BINDING & set(words)
    )


BINDING = frozenset(
    (
        "the and for are was were has have had not never must may can should will with without from into onto that this "
        "than then each every all any when where which who whose how what but only also before after until while once "
        "twice per its their our your his her they them you out off over under again between both same more most less "
        "least words word dice characters letters required stored kept asked changed rotated used reused entered typed "
        "set der die das den dem und oder ist sind wird muss nicht mit ohne von vom zum zur ein eine einen auf aus bei "
        "nach les des une est sont pas avec sans pour dans sur par que qui los las una con sin por para del como cada"
    ).split()
)
"""Words that make a sentence of a row of words."""


def count_character_kinds(value: str) -> int:
    """Count the kinds of characters in a value: lower case, upper case, digits, signs."""
    return sum(bool(kind.search(value)) for kind in KINDS)
