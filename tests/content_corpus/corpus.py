"""Read the corpus: attacks by family, ordinary facts, the fresh set."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TRUST = HERE.parent / "bridge" / "trust"
ORDINARY_ELSEWHERE = (
    TRUST / "ordinary.txt",
    TRUST / "lookalikes.txt",
    *sorted(path for path in (HERE.parent / "recall_sets").rglob("*.txt")),
)
"""Ordinary facts of older tests, which the rules were written with, and those that recall is measured with."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Facts that one session writes, mostly one; a split attack has several. The label is the family or file."""

    family: str
    facts: tuple[tuple[str, str], ...]
    """Targets and contents."""
    plain: str = ""
    """What an encoded attack says."""


def parse_sample_line(line: str) -> tuple[str, str]:
    """Return target and content of a line in notation."""
    head, _, content = line.partition("]: ")
    return head.partition("[")[2], content


def load_sample_file(path: Path) -> list[Sample]:
    """Read a file of facts; blank lines part facts that belong together."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".tsv":
        return [
            Sample(path.stem, (("note", ENCODERS[how](plain)),), plain)
            for how, plain in (line.split("\t") for line in text.splitlines())
        ]
    groups = text.split("\n\n") if "\n\n" in text else text.splitlines()
    return [Sample(path.stem, tuple(map(parse_sample_line, group.strip().splitlines()))) for group in groups]


def load_attacks() -> list[Sample]:
    """Return the attacks of all families."""
    return [sample for path in sorted((HERE / "attacks").iterdir()) for sample in load_sample_file(path)]


def load_ordinary_facts() -> list[Sample]:
    """Return the ordinary facts, each once, those of older tests included."""
    found: dict[tuple[tuple[str, str], ...], Sample] = {}
    for path in (*sorted((HERE / "ordinary").iterdir()), *ORDINARY_ELSEWHERE):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "]: " in line:
                facts = (parse_sample_line(line),)
                found.setdefault(facts, Sample(path.stem, facts))
    return list(found.values())


def load_fresh_samples(name: str) -> list[Sample]:
    """Return texts that nothing is trained or chosen with: `first_attacks` and so on."""
    return load_sample_file(HERE / "fresh" / f"{name}.txt")


def shift_letters(base: int) -> Callable[[str], str]:
    """Return an encoder into the mathematical letters that begin at a code point."""
    return lambda text: "".join(chr(base + ord(c) - ord("a")) if "a" <= c <= "z" else c for c in text)


MORSE = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..".split(),  # noqa: SIM905
        strict=True,
    )
)

ENCODERS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "leet": str,
    "homoglyph": lambda text: text.translate(str.maketrans("aeopc", "аеорс")),
    "zerowidth": lambda text: "\u200b".join(text),
    "url": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "reversed": lambda text: text[::-1],
    "spelled": lambda text: " ".join(text.replace(" ", "")),
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "mathbold": shift_letters(0x1D41A),
    "entities": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "unicode": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "morse": lambda text: " / ".join(" ".join(MORSE[c] for c in word) for word in text.split()),
    "piglatin": lambda text: " ".join(f"{word[1:]}{word[0]}ay" for word in text.split()),
}
