"""Convert gitleaks' rules to those of the store: `python -m tests.tools.convert_rules gitleaks.toml …`.

    git clone https://github.com/gitleaks/gitleaks && git -C gitleaks checkout v8.30.1
    python -m tests.tools.convert_rules gitleaks --release v8.30.1

Go's notation becomes Python's: a flag in the middle becomes a group, `\\z` becomes `\\Z`. What may stand before the name
of a service is dropped: it makes no match, and searching for it takes long. A token may be followed by any sign, as
in a sentence, not only by white space and quotes as in code.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from typing import Any

from hermes_memory_store.intake.secret_table import RULE_FILE

LICENCE_FILE = RULE_FILE.with_name("LICENSE")

LEFT_OUT = {
    "our own rules find the whole of it": (
        "generic-api-key jwt jwt-base64 private-key curl-auth-header curl-auth-user aws-amazon-bedrock-api-key-short-lived"
    ),
    "for files of one kind, and heavy or loose elsewhere": (
        "kubernetes-secret-yaml pkcs12-file nuget-config-password hashicorp-tf-password freemius-secret-key"
    ),
    "names an account or an application, which is no secret": (
        "adobe-client-id asana-client-id bitbucket-client-id discord-client-id linkedin-client-id looker-client-id "
        "messagebird-client-id plaid-client-id sendbird-access-id sumologic-access-id new-relic-user-api-id "
        "flutterwave-public-key lob-pub-api-key mailgun-pub-key new-relic-browser-api-token"
    ),
    "takes any digest of a commit beside the word": "sourcegraph-access-token",
}

LEAD = r"[\w.-]{0,50}?"
"""What gitleaks lets stand before a service's name, to show more of the line."""

TAIL, END = r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?![\w/+-])"
"""What gitleaks wants after a token, and what stands for it."""


def convert_rule(rule: dict[str, Any]) -> dict[str, Any]:
    """Convert one rule."""
    pattern = (
        rule["regex"].replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[\\/|\\#|\\?|:]", "[/#?:]")
    )
    return {
        "name": rule["id"],
        "keywords": [keyword.lower() for keyword in rule["keywords"]],
        "pattern": keep_group(scope_flags(pattern.replace(LEAD, "").replace(TAIL, END)), rule.get("secretGroup", 1)),
        "entropy": float(rule.get("entropy", 0)),
        "named": LEAD in rule["regex"],
    }


def scope_flags(pattern: str) -> str:
    """Make a group of each `(?i)` that does not begin the pattern, up to the end of the group it stands in."""
    while (at := pattern.find("(?i)", 1)) > 0:
        end = find_group_end(pattern, at + 4)
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
    return pattern


def keep_group(pattern: str, kept: int) -> str:
    """Let only the group of the secret capture what it matches."""
    parts: list[str] = []
    number = end = 0
    for part in re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?P<\w+>").finditer(pattern):
        if part[0].startswith("("):
            number += 1
            parts += [pattern[end : part.start()], "(" if number == kept else "(?:"]
            end = part.end()
    return "".join(parts) + pattern[end:]


def find_group_end(pattern: str, at: int) -> int:
    """Return where the group around a place ends, or the pattern."""
    depth = 0
    for part in re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]").finditer(pattern, at):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth < 0:
            return part.start()
    return len(pattern)


def main(checkout: str, release: str) -> None:
    """Write the rules and their licence."""
    run = lambda *words: subprocess.run(["git", "-C", checkout, *words], check=True, capture_output=True).stdout  # noqa: E731
    source = run("show", f"{release}:config/gitleaks.toml")
    left_out = set(" ".join(LEFT_OUT.values()).split())
    rules = [convert_rule(rule) for rule in tomllib.loads(source.decode())["rules"] if rule["id"] not in left_out]
    head = {
        "source": "https://github.com/gitleaks/gitleaks config/gitleaks.toml",
        "release": release,
        "date": run("log", "-1", "--format=%cs", release).decode().strip(),
        "sha256": hashlib.sha256(source).hexdigest(),
        "licence": f"MIT, see {LICENCE_FILE.name}",
    }
    lines = ",\n".join(json.dumps(rule) for rule in rules)
    RULE_FILE.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rules": [\n{lines}\n]}}\n', encoding="utf-8")
    LICENCE_FILE.write_bytes(run("show", f"{release}:LICENSE"))
    print(f"{len(rules)} rules of {release}, {len(left_out)} left out")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[sys.argv.index("--release") + 1])
