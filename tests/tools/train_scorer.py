"""Train the scorer of content checks, and evaluate it by leaving whole families of attacks out.

`python -m tests.tools.train_scorer --write` needs numpy, scipy, scikit-learn and PyYAML, which the project does not; it downloads
the public corpora, reads texts of repositories, writes the weights and prints what was measured.
"""

from __future__ import annotations

import argparse
import array
import hashlib
import json
import random
import re
from collections.abc import Sequence
from functools import cache
from math import log, sqrt
from pathlib import Path

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from hermes_memory_store.errors import UnsafeText
from hermes_memory_store.intake import scorer
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.detectors.orders import find_orders_and_claims
from hermes_memory_store.intake.detectors.pieces import DETECTOR as PIECES
from hermes_memory_store.intake.detectors.score import FEWEST_SPACES
from hermes_memory_store.intake.detectors.secrets import find_secrets
from hermes_memory_store.intake.origins import SessionWords, TextOrigin
from hermes_memory_store.intake.text_folding import find_readings, fold_text, to_name_sentence
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

FALSE_SHARES = {"unknown": 0.0025, "heard": 0.03, "turn": 0.0005, "order": 0.0025, "name": 0.005}
"""Share of the lines of repositories to choose with that are above each threshold; of those with an order's words, above that
of an order. All that holds lines of unknown origin takes half of a percent together; what only a tool or a page said may be
held more often."""

MARGINS = {"unknown": 1.4, "unknown_order": 2.0}
"""What the thresholds of unknown words lie above those that were chosen: a stranger's repositories are odder than those that we
found. The least with which half of a percent of the lines waited that a tester had found in others."""

PARTS = ("train",) * 6 + ("choose",) * 2 + ("judge",) * 2
"""The part of a repository, by its digest."""

NAMES = Path(__file__).parents[1] / "store" / "intake" / "ordinary_names.txt"
"""Ordinary names, of which that share has the threshold of a name and is general."""

LICENCES = frozenset({"MIT", "Apache-2.0", "BSD", "CC0"})

MOST_LINES, MOST_PARAGRAPHS = 400, 60
"""Lines and paragraphs of one repository: no large one is to say what is ordinary."""

LIST_MARK = re.compile(r"^(?:[-*+>]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")

SEED = 7

FRESH = ("first_attacks", "second_attacks", "third_attacks", "fourth_attacks", "fifth_attacks")
"""Texts that no family is measured with. All were looked at after their first measurement."""

SOURCES = Path(__file__).parents[1] / "content_corpus" / "repositories.tsv"
"""The repositories whose texts were used, with licence and commit: the texts themselves are not kept."""

KEPT = Path.home() / ".cache" / "hermes-memory-scorer"

LOOKED_AT = FRESH
"""Attacks of many families that only the final weights are trained with."""


@cache
def load_public(packages: Path) -> tuple[tuple[str, bool], ...]:
    """Return the public texts that are used, and whether they are attacks."""
    return tuple((text, attack) for _, text, attack in [*read_packages(packages)][::PUBLIC_SHARE])


def to_rows(texts: Sequence[str]) -> sparse.csr_matrix:
    """Return the features of folded texts as rows, scaled as `compute_score` scales them."""
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for text in texts:
        features = scorer.to_features(*scorer.find_names(text))
        offset = 0
        for size, scale, places in zip(SIZES, SCALES, (features.signals, features.words, features.pieces), strict=True):
            columns += [offset + place for place in sorted(places)]
            norm = 1.0 if offset == 0 else sqrt(len(places) or 1)
            values += [scale / norm] * len(places)
            offset += size
        starts.append(len(columns))
    return sparse.csr_matrix((numpy.array(values, numpy.float32), columns, starts), shape=(len(texts), sum(SIZES)))


def to_training_text(sample: Sample) -> str:
    """Return the text that is trained with: decoded, and a split attack as one."""
    return fold_text(sample.plain or " ; ".join(content for _, content in sample.facts))


class RepositoryTexts:
    """Lines and paragraphs of instruction files of public repositories, each repository in one part: train, choose or judge.

    One file of JSON a repository: its `repo`, `license` and `commit`, and its `files`, texts by path.
    """

    def __init__(self, folder: Path) -> None:
        self.lines: dict[str, list[str]] = {part: [] for part in PARTS}
        self.paragraphs: dict[str, list[str]] = {part: [] for part in PARTS}
        self.sources: list[str] = []
        seen: set[str] = set()
        for path in sorted(folder.glob("*.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["license"] not in LICENCES:
                continue
            self.sources.append("\t".join((record["repo"], record["license"], record["commit"])))
            digest = int(hashlib.sha256(record["repo"].encode()).hexdigest(), 16)
            part, choose = PARTS[digest % 10], random.Random(SEED)
            texts = record["files"].values()
            lines = [line for text in texts for line in list_lines(text) if line not in seen]
            seen.update(lines)
            paragraphs = [" ".join(block.split()) for text in texts for block in re.split(r"\n\s*\n", text)]
            paragraphs = [block for block in paragraphs if 200 <= len(block) <= 2000 and block[0] not in "`|<"]
            self.lines[part] += choose.sample(lines, min(len(lines), MOST_LINES))
            self.paragraphs[part] += choose.sample(paragraphs, min(len(paragraphs), MOST_PARAGRAPHS))

    def list_sentences(self, part: str) -> list[str]:
        return [
            sentence
            for text in (*self.lines[part], *self.paragraphs[part])
            for sentence in scorer.split_sentences(fold_text(text))
        ]


def list_lines(text: str) -> list[str]:
    """Return the lines of a file of instructions, without their marks; no code, tables or headings."""
    lines, is_code = [], False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("#", "|", "<!--", "---")):
            line = LIST_MARK.sub("", line)
            if 8 <= len(line) <= 2000:
                lines.append(line)
    return list(dict.fromkeys(lines))


class TrainingSet:
    """The rows of all texts."""

    def __init__(self, packages: Path, repositories: Path) -> None:
        self.repositories = RepositoryTexts(repositories)
        sentences = self.repositories.list_sentences("train")
        self.attacks, self.ordinary = load_attacks(), load_ordinary_facts()
        public = load_public(packages)
        self.rows = to_rows(
            [
                *map(to_training_text, self.attacks),
                *map(to_training_text, self.ordinary),
                *(fold_text(text) for text, _ in public),
                *sentences,
            ]
        )
        own = len(self.attacks) + len(self.ordinary)
        self.looked_at = to_rows([to_training_text(one) for name in LOOKED_AT for one in load_fresh_samples(name)])
        self.labels = numpy.array(
            [1] * len(self.attacks)
            + [0] * len(self.ordinary)
            + [int(attack) for _, attack in public]
            + [0] * len(sentences)
        )
        self.weights = numpy.array([OWN_WEIGHT] * own + [PUBLIC_WEIGHT] * len(public) + [1.0] * len(sentences))
        self.hash = hashlib.sha256(
            json.dumps([sample.facts for sample in (*self.attacks, *self.ordinary)] + [*public, *sentences]).encode()
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
        model = LogisticRegression(C=0.2, solver="liblinear", max_iter=100, tol=1e-2, random_state=SEED)
        return model.fit(rows, labels, weights)


def score_texts(model: LogisticRegression, texts: Sequence[str]) -> numpy.ndarray:
    """Return the scores of whole texts, as `scorer.score_sentences` makes them."""
    parts = [scorer.split_sentences(fold_text(text)) or [text] for text in texts]
    scores = model.decision_function(to_rows([sentence for of_text in parts for sentence in of_text]))
    ends = numpy.cumsum([len(of_text) for of_text in parts])
    return numpy.array(
        [
            scores[end - len(of_text) : end].max() - scorer.LENGTH_DISCOUNT * log(len(of_text))
            for of_text, end in zip(parts, ends, strict=True)
        ]
    )


def choose_thresholds(model: LogisticRegression, repositories: RepositoryTexts) -> dict[str, float]:
    lines = repositories.lines["choose"]
    scores = score_texts(model, lines)
    ordered = scores[[bool(find_orders_and_claims(line)) for line in lines]]
    thresholds = {name: float(numpy.quantile(scores, 1 - share)) for name, share in FALSE_SHARES.items()}
    names = [*map(to_name_sentence, NAMES.read_text(encoding="utf-8").splitlines())]
    long = [name for name in names if name.count(" ") >= FEWEST_SPACES]
    general = [name for name in long if scorer.is_general(scorer.find_names(fold_text(name)))]
    order = float(numpy.sort(ordered)[-1 - int(FALSE_SHARES["order"] * len(lines))])
    return thresholds | {
        "unknown": thresholds["unknown"] + MARGINS["unknown"],
        "order": order,
        "unknown_order": order + MARGINS["unknown_order"],
        "name": float(numpy.sort(score_texts(model, general))[-1 - int(FALSE_SHARES["name"] * len(names))]) + 0.01,
    }


def evaluate_repositories(
    model: LogisticRegression, repositories: RepositoryTexts, thresholds: dict[str, float]
) -> None:
    """Print how often lines and paragraphs of repositories that nothing was made or chosen with are above each threshold."""
    for name, texts in (("lines", repositories.lines["judge"]), ("paragraphs", repositories.paragraphs["judge"])):
        scores = score_texts(model, texts)
        for threshold in ("unknown", "turn", "heard"):
            print(format_share(f"{name} {threshold}", list(scores >= thresholds[threshold])))


LENGTHS = ((0, 100), (100, 200), (200, 401), (401, 2001))
"""Characters of lines that are told apart."""


def print_held_texts(repositories: RepositoryTexts) -> None:
    """Print how much of the repositories to judge with waits, by all detectors with the weights that are installed."""
    lines, paragraphs = repositories.lines["judge"], repositories.paragraphs["judge"]
    rows = [
        (
            f"lines of {least} to {most - 1} characters",
            TextKind.WRITE,
            None,
            [t for t in lines if least <= len(t) < most],
        )
        for least, most in LENGTHS
    ]
    rows += [
        ("all lines", TextKind.WRITE, None, lines),
        ("all lines, heard from a page or a tool", TextKind.WRITE, TextOrigin.HEARD, lines),
        ("all lines, as captured messages", TextKind.TURN, None, lines),
        ("paragraphs of 200 to 2000 characters", TextKind.WRITE, None, paragraphs),
    ]
    print("| ordinary text | waits | of | share |", "| --- | --- | --- | --- |", sep="\n")
    for name, kind, origin, texts in rows:
        held = sum(find_suspicion(Passage(kind, text, "note", origin=origin)) is not None for text in texts)
        print(f"| {name} | {held} | {len(texts):,} | {held / len(texts):.1%} |")


def cross_validate(packages: Path, repositories: Path) -> tuple[TrainingSet, numpy.ndarray]:
    """Score each own text by a model that saw neither it nor its family; ordinary facts in random folds."""
    data = TrainingSet(packages, repositories)
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
            scores = score_texts(model, [text for _, content in sample.facts for text in find_readings(content)])
            hits.append(is_stopped_without_score(sample) or scores.max() >= threshold)
            if hits[-1] == name.endswith("ordinary"):
                print("   ", *sample.facts[0])
        print(format_share(name, hits))


def write_weights(data: TrainingSet, model: LogisticRegression, thresholds: dict[str, float], packages: Path) -> None:
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
        "thresholds": thresholds,
        "training_set": data.hash,
        "corpora": list_package_hashes(packages),
    }
    scorer.WEIGHTS.write_bytes(json.dumps(head).encode() + b"\n" + body.tobytes())
    SOURCES.write_text("\n".join(data.repositories.sources) + "\n", encoding="utf-8")
    print(f"{scorer.WEIGHTS.name}: {scorer.WEIGHTS.stat().st_size:,} bytes, training set {data.hash}")


def main() -> None:
    """Train, evaluate, and write the weights where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, default=KEPT / "packages", help="folder of the public corpora")
    parser.add_argument(
        "--repositories", type=Path, default=KEPT / "repositories", help="folder of texts of repositories"
    )
    parser.add_argument("--judge", action="store_true", help="measure the installed weights alone")
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--fresh", action="store_true", help="measure the fresh set too")
    options = parser.parse_args()
    if options.judge:
        print_held_texts(RepositoryTexts(options.repositories))
        return
    download_packages(options.packages)
    data, scores = cross_validate(options.packages, options.repositories)
    model = data.fit_all()
    thresholds = choose_thresholds(model, data.repositories)
    print("thresholds", thresholds)
    evaluate_repositories(model, data.repositories, thresholds)
    evaluate(data, scores, thresholds["unknown"])
    if options.fresh:
        # By a model that saw none of them.
        evaluate_fresh_set(data, data.fit(numpy.zeros(data.rows.shape[0], bool)), thresholds["unknown"])
    if options.write:
        write_weights(data, model, thresholds, options.packages)


if __name__ == "__main__":
    main()
