"""The past is kept, flows anew when the size changes, can be looked at, searched, and carried over to a new screen."""

import pytest

from oulipoly_engine.terminal.protocol.rows import text_of
from oulipoly_engine.terminal.protocol.screen import CellStyle, Key, ScreenLimits, ScreenUnavailable, SearchHit


def numbered(count):
    return "".join(f"line {number}\r\n" for number in range(count))


def test_rows_that_leave_the_screen_are_kept(shown):
    shown.feed(numbered(100))

    assert (96, 0) == (shown.frame.scrollback, shown.frame.offset)
    assert ("line 0", "line 1") == shown.screen.lines(0, 2)
    assert ("line 99", "") == shown.screen.lines(99, 50)


def test_ten_thousand_rows_are_kept(screens):
    shown = screens(80, 24, scrollback_rows=10_000).feed(numbered(12_000))

    assert shown.frame.scrollback >= 10_000


def test_the_scrollback_has_an_end(screens):
    shown = screens(20, 5, scrollback_rows=100).feed(numbered(40_000))

    assert shown.frame.scrollback < 20_000
    assert "line 39999" == shown.screen.lines(shown.frame.scrollback + 3, 1)[0]


def test_scrolling_up_shows_the_past_and_stays_there_while_output_comes(shown):
    shown.feed(numbered(50))
    shown.screen.scroll(-10)
    shown.look()
    past, offset = shown.text, shown.frame.offset

    shown.feed("more\r\n" * 5)

    assert ["line 36", "line 37", "line 38", "line 39", "line 40"] == past == shown.text
    assert (10, 15) == (offset, shown.frame.offset)


def test_the_cursor_is_not_shown_where_it_is_not(shown):
    shown.feed(numbered(50))
    shown.screen.scroll(-10)

    assert not shown.look().cursor.visible


def test_the_cursor_moves_down_with_a_small_scroll(screens):
    shown = screens(20, 5).feed(numbered(50) + "\x1b[2;3H")
    shown.screen.scroll(-2)

    assert (2, 3, True) == (*((c := shown.look().cursor).x, c.y), c.visible)


@pytest.mark.parametrize("delta", [-1000, 1000], ids=["up", "down"])
def test_scrolling_stops_at_both_ends(shown, delta):
    shown.feed(numbered(50))
    shown.screen.scroll(-20)
    shown.screen.scroll(delta)
    shown.look()

    assert {-1000: 46, 1000: 0}[delta] == shown.frame.offset


def test_the_bottom_is_followed_again(shown):
    shown.feed(numbered(50))
    shown.screen.scroll(-10)
    shown.look()
    shown.screen.scroll_to_bottom()
    shown.look()

    assert "line 49" == shown.feed("last").text[-2]
    assert 0 == shown.frame.offset


def test_the_alternate_screen_has_no_past(shown):
    shown.feed(f"{numbered(50)}\x1b[?1049h{numbered(50)}")
    shown.screen.scroll(-10)
    shown.look()

    assert (0, 0) == (shown.frame.scrollback, shown.frame.offset)
    assert ("line 46",) == shown.screen.lines(0, 1)
    assert 46 == shown.feed("\x1b[?1049l").frame.scrollback


def test_reading_the_past_moves_nothing(shown):
    shown.feed(numbered(50))
    shown.screen.scroll(-7)
    shown.look()
    before = shown.text, shown.frame.offset

    shown.screen.styled_rows(0, 100)
    shown.look()

    assert before == (shown.text, shown.frame.offset)


def test_styled_rows_of_the_past(shown):
    shown.feed(f"\x1b[31mred\x1b[0m\r\n{numbered(50)}")

    assert CellStyle(foreground=1) == shown.screen.styled_rows(0, 1)[0][0].style


@pytest.mark.parametrize(("first", "count"), [(-5, 2), (0, 0), (0, -1), (1000, 5)])
def test_reading_beyond_either_end_gives_what_there_is(shown, first, count):
    shown.feed(numbered(10))

    assert len(shown.screen.styled_rows(first, count)) <= max(0, count)


def test_the_child_can_have_the_past_erased(shown):
    shown.feed(numbered(50))
    shown.screen.scroll(-10)
    shown.feed("\x1b[3J")

    assert (0, 0) == (shown.frame.scrollback, shown.frame.offset)


LONG = "The quick brown fox jumps over the lazy dog and then goes home to sleep until noon."


def test_lines_flow_anew_and_back(screens):
    shown = screens(80, 6).feed(f"{LONG}\r\nshort\r\n$ ")
    before = shown.text
    shown.screen.resize(40, 6)
    narrow = shown.look() and shown.text
    shown.screen.resize(80, 6)
    shown.look()

    assert [LONG[:40].rstrip(), LONG[40:80], LONG[80:], "short"] == narrow[:4]
    assert before == shown.text


def test_the_past_flows_anew_too(screens):
    shown = screens(80, 4).feed(f"{LONG}\r\n{numbered(20)}")
    shown.screen.resize(40, 4)
    shown.look()

    assert (LONG[:40].rstrip(), LONG[40:80], LONG[80:], "line 0") == shown.screen.lines(0, 4)


def test_a_lower_screen_keeps_the_line_of_the_cursor(screens):
    shown = screens(20, 10).feed(f"{numbered(9)}$ prompt")
    shown.screen.resize(20, 4)
    shown.look()

    assert "$ prompt" == shown.text[-1]
    assert "line 0" == shown.screen.lines(0, 1)[0]
    assert 6 == shown.frame.scrollback


def test_a_resize_gives_a_full_frame_of_the_new_size(shown):
    shown.screen.resize(33, 9)
    frame = shown.look()

    assert (33, 9, 9, True) == (frame.columns, frame.rows, len(frame.changed), frame.full)


@pytest.mark.parametrize("size", [(0, 0), (1, 1), (-5, 3), (100_000, 100_000)])
def test_no_size_is_too_odd(shown, size):
    shown.feed("hello 日本\r\nthere")
    shown.screen.resize(*size)
    shown.look()

    assert shown.frame.columns in range(2, 5000)
    assert shown.frame.rows in range(1, 5000)


def test_a_child_that_asked_for_it_is_told_of_a_new_size(shown):
    shown.feed("\x1b[?2048h")
    shown.screen.take_side_effects()
    shown.screen.resize(33, 9)

    assert b"\x1b[48;9;33;144;264t" == shown.screen.take_side_effects().replies


def test_search_finds_text_in_the_past_and_on_the_screen_newest_first(shown):
    shown.feed(f"{numbered(50)}LINE 7!")

    assert (SearchHit(50, 0, 6), SearchHit(7, 0, 6)) == shown.screen.search("line 7")


def test_search_counts_cells(shown):
    shown.feed("日本 語 日本")

    assert [(8, 12), (0, 4)] == [(hit.start, hit.end) for hit in shown.screen.search("日本")]


def test_search_keeps_to_its_limit(shown):
    shown.feed(numbered(50))

    assert [49, 48, 47] == [hit.line for hit in shown.screen.search("line", 3)]


@pytest.mark.parametrize("text", ["", "nowhere", "\x00", "\ud800"], ids=ascii)
def test_search_for_what_is_not_there_finds_nothing(shown, text):
    shown.feed(numbered(50))

    assert () == shown.screen.search(text)


def test_search_finds_a_word_that_wraps(shown):
    shown.feed("a" * 18 + "needle")

    assert (SearchHit(0, 18, 20),) == shown.screen.search("needle")


def restored(screens, shown):
    again = screens(dump=shown.screen.dump())
    again.look()
    return again


def test_a_dump_makes_the_same_screen_again(screens):
    shown = screens(40, 6).feed(
        f"\x1b[31m日本\x1b[0m \x1b]8;;http://x/\x07link\x1b]8;;\x07\r\n{numbered(30)}\x1b[44mend"
    )

    again = restored(screens, shown)

    assert shown.rows == again.rows
    assert shown.frame.cursor == again.frame.cursor
    assert shown.screen.styled_rows(0, 99) == again.screen.styled_rows(0, 99)
    assert (40, 6) == (again.frame.columns, again.frame.rows)


def test_a_dump_keeps_what_a_child_set(screens):
    shown = screens().feed("\x1b[?1049h\x1b[2;4r\x1b[?2004h\x1b[?1h\x1b[?1002h\x1b[?1006h\x1b[>1u\x1b[3;3H\x1b[1mx")

    again = restored(screens, shown).feed("y\x1b[4;1H\n\n")

    assert again.frame.alternate
    assert again.frame.mouse
    assert b"\x1b[200~z\x1b[201~" == again.screen.encode_paste("z")
    assert b"\x1b[27u" == again.screen.encode_key(Key("escape", "\x1b"))
    assert shown.feed("y\x1b[4;1H\n\n").rows == again.rows


def test_a_restored_screen_goes_on_as_the_first_would(screens):
    shown = screens(40, 6).feed(f"{LONG}\r\n{numbered(10)}\x1b(0\x1b[32m")
    again = restored(screens, shown)

    for each in (shown, again):
        each.feed("qqq\x1b(B done\r\n")
        each.screen.resize(20, 6)
        each.look()

    assert shown.text == again.text
    assert shown.screen.lines(0, 99) == again.screen.lines(0, 99)


def test_a_dump_inside_a_sequence_goes_on_inside_it(screens):
    shown = screens().feed("ab\x1b[3")

    assert ["ab"] == shown.text
    assert 1 == restored(screens, shown).feed("1mred").rows[0][-1].style.foreground


@pytest.mark.parametrize("inside", [b"\x1b^\x9b", b"\x1bX\x9d", b"\x1b^ab\x90"], ids=["csi", "osc", "dcs"])
def test_a_dump_that_cannot_be_made_is_empty_and_the_screen_works_on(screens, inside):
    shown = screens().feed(b"hello" + inside)

    assert b"" == shown.screen.dump()
    assert ["hello"] == shown.text
    assert ["hello!"] == restored(screens, shown.feed("\x18\x1b\\!")).text


def test_replies_and_events_work_after_a_restore(screens):
    again = restored(screens, screens().feed("x"))

    again.screen.feed(b"\x1b[6n\x1b]0;t\x07\a\x1b]10;?\x07")

    said = again.screen.take_side_effects()
    assert ("t", 1) == (said.title, said.bells)
    assert said.replies.startswith(b"\x1b[1;2R\x1b]10;rgb:d0d0")


@pytest.mark.parametrize("damage", ["cut", "swapped", "nothing"])
def test_a_damaged_dump_is_refused_or_read_and_never_worse(screens, damage):
    dump = screens(20, 5).feed(numbered(20)).screen.dump()
    broken = {"cut": dump[: len(dump) // 3], "swapped": dump[:40] + dump[40:][::-1], "nothing": dump[:12]}[damage]

    try:
        again = screens(dump=broken)
    except ScreenUnavailable:
        return
    assert again.screen.frame(full=True) is not None
    assert all(isinstance(text_of(row), str) for row in again.rows)


def test_a_restored_screen_measures_clusters_after_a_reset(screens):
    again = restored(screens, screens().feed("x"))

    again.screen.feed(b"\x1bc\x1b[?2027$p")

    assert b"\x1b[?2027;1$y" == again.screen.take_side_effects().replies


def test_restoring_takes_the_colours_of_today(screens):
    dump = screens(foreground=0x111111).screen.dump()
    again = screens(dump=dump, foreground=0x222222)

    again.screen.feed(b"\x1b]10;?\x07")

    assert b"\x1b]10;rgb:2222/2222/2222\x07" == again.screen.take_side_effects().replies


def test_the_default_limits_are_those_of_the_contract():
    assert 10_000 == ScreenLimits().scrollback_rows


def test_rows_keep_their_numbers_while_the_scrollback_is_trimmed(screens):
    shown = screens(80, 5, scrollback_rows=100)
    seen = {}
    for begin in range(0, 6000, 250):
        shown.feed("".join(f"line {number}\r\n" for number in range(begin, begin + 250)))
        trimmed, total = shown.screen.trimmed(), shown.frame.scrollback + 5
        for line, text in enumerate(shown.screen.lines(0, total - 1), trimmed):
            assert text == seen.setdefault(line, text)

    assert trimmed > 1000
    assert trimmed == shown.frame.trimmed
    assert "line 5999" == seen[trimmed + total - 2]


def test_number_is_given_once_when_more_is_printed_than_is_kept(screens):
    shown = screens(80, 5, scrollback_rows=100).feed(numbered(50))
    before = shown.screen.trimmed() + shown.frame.scrollback + 5

    shown.feed(numbered(20_000))

    assert shown.screen.trimmed() >= before


def test_numbers_of_a_past_that_was_erased_are_not_given_again(shown):
    shown.feed(numbered(100))
    assert 0 == shown.screen.trimmed()

    shown.feed("\x1b[3J\x1b[H\x1b[2Jnew")

    assert shown.screen.trimmed() >= 96


def test_screen_of_its_own_and_a_new_size_trim_nothing(shown):
    shown.feed(numbered(100))

    shown.feed("\x1b[?1049h" + numbered(100))
    assert 0 == shown.screen.trimmed()
    shown.screen.resize(4, 8)
    shown.feed("\x1b[?1049l")
    assert 0 == shown.screen.trimmed()
    shown.screen.resize(30, 4)

    assert 0 == shown.screen.trimmed()


def test_lines_that_were_broken_only_because_they_were_full_are_told_apart(shown):
    columns = shown.frame.columns if shown.look() else shown.screen.frame(full=True).columns
    text = "x" * (2 * columns + 3)

    shown.feed(f"{text}\r\n" + "y" * columns + f"\r\nshort\r\n{text}\r\n{text}\r\n{text}")

    total = shown.frame.scrollback + shown.frame.rows
    lines = shown.screen.lines(0, total)
    goes_on = {line for line, row in enumerate(lines) if row == "x" * columns}
    assert 8 == len(goes_on)
    assert tuple(sorted(goes_on)) == shown.screen.goes_on(0, total + 50)
    assert (1,) == shown.screen.goes_on(1, 2)
