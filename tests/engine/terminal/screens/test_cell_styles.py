"""Colours, attributes, links and odd characters come out of a screen as they went in."""

import pytest

from oulipoly_engine.terminal.protocol.screen import TRUE_COLOUR, Attr, CellStyle, Run

RED, BLUE = TRUE_COLOUR | 0xFF0000, TRUE_COLOUR | 0x0000FF

SGR = {
    "bold": ("1", CellStyle(attrs=Attr.BOLD)),
    "dim": ("2", CellStyle(attrs=Attr.DIM)),
    "italic": ("3", CellStyle(attrs=Attr.ITALIC)),
    "underline": ("4", CellStyle(attrs=Attr.UNDERLINE)),
    "curly": ("4:3", CellStyle(attrs=Attr.UNDERLINE | Attr.CURLY)),
    "double underline": ("21", CellStyle(attrs=Attr.UNDERLINE)),
    "blink": ("5", CellStyle(attrs=Attr.BLINK)),
    "reverse": ("7", CellStyle(attrs=Attr.REVERSE)),
    "hidden": ("8", CellStyle(attrs=Attr.HIDDEN)),
    "strike": ("9", CellStyle(attrs=Attr.STRIKE)),
    "several": ("1;3;4", CellStyle(attrs=Attr.BOLD | Attr.ITALIC | Attr.UNDERLINE)),
    "foreground": ("31", CellStyle(foreground=1)),
    "background": ("44", CellStyle(background=4)),
    "bright": ("91;102", CellStyle(foreground=9, background=10)),
    "palette": ("38;5;200", CellStyle(foreground=200)),
    "palette with colons": ("38:5:200", CellStyle(foreground=200)),
    "true colour": ("38;2;255;0;0;48;2;0;0;255", CellStyle(RED, BLUE)),
    "true colour with colons": ("38:2::255:0:0", CellStyle(RED)),
    "true colour with colons and no space": ("48:2:0:0:255", CellStyle(background=BLUE)),
    "turned off": ("1;4;7;22;24;27", CellStyle()),
    "colours turned off": ("31;44;39;49", CellStyle()),
    "reset": ("1;31;0", CellStyle()),
    "empty is reset": ("", CellStyle()),
    "nonsense is nothing": ("1;999", CellStyle(attrs=Attr.BOLD)),
}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", SGR)
def test_sgr(screens, case):
    shown = screens()
    parameters, look = SGR[case]

    shown.feed(f"\x1b[7;1m\x1b[0m\x1b[{parameters}mxy")

    assert (Run("xy", look, 2),) == shown.rows[0]


def test_a_row_is_runs_of_unlike_looks_without_default_blanks_at_its_end(shown):
    shown.feed("a\x1b[1mb\x1b[1mc\x1b[0m d   ")

    assert (
        Run("a", CellStyle(), 1),
        Run("bc", CellStyle(attrs=Attr.BOLD), 2),
        Run(" d", CellStyle(), 2),
    ) == shown.rows[0]


@pytest.mark.parametrize(
    ("colour", "background"), [("44", 4), ("48;5;200", 200), ("48;2;255;0;0", RED)], ids=["basic", "palette", "true"]
)
def test_erasing_leaves_the_background_colour_to_the_edge(shown, colour, background):
    shown.feed(f"ab\x1b[{colour}m\x1b[K\x1b[0m")

    assert (Run("ab", CellStyle(), 2), Run(" " * 18, CellStyle(background=background), 18)) == shown.rows[0]


def test_a_wide_character_counts_two_cells(shown):
    shown.feed("日本x")

    assert (Run("日本x", CellStyle(), 5),) == shown.rows[0]
    assert (5, 0) == shown.cursor


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("text", "width"),
    [("e\u0301", 1), ("👩\u200d👩\u200d👧", 2), ("👍🏽", 2), ("🇩🇪", 2), ("☎\ufe0f", 2), ("한", 2)],
    ids=["combining", "joined", "skin", "flag", "emoji selector", "hangul"],
)
def test_a_cluster_is_one_character_of_its_width(screens, text, width):
    shown = screens()
    shown.feed(f"{text}|")

    assert (Run(f"{text}|", CellStyle(), width + 1),) == shown.rows[0]


def test_a_cluster_that_changes_is_drawn_anew(shown):
    shown.feed("e\u0301")

    shown.feed("\re\u0300")

    assert ["e\u0300"] == shown.text


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("odd", ["\x7f", "\u00ad", "\u200b", "\u202e", "\u2028", "\ufeff", "\ue000\x7f"], ids=ascii)
def test_nothing_that_would_break_a_row_is_in_it(screens, odd):
    shown = screens()
    shown.feed(f"a{odd}b")

    (run,) = shown.rows[0]
    assert not set(run.text) & {"\x7f", "\x1b", "\x9b", "\u202e", "\u2028", "\ufeff", "\u00ad"}
    assert {"a", "b"} <= set(run.text)


def test_utf8_cut_inside_a_character_is_whole(shown):
    data = "é日👍".encode()

    for byte in data:
        shown.screen.feed(bytes([byte]))
    shown.look()

    assert ["é日👍"] == shown.text


def test_bytes_that_are_no_utf8_are_replaced(shown):
    shown.feed(b"a\xff\xfeb\xc3")

    shown.feed(b"c")
    assert shown.text[0].startswith("a\ufffd")
    assert shown.text[0].endswith("c")


def test_a_link_is_in_the_look_of_its_text(shown):
    shown.feed(
        "\x1b]8;;https://a.example/x?y=1\x1b\\one\x1b]8;;\x1b\\ \x1b]8;id=7;file:///tmp/f\x07\x1b[1mtwo\x1b]8;;\x07"
    )

    assert (
        Run("one", CellStyle(link="https://a.example/x?y=1"), 3),
        Run(" ", CellStyle(), 1),
        Run("two", CellStyle(attrs=Attr.BOLD, link="file:///tmp/f"), 3),
    ) == shown.rows[0]


def test_two_links_side_by_side_stay_two(shown):
    shown.feed("\x1b]8;;http://a\x07x\x1b]8;;http://b\x07y\x1b]8;;\x07")

    assert ["http://a", "http://b"] == [run.style.link for run in shown.rows[0]]


def test_many_looks_come_and_go_without_being_taken_for_each_other(shown):
    for number in range(600):
        shown.feed(f"\x1b[H\x1b[38;5;{number % 256}mx\x1b[48;5;{(number * 7) % 256}my\x1b[0m")
        looks = [run.style for run in shown.rows[0]]

        assert [CellStyle(number % 256), CellStyle(number % 256, (number * 7) % 256)] == looks
