"""How many secrets written apart from the rules are masked whole: `python -m tests.tools.secret_measure`.

The lists beside `test_secret_recall.py` hold invented texts; `[[…]]` stands around a secret, `{a40}` for forty drawn letters
and digits, and a target may stand before a tab.

Half of the lines, chosen by their digest, and all below `# Looked at` were looked at while the rules were written (`dev`); the
others were only counted. Ten of `secret_forms.txt` and `secret_prose.txt` that were missed were looked at later, which flatters
these two. The lists were written before the rules that they measure.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_store.intake.detectors.secrets import find_secrets
from hermes_memory_store.intake.spans import TextSpan
from tests.benchmarks.timing import table

HERE = Path(__file__).parents[1] / "store" / "intake"

LOOKED_AT = "\n# Looked at\n"

WORDS = [
    "amber", "anvil", "beacon", "birch", "canyon", "cedar", "cobalt", "copper", "dragon", "ember",
    "falcon", "forest", "garden", "glacier", "harbor", "hazel", "indigo", "jasmine", "kestrel", "lagoon",
    "lantern", "maple", "marble", "meadow", "monkey", "nectar", "orchid", "otter", "pepper", "pillow",
    "quartz", "raven", "river", "saffron", "summer", "sunset", "thunder", "tiger", "velvet", "walnut",
    "willow", "winter", "zephyr",
]  # fmt: skip

LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
ALPHABETS = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "a": LOWER + UPPER + DIGITS,
    "t": LOWER + UPPER,
    "u": LOWER + UPPER + DIGITS + "_-",
    "b": LOWER + UPPER + DIGITS + "+/",
    "B": LOWER + UPPER + DIGITS + "+/",
    "d": DIGITS,
    "l": LOWER + DIGITS,
    "L": UPPER + DIGITS,
    "T": UPPER + "234567",
    "c": LOWER + UPPER + DIGITS + "./",
    "g": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "p": LOWER + UPPER + DIGITS + "!#%^&*",
    "k": LOWER + DIGITS + "!@#%^&*(-_=+)",
}
MIXED = {"a", "u", "b", "B", "l", "L", "H", "h", "k", "p"}
"""Alphabets of which a drawn value holds a digit and a letter."""

PEM_BREAKS = {"pem": "\n", "pemn": "\\n", "pems": " "}

HOLE = re.compile(r"\{(pwu|pw|pp|ph|word|U|jwt|pem[ns]?|b64|[hHatubBcdlLTgkp])(:[\w ]+|\d*)\}")


@dataclass(frozen=True, slots=True)
class SecretText:
    """A text and where its secrets stand."""

    line: str
    """As it stands in the list."""
    text: str
    spans: tuple[TextSpan, ...]
    target: str = "note"
    held_out: bool = False
    """Whether the line was only counted."""

    def find(self) -> list[TextSpan]:
        return find_secrets(self.target, self.text)


class SecretDraw:
    """Values drawn for the holes of a line, the same in every run."""

    def __init__(self, line: str) -> None:
        self.random = random.Random(line)

    def draw(self, alphabet: str, length: int) -> str:
        """A value that neither begins nor ends with a sign."""
        while True:
            value = "".join(self.random.choices(ALPHABETS[alphabet], k=length))
            mixed = re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
            if value[0].isalnum() and value[-1].isalnum() and (mixed or length < 8 or alphabet not in MIXED):
                return value

    def base64(self, count: int) -> str:
        """That many random bytes."""
        return base64.b64encode(self.random.randbytes(count)).decode()

    def fill(self, match: re.Match[str]) -> str:
        """The value for one hole."""
        kind, size = match[1], match[2].lstrip(":")
        if kind == "pw":
            return (
                self.random.choice(UPPER) + self.draw("a", 4) + self.random.choice("!#$%&*?") + self.draw("a", 6) + "7q"
            )
        if kind == "pwu":
            return self.random.choice(UPPER) + self.draw("a", 5) + self.random.choice("!-_.~") + self.draw("a", 6) + "9"
        if kind == "pp":
            sign = self.random.choice(["", "", "!", "-", "_"])
            return self.random.choice(WORDS).title() + sign + str(self.random.randrange(10, 9999))
        if kind == "ph":
            return " ".join(self.random.sample(WORDS, 4))
        if kind == "word":
            return self.random.choice(WORDS)
        if kind == "U":
            return "-".join(self.draw("h", length) for length in (8, 4, 4, 4, 12))
        if kind == "b64":
            return self.base64(int(size))
        if kind == "jwt":
            parts = [json.dumps(part).encode() for part in ({"alg": "RS256", "typ": "JWT"}, {"sub": self.draw("d", 8)})]
            parts.append(self.random.randbytes(64))
            return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
        if kind in PEM_BREAKS:
            body = self.base64(420)
            lines = [
                f"-----BEGIN {size}-----",
                *(body[at : at + 64] for at in range(0, len(body), 64)),
                f"-----END {size}-----",
            ]
            return PEM_BREAKS[kind].join(lines)
        return self.draw(kind, int(size))


def read_secret_texts(name: str) -> list[SecretText]:
    """Read one of the lists. All lines below `LOOKED_AT` were looked at, and half of those above."""
    counted, _, looked_at = (HERE / name).read_text(encoding="utf-8").partition(LOOKED_AT)
    half = [replace(one, held_out=hashlib.sha256(one.line.encode()).digest()[0] % 2 == 1) for one in to_texts(counted)]
    return half + to_texts(looked_at)


def to_texts(lines: str) -> list[SecretText]:
    """Fill the holes of several lines; a comment begins with `# `."""
    return [to_secret_text(line) for line in lines.splitlines() if line and not line.startswith("# ")]


def to_secret_text(line: str) -> SecretText:
    """Fill the holes of a line."""
    target, tab, content = line.partition("\t")
    filled = HOLE.sub(SecretDraw(line).fill, (content if tab else line).replace("\\n", "\n"))
    parts = re.split(r"(\[\[|\]\])", filled)
    text, start, spans = "", 0, []
    for part in parts:
        if part == "[[":
            start = len(text)
        elif part == "]]":
            spans.append(TextSpan(start, len(text)))
        else:
            text += part
    return SecretText(line, text, tuple(spans), target if tab else "note")


def is_masked_whole(one: SecretText) -> bool:
    """Check whether all of every secret is within what is found, and no more than half of the rest."""
    found = one.find()
    whole = all(any(span.start <= secret.start and secret.end <= span.end for span in found) for secret in one.spans)
    rest = len(one.text) - sum(end - start for start, end in one.spans)
    more = sum(end - start for start, end in found) - sum(end - start for start, end in one.spans)
    return whole and more <= rest / 2


def is_masked_exactly(one: SecretText) -> bool:
    """Check whether the secrets are masked, and nothing else: no name, no quote, no rest of the sentence."""
    return tuple(one.find()) == one.spans


def is_left_alone(one: SecretText) -> bool:
    return not one.find()


def read_references() -> list[SecretText]:
    """Read the placeholders and references, each under targets that announce a password, a key and nothing."""
    return [
        replace(one, target=target)
        for one in read_secret_texts("secret_references.txt")
        for target in ("env.db_password", "api_key", "note")
    ]


def main(half: str) -> None:
    """Print the figures, and with `dev` the misses of the half that was looked at."""
    rows: list[tuple[object, ...]] = []
    lists: list[tuple[str, list[SecretText], Callable[[SecretText], bool]]] = [
        ("forms", read_secret_texts("secret_forms.txt"), is_masked_whole),
        ("settings", read_secret_texts("secret_settings.txt"), is_masked_exactly),
        ("prose", read_secret_texts("secret_prose.txt"), is_masked_whole),
        ("lookalikes", read_secret_texts("secret_lookalikes.txt"), is_left_alone),
        ("references", read_references(), is_left_alone),
    ]
    for name, texts, is_right in lists:
        for held_out in (False, True):
            part = [one for one in texts if one.held_out is held_out]
            wrong = [one for one in part if not is_right(one)]
            share = f"{len(wrong) / len(part):.1%}"
            rows.append((name, "held out" if held_out else "chosen on", len(wrong), len(part), share))
            if half == "dev" and not held_out:
                for one in wrong:
                    found = [one.text[slice(*span)][:60] for span in one.find()]
                    print("   ", one.target, "|", one.text.replace("\n", "\\n")[:150], found)
    table(("texts", "half", "wrong", "of", "share"), rows)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
