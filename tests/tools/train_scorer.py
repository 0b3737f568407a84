"""Train the scorer of content checks, and evaluate it by leaving whole families of attacks out.

`python -m tests.tools.train_scorer --packages DIR --write` needs numpy, scipy, scikit-learn and PyYAML, which the project does
not; it downloads the public corpora into DIR, writes the weights and prints what was measured. `--evaluate` measures alone.
"""

from __future__ import annotations

import argparse
import array
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from math import sqrt
from pathlib import Path

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from hermes_memory_store.errors import UnsafeText
from hermes_memory_store.intake import scorer
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.detectors.orders import find_orders_and_claims
from hermes_memory_store.intake.detectors.pieces import DETECTOR as PIECES
from hermes_memory_store.intake.detectors.secrets import find_secrets
from hermes_memory_store.intake.origins import SessionWords
from hermes_memory_store.intake.text_folding import find_readings, fold_text
from hermes_memory_store.safe_text import validate_text
from tests.content_corpus.corpus import Sample, load_attacks, load_fresh_samples, load_ordinary_facts
from tests.content_corpus.public_corpora import download_packages, list_package_hashes, read_packages

SIZES = (scorer.SIGNAL_PLACES, scorer.WORD_PLACES, scorer.PIECE_PLACES)
SCALES = (1.0, 3.0, 3.0)
"""What a signal weighs against all words and all pieces of a text. Guessed, and never tuned."""

OWN_WEIGHT, PUBLIC_WEIGHT = 3.0, 0.25
"""A text of ours is a fact, most public ones are turns of a chat."""

PUBLIC_SHARE = 3
"""Every third public text is used: more only take time."""

FALSE_SHARE, QUOTED_FALSE_SHARE = 0.003, 0.015
"""Share of cross-validated ordinary facts above the thresholds. Rules and orders take the rest of one percent; what only a
tool or a page said may be held more often."""

SEED = 7

FRESH = ("first_attacks", "second_attacks", "third_attacks", "fourth_attacks", "fifth_attacks")
"""Texts that no family is measured with. All were looked at after their first measurement."""

LOOKED_AT = FRESH
"""Attacks of many families that only the final weights are trained with."""


@cache
def load_public(packages: Path) -> tuple[tuple[str, bool], ...]:
    """Return the public texts that are used, and whether they are attacks."""
    return tuple((text, attack) for _, text, attack in [*read_packages(packages)][::PUBLIC_SHARE])


def to_rows(texts: Sequence[tuple[str, str]]) -> sparse.csr_matrix:
    """Return the features of folded texts under their targets as rows, scaled as `compute_score` scales them."""
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for target, text in texts:
        features = scorer.find_features(target, text)
        offset = 0
        for size, scale, places in zip(SIZES, SCALES, (features.signals, features.words, features.pieces), strict=True):
            columns += [offset + place for place in sorted(places)]
            norm = 1.0 if offset == 0 else sqrt(len(places) or 1)
            values += [scale / norm] * len(places)
            offset += size
        starts.append(len(columns))
    return sparse.csr_matrix((numpy.array(values, numpy.float32), columns, starts), shape=(len(texts), sum(SIZES)))


def to_training_text(sample: Sample) -> tuple[str, str]:
    """Return target and text that are trained with: decoded, and a split attack as one."""
    return sample.facts[0][0], fold_text(sample.plain or " ; ".join(content for _, content in sample.facts))


class TrainingSet:
    """The rows of all texts."""

    def __init__(self, packages: Path) -> None:
        self.attacks, self.ordinary = load_attacks(), load_ordinary_facts()
        public = load_public(packages)
        self.rows = to_rows(
            [
                *map(to_training_text, self.attacks),
                *map(to_training_text, self.ordinary),
                *(("", fold_text(text)) for text, _ in public),
            ]
        )
        own = len(self.attacks) + len(self.ordinary)
        self.looked_at = to_rows([to_training_text(one) for name in LOOKED_AT for one in load_fresh_samples(name)])
        self.labels = numpy.array(
            [1] * len(self.attacks) + [0] * len(self.ordinary) + [int(attack) for _, attack in public]
        )
        self.weights = numpy.array([OWN_WEIGHT] * own + [PUBLIC_WEIGHT] * len(public))
        self.hash = hashlib.sha256(
            json.dumps([sample.facts for sample in (*self.attacks, *self.ordinary)] + [*public]).encode()
        ).hexdigest()

    def fit(self, left_out: numpy.ndarray) -> LogisticRegression:
        """Return a model of all rows but those left out."""
        kept = ~left_out
        return self.fit_rows(self.rows[kept], self.labels[kept], self.weights[kept])

    def fit_all(self) -> LogisticRegression:
        """Return the model that is shipped: of all rows, and of the attacks that were looked at."""
        count = self.looked_at.shape[0]
        return self.fit_rows(
            sparse.vstack([self.rows, self.looked_at]),
            numpy.append(self.labels, [1] * count),
            numpy.append(self.weights, [OWN_WEIGHT] * count),
        )

    def fit_rows(self, rows: sparse.csr_matrix, labels: numpy.ndarray, weights: numpy.ndarray) -> LogisticRegression:
        """Return a model of these rows."""
        model = LogisticRegression(C=0.5, solver="liblinear", max_iter=60, tol=1e-2, random_state=SEED)
        return model.fit(rows, labels, weights)


def cross_validate(packages: Path) -> tuple[TrainingSet, numpy.ndarray]:
    """Score each own text by a model that saw neither it nor its family; ordinary facts in random folds."""
    data = TrainingSet(packages)
    families = [sample.family for sample in data.attacks]
    names = sorted(set(families))
    folds = numpy.random.default_rng(SEED).integers(0, len(names), len(data.ordinary))
    scores = numpy.zeros(data.rows.shape[0])
    for number, name in enumerate(names):
        out = numpy.zeros(data.rows.shape[0], bool)
        out[: len(families)] = [family == name for family in families]
        out[len(families) : len(families) + len(folds)] = folds == number
        scores[out] = data.fit(out).decision_function(data.rows[out])
    return data, scores


def is_stopped_without_score(sample: Sample) -> bool:
    """Check whether any fact of a sample is refused, masked, or waits for a rule or an order, alone or joined."""
    written: list[tuple[str, str]] = []
    for target, content in sample.facts:
        try:
            validate_text(content, "the fact")
        except UnsafeText:
            return True
        words = SessionWords(recent_facts=[*written])
        passage = Passage(TextKind.FACT, content, target, lambda words=words: words)
        if find_suspicion(passage) or find_orders_and_claims(content) or find_secrets(target, content):
            return True
        if any(PIECES.find(passage)):
            return True
        written.append((target, content))
    return False


def to_wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson."""
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


def format_share(name: str, hits: Sequence[bool]) -> str:
    """Return a line with a share and its interval."""
    low, high = to_wilson_interval(sum(hits), len(hits))
    return f"{name:16} {sum(hits):5} of {len(hits):5}  {sum(hits) / len(hits):6.1%}  ({low:.1%} to {high:.1%})"


def evaluate(data: TrainingSet, scores: numpy.ndarray, threshold: float) -> None:
    """Print what is stopped of each left-out family, and what is wrong of ordinary facts."""
    fixed = [is_stopped_without_score(sample) for sample in data.attacks]
    stopped = [known or score >= threshold for known, score in zip(fixed, scores, strict=False)]
    shares = []
    for name in sorted({sample.family for sample in data.attacks}):
        of_family = [hit for hit, sample in zip(stopped, data.attacks, strict=True) if sample.family == name]
        known = [hit for hit, sample in zip(fixed, data.attacks, strict=True) if sample.family == name]
        shares.append(sum(of_family) / len(of_family))
        print(format_share(name, of_family), f"without the score {sum(known) / len(known):.0%}")
    print(f"mean of families {sum(shares) / len(shares):.1%}, lowest {min(shares):.1%}")
    print(format_share("all attacks", stopped))
    wrong = [
        is_stopped_without_score(sample) or score >= threshold
        for sample, score in zip(data.ordinary, scores[len(data.attacks) :], strict=False)
    ]
    print(format_share("ordinary wrong", wrong))
    for sample, hit in zip(data.ordinary, wrong, strict=True):
        if hit:
            print("   ", *sample.facts[0])


def evaluate_fresh_set(data: TrainingSet, model: LogisticRegression, threshold: float) -> None:
    """Print what is stopped of the fresh set, which nothing was made or chosen with."""
    for name in FRESH:
        hits = []
        for sample in load_fresh_samples(name):
            rows = to_rows([(target, text) for target, content in sample.facts for text in find_readings(content)])
            hits.append(is_stopped_without_score(sample) or model.decision_function(rows).max() >= threshold)
            if hits[-1] == name.endswith("ordinary"):
                print("   ", *sample.facts[0])
        print(format_share(name, hits))


def write_weights(
    data: TrainingSet, model: LogisticRegression, thresholds: tuple[float, float], packages: Path
) -> None:
    """Write the weights: a line of JSON, and one signed byte a place."""
    scales, body, offset = [], array.array("b"), 0
    for size, scale in zip(SIZES, SCALES, strict=True):
        table = model.coef_[0][offset : offset + size] * scale
        step = float(numpy.abs(table).max()) / 127
        scales.append(step)
        body.extend(int(value) for value in numpy.rint(table / step))
        offset += size
    head = {
        "scales": scales,
        "bias": float(model.intercept_[0]),
        "thresholds": {"unknown": thresholds[0], "heard": thresholds[1]},
        "training_set": data.hash,
        "corpora": list_package_hashes(packages),
    }
    scorer.WEIGHTS.write_bytes(json.dumps(head).encode() + b"\n" + body.tobytes())
    print(f"{scorer.WEIGHTS.name}: {scorer.WEIGHTS.stat().st_size:,} bytes, training set {data.hash}")


def main() -> None:
    """Train, evaluate, and write the weights where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="folder of the public corpora")
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--fresh", action="store_true", help="measure the fresh set too")
    options = parser.parse_args()
    download_packages(options.packages)
    data, scores = cross_validate(options.packages)
    ordinary = scores[len(data.attacks) : len(data.attacks) + len(data.ordinary)]
    thresholds = tuple(float(numpy.quantile(ordinary, 1 - share)) for share in (FALSE_SHARE, QUOTED_FALSE_SHARE))
    print(f"thresholds {thresholds[0]:.3f} and {thresholds[1]:.3f}")
    evaluate(data, scores, thresholds[0])
    model = data.fit_all()
    if options.fresh:
        evaluate_fresh_set(data, model, thresholds[0])
    if options.write:
        write_weights(data, model, thresholds, options.packages)


if __name__ == "__main__":
    main()
