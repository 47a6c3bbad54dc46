"""Pictures: what a host owes its clients, and what they make of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.terminal.host.size_policy import Decided, Window, decide
from oulipoly_engine.terminal.protocol.frames import STYLES_KEPT, Debt, StyleBook, Viewport
from oulipoly_engine.terminal.protocol.messages import Decoder, FromHost, encode
from oulipoly_engine.terminal.protocol.remote_screen import View
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
    view.take(arrived)


@settings(max_examples=60)
@given(
    frames=st.lists(st.dictionaries(st.integers(0, _ROWS - 1), _row, max_size=_ROWS), max_size=12),
    reads=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_client_that_takes_pictures_now_and_then_shows_the_same_rows_in_the_end(frames, reads):
    viewport, debt, view = Viewport(), Debt(), View()
    rows = [()] * _ROWS
    viewport.take(_frame(enumerate(rows), full=True), [debt])
    for frame, is_read in zip(frames, reads, strict=False):
        for y, row in frame.items():
            rows[y] = row
        viewport.take(_frame(frame.items()), [debt])
        if is_read:
            _carry(view, viewport.pay(debt))
    _carry(view, viewport.pay(debt))

    assert rows == view.rows


def test_nothing_is_owed_after_a_picture_and_only_the_changed_row_after_a_change():
    viewport, debt = Viewport(), Debt()
    viewport.take(_frame([(y, ()) for y in range(_ROWS)], full=True), [debt])
    assert viewport.pay(debt).full
    assert not debt.is_owed()

    viewport.take(_frame([(2, (Run("x", CellStyle(), 1),))]), [debt])

    assert (2,) == tuple(y for y, _ in viewport.pay(debt).changed)


def test_style_is_told_once():
    viewport, debt = Viewport(), Debt()
    red = (Run("x", CellStyle(1), 1),)
    viewport.take(_frame([(0, red), (1, ()), (2, ()), (3, ())], full=True), [debt])

    first = viewport.pay(debt)
    viewport.take(_frame([(1, red)]), [debt])
    second = viewport.pay(debt)

    assert (((0, 1, None, 0, None),), ()) == (first.styles, second.styles)


def test_endless_styles_begin_afresh_and_clients_follow():
    viewport, debt, view = Viewport(), Debt(), View()
    viewport.take(_frame([(y, ()) for y in range(_ROWS)], full=True), [debt])
    for start in range(0, STYLES_KEPT * 2, 2000):
        row = tuple(Run("x", CellStyle(colour), 1) for colour in range(start, start + 2000))
        viewport.take(_frame([(1, row)]), [debt])
        _carry(view, viewport.pay(debt))
        assert row == view.rows[1]

    assert len(viewport.book.told) <= STYLES_KEPT + 2000


def test_book_numbers_equal_styles_alike():
    book = StyleBook()

    assert (
        book.encode(0, (Run("a", CellStyle(1), 1),))[1][0][1] == book.encode(1, (Run("b", CellStyle(1), 1),))[1][0][1]
    )


def test_smallest_in_each_direction_wins_and_both_are_named():
    wide, high = Window("wide", 120, 20, 0), Window("high", 60, 50, 0)

    assert Decided(60, 20, "high and wide") == decide([wide, high], "smallest")


def test_no_window_decides_nothing_and_a_huge_one_is_bounded():
    assert decide([], "smallest") is None
    assert Decided(1000, 500, "huge") == decide([Window("huge", 9999, 9999, 0)], "last")
