"""Copy mode: walking, selecting, searching over a text longer than the window."""

import pytest

from oulipoly_tui.view.terminal.copy_mode import CopyMode, Spot
from oulipoly_tui.view.transcript.spans import cells


@pytest.fixture
def mode():
    """Copy mode over 100 numbered lines of which the last ten are seen; the cursor stands at the end."""
    found = CopyMode(total=100, columns=40, height=10, top=90, cursor=Spot(99, 0))
    found.learn(0, [row(f"line {number}") for number in range(100)])
    return found


def row(text):
    """A row of one run, as wide as its characters are."""
    return ((text, 0, cells(text)),)


def keys(mode, *names):
    return [mode.press(name).kind for name in names][-1]


@pytest.mark.parametrize(
    ("names", "spot", "top"),
    [
        (("k", "k", "l"), Spot(97, 1), 90),
        (("g",), Spot(0, 0), 0),
        (("g", "G"), Spot(99, 0), 90),
        (("pageup",), Spot(89, 0), 89),
        (("ctrl+u",), Spot(94, 0), 90),
        (("dollar_sign",), Spot(99, 6), 90),
        (("g", "up", "left"), Spot(0, 0), 0),
        (("j", "down"), Spot(99, 0), 90),
    ],
    ids=["steps", "top", "bottom", "page", "half page", "line's end", "stops at the top", "stops at the bottom"],
)
def test_keys_walk_over_the_whole_text(mode, names, spot, top):
    keys(mode, *names)

    assert (spot, top) == (mode.cursor, mode.top)


def test_a_selection_reaches_from_anchor_to_cursor_both_included(mode):
    keys(mode, "k", "v", "j", "l", "l", "l")

    assert "copy" == keys(mode, "y")
    assert "line 98\nline" == mode.text()


def test_whole_lines_are_selected_by_line(mode):
    keys(mode, "l", "l", "V", "k")

    assert "line 98\nline 99" == mode.text()
    assert (0, 40) == mode.selection(98)
    assert mode.selection(97) is None


def test_a_selection_upwards_is_the_same_text(mode):
    keys(mode, "l", "l", "l", "v", "k")

    assert "e 98\nline" == mode.text()


def test_wide_characters_are_cut_by_cells(mode):
    mode.learn(99, [row("漢字kana")])
    keys(mode, "l", "l", "v", "l", "l", "l")

    assert "字ka" == mode.text()


@pytest.mark.parametrize(
    ("text", "width", "begin", "end", "expected"),
    [
        ("x漢字y 👨‍👩‍👧 z end", 15, 10, 14, "z end"),
        ("x漢字y 👨‍👩‍👧 z end", 15, 7, 10, "👨‍👩‍👧 z"),
        ("ab ❤️ 👍🏽 🇩🇪 cd ef", 17, 12, 16, "cd ef"),
        ("ab ❤️ 👍🏽 🇩🇪 cd ef", 17, 3, 7, "❤️ 👍🏽"),
        ("été", 3, 1, 2, "té"),
    ],
    ids=["after a family", "a family", "after a flag", "a heart and a thumb", "accents"],
)
def test_what_takes_cells_as_one_is_copied_as_one(mode, text, width, begin, end, expected):
    mode.learn(99, [((text, 0, width),)])

    mode.select(Spot(99, begin), Spot(99, end))

    assert expected == mode.text()


def test_what_is_measured_otherwise_here_shifts_no_run_behind_it(mode):
    mode.learn(99, [(("🫩!", 0, 4), ("end", 1, 3))])

    mode.select(Spot(99, 4), Spot(99, 6))

    assert "end" == mode.text()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["a word", "more"], "a word  more"),
        (["1234567", "漢"], "1234567漢"),
        (["1234567", "x"], "1234567 x"),
        (["12345678", ""], "12345678"),
    ],
    ids=["blanks", "a wide one behind the last cell", "a narrow one behind a blank", "nothing"],
)
def test_lines_that_were_broken_are_made_whole_with_their_blanks(mode, rows, expected):
    mode.wrapped_at = 8
    mode.learn(97, [*map(row, rows), row("next")])
    mode.goes_on[97] = True

    mode.select(Spot(97, 0), Spot(99, 39))

    assert f"{expected}\nnext" == mode.text()


def test_what_was_never_seen_and_is_not_kept_is_walked_over(mode):
    for number in (*range(60), *range(70, 100)):
        del mode.lines[number]

    mode.trimmed(95)
    keys(mode, "g")
    assert Spot(95, 0) == mode.cursor

    keys(mode, "k")
    assert Spot(95, 0) == mode.cursor
    mode.select(Spot(64, 0), Spot(66, 3))
    assert "line 64\nline 65\nline" == mode.text()
    keys(mode, "pageup")
    assert Spot(60, 3) == mode.cursor


def test_escape_first_drops_the_selection_then_leaves(mode):
    keys(mode, "v")

    assert "moved" == keys(mode, "escape")
    assert mode.anchor is None
    assert "leave" == keys(mode, "escape")


def test_enter_without_a_selection_leaves(mode):
    assert "leave" == keys(mode, "enter")


def test_a_search_goes_to_the_nearest_hit_above_and_on_from_there(mode):
    keys(mode, "k", "k", "k")
    mode.found([(99, 0, 4), (60, 5, 7), (20, 5, 7)])

    assert Spot(60, 5) == mode.cursor
    assert 60 == mode.top
    keys(mode, "n")
    assert Spot(20, 5) == mode.cursor
    keys(mode, "N", "N")
    assert Spot(99, 0) == mode.cursor


def test_a_search_without_hits_stays_where_it_is(mode):
    assert "nothing" == mode.found([]).kind
    assert "nothing" == keys(mode, "n")
    assert Spot(99, 0) == mode.cursor


def test_the_mouse_selects_both_ends(mode):
    mode.select(Spot(95, 2), Spot(96, 3))

    assert "ne 95\nline" == mode.text()


def test_other_keys_do_nothing(mode):
    assert {"nothing"} == {mode.press(key).kind for key in ("f5", "x", "ctrl+c", "tab")}
