"""Secrets in a text: tokens, keys and passwords that must not stand in a memory that is recalled into prompts.

The forms of tokens are detect-secrets' own, which knows those of some twenty services. Its guesses by entropy and by keyword
are left out: facts are full of hashes, ids and the word `password`. What it lacks is below.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

PLUGINS = (
    "ArtifactoryDetector", "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector", "DiscordBotTokenDetector",
    "GitHubTokenDetector", "GitLabTokenDetector", "JwtTokenDetector", "MailchimpDetector", "NpmDetector", "OpenAIDetector",
    "PypiTokenDetector", "SendGridDetector", "SlackDetector", "SquareOAuthDetector", "StripeDetector",
    "TelegramBotTokenDetector", "TwilioKeyDetector",
)  # fmt: skip

MORE = (
    r"\bsk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}",
    r"\bsk-(?:ant|proj|or|live|test)-[A-Za-z0-9_-]{16,}",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\bya29\.[0-9A-Za-z_-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bgh[opsur]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{40,}",
    r"\bhmt_[A-Za-z0-9_-]{30,}",
    r"\bxox[abposr]-[A-Za-z0-9-]{10,}",
    r"\bdo[por]_v1_[a-f0-9]{64}",
    r"\bglsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}\b|\bglc_[A-Za-z0-9+/]{32,400}={0,3}|\beyJrIjoi[A-Za-z0-9+/]{40,}={0,3}",
    r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}|\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}|\bntn_[A-Za-z0-9]{40,}|\bsecret_[A-Za-z0-9]{43}\b|\bfig[dp]_[A-Za-z0-9_-]{36,}",
    r"\bdapi[a-f0-9]{32}(?:-\d)?\b|\bdp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9_.-]{40,}|\bpul-[a-f0-9]{40}\b",
    r"\bnfp_[A-Za-z0-9]{36,}|\bfo1_[A-Za-z0-9_-]{43}|\bfm[12][ar]?_[A-Za-z0-9+/=_-]{80,}|\bHRKU-[A-Za-z0-9_-]{36,}",
    r"\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}|\bNRAK-[A-Z0-9]{27}|\bsntry[su]_[A-Za-z0-9+/=_-]{40,}",
    r"\bsbp_[a-f0-9]{40}|\bsb_secret_[A-Za-z0-9_-]{20,}|\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
    r"\bATATT3[A-Za-z0-9_=-]{100,}|\bATCTT3[A-Za-z0-9_=-]{100,}|\bATBB[A-Za-z0-9_=-]{28,}",
    r"\bgsk_[A-Za-z0-9]{40,}|\bxai-[A-Za-z0-9]{60,}|\br8_[A-Za-z0-9]{37}\b|\bpplx-[A-Za-z0-9]{40,}|\btvly-[A-Za-z0-9-]{28,}",
    r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b|\bnvapi-[A-Za-z0-9_-]{60,}",
    r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}|\brubygems_[a-f0-9]{48}|\bgl(?:rt|dt|ptt|ft|imt|agent|soat|cbt)-[A-Za-z0-9_-]{20,}",
    r"\btskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9-]{20,}|\bops_eyJ[A-Za-z0-9+/=_-]{100,}",
    r"\bGOCSPX-[A-Za-z0-9_-]{28}|\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}|\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b",
    r"\bwhsec_[A-Za-z0-9+/=]{24,}|\bEAAA[A-Za-z0-9_-]{60}\b",
    r"-----BEGIN[A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}",
)
"""Forms of tokens that detect-secrets does not know."""

NAMED = (
    r"(?i)\b(?:password|passwd|pwd|passphrase|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key|auth[_-]?token|token|bearer)\b"
    r"[\"']?\s*(?:=|:|\bis\b)\s*[\"']?(?P<value>[^\s\"',;)}\]]{8,})"
)
"""A secret that is called one. What follows must look like one, too."""

SECRET_TARGET = (
    r"(?i)(?:^|[._-])(?:password|passwd|pwd|passphrase|secret|secret_key|api_?key|access_?key|token|private_?key)$"
)
"""Targets whose whole content is the secret, when it is one word that looks like it."""

HINT = re.compile(
    r"[A-Za-z0-9_/+=-]{16,}|://[^\s/:]+:[^\s@]+@|-----BEGIN|(?i:passw|pwd|secret|token|api.?key|access.?key|bearer)"
)
"""Without any of this there is no secret, and most facts have none of it."""

RUN = re.compile(r"[A-Za-z0-9_/+=-]{16}")
CALLED = re.compile(r"passw|pwd|secret|token|api.?key|access.?key|bearer|://[^\s/:]+:[^\s@]+@")
"""`HINT` in three parts, for ASCII in lower case: looking for words in any case is what takes long."""


def secrets_in(target: str, content: str) -> list[str]:
    """The secrets in a fact's content, longest first; none for an ordinary fact."""
    if not may_hold(content) and not secret_target().search(target):
        return []
    found: set[str] = set()
    for detector in detectors():
        found.update(secret for secret in detector.analyze_string(content) if secret)
    for pattern in more():
        found.update(match[0] for match in pattern.finditer(content))
    found.update(match["value"] for match in named().finditer(content) if looks_secret(match["value"]))
    if secret_target().search(target) and " " not in content and looks_secret(content):
        found.add(content)
    return outermost(found)


def may_hold(content: str) -> bool:
    """Whether a text has any of `HINT`."""
    if not content.isascii():
        return HINT.search(content) is not None
    return bool(RUN.search(content) or CALLED.search(content.lower()) or "-----BEGIN" in content)


def looks_secret(value: str) -> bool:
    """Whether a word looks drawn by lot and not written by a person: digits, letters of both cases, or signs, mixed."""
    if value.startswith(("‹", "<", "$", "{", "%", "env:", "vault:", "op://", "http://", "https://", "/", "~", "./")):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", r"\d", r"[^\w\s.-]"))
    return kinds >= 3 or (len(value) >= 20 and kinds >= 2 and bool(re.search(r"\d", value)))


def outermost(found: set[str]) -> list[str]:
    """The finds that are not part of a longer one."""
    return sorted(
        (one for one in found if not any(one != other and one in other for other in found)), key=len, reverse=True
    )


@cache
def detectors() -> tuple[Any, ...]:
    """detect-secrets' detectors, made when the first likely text comes: they take 100 ms to import."""
    from detect_secrets.plugins import (
        artifactory,
        aws,
        azure_storage_key,
        basic_auth,
        discord,
        github_token,
        gitlab_token,
        jwt,
        mailchimp,
        npm,
        openai,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )  # fmt: skip

    modules = (
        artifactory, aws, azure_storage_key, basic_auth, discord, github_token, gitlab_token, jwt, mailchimp, npm, openai,
        pypi_token, sendgrid, slack, square_oauth, stripe, telegram_token, twilio,
    )  # fmt: skip
    return tuple(getattr(module, name)() for module in modules for name in PLUGINS if hasattr(module, name))


@cache
def more() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in MORE)


@cache
def named() -> re.Pattern[str]:
    return re.compile(NAMED)


@cache
def secret_target() -> re.Pattern[str]:
    return re.compile(SECRET_TARGET)
