"""Invented secrets in the forms that services give out, and sentences around them, as `secret_samples.txt` has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import Rows, read_sections
from tests.tools.secret_measure import HOLE, SecretDraw

FILE = Path(__file__).with_name("secret_samples.txt")

SENTENCES = (
    "the dashboards use @@, rotated in May",
    "@@",
    "deploy with `@@`.",
    '{"value": "@@"}',
    "old (@@) and new differ",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One text that holds one secret."""

    form: str
    content: str
    secret: str
    target: str = "note"


@cache
def load_sample_rows() -> dict[str, Rows]:
    return read_sections(FILE, {"tokens": 2, "context": 3, "sentences": 3, "services": 2})


def fill_holes(template: str, seed: str) -> str:
    return HOLE.sub(SecretDraw(seed).fill, template.replace("⏎", "\n"))


def draw_tokens(seed: int = 7, section: str = "tokens") -> dict[str, str]:
    """One token for each form that says by itself what it is."""
    return {form: fill_holes(template, f"{seed} {form}") for form, template in load_sample_rows()[section]}


def read_samples(section: str) -> list[Sample]:
    """Texts of which only what stands beside a secret gives it away."""
    samples = []
    for form, target, template in load_sample_rows()[section]:
        before, _, rest = fill_holes(template, form).partition("[[")
        secret, _, after = rest.partition("]]")
        samples.append(Sample(form, before + secret + after, secret, target))
    return samples


def all_samples() -> list[Sample]:
    """Every token in a sentence, and what only its context gives away."""
    alone = [
        Sample(form, SENTENCES[number % len(SENTENCES)].replace("@@", secret), secret)
        for number, (form, secret) in enumerate(draw_tokens().items())
    ]
    return alone + read_samples("context")
