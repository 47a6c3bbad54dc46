import pytest

from oulipoly_engine.core.text.terminal_modes import TerminalModes


def undone(*pieces):
    modes = TerminalModes()
    for piece in pieces:
        modes.feed(piece)
    return modes.undo()


def test_nothing_on_needs_nothing():
    assert b"" == undone(b"\x1b[31mred\x1b[0m plain \x1b[2J")


def test_screen_mouse_paste_and_cursor_are_given_back():
    on = b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h"

    assert b"\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b[?25h\x1b[0m" == undone(on)


def test_what_the_program_gave_back_itself_stays_as_it_is():
    assert b"" == undone(b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l")


@pytest.mark.parametrize("place", range(1, 8))
def test_switch_cut_anywhere_is_seen(place):
    switch = b"\x1b[?1049h"

    assert b"\x1b[?1049l\x1b[0m" == undone(b"text" + switch[:place], switch[place:] + b"text")


def test_levels_of_the_keyboard_are_counted():
    assert b"\x1b[<2u\x1b[0m" == undone(b"\x1b[>1u\x1b[>3u\x1b[>1u\x1b[<u")
    assert b"" == undone(b"\x1b[>1u\x1b[<1u\x1b[<u")
