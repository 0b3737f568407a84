"""How often the fact that answers a developer's question is given within 180 tokens, with each local model and without.

    python -m tests.benchmarks.recall_encoders [MODEL ...]

The set is `tests/recall_sets/developers`: one memory in four languages. MODEL is what `model` of `[embedding]` takes: names of
the catalogue or folders, several joined by `+`; those that are installed, each and all together, unless given. `alone` is the
share of answers among the five nearest vectors, `R@5` and `@180` those of the one recall. Numbers are chosen on the `choosing`
half and judged on the `kept` one. The milliseconds are those of one question's vector.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_bridge.embedding.local_model import find_installed_folder
from hermes_memory_bridge.embedding.local_nearest import LocalNearest, open_local_nearest
from hermes_memory_bridge.embedding.model_catalogue import CATALOGUE
from hermes_memory_store.context.given import GivenItem
from hermes_memory_store.notation.memory_spec import parse_notation
from hermes_memory_store.store import Store
from hermes_memory_themes import EmbeddingSettings, Policies
from tests.recall_sets import Half, RecallSet, SetQuestion, load_developer_set

THEME, BUDGET, FIRST = "ops", 180, 5
POLICY = '[defaults]\nhot_chars = 1000000\nfact_chars = 4000\nquarantine = false\nsecrets = "allow"\n'

IsFound = Callable[[SetQuestion], bool]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="*")
    given = options.parse_args()
    installed = [name for name in CATALOGUE if find_installed_folder(name)]
    models = given.models or [*installed, *(["+".join(installed)] if len(installed) > 1 else [])]
    recall_set = load_developer_set()
    print(f"{'':64} {'choosing':>8} {'kept':>8} {'p50 ms':>8} {'p95 ms':>8}")
    with open_set(recall_set) as (store, lines):
        report(recall_set, "words, R@5", lambda question: is_among(store, lines, question, None, None))
        report(recall_set, "words, @180", lambda question: is_among(store, lines, question, None, BUDGET))
    for model in models:
        with open_set(recall_set) as (store, lines):
            finder = open_local_nearest(store, EmbeddingSettings(provider="local", model=model), create=True)
            assert finder is not None, f"{model} is not installed"
            with finder:
                finder.fill()
                report_model(recall_set, model, store, lines, finder)


def report_model(recall_set: RecallSet, model: str, store: Store, lines: dict[int, str], finder: LocalNearest) -> None:
    """Print the lines of one model."""
    millis: list[float] = []

    def is_near(question: SetQuestion) -> bool:
        begun = time.perf_counter()
        nearest = finder(question.text)
        millis.append((time.perf_counter() - begun) * 1000)
        found = [] if nearest is None else nearest("fact", THEME, FIRST, ())
        return question.answer.line in [lines[key] for key, _ in found[:FIRST]]

    report(recall_set, f"{model}, alone", is_near, millis)
    report(recall_set, f"{model}, R@5", lambda question: is_among(store, lines, question, finder, None))
    report(recall_set, f"{model}, @180", lambda question: is_among(store, lines, question, finder, BUDGET))


def is_among(
    store: Store, lines: dict[int, str], question: SetQuestion, finder: LocalNearest | None, budget: int | None
) -> bool:
    """Ask the one recall; tell whether the answer is among the first, or within a budget."""
    nearest = None if finder is None else finder(question.text)
    items: Sequence[GivenItem]
    if budget is None:
        items = store.recall.rank([THEME], question.text, kinds=("fact",), nearest=nearest, limit=FIRST).items
    else:
        items = store.recall.give([THEME], question.text, budget, kinds=("fact",), nearest=nearest).items
    return question.answer.line in [lines[item.fact.id] for item in items if item.fact is not None]


def report(recall_set: RecallSet, name: str, is_found: IsFound, millis: Sequence[float] = ()) -> None:
    """Ask every question in one way, and print the shares of both halves; below them those of each language."""
    found = [(question, is_found(question)) for question in recall_set.questions]
    shares = [statistics.mean(hit for question, hit in found if question.half is half) for half in Half]
    times = f" {statistics.median(millis):8.2f} {statistics.quantiles(millis, n=20)[-1]:8.2f}" if millis else ""
    print(f"{name:64} {shares[0]:8.3f} {shares[1]:8.3f}{times}", flush=True)
    languages = sorted({question.language for question, _ in found})
    parts = [
        f"{language} {statistics.mean(hit for question, hit in found if question.language == language):.3f}"
        for language in languages
    ]
    print(f"    {', '.join(parts)}")


@contextmanager
def open_set(recall_set: RecallSet) -> Iterator[tuple[Store, dict[int, str]]]:
    """Yield a store with the facts of a set, and the line of each by its id."""
    with tempfile.TemporaryDirectory() as folder:
        policies = Path(folder) / "memory-themes.toml"
        policies.write_text(POLICY, encoding="utf-8")
        with Store.open(Path(folder) / "memory.db", policies=Policies.load(policies)) as store:
            lines = {}
            for fact in recall_set.facts:
                written = store.facts.write(THEME, parse_notation(fact.line), scope=fact.scope)
                lines[written.fact.id] = fact.line
            yield store, lines


if __name__ == "__main__":
    main()
