"""Keys in, rows out: the interactive mode without a terminal."""

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_demo.clis import screen
from oulipoly_demo.clis.keys import Key, KeyReader
from oulipoly_demo.clis.screen import Painter, View

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))


@pytest.mark.parametrize(
    ("raw", "keys"),
    [
        (b"ab\r", [Key("text", "ab"), Key("enter")]),
        (b"\x03\x04\x7f", [Key("ctrl-c"), Key("ctrl-d"), Key("backspace")]),
        (b"\x1b", [Key("escape")]),
        (b"\x1b[A\x1bOA\x1b[1;5Cx", [Key("up"), Key("up"), Key("text", "x")]),
        (b"\x1b[200~one\rtwo\x1b[201~\r", [Key("text", "one\ntwo"), Key("enter")]),
        ("é漢".encode(), [Key("text", "é漢")]),
        (b"\x01\x02", []),
    ],
)
def test_bytes_become_keys(raw, keys):
    assert keys == KeyReader().feed(raw)


def test_sequence_cut_in_two_is_one_key():
    reader = KeyReader()

    assert [] == reader.feed(b"\x1b[")
    assert [Key("up")] == reader.feed(b"A")


@given(st.binary())
def test_no_input_breaks_the_reader(raw):
    reader = KeyReader()

    whole = [key.name for key in reader.feed(raw)]

    assert set(whole) <= {"text", "escape", "up", "newline", "enter", "backspace"} | {f"ctrl-{c}" for c in "cdluw"}


@given(TEXT, TEXT, st.integers(12, 120), st.booleans())
def test_no_row_is_wider_than_the_terminal(entry, tail, columns, colour):
    picture = screen.frame(View(entry, tail, "busy " * 30, "hint", "status " * 30, columns, colour=colour))

    plain = [re.sub(r"\x1b\[\d*m", "", row) for row in picture.rows]
    assert max(map(screen.cells, plain)) <= columns
    assert plain[picture.cursor_row].startswith("│")
    assert picture.cursor_column < columns


def test_box_shows_the_entry_and_the_status_below():
    picture = screen.frame(View(entry="hello", status="model · account", columns=20, colour=False))

    assert (
        "╭──────────────────╮",
        "│ > hello          │",
        "╰──────────────────╯",
        "model · account",
    ) == picture.rows
    assert (1, 9) == (picture.cursor_row, picture.cursor_column)


def test_second_drawing_erases_the_first_from_its_top_row():
    read, write = os.pipe()
    painter = Painter(write)

    painter.draw(screen.frame(View(columns=20, colour=False)))
    os.read(read, 4096)
    painter.draw(screen.frame(View(entry="x", columns=20, colour=False)), ("done",))
    drawn = os.read(read, 4096)
    os.close(read)
    os.close(write)

    assert drawn.startswith(b"\x1b[1A\r\x1b[Jdone\r\n")


@given(TEXT, st.integers(2, 40))
def test_wrapping_loses_nothing(text, width):
    assert text == "".join(screen.wrap(text, width))
