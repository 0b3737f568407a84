"""A merge in the journal, in the words of the inspector and of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import Origin, Way
from hermes_memory_store.operations import OPERATIONS
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.branch_search import MERGED, BranchFindings, BranchTip, MergeState
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.journal_lines import JournalPrinter
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.widgets.change_text import change_verb

PAY, MAIN = "2" * 40, "1" * 40


def test_a_merge_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        seen = ProjectSighting(root="/work/shop", common="/work/shop/.git", branch="pay", commit=PAY)
        store.facts.write("default", "D[db]: sqlite", origin=store.projects.place(Origin(way=Way.TOOL), seen))
        project = store.branch_states.find_project("/work/shop/.git")
        assert project is not None
        states = {("pay", PAY): MergeState(MERGED, "squash", True)}
        found = BranchFindings("", (MAIN,), states, {"pay": BranchTip(PAY, True)})
        assert store.branch_states.note(project, "main", found) == 1
        (change,) = store.journal.changes(entities=["branch"])
        assert change_verb(change) == "branch_merged"
        assert change.op in OPERATIONS
        assert change_subject(change, {}) == "branch pay of shop squashed into main at 111111111111"
        JournalPrinter(store).print(change)
    assert "branch_merged  branch pay of shop squashed into main at 111111111111" in capsys.readouterr().out
