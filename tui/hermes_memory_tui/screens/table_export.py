"""Write the marked facts of the facts screen, else all listed ones, to a file."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model import fact_export
from hermes_memory_tui.model.memory import ActionResult
from hermes_memory_tui.screens.memory_screen import MemoryScreen
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.fact_table import FactTable


def ask_for_export(screen: MemoryScreen, table: FactTable, show_counts: Callable[[], None]) -> None:
    """Ask for a file name, and whether to replace a file of this name; write the facts in a thread.

    :param show_counts: called at the end: until then the table says how far it is
    """
    keys = list(table.marked) or list(table.keys_between(0, table.row_count))
    app, memory = screen.app, screen.memory

    def start(file: str) -> None:
        # Asked before whether a file that is there may be replaced.
        replace = bool(fact_export.export_name_problem(file))
        # Where facts of several themes are listed, a mark in each row says whose it is.
        columns = (*table.columns, *(["theme"] if table.hues else []))
        screen.run_worker(lambda: write(file, columns, replace), thread=True, group="exporting")

    def write(file: str, columns: tuple[str, ...], replace: bool) -> None:
        def progress(done: int) -> None:
            app.call_from_thread(table.set_subtitle, f"writing {done:,} of {len(keys):,} facts")

        try:
            count = memory.export(keys, file, columns=columns, replace=replace, progress=progress)
        except StoreError as error:
            app.call_from_thread(screen.show_error, error)
        else:
            result = ActionResult(f"{display_formats.pluralise(count, 'fact')} written to {file}", back="")
            message = f"{memory.record_unjournaled(result).said}."
            app.call_from_thread(screen.notify, message, timeout=6, markup=False)
        app.call_from_thread(show_counts)

    if keys:
        title = f"export {display_formats.pluralise(len(keys), 'marked fact' if table.marked else 'listed fact')}"
        lines = [Content.styled(".jsonl keeps everything, .md is readable text, .csv has the columns shown", "$dim")]
        check = fact_export.export_name_problem
        screen.ask_then(Question(title, lines, type_in="file", start="~/facts.jsonl", check=check), start)
