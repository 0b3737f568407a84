"""What is sent to the terminal is only what differs, and shows the same as if all of it had been sent."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import threading
import time
import tty
from collections.abc import Iterable

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from hermes_memory_tui.system.screen_cells import Pen, ScreenCells, change_pen
from hermes_memory_tui.system.terminal_writer import TerminalWriter
from tests.processes import PATIENCE_S

WIDTH, HEIGHT = 24, 5

COLOURS = st.sampled_from(
    [None, Color.default(), Color.from_rgb(1, 2, 3), Color.from_rgb(200, 100, 0), Color.parse("red")]
)

STYLES = st.none() | st.builds(
    Style,
    color=COLOURS,
    bgcolor=COLOURS,
    bold=st.booleans(),
    dim=st.booleans(),
    italic=st.booleans(),
    underline=st.booleans(),
    reverse=st.booleans(),
    strike=st.booleans(),
)

PIECES = st.sampled_from([*"ab   -é日한", "e\u0301", "\u200d", "👩", "\u202e", "\x1b", "\t"])
TEXTS = st.lists(PIECES, max_size=9).map("".join)
BLANKS = st.integers(1, WIDTH).map(lambda count: " " * count)


@st.composite
def strips(draw: st.DrawFn, width: int) -> Strip:
    segments = draw(st.lists(st.tuples(TEXTS | BLANKS, STYLES).map(lambda given: Segment(*given)), max_size=4))
    return Strip(segments).adjust_cell_length(width)


@st.composite
def updates(draw: st.DrawFn) -> CompositorUpdate:
    if draw(st.booleans()):
        return LayoutUpdate([[draw(strips(WIDTH))] for _ in range(HEIGHT)], Region(0, 0, WIDTH, HEIGHT))
    cut = draw(st.integers(1, WIDTH - 1))
    chops = [{0: draw(strips(cut)), cut: draw(strips(WIDTH - cut))} for _ in range(HEIGHT)]
    y = draw(st.integers(0, HEIGHT - 1))
    x1 = draw(st.integers(0, WIDTH - 1))
    x2 = draw(st.integers(x1 + 1, WIDTH))
    return ChopsUpdate(chops, [(y, x1, x2)], [[cut, WIDTH]] * HEIGHT)


def put(cells: ScreenCells, update: CompositorUpdate) -> None:
    cells.put(update, (WIDTH, HEIGHT), (0, 0), ColorSystem.TRUECOLOR)


def terminal() -> tuple[pyte.Screen, pyte.Stream]:
    screen = pyte.Screen(WIDTH, HEIGHT)
    screen.reset_mode(7, private=True)  # as Textual has it: no wrapping
    return screen, pyte.Stream(screen)


def looks(screen: pyte.Screen) -> list[list[tuple[object, ...]]]:
    """What can be seen of every cell: a blank shows no colour of its own."""
    return [
        [
            (cell.data, cell.bg, cell.reverse, cell.underscore, cell.strikethrough)
            + ((cell.fg, cell.bold, cell.italics) if cell.data.strip() or cell.reverse or cell.underscore else ())
            for cell in (screen.buffer[y][x] for x in range(WIDTH))
        ]
        for y in range(HEIGHT)
    ]


@given(st.lists(st.tuples(updates(), st.booleans()), min_size=1, max_size=6))
def test_differences_show_what_all_of_it_would(drawn: list[tuple[CompositorUpdate, bool]]) -> None:
    """Whichever frames are skipped."""
    sent, fresh = ScreenCells(), ScreenCells()
    shown, stream = terminal()
    for update, is_taken in drawn:
        put(sent, update)
        put(fresh, update)
        if is_taken:
            stream.feed(sent.take())
    stream.feed(sent.take())
    whole, all_at_once = terminal()
    all_at_once.feed(fresh.take())
    assert shown.display == whole.display
    assert looks(shown) == looks(whole)
    assert sent.take() == ""


PENS = st.builds(
    Pen,
    st.sampled_from(["", "31", "38;2;1;2;3"]),
    st.sampled_from(["", "41", "48;2;1;2;3"]),
    st.frozensets(st.sampled_from(["1", "2", "3", "4", "7", "9", "21", "53"])),
    st.sampled_from(["", "https://example.org"]),
)


@given(PENS, PENS)
def test_a_change_of_pen_is_the_new_pen(old: Pen, new: Pen) -> None:
    def seen(*sequences: str) -> object:
        screen, stream = terminal()
        for sequence in sequences:
            stream.feed(sequence.partition("\x1b]8")[0])
        at = screen.cursor.attrs
        return at.fg, at.bg, at.bold, at.italics, at.underscore, at.reverse, at.strikethrough

    assert seen(change_pen(Pen(), old), change_pen(old, new)) == seen(change_pen(Pen(), new))
    assert ("\x1b]8" in change_pen(old, new)) is (old.link != new.link)
    assert change_pen(new, new) == ""


def row(text: str, style: Style | None = None) -> LayoutUpdate:
    lines: list[Iterable[Strip]] = [
        [Strip([Segment(text.ljust(WIDTH), style)])],
        *([Strip.blank(WIDTH)] for _ in range(HEIGHT - 1)),
    ]
    return LayoutUpdate(lines, Region(0, 0, WIDTH, HEIGHT))


def test_a_changed_letter_is_sent_alone() -> None:
    cells = ScreenCells()
    put(cells, row("the first text"))
    cells.take()
    put(cells, row("the worst text"))
    assert cells.take() == "\x1b[1;5Hwo\x1b[1;1H"


def test_what_another_program_wrote_is_drawn_over() -> None:
    cells = ScreenCells()
    put(cells, row("a text"))
    first = cells.take()
    cells.forget_shown()
    assert cells.take() == first


def test_control_characters_never_reach_the_terminal() -> None:
    cells = ScreenCells()
    put(cells, row("a\x1b]0;title\x07b\x9b"))
    assert "\x07" not in cells.take().replace("\x1b[", "")
    assert cells.take() == ""


def test_what_begins_where_the_changed_part_ends_is_not_drawn() -> None:
    cells = ScreenCells()
    chops = [{0: Strip([Segment("seen")]), 4: Strip([Segment("beside")])}] * HEIGHT
    put(cells, ChopsUpdate(chops, [(0, 0, 4)], [[4, 10]] * HEIGHT))
    assert "seen" in (sent := cells.take())
    assert "beside" not in sent


# The thread that writes


def show(writer: TerminalWriter, update: CompositorUpdate) -> None:
    writer.show(update, (WIDTH, HEIGHT), (0, 0), ColorSystem.TRUECOLOR)


def read_until(handle: int, text: bytes) -> bytes:
    seen, until = b"", time.monotonic() + 30
    while text not in seen:
        assert time.monotonic() < until, seen
        if select.select([handle], [], [], 0.1)[0]:
            seen += os.read(handle, 65_536)
    return seen


@pytest.mark.parametrize("is_remote", [False, True])
def test_frames_between_are_skipped_and_the_last_is_drawn(is_remote: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody reads, and over ssh while a frame is on the line."""
    monkeypatch.setenv("SSH_CONNECTION", "") if is_remote else monkeypatch.delenv("SSH_CONNECTION", raising=False)
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    failures: list[Exception] = []
    writer = TerminalWriter(theirs, "utf-8", ScreenCells(), failures.append)
    writer.start()
    writer.write("begin")
    show(writer, row("not drawn yet"))
    writer.redraw()
    seen = read_until(ours, b"not drawn yet")
    assert seen.index(b"begin") < seen.index(b"not drawn yet")
    if not is_remote:
        writer.write("x" * 100_000)  # more than a pseudo-terminal holds
    for number in range(100):
        show(writer, row(f"{number:>3}" * 8))
    seen = read_until(ours, b"99" + b" 99" * 7)  # after a frame of two digits it begins at the second cell
    assert seen.count(b"\x1b[1;1H") < 100  # two a frame
    writer.stop_drawing()
    show(writer, row("not drawn any more"))
    writer.stop()
    assert not select.select([ours], [], [], 0)[0]
    assert failures == []
    os.close(ours)
    os.close(theirs)


def test_a_terminal_that_another_program_made_non_blocking_takes_all_of_it() -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_NONBLOCK)
    writer = TerminalWriter(theirs, "utf-8", ScreenCells(), pytest.fail)
    writer.start()
    writer.write("x" * 100_000 + "end")
    assert len(read_until(ours, b"end")) == 100_003
    writer.stop()
    os.close(ours)
    os.close(theirs)


def test_an_error_in_the_program_is_not_swallowed_by_the_thread() -> None:
    ours, theirs = pty.openpty()
    failed = threading.Event()
    failures: list[Exception] = []
    cells = ScreenCells()
    cells._next = [[("x", Pen())]]
    writer = TerminalWriter(theirs, "utf-8", cells, lambda error: (failures.append(error), failed.set()))
    writer.start()
    writer.redraw()
    assert failed.wait(PATIENCE_S)
    assert [type(error) for error in failures] == [IndexError]
    os.close(ours)
    os.close(theirs)
