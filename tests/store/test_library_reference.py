"""The library reference describes every public name; the session of its page and the examples of docstrings run."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

import hermes_memory_store
import hermes_memory_themes
from tests.tools.library_reference import reference_lines

from .conftest import HandClock
from .test_public_library import public_objects

PAGE = Path(__file__).parents[2] / "docs" / "library.md"


@pytest.mark.parametrize("package", [hermes_memory_store, hermes_memory_themes], ids=lambda one: one.__name__)
def test_every_public_name_is_described(package: object) -> None:
    reference = "\n".join(reference_lines())
    assert [name for name in package.__all__ if f"`{name}`" not in reference] == []  # type: ignore[attr-defined]


def test_the_session_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    text = PAGE.read_text(encoding="utf-8").replace("```python\n", "").replace("```\n", "\n")
    run_examples(text, "docs/library.md", {}, least=20)


def test_the_examples_of_docstrings_run(tmp_path: Path, clock: HandClock) -> None:
    names = {name: getattr(hermes_memory_store, name) for name in hermes_memory_store.__all__}
    names |= {name: getattr(hermes_memory_themes, name) for name in hermes_memory_themes.__all__}
    found = 0
    for number, (name, one) in enumerate(public_objects()):
        text = inspect.getdoc(one) or ""
        if ">>>" in text:
            found += 1
            with hermes_memory_store.Store.open(tmp_path / f"{number}.db", clock=clock) as store:
                run_examples(text, name, names | {"store": store, "folder": tmp_path}, least=1)
    assert found >= 10


def run_examples(text: str, name: str, names: dict[str, object], *, least: int) -> None:
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, dict(names), name, name, 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted >= least
