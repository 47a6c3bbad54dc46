"""A frame holds what changed and nothing else, and the frames one after another are the picture."""

import random

import pytest

from oulipoly_engine.terminal.protocol.screen import Cursor, ScreenBroken

_INK = "\x1b[2K\x1b[1A" * 3 + "\x1b[2K\r"


def test_the_first_frame_is_full(screens):
    frame = screens(30, 7).frame

    assert (True, 30, 7, list(range(7))) == (frame.full, frame.columns, frame.rows, [y for y, _ in frame.changed])


def test_nothing_new_is_no_frame(shown):
    shown.feed("hello")

    assert shown.screen.frame() is None


def test_what_says_nothing_to_the_picture_is_no_frame(shown):
    shown.feed("hello")

    assert shown.feed("\x1b]0;title\x07\x1b[6n\a").screen.frame() is None
    assert "hello" == shown.text[0]


def test_one_changed_line_is_one_row(shown):
    shown.feed("one\r\ntwo\r\nthree")

    shown.feed("\x1b[2;1HTWO")

    assert [1] == [y for y, _ in shown.frame.changed]


def test_a_redraw_of_everything_with_one_changed_line_is_one_row(screens):
    shown = screens(40, 10).feed("\x1b[1mtop\x1b[0m\r\n\x1b[44mold\x1b[0m\r\nbottom\r\n")

    shown.feed(f"{_INK}\x1b[1mtop\x1b[0m\r\n\x1b[44mnew\x1b[0m\r\nbottom\r\n")

    assert [1] == [y for y, _ in shown.frame.changed]


def test_a_redraw_of_the_same_is_no_frame(screens):
    shown = screens(40, 10).feed("\x1b[1mtop\x1b[0m\r\nline\r\nbottom\r\n")
    shown.screen.feed(f"{_INK}\x1b[1mtop\x1b[0m\r\nline\r\nbottom\r\n".encode())

    assert shown.screen.frame() is None


def test_a_new_look_of_the_same_text_is_a_change(shown):
    shown.feed("\x1b[31mtext\x1b[0m")

    shown.feed("\r\x1b[32mtext\x1b[0m")

    assert [0] == [y for y, _ in shown.frame.changed]
    assert 2 == shown.rows[0][0].style.foreground


def test_a_cursor_that_moves_is_a_frame_without_rows(shown):
    shown.feed("\x1b[3;4H")

    assert ((), Cursor(3, 2, visible=True)) == (shown.frame.changed, shown.frame.cursor)


@pytest.mark.parametrize(
    ("fed", "cursor"),
    [
        ("\x1b[?25l", False),
        ("\x1b[?25l\x1b[?25h\x1b[3 q", "underline"),
        ("\x1b[5 q", "bar"),
        ("\x1b[5 q\x1b[2 q", "block"),
    ],
)
def test_how_the_cursor_looks(shown, fed, cursor):
    shown.feed(f"x{fed}")

    assert cursor in (shown.frame.cursor.visible, shown.frame.cursor.shape)


def test_whether_the_alternate_screen_shows_is_in_the_frame(shown):
    shown.feed("\x1b[?1049h")
    on = shown.frame.alternate
    shown.feed("\x1b[?1049l")

    assert [True, False] == [on, shown.frame.alternate]


def test_a_held_picture_is_no_frame_until_it_is_let_go(shown):
    shown.feed("\x1b[?2026hhalf")
    held = shown.text
    shown.feed(" whole\x1b[?2026l")

    assert [[], ["half whole"]] == [held, shown.text]


def test_a_picture_is_held_for_150_ms_at_most(shown, clock):
    shown.feed("\x1b[?2026hhalf")
    left = shown.screen.hold_left()
    clock.advance(0.149)
    before = shown.screen.frame()
    clock.advance(0.002)

    assert (pytest.approx(0.15), None, 0.0) == (left, before, shown.screen.hold_left())
    assert shown.screen.frame() is not None


def test_each_hold_has_its_own_time(shown, clock):
    shown.feed("\x1b[?2026ha\x1b[?2026l")
    clock.advance(10)
    shown.feed("\x1b[?2026hb")

    assert ["a"] == shown.text
    assert shown.screen.hold_left() > 0.1


def test_a_full_frame_is_given_even_while_the_picture_is_held(shown):
    shown.screen.feed(b"\x1b[?2026hhalf")

    assert 5 == len(shown.screen.frame(full=True).changed)


def test_a_reset_ends_a_hold(shown):
    shown.feed("\x1b[?2026hx\x1bcy")

    assert ["y"] == shown.text


def test_a_closed_screen_says_so(screens):
    screen = screens().screen
    screen.close()
    screen.close()

    for call in (lambda: screen.feed(b"x"), screen.frame, lambda: screen.resize(9, 9), lambda: screen.lines(0, 1)):
        with pytest.raises(ScreenBroken):
            call()


def _noise(dice, columns, rows):
    """Return some output of the kinds that programs write, cut anywhere."""
    parts = []
    for _ in range(dice.randrange(1, 30)):
        y, x = dice.randrange(rows) + 1, dice.randrange(columns) + 1
        parts.append(
            dice.choice(
                [
                    f"\x1b[{y};{x}H",
                    f"\x1b[{dice.choice('JK')}",
                    f"\x1b[{dice.randrange(3)}{dice.choice('JK')}",
                    f"\x1b[{dice.randrange(1, 4)}{dice.choice('LMP@XST')}",
                    f"\x1b[{dice.randrange(30, 38)};{dice.randrange(40, 48)}m",
                    f"\x1b[38;2;{dice.randrange(256)};0;0m",
                    "\x1b[0m",
                    "\x1bM",
                    "\r\n",
                    "\n",
                    "text ",
                    "日本語",
                    "👩\u200d👧",
                    "e\u0301",
                    f"\x1b[{min(y, rows - 1)};{rows}r",
                    "\x1b[r",
                    "\x1b[?1049h",
                    "\x1b[?1049l",
                    "\x1b]8;;http://x/\x07link\x1b]8;;\x07",
                    f"\x1b[3{dice.randrange(8)}m{'x' * dice.randrange(columns * 2)}",
                ]
            )
        )
    data = "".join(parts).encode()
    return data[: dice.randrange(len(data) // 2, len(data) + 1)]


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("seed", range(6))
def test_frames_one_after_another_are_the_picture(screens, seed):
    dice = random.Random(seed)
    shown = screens(24, 8)
    for _ in range(60):
        columns, rows = shown.frame.columns, shown.frame.rows
        action = dice.random()
        if action < 0.1:
            shown.screen.resize(dice.randrange(4, 40), dice.randrange(2, 14))
        elif action < 0.2:
            shown.screen.scroll(dice.randrange(-10, 8))
        else:
            shown.screen.feed(_noise(dice, columns, rows))
        shown.look()
        shown.look()

        whole = shown.screen.frame(full=True)
        assert [row for _, row in whole.changed] == shown.rows
        assert whole.cursor == shown.frame.cursor
        assert all(sum(run.width for run in row) <= whole.columns for row in shown.rows)


@pytest.mark.parametrize("seed", range(3))
def test_reading_the_past_between_frames_loses_no_change(screens, seed):
    dice = random.Random(seed)
    shown, plain = screens(24, 8), screens(24, 8)
    for _ in range(40):
        data = _noise(dice, 24, 8)
        plain.feed(data)
        shown.screen.feed(data)
        shown.screen.styled_rows(dice.randrange(20), dice.randrange(30))
        shown.look()

        assert plain.rows == shown.rows
