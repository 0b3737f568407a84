"""What is sent to the terminal is only what differs, and shows the same as if all of it had been sent."""

from __future__ import annotations

import os
import pty
import select
import termios
import threading
import time
import tty
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import split_graphemes
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from hermes_memory_tui.system.line_pace import ASK_CURSOR, ASK_MODE, LONG_FRAME_S, PATIENCE_S, LinePace
from hermes_memory_tui.system.screen_cells import PLAIN, SINGLE, Pen, ScreenCells, change_pen
from hermes_memory_tui.system.terminal_writer import TerminalWriter

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


def put(
    cells: ScreenCells, update: CompositorUpdate, cursor: tuple[int, int] = (0, 0), chosen: int | None = None
) -> None:
    cells.put(update, (WIDTH, HEIGHT), cursor, ColorSystem.TRUECOLOR, chosen)


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


@given(st.lists(updates(), min_size=1, max_size=6), st.booleans(), st.booleans(), st.data())
def test_differences_show_what_all_of_it_would(
    drawn: list[CompositorUpdate], erases_in_colour: bool, is_brief: bool, data: st.DataObject
) -> None:
    """Whichever frames are skipped, or sent in part."""
    sent, fresh = (ScreenCells(erases_in_colour=erases_in_colour) for _ in range(2))
    shown, stream = terminal()
    for update in drawn:
        put(sent, update, chosen=data.draw(st.none() | st.integers(-1, HEIGHT)))
        put(fresh, update)
        if data.draw(st.booleans()):
            stream.feed(sent.take(data.draw(st.none() | st.integers(0, 60)), is_brief=is_brief))
    stream.feed(sent.take(is_brief=is_brief))
    whole, all_at_once = terminal()
    all_at_once.feed(fresh.take(is_brief=is_brief))
    assert shown.display == whole.display
    assert looks(shown) == looks(whole)
    assert sent.take() == ""


PENS = st.builds(
    Pen,
    st.sampled_from(["", "31", "38;2;1;2;3"]),
    st.sampled_from(["", "41", "48;2;1;2;3"]),
    st.sampled_from([0, 1, 2, 3, 4, 8, 64, 256, 512, 9, 4097]),
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

    assert seen(change_pen(None, old), change_pen(old, new)) == seen(change_pen(None, new))
    assert ("\x1b]8" in change_pen(old, new)) is (old.link != new.link)
    assert change_pen(new, new) == "" or new == PLAIN


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
    assert cells.take() == "\x1b[1;5Hwo"


def rows(*texts: str) -> LayoutUpdate:
    lines: list[Iterable[Strip]] = [[Strip([Segment(text.ljust(WIDTH))])] for text in texts]
    return LayoutUpdate(lines, Region(0, 0, WIDTH, len(texts)))


def test_without_time_for_all_the_chosen_line_is_sent_as_it_was_and_is() -> None:
    cells = ScreenCells()
    screen, stream = terminal()
    put(cells, rows("> one", "  two", "  three"), chosen=0)
    stream.feed(cells.take())
    put(cells, rows("  four", "  five", "> six"), chosen=2)
    stream.feed(cells.take(most=10))
    assert [line.strip() for line in screen.display[:3]] == ["four", "two", "> six"]
    assert cells.is_behind
    put(cells, rows("  four", "> seven", "  six"), chosen=1)
    stream.feed(cells.take(most=10))
    assert [line.strip() for line in screen.display[:3]] == ["four", "> seven", "six"]
    assert not cells.is_behind


def test_a_step_down_in_a_column_costs_less_than_a_place() -> None:
    cells = ScreenCells()
    put(cells, rows("row a", "row b", "row c"))
    cells.take()
    put(cells, rows("row 1", "row 2", "row 3"))
    assert cells.take() == "\x1b[1;5H1\x1bD\b2\x1bD\b3"


def test_a_few_new_blanks_are_sent_and_many_erased() -> None:
    cells = ScreenCells()
    put(cells, row("abcdefghij"))
    cells.take()
    put(cells, row("abcdefgh"))
    assert cells.take() == "\x1b[1;9H  "
    put(cells, row("a"))
    assert cells.take() == "\x1b[9D\x1b[K"


def test_where_each_byte_counts_the_nearest_foreground_and_a_short_way_are_taken() -> None:
    frames = []
    for is_brief in (False, True):
        cells = ScreenCells()
        put(cells, rows("row a        a", "row b        b", "row c        c"))
        cells.take()
        put(cells, rows("row 1        1", "row 2        2", "row 3        3"))
        frames.append(cells.take(is_brief=is_brief))
    assert len(frames[1]) < len(frames[0])

    cells = ScreenCells()
    put(cells, row("a text", Style(color="#8ab4f8", bgcolor="#0e1420")))
    frame = cells.take(is_brief=True)
    assert "38;5;111" in frame
    assert "38;2" not in frame
    assert "48;2;14;20;32" in frame


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


# The line


@dataclass
class SlowLine:
    """A line that carries so many bytes a second, and a terminal at its end that answers after a while."""

    rate: float = 2_400.0
    latency_s: float = 0.3
    late_s: tuple[float, ...] = (0.0,)
    """How late its answers are, in turns."""
    now: float = 0.0
    free_at: float = 0.0
    answers: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def send(self, size: int) -> None:
        self.free_at = max(self.free_at, self.now) + size / self.rate
        late_s = self.late_s[len(self.sizes) % len(self.late_s)]
        self.sizes.append(size)
        self.answers.append(max(self.free_at + self.latency_s + late_s, *self.answers[-1:], 0.0))


@pytest.mark.parametrize("question", [ASK_CURSOR, ASK_MODE])
def test_on_a_slow_line_the_last_frame_is_never_far_behind(question: str) -> None:
    """Held keys draw a frame every 33 ms for five seconds; the line would carry six a second."""
    line = SlowLine()
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    line.send(4)
    sent = drawn = 0
    last_sent_at = 0.0
    while sent != 150:
        line.now = round(line.now + 0.001, 3)
        while line.answers and line.answers[0] <= line.now:
            line.answers.pop(0)
            pace.answer(question)
        drawn = min(int(line.now / 0.033), 150)
        if line.now > 1 and sent < drawn and pace.wait_s() == 0:
            sent, last_sent_at = drawn, line.now
            pace.send(400)
            line.send(400)
    assert last_sent_at - 150 * 0.033 < 0.5
    assert line.free_at + line.latency_s - 150 * 0.033 < 1.0


def hold(pace: LinePace, line: SlowLine, keys: int, every_s: float = 0.033, size: int = 350) -> None:
    """Hold a key, and send frames as the pace lets them."""
    for _ in range(keys):
        pace.press()
        until = line.now + every_s
        has_frame = True
        while line.now < until:
            while line.answers and line.answers[0] <= line.now:
                line.answers.pop(0)
                pace.answer(ASK_CURSOR)
            if has_frame and pace.wait_s() == 0:
                has_frame = False
                pace.send(size)
                line.send(size)
            line.now = round(line.now + 0.001, 3)


def begin(line: SlowLine) -> LinePace:
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    line.now += line.latency_s
    pace.answer(ASK_CURSOR)
    return pace


@pytest.mark.parametrize("size", [100, 350])
def test_how_fast_a_line_is_does_not_depend_on_how_much_is_on_its_way(size: int) -> None:
    line = SlowLine()
    pace = begin(line)
    hold(pace, line, 150, size=size)
    assert pace.most == pytest.approx(2_400 * LONG_FRAME_S, rel=0.1)


@pytest.mark.parametrize("pause_s", [0.0, 10.0])
def test_a_line_is_slow_whatever_was_sent_before_anything_was_answered(pause_s: float) -> None:
    """Also when all of it has been carried before the first question."""
    line = SlowLine()
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    for size in (5_500, 3_000, 500):
        pace.send(size)
        line.free_at += size / line.rate
    line.now += line.latency_s
    pace.answer(ASK_CURSOR)
    line.now += pause_s
    hold(pace, line, 150)
    assert line.free_at - line.now < 350 / 2_400
    assert pace.most == pytest.approx(2_400 * LONG_FRAME_S, rel=0.1)


def test_an_uneven_line_is_slow_all_the_same() -> None:
    line = SlowLine(late_s=(0.0, 0.05, 0.01, 0.08))
    pace = begin(line)
    hold(pace, line, 150)
    assert pace.most == pytest.approx(2_400 * LONG_FRAME_S, rel=0.25)


@pytest.mark.parametrize("late_s", [(0.03,), (0.0, 0.04), (0.0,) * 7 + (0.4,)])
def test_a_fast_line_that_is_late_is_not_slow(late_s: tuple[float, ...]) -> None:
    line = SlowLine(rate=1e6, latency_s=0.02, late_s=late_s)
    pace = begin(line)
    for _ in range(4):
        hold(pace, line, 40)
        assert pace.most is None
        hold(pace, line, 5, size=90)


@pytest.mark.parametrize("size", [75, 350])
def test_a_slow_line_is_mostly_free_while_a_key_is_held_and_waits_for_nothing_once_it_is_not(size: int) -> None:
    line = SlowLine()
    pace = begin(line)
    hold(pace, line, 150, size=size)
    assert line.free_at - line.now < size / 2_400
    assert sum(line.sizes) < 0.4 * 2_400 * line.now
    assert pace.most is not None
    line.now += pace.held_s
    assert pace.held_s == 0
    assert pace.most is None
    assert pace.wait_s() == 0
    pace.send(1_300)
    assert pace.wait_s() == 0  # what follows the list waits for no answer


@pytest.mark.parametrize(("every_s", "rests_s"), [(0.025, 0.03), (0.033, 0.038), (0.05, 0.0575), (0.09, 0.06)])
def test_the_cursor_rests_as_soon_as_the_next_key_of_a_held_one_is_late(every_s: float, rests_s: float) -> None:
    line = SlowLine()
    pace = begin(line)
    assert pace.rest_s == 0.06
    hold(pace, line, 20, every_s)
    assert pace.rest_s == pytest.approx(rests_s, abs=0.002)


def test_a_fast_line_waits_for_nothing() -> None:
    line = SlowLine(rate=1e7, latency_s=0.001)
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    for _ in range(100):
        pace.answer(ASK_CURSOR)
        assert pace.wait_s() == 0
        pace.send(5_000)
        line.now += 0.002


def test_a_line_that_is_not_slow_waits_for_nothing_after_a_large_frame() -> None:
    """A terminal that takes some time for a whole list holds up no key after it."""
    line = SlowLine(rate=60_000.0, latency_s=0.001)
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    pace.answer(ASK_CURSOR)
    for size in (5_000, 5_000, 300, 300):
        pace.press()
        assert pace.wait_s() == 0
        pace.send(size)
        line.now += size / line.rate + line.latency_s
        pace.answer(ASK_CURSOR)


def test_a_terminal_that_no_longer_answers_is_not_waited_for() -> None:
    line = SlowLine()
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    pace.answer(ASK_CURSOR)
    for _ in range(2):
        pace.send(100)
        assert 0 < pace.wait_s() <= PATIENCE_S + 1
        line.now += PATIENCE_S + 1
        assert pace.wait_s() == 0
    assert pace.question == ""
    pace.send(100)
    assert pace.wait_s() == 0


def test_answers_that_are_lost_hold_up_a_fast_line_for_seconds_only() -> None:
    """However much the line carries, and whatever was sent before anything was answered."""
    line = SlowLine(rate=1e6, latency_s=0.02)
    pace = LinePace(is_remote=False, clock=lambda: line.now)
    pace.ask_first()
    for _ in range(20):
        pace.send(6_000)
    pace.answer(ASK_CURSOR)
    pace.send(6_000)
    waited = 0.0
    while pace.question and waited < 60:
        waited += (wait_s := pace.wait_s())
        line.now += wait_s + 0.001
        if wait_s == 0:
            pace.send(6_000)
    assert waited < 15
    pace = begin(line)
    hold(pace, line, 40, size=6_000)
    line.answers.clear()
    for _ in range(200):
        pace.send(6_000)
    assert pace.wait_s() < 2 * PATIENCE_S


@pytest.mark.parametrize("is_remote", [True, False])
def test_a_line_that_answers_nothing_is_taken_for_slow_only_over_ssh(is_remote: bool) -> None:
    line = SlowLine()
    pace = LinePace(is_remote=is_remote, clock=lambda: line.now)
    pace.ask_first()
    pace.send(400)
    assert (pace.wait_s() > 0) is is_remote


def test_frames_between_are_skipped_and_the_last_is_drawn() -> None:
    """A real writer on a real pseudo-terminal that answers only when it is asked to."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs, termios.TCSANOW)
    cells, failed = ScreenCells(), threading.Event()
    writer = TerminalWriter(theirs, "utf-8", cells, LinePace(is_remote=False), lambda _: failed.set())
    writer.start()
    writer.ask()
    writer.start_drawing()

    def read_until(text: bytes) -> bytes:
        seen, until = b"", time.monotonic() + 30
        while text not in seen:
            assert time.monotonic() < until, seen
            if select.select([ours], [], [], 0.1)[0]:
                seen += os.read(ours, 65_536)
        return seen

    read_until(ASK_CURSOR.encode())
    writer.answer(ASK_CURSOR)
    put(cells, row("frame 0"))
    writer.show()
    read_until(b"frame 0")
    for number in range(1, 8):
        put(cells, row(f"frame {number}"))
        writer.show()
    assert not select.select([ours], [], [], 0.2)[0]  # it has not answered yet
    writer.answer(ASK_CURSOR)
    assert b"7" in read_until(b"\x1b[6n")
    writer.answer(ASK_CURSOR)
    writer.stop_drawing()
    writer.stop()
    assert not failed.is_set()
    os.close(ours)
    os.close(theirs)


def test_what_is_left_of_a_frame_follows_when_the_key_is_let_go() -> None:
    """A real writer on a real pseudo-terminal; nothing is shown meanwhile."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs, termios.TCSANOW)
    line = SlowLine(rate=150)
    pace = begin(line)
    hold(pace, line, 20, size=4)
    while pace.wait_s():
        line.now += 0.033
        pace.press()
    cells = ScreenCells()
    writer = TerminalWriter(theirs, "utf-8", cells, pace, lambda _: None)
    writer._is_drawing = True
    put(cells, rows("> one", "  two"), chosen=0)
    cells.take()
    put(cells, rows("> three", "  four" * 3), chosen=0)
    pace.press()
    writer.show()
    assert ["three" in piece for piece in writer._pieces] == [True]
    assert "four" not in writer._pieces[0]
    writer._pieces.clear()
    assert writer._frame_wait_s() == pace.held_s > 0
    assert writer.holds_back
    line.now += pace.held_s
    assert not writer.holds_back
    writer.start()
    seen, until = b"", time.monotonic() + 30
    while b"four" not in seen:
        assert time.monotonic() < until, seen
        if select.select([ours], [], [], 0.1)[0]:
            seen += os.read(ours, 65_536)
    writer.stop()
    os.close(ours)
    os.close(theirs)


def test_an_error_in_the_program_is_not_swallowed_by_the_thread() -> None:
    ours, theirs = pty.openpty()
    failed: list[Exception] = []
    cells = ScreenCells()
    writer = TerminalWriter(theirs, "utf-8", cells, LinePace(is_remote=False), failed.append)
    cells._dirty = {99}
    writer.start()
    with writer._changed:
        writer._is_drawing = writer._has_frame = True
        writer._changed.notify_all()
    writer._thread.join(30)
    assert [type(error) for error in failed] == [IndexError]
    os.close(ours)
    os.close(theirs)


def test_a_frame_that_may_go_at_once_is_made_by_whoever_shows_it() -> None:
    cells = ScreenCells()
    writer = TerminalWriter(-1, "utf-8", cells, LinePace(is_remote=False), lambda _: None)
    put(cells, row("first"))
    writer.show()
    assert not writer._pieces  # nothing is drawn yet
    writer._is_drawing = True
    writer.show()
    assert "first" in writer._pieces[0]
    put(cells, row("second"))
    writer.show()
    assert len(writer._pieces) == 1  # what is not written yet goes first


class Read(Strip):
    """A strip that counts how often its segments are read."""

    times = 0

    def __iter__(self) -> Iterator[Segment]:
        self.times += 1
        return super().__iter__()


def test_the_cells_of_a_strip_are_made_once_and_ahead_of_time() -> None:
    cells = ScreenCells()
    strip = Read([Segment("first")], 5)
    cells.prepare(strip, ColorSystem.TRUECOLOR)
    for y in (0, 1):
        chops = [{0: strip} if line == y else {} for line in range(HEIGHT)]
        put(cells, ChopsUpdate(chops, [(y, 0, 5)], [[5]] * HEIGHT))
    assert strip.times == 1
    assert cells.take().count("first") == 2


def test_what_begins_where_the_changed_part_ends_is_not_drawn() -> None:
    cells = ScreenCells()
    chops = [{0: Strip([Segment("seen")]), 4: Strip([Segment("beside")])}] * HEIGHT
    put(cells, ChopsUpdate(chops, [(0, 0, 4)], [[4, 10]] * HEIGHT))
    assert "seen" in (sent := cells.take())
    assert "beside" not in sent


def test_the_characters_taken_for_single_cells_are_graphemes_of_one_cell() -> None:
    text = "".join(sorted(SINGLE))
    assert text.isprintable()
    assert split_graphemes(text)[0] == [(place, place + 1, 1) for place in range(len(text))]
