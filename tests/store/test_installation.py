"""What an extra is installed by fits how this program was installed."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from hermes_memory_store.installation import EXTRAS, to_install_command

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_extras_are_those_of_the_project() -> None:
    extras = {
        name: tuple(needs)
        for name, needs in PROJECT["optional-dependencies"].items()
        if name not in ("test", "release")
    }
    assert extras == EXTRAS


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("pipx_metadata.json", "pipx inject hermes-memory-tui 'psycopg[binary]>=3.2'"),
        ("bin/pip", "{prefix}/bin/pip install 'psycopg[binary]>=3.2'"),
        ("uv-receipt.toml", "uv pip install --python {python} 'psycopg[binary]>=3.2'"),
    ],
)
def test_the_command_is_the_installers_own(
    file: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert to_install_command("team") == command.format(prefix=tmp_path, python=sys.executable)
