"""Names and words that announce a secret: `DB_PASSWORD`, `clientSecret`, "das Passwort lautet"."""

from __future__ import annotations

from enum import Enum

from hermes_memory_store.safe_text import lazy_pattern


class SecretKind(Enum):
    """The kind of secret announced, which determines what the value must look like."""

    PASSWORD = "password"  # a person may have chosen it
    KEY = "key"  # drawn by lot
    LOGIN = "login"  # there is one somewhere near


PASSWORD_WORDS = frozenset(
    (
        "password passwords passwd pwd passphrase passcode passwort kennwort contraseña contrasena mdp senha wachtwoord "
        "pgpassword sshpass mysqlpwd"
    ).split()
)
SHORT_PASSWORD_WORDS = frozenset({"pass", "pw", "psw", "clave"})
"""Words for a password at the end of a longer name only."""

KEY_WORDS = frozenset(
    (
        "token secret secrets apikey apitoken apisecret secretkey accesskey privatekey authtoken accesstoken clientsecret "
        "credential credentials bearer signature sig jwt pat psk authorization dsn salt pepper auth authtoken appid totp presharedkey"
    ).split()
)
NOT_SECRET_KEYS = frozenset(
    (
        "primary foreign partition sort cache public routing row hash index composite unique lookup map dict json hot "
        "shortcut idempotency pub object group order merge join i18n translation message natural surrogate range shard "
        "bucket registry config settings redis queue event metric label column field data host ssh kms storage entity "
        "item parent child"
    ).split()
)
"""What a key that is no secret is called by."""

TAILS = frozenset(
    (
        "prod production live staging stage dev development test testing local old new current previous next backup "
        "primary secondary main default eu us ro rw read write admin value b64 base64 base data ci"
    ).split()
)
"""What may follow the word that says what a name stands for."""

WORD = lazy_pattern(r"[A-Z]+(?![a-zà-ÿ])|[A-Z]?[a-zà-ÿ]+|\d+")


def find_secret_kind(name: str) -> SecretKind | None:
    """Return the kind of secret announced by a variable, field or target; None for no secret."""
    words = [word.lower() for word in WORD.findall(name)]
    while len(words) > 1 and (words[-1] in TAILS or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in PASSWORD_WORDS or (before and last in SHORT_PASSWORD_WORDS) or words[-3:] == ["mot", "de", "passe"]:
        return SecretKind.PASSWORD
    if last in KEY_WORDS:
        return SecretKind.KEY
    if last == "key" and before and before not in NOT_SECRET_KEYS:
        return SecretKind.KEY
    return None


COMPOUND = "[a-zäöüß]{0,30}"
"""What a German compound may begin with. Searching for it at each word takes long: `COMPOUND_CUE` begins in its middle."""

PASSWORD_CUE = (
    r"(?:(?:pass(?:[- ]?word|[- ]?phrase|code)|pswd|htpasswd|passwd|pwd|mot de passe|mdp|phrase (?:secrète|de passe)|(?:unlock|secret|seed|recovery|backup|mnemonic) phrase|[a-zäöüß]{0,30}(?:pass(?:wort|phrase)|kennwort)"
    r"|zugangswort|losungswort|contraseña|contrasena|frase (?:secreta|de (?:contraseña|paso))|senha|wachtwoord)s?"
    r"|mots de passe|phrases secrètes|[a-zäöüß]{0,30}(?:passwörter|kennwörter)n?"
    r"|claves? (?:secretas?|maestras?|de (?:acceso|paso|administrador)|wi-?fi|del? (?:la )?(?:wi-?fi|servidor|usuario|admin|correo|cuenta|red|base|router|panel|root)))"
)
"""A word for a password, also as the end of a German compound."""

CUES = {
    SecretKind.PASSWORD: PASSWORD_CUE.replace(COMPOUND, "") + r"|pw",
    SecretKind.KEY: (
        r"(?:api|app|access|auth|secret|private|signing|encryption|license|licence|master|shared|account|webhook|deploy|service"
        r"|api-|application|integration|routing|pre-?shared|tenant|ingest(?:ion)?|bot|admin|read|write|recovery|backup|unseal|consumer|write|client|totp"
        r"|wi-?fi|wlan|instrumentation|registration|personal)[ _-]?(?:keys?|tokens?|secrets?|codes?)"
        r"|tokens?|secrets?|pats?|seeds?|schlüssel|jetons?|clés? (?:d['’]api|api|secrètes?|privées?|d['’]accès|wi-?fi|du wi-?fi)"
        r"|claves? (?:de )?(?:la )?api|claves? privadas?|cle api|bearer"
    ),
    SecretKind.LOGIN: r"credentials?|creds|log(?:in|on)s?|sign in|log in|identifiants?|zugangsdaten|anmeldedaten|credenciales|root|admin",
}

CUE_WORDS = (
    "(?:"
    + "|".join(f"(?P<{kind.name}>{words})" for kind, words in CUES.items())
    + ")(?![^\\W_])(?! ids?\\b| names?\\b)"
)

CUE = lazy_pattern("(?i)(?<![^\\W_])(?<![:/])" + CUE_WORDS)
"""A word of prose that announces a secret."""

COMPOUND_HINTS = ("passw", "kennw", "schlüssel")
COMPOUND_CUE = lazy_pattern("(?i)(?:(?<![^\\W_])(?<![:/])|(?<=[a-zäöüß])(?=passw|kennw|schl))" + CUE_WORDS)
"""The same for a text with one of these hints: there may be a German compound."""

HINTS = (
    "pass", "pwd", "pw", "secr", "token", "key", "bearer", "auth", "cred", "login", "log in", "sign in", "logon", "mdp", "kennw",
    "contrase", "clave", "senha", "jeton", "schlüssel", "clé", "wachtw", "zugang", "anmelde", "identifiant", "sig", "jwt", "dsn",
    "psk", "salt", "pepper", "root", "admin", "pat", " -u", "seed",
)  # fmt: skip
"""Without any of these, in lower case, no name and no word of prose announces a secret."""


def has_hint(lower: str, hints: tuple[str, ...]) -> bool:
    """Check whether a lower-case text has any of the hints."""
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long, and every write comes here
        if hint in lower:
            return True
    return False
