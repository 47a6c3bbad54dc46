"""Pictures: what a host owes its clients, and what they make of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.terminal.host.clients import SizeDecision, Window, decide_size
from oulipoly_engine.terminal.protocol.frames import STYLES_KEPT, StyleNumbers, UnsentRows, Viewport
from oulipoly_engine.terminal.protocol.messages import Decoder, FromHost, encode
from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen
from oulipoly_engine.terminal.protocol.screen import CellStyle, Cursor, Frame, Run

_ROWS = 4
_row = st.lists(
    st.builds(Run, st.text("abcü世", min_size=1, max_size=3), st.builds(CellStyle, st.integers(0, 3)), st.just(3)),
    max_size=3,
).map(tuple)


def _frame(changed, *, full=False, x=0):
    return Frame(80, _ROWS, tuple(changed), Cursor(x, 0, True), full, 0, 0, False, False)


def _carry(view, picture):
    (arrived,) = Decoder(FromHost).feed(encode(picture))
    view.apply(arrived)


@settings(max_examples=60)
@given(
    frames=st.lists(st.dictionaries(st.integers(0, _ROWS - 1), _row, max_size=_ROWS), max_size=12),
    reads=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_client_that_takes_pictures_now_and_then_shows_the_same_rows_in_the_end(frames, reads):
    viewport, unsent, view = Viewport(), UnsentRows(), RemoteScreen()
    rows = [()] * _ROWS
    viewport.add_frame(_frame(enumerate(rows), full=True), [unsent])
    for frame, is_read in zip(frames, reads, strict=False):
        for y, row in frame.items():
            rows[y] = row
        viewport.add_frame(_frame(frame.items()), [unsent])
        if is_read:
            _carry(view, viewport.next_picture(unsent))
    _carry(view, viewport.next_picture(unsent))

    assert rows == view.rows


def test_nothing_is_owed_after_a_picture_and_only_the_changed_row_after_a_change():
    viewport, unsent = Viewport(), UnsentRows()
    viewport.add_frame(_frame([(y, ()) for y in range(_ROWS)], full=True), [unsent])
    assert viewport.next_picture(unsent).full
    assert not unsent.has_any()

    viewport.add_frame(_frame([(2, (Run("x", CellStyle(), 1),))]), [unsent])

    assert (2,) == tuple(y for y, _ in viewport.next_picture(unsent).changed)


def test_style_is_told_once():
    viewport, unsent = Viewport(), UnsentRows()
    red = (Run("x", CellStyle(1), 1),)
    viewport.add_frame(_frame([(0, red), (1, ()), (2, ()), (3, ())], full=True), [unsent])

    first = viewport.next_picture(unsent)
    viewport.add_frame(_frame([(1, red)]), [unsent])
    second = viewport.next_picture(unsent)

    assert (((0, 1, None, 0, None),), ()) == (first.styles, second.styles)


def test_endless_styles_begin_afresh_and_clients_follow():
    viewport, unsent, view = Viewport(), UnsentRows(), RemoteScreen()
    viewport.add_frame(_frame([(y, ()) for y in range(_ROWS)], full=True), [unsent])
    for start in range(0, STYLES_KEPT * 2, 2000):
        row = tuple(Run("x", CellStyle(colour), 1) for colour in range(start, start + 2000))
        viewport.add_frame(_frame([(1, row)]), [unsent])
        _carry(view, viewport.next_picture(unsent))
        assert row == view.rows[1]

    assert len(viewport.style_numbers.styles) <= STYLES_KEPT + 2000


def test_book_numbers_equal_styles_alike():
    numbers = StyleNumbers()

    assert (
        numbers.encode(0, (Run("a", CellStyle(1), 1),))[1][0][1]
        == numbers.encode(1, (Run("b", CellStyle(1), 1),))[1][0][1]
    )


def test_smallest_in_each_direction_wins_and_both_are_named():
    wide, high = Window("wide", 120, 20, 0), Window("high", 60, 50, 0)

    assert SizeDecision(60, 20, "high and wide") == decide_size([wide, high], "smallest")


def test_no_window_decides_nothing_and_a_huge_one_is_bounded():
    assert decide_size([], "smallest") is None
    assert SizeDecision(1000, 500, "huge") == decide_size([Window("huge", 9999, 9999, 0)], "last")
