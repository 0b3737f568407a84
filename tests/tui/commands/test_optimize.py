"""Relief of MEMORY.md on the command line, and its way back."""

from __future__ import annotations

from pathlib import Path

from .conftest import Ask, Tell


def test_a_relief_is_taken_back_and_what_was_written_since_is_left_alone(ask: Ask, tell: Tell, home: Path) -> None:
    file = home / ".hermes" / "memories" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    before = "\n§\n".join(
        f"D[target{n}]: the decision number {n} says a little more than it needs to" for n in range(40)
    )
    file.write_text(before)
    assert tell("optimize")["memory"]["migrated"] > 0
    assert file.read_text() != before

    assert tell("optimize", "--undo")["restored"] == [str(file)]
    assert file.read_text() == before
    assert tell("facts", "target1")["total"] >= 1, "what was moved stays"

    tell("optimize")
    relieved = file.read_text()
    file.write_text(relieved + "\n§\nsomething new")
    answer = ask("optimize", "--undo")
    assert answer.code == 1
    assert "changed since the relief" in answer.err
    assert file.read_text().endswith("something new")
