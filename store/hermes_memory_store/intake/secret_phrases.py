"""Phrases of English, French, German and Spanish that state a password, beside `the password is …`.

"log in as root with …", "utilise … comme mot de passe", "melde dich mit root und … an", "usuario: ana, clave: …", "the
PIN of the alarm is 4711".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store.intake.secret_names import PASSWORD_CUE, has_hint
from hermes_memory_store.intake.secret_values import CHOSEN, UNLIKE_WORD, is_likely_password, is_random_value
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.safe_text import lazy_pattern

MARKS = "\"'`«»„“”‘’().,;:!?"
"""What stands around a word."""

VALUE = r"[\"'`«„“‘(]{0,2}\s?(?=[^\s\d]{0,60}\d)(?P<secret>[^\s\"'`«»„“”‘’()<>]{6,200})"
"""A word with a digit, without its quotes."""

ARTICLES = (
    r"(?:(?:the|a|an|my|our|your|its|their|new|old|current|common|le|la|l['’]|un|son|votre|notre|nouveau|das|dem|den|der|die|ein|neues"
    r"|neue|sein|unser|el|una|su|nuestra|nueva|nuevo)\s*)"
)

USER = (
    r"(?:user(?: ?name| ?id)?|login|account|utilisateur|nom d['’]utilisateur|compte|identifiant|benutzer(?:name|konto)?|nutzer(?:name)?"
    r"|konto|usuario|cuenta)"
)

GIVE = (
    r"(?:enter|type|give|use|provide|paste|saisi\w*|tape[rz]?|entre[rz]?|utilise[rz]?|donne[rz]?|gib|geben|tippe?n?|nimm|nehmt|verwende|benutze"
    r"|escrib[ea]|introduc[ei]\w*|teclea|pon|usa[rd]?|da|put in)"
)

LOGIN = (
    r"(?:log(?:s|ged|ging)?[ -]?(?:in|on|into)|sign(?:s|ing)?[ -]?(?:in|on)|logins?|credentials?|creds|authenticate|ssh|connect(?:s|ez|er|e)?"
    r"|lets? (?:you|me|us|one) in|(?:get|gets|got) in(?:to)?|unlock(?:s|ed)?|connexion|se connecter?|identifiants?|accès|entrez?|melde[nt]?"
    r"|anmeld\w*|einlogg\w*|logg\w* \w+ (?:mit|ein)|zugangsdaten|zugang|kommt? (?:man|ihr|du|wir) (?:rein|hinein)|entr(?:a|as|ar|amos)|inici(?:a|ar) sesión"
    r"|acced(?:e|er|emos)|accesos?|accede|credenciales)"
)

WITH = (
    r"(?:with|using|via|by typing|avec|mit|über|con|usando|type|enter|taper?|tapez|eingeben|teclea|is|are|sind|sont|son|use|utilise[rz]?|usa[rd]?"
    r"|nimm|benutze)"
)

CLOSE = r"[\"'`»”’)]{0,2}"
DETERMINED = rf"{ARTICLES}{{0,2}}(?:[^\W\d_]+[\s-]){{0,2}}"
"""What may stand between an article and the word."""

PHRASES = tuple(
    lazy_pattern(rf"(?i){pattern}")
    for pattern in (
        # use X as the password; X is the password: what stands before the word
        rf"(?<!\S){VALUE}{CLOSE}\s+(?:as|comme|als|como|is|ist|est|es|was|war|était|era)\s+{DETERMINED}{PASSWORD_CUE}",
        rf"(?<!\S){VALUE}{CLOSE}\s+(?:is what (?:you|we) (?:type|enter|give)|tippt man|gibt man)\b",
        rf"\b{GIVE}\s+{VALUE}{CLOSE}\s+[^.;!?\n]{{0,50}}?{PASSWORD_CUE}",
        # the password X: right behind the word, or a word or two later
        rf"(?<![^\W_])(?:{PASSWORD_CUE}|\bpw|\bpass)(?:[\"'’]s)?[\s:=]+{VALUE}",
        rf"(?<![^\W_]){PASSWORD_CUE}\b[^.;!?\n]{{0,30}}?[\s,]\s*{GIVE}\s+{VALUE}",
        rf"(?<![^\W_]){PASSWORD_CUE}\b[^.;!?\n]{{0,60}}?\b(?:zurückgesetzt|gesetzt|geändert|umgestellt|reset|set|changed|rotated|changé|remplacé|cambiad[oa])"
        rf"\s+(?:auf|zu|in|to|en|par|pour|a|por)\s+{VALUE}",
        rf"\b(?:chang|mis|modifi|remplac|cambi|hemos puesto)\w*\s[^.;!?\n]{{0,40}}?{PASSWORD_CUE}\s+(?:en|à|par|pour|a|por|to)\s+{VALUE}",
        rf"\b(?:has|have|hat|tiene|a pour)\s+{DETERMINED}{PASSWORD_CUE}[\s:]+{VALUE}",
        # user ops pass X
        rf"\b{USER}\b[\s:=]+[\w.@-]{{1,40}}[\s,;/|&]+(?:(?:and|et|und|y|with|avec|mit|con)\s+)?{ARTICLES}?"
        rf"(?:{PASSWORD_CUE}|pass|pw|clave|key)[\s:=]+{VALUE}",
        # login: maria / X, credentials are admin:X
        rf"\b{LOGIN}\b[^.!?\n]{{0,60}}?(?:\s[\w.@-]{{1,40}}\s*[/|:]\s*|:\s*[\w.@-]{{1,40}}\s*[,/|:]\s*){VALUE}",
        # log in as root with ops and X, melde dich mit root und X an
        rf"\b{LOGIN}\b[^!?\n]{{0,80}}?\b{WITH}\s+{ARTICLES}?[\w.@-]{{1,40}}\s+(?:and|et|und|y|&|\+)\s+{VALUE}",
        rf"(?<!\w)(?:mit|avec|con|with)\s+{VALUE}\s+(?:kommt (?:man|ihr|du)|on entre|se entra|you get in)\b",
    )
)
"""Each with a group `secret`."""

LOOSE_PHRASE = lazy_pattern(rf"(?i)\b{LOGIN}\b[^!?\n]{{0,80}}?\b{WITH}\s+{ARTICLES}?{VALUE}")
"""log in as root with X: without a second word beside it, X must look less like the name of a product or a year."""

PLACES = (
    r"(?:\w*(?:door|gate|alarm|safe|garage|locker|building|entrance|entry|lock|lift|office|tür|tor|tresor|eingang|haus|büro|portail|porte"
    r"|alarme|coffre|immeuble|bâtiment|entrée|bureau|puerta|alarma|portal|garaje|entrada|oficina|caja fuerte)\w{0,3})"
)
"""What a code opens."""

CODE = lazy_pattern(
    r"(?i)(?<![^\W_])(?:pin(?:[- ]?(?:codes?|numbers?|nummer))?|(?:access|door|gate|entry|security|unlock|alarm|pass|safe|locker)[- ]?codes?"
    r"|combination|code (?:pin|d['’](?:accès|entrée)|de (?:la porte|l['’]alarme|déverrouillage|sécurité))|digicode|(?:tür|zugangs|alarm|sicherheits|tresor|entsperr)-?code"
    r"|(?:código|clave) (?:pin|de (?:acceso|entrada|seguridad|desbloqueo))"
    rf"|codes? (?:for|of|to|für|de|du|des|del|der|zur|zum|pour|para) (?:(?:the|die|den|das|der|la|le|l['’]|el|our|unsere?n?)\s*)?{PLACES}|código (?:de|del|de la) {PLACES}|"
    + PASSWORD_CUE
    + r")(?![^\W_])"
    r"(?:\s+(?:for|of|to|on|at|in|du|de|des|d['’]|pour|für|der|des|vom|von|zum|zur|am|im|del|para|en)\b[^.,;:=!?\n]{1,60}?)?"
    r"(?:\s*[:=]\s*|\s+(?:is|was|are|est|ist|lautet|war|es|era|c['’]est|remains|reste)\s+(?:now|still|jetzt|noch|maintenant|ahora|todavía)?\s*)"
    r"[\"'`«„“]?\s?(?P<secret>\d{4,12}(?:[- ]\d{2,6}){0,3}|\d{2,3}(?:[- ]\d{2,3}){1,3}|\d{3,6}[#*])(?![\w%/]|[.,:]\d|-\w|\s+(?:char|digit|zeichen|stellen|ziffer|chiffre|caract|d[ií]git|hour|day|tage|stunden|jours|heures|días|horas|second|sekund|iterat|rounds))"
)
"""A code of digits: `the PIN of the alarm is 4711`."""

OPENED = lazy_pattern(
    rf"(?i)\b{PLACES}\s+(?:opens?|unlocks?|öffnet|geht auf|s['’]ouvre|se abre)\s+(?:with|by|mit|avec|con)\s+(?:(?:the )?code )?(?P<secret>\d{{4,10}})(?![\w.,]\d|\w)"
)
"""A code of digits that opens a door."""

SPELLED = lazy_pattern(
    r"(?i)(?<![^\W_])"
    + PASSWORD_CUE
    + r"(?![^\W_])[^.,;!?\n]{0,60}?\s(?:is|est|ist|lautet|es|was|war)\s+(?P<secret>[^\W\d_]{4,30}),?\s+(?:\(|-\s)?(?:"
    r"(?:all |in |written in )*lower[ -]?case|(?:all |in )*(?:upper|capital) ?(?:case|letters|s)|with a capital|alles klein|klein\w*|gro(?:ß|ss)geschrieben"
    r"|(?:tout )?en (?:minuscules|majuscules|minúsculas|mayúsculas)|todo en)"
)
"""A plain word of which it is said how it is spelled."""


PHRASE_HINTS = (
    "pass", "pw", "mdp", "kennw", "contrase", "clave", "senha", "phrase", "frase", "login", "log in", "logs in", "logged in", "log on",
    "sign in", "signs in", "cred", "identif", "zugang", "melde", "ssh", "connect", "connex", "entra", "acced", "accès", "acceso", "unlock",
    "lets ", "get in", "sesión", "kommt", "tippt", "what you", "what we", "gibt man", "wachtw", "losung", "logg",
)  # fmt: skip
"""Without any of these, in lower case, no phrase states a password."""

CODE_HINTS = (
    "pin", "code", "código", "clave", "combination", "pass", "pw", "mdp", "kennw", "contra", "senha", "frase", " open", "unlock", "öffnet",
    "geht auf", "ouvre", "se abre",
)  # fmt: skip
"""Without any of these, in lower case, no code is stated."""

SPELLING_HINTS = ("lower", "upper", "capital", " klein", " gro", "minusc", "majusc", "minúsc", "mayúsc", "todo en")

SHORTEST = 6
"""Characters of the shortest password that only a phrase gives away."""

PRODUCT = lazy_pattern(r"[A-Za-z]+-?(?:\d{1,3}|(?:19|20)\d\d)")
BREAK = lazy_pattern(r"[\s/|:=]+")
DIGIT = lazy_pattern(r"\d")
DIGITS = lazy_pattern(r"\d{3}|\d\d[- ]\d\d")


def find_phrase_secrets(text: str) -> Iterator[TextSpan]:
    """Find passwords and codes stated by a phrase."""
    lower = text.lower()
    if has_hint(lower, PHRASE_HINTS) and has_candidate(text):
        for pattern in PHRASES:
            for match in pattern.finditer(text):
                span = trim_phrase_value(text, *match.span("secret"))
                if is_candidate(text[span.start : span.end]):
                    yield span
        for match in LOOSE_PHRASE.finditer(text):
            span = trim_phrase_value(text, *match.span("secret"))
            value = text[span.start : span.end]
            if is_candidate(value) and not PRODUCT.fullmatch(value):
                yield span
    if DIGITS.search(text) and has_hint(lower, CODE_HINTS):
        for pattern in (CODE, OPENED):
            for match in pattern.finditer(text):
                yield TextSpan(*match.span("secret"))


def find_spelled_secrets(text: str) -> Iterator[TextSpan]:
    """Find plain words of which it is said how they are spelled."""
    for match in SPELLED.finditer(text) if has_hint(text.lower(), SPELLING_HINTS) else ():
        yield TextSpan(*match.span("secret"))


def has_candidate(text: str) -> bool:
    """Check whether any word may be a password or a key."""
    for word in BREAK.split(text):
        if len(word) >= SHORTEST and DIGIT.search(word) and CHOSEN.search(word) and is_candidate(word.strip(MARKS)):
            return True
    return False


def is_candidate(word: str) -> bool:
    """Check whether a word may be a password or a key."""
    return not re.search(UNLIKE_WORD, word) and (is_likely_password(word) or is_random_value(word))


def trim_phrase_value(text: str, start: int, end: int) -> TextSpan:
    """Leave out the punctuation after a word, but for a `!` after a digit: that ends a password as often as a sentence."""
    end = start + len(text[start:end].rstrip(".,;:!?") or text[start:end])
    return TextSpan(start, end + 1 if text[end : end + 1] == "!" and text[end - 1].isdigit() else end)
