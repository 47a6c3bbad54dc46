"""A real terminal's input made into messages, and pictures made into its output."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.leave_key import BYTES
from oulipoly_engine.terminal.client.ansi import Painter, sgr, title
from oulipoly_engine.terminal.client.keyboard import Keyboard, KittySupport, LeaveKey
from oulipoly_engine.terminal.protocol.messages import (
    FocusChange,
    KeyInput,
    MouseInput,
    PasteInput,
    ScrollRequest,
    TextInput,
)
from oulipoly_engine.terminal.protocol.remote_screen import RemoteScreen
from oulipoly_engine.terminal.protocol.screen import Attr, CellStyle, Cursor, Mods, Run

_CTRL, _ALT, _SHIFT = int(Mods.CTRL), int(Mods.ALT), int(Mods.SHIFT)


def _keyboard():
    return Keyboard(BYTES["ctrl+]"])


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        (b"hello", [TextInput(b"hello")]),
        ("ü世".encode(), [TextInput("ü世".encode())]),
        (b"\r", [KeyInput("enter")]),
        (b"\t", [KeyInput("tab")]),
        (b"\x7f", [KeyInput("backspace")]),
        (b"\x03", [KeyInput("c", mods=_CTRL)]),
        (b"\x1b[A", [KeyInput("up")]),
        (b"\x1bOA", [KeyInput("up")]),
        (b"\x1b[1;5C", [KeyInput("right", mods=_CTRL)]),
        (b"\x1b[3~", [KeyInput("delete")]),
        (b"\x1b[15;2~", [KeyInput("f5", mods=_SHIFT)]),
        (b"\x1bOP", [KeyInput("f1")]),
        (b"\x1b[Z", [KeyInput("tab", mods=_SHIFT)]),
        (b"\x1bx", [KeyInput("x", mods=_ALT)]),
        (b"\x1b[5;2~", [ScrollRequest(-20)]),
        (b"\x1b[6;2~", [ScrollRequest(20)]),
        (b"\x1b[I", [FocusChange("focused")]),
        (b"\x1b[O", [FocusChange("unfocused")]),
        (b"\x1b[<0;5;3M", [MouseInput("press", 1, 4, 2)]),
        (b"\x1b[<0;5;3m", [MouseInput("release", 1, 4, 2)]),
        (b"\x1b[<35;5;3M", [MouseInput("move", 0, 4, 2)]),
        (b"\x1b[<64;1;1M", [MouseInput("press", 4, 0, 0)]),
        (b"\x1b[200~a\x1dpaste\x1b[201~b", [PasteInput("a\x1dpaste"), TextInput(b"b")]),
        (b"a\x1b[?62;c\x1b[Bb", [TextInput(b"a"), TextInput(b"\x1b[?62;c"), KeyInput("down"), TextInput(b"b")]),
        (b"one\x1dtwo", [TextInput(b"one"), LeaveKey(3)]),
        (b"\x1d", [LeaveKey()]),
    ],
    ids=repr,
)
def test_keys_are_understood(data, meant):
    assert meant == _keyboard().feed(data)


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        (b"\x1b[13;2u", [KeyInput("enter", mods=_SHIFT)]),
        (b"\x1b[27u", [KeyInput("escape")]),
        (b"\x1b[105;5u", [KeyInput("i", mods=_CTRL)]),
        (b"\x1b[109;69u", [KeyInput("m", mods=_CTRL)]),
        (b"\x1b[9;5u", [KeyInput("tab", mods=_CTRL)]),
        (b"\x1b[127;3u", [KeyInput("backspace", mods=_ALT)]),
        (b"\x1b[97:65;4u", [KeyInput("A", mods=_ALT | _SHIFT)]),
        (b"\x1b[49:33;4u", [KeyInput("!", mods=_ALT | _SHIFT)]),
        (b"\x1b[1089::99;5u", [KeyInput("c", mods=_CTRL)]),
        (b"\x1b[97;1u", [TextInput(b"a")]),
        (b"\x1b[252:220;2u", [TextInput("Ü".encode())]),
        (b"\x1b[32;5u", [KeyInput("space", mods=_CTRL)]),
        (b"\x1b[57403u", [TextInput(b"4")]),
        (b"\x1b[57414u", [KeyInput("enter")]),
        (b"\x1b[57376;5u", [KeyInput("f13", mods=_CTRL)]),
        (b"\x1b[57441;2u", []),
        (b"\x1b[1;1:3A\x1b[3;1:3~\x1b[97;1:3u", []),
        (b"\x1b[1;2:1A", [KeyInput("up", mods=_SHIFT)]),
        (b"\x1b[27;2;13~", [KeyInput("enter", mods=_SHIFT)]),
        (b"\x1b[?0u\x1b[?5u", [KittySupport(), KittySupport()]),
        (b"a\x1b[93;5urm -rf", [TextInput(b"a"), LeaveKey(6)]),
        (b"\x1b[53;5u", [LeaveKey()]),
        (b"\x1b[27;5;93~", [LeaveKey()]),
        (b"\x1b[1098:1066:93;5u", [LeaveKey()]),
        (b"\x1b[93;7u", [KeyInput("]", mods=_ALT | _CTRL)]),
        (b"\x1b[99999999u", [TextInput(b"\x1b[99999999u")]),
        (b"\x1b[1114112;5u\x1b[55296;5u", []),
    ],
    ids=repr,
)
def test_keys_are_understood_in_the_protocols_that_tell_them_apart(data, meant):
    assert meant == _keyboard().feed(data)


@pytest.mark.parametrize("chord", BYTES)
def test_key_that_leaves_is_known_in_every_form(chord):
    sign = chord.removeprefix("ctrl+")
    shifted = {"@": (50, "@"), "^": (54, "^"), "_": (45, "_")}
    code, mods = (shifted[sign][0], 6) if sign in shifted else (ord(sign), 5)
    also = f":{ord(sign)}" if sign in shifted else ""
    forms = (bytes([BYTES[chord]]), f"\x1b[{code}{also};{mods}u".encode(), f"\x1b[27;{mods};{ord(sign)}~".encode())

    assert [[LeaveKey()]] * 3 == [Keyboard(BYTES[chord]).feed(form) for form in forms]


@given(sequence=st.from_regex(rb"\x1b\[\??[0-9:;]{0,20}[u~A]", fullmatch=True))
def test_nothing_like_a_key_of_theirs_fails(sequence):
    keyboard = _keyboard()
    keyboard.feed(sequence)
    keyboard.flush()


def test_escape_alone_is_a_key_once_nothing_follows():
    keyboard = _keyboard()

    assert [] == keyboard.feed(b"\x1b")
    assert keyboard.is_waiting
    assert [KeyInput("escape")] == keyboard.flush()
    assert not keyboard.is_waiting


@given(cuts=st.lists(st.integers(0, 60), max_size=6))
def test_sequences_are_understood_in_any_pieces(cuts):
    data = b"ab\x1b[A\x1b[200~p\xc3\xbc\x1b[201~\x1b[<0;5;3M\x1bx\x1b[15;2~c"
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    keyboard, found = _keyboard(), []
    for start, end in pairwise(edges):
        found += keyboard.feed(data[start:end])

    typed = b"".join(one.data for one in found if isinstance(one, TextInput))
    others = [one for one in found if not isinstance(one, TextInput)]
    expected = [KeyInput("up"), PasteInput("pü"), MouseInput("press", 1, 4, 2), KeyInput("x", mods=_ALT)]
    assert (b"abc", [*expected, KeyInput("f5", mods=_SHIFT)]) == (typed, others)


@given(data=st.binary(max_size=300))
def test_nothing_that_is_typed_fails(data):
    keyboard = _keyboard()
    keyboard.feed(data)
    keyboard.flush()


@pytest.mark.parametrize(
    ("style", "sequence"),
    [
        (CellStyle(), "\x1b[0m"),
        (CellStyle(1, 12), "\x1b[0;31;104m"),
        (CellStyle(200, 0x1000000 | 0x010203), "\x1b[0;38;5;200;48;2;1;2;3m"),
        (CellStyle(attrs=Attr.BOLD | Attr.UNDERLINE | Attr.CURLY), "\x1b[0;1;4:3m"),
    ],
)
def test_looks_are_set_whatever_was_set_before(style, sequence):
    assert sequence == sgr(style)


def _view(*rows, cursor=Cursor(0, 0, True)):  # noqa: B008 - frozen
    view = RemoteScreen()
    view.rows = [tuple(row) for row in rows]
    view.cursor = cursor
    return view


def test_rows_are_cut_at_the_window_and_wide_characters_not_halved():
    painter = Painter(3, 1)

    drawn = painter.paint(_view([Run("世界", CellStyle(), 4)], [Run("below", CellStyle(), 5)]), (0, 1), clears=False)

    assert "世".encode() in drawn
    assert "界".encode() not in drawn
    assert b"below" not in drawn


def test_without_colour_text_links_and_attributes_are_painted_all_the_same():
    look = CellStyle(0x1FF8800, 4, int(Attr.BOLD | Attr.REVERSE), "http://x")

    drawn = Painter(80, 1, has_colour=False).paint(_view([Run("loud", look, 4)]), (0,), clears=False)

    assert b"\x1b[0;1;7mloud" in drawn
    assert b"\x1b]8;;http://x\x1b\\" in drawn


def test_link_cannot_break_out_of_its_sequence():
    drawn = Painter(80, 1).paint(_view([Run("x", CellStyle(link="a\x1b\\\x1b[2Jb"), 1)]), (0,), clears=False)

    assert b"\x1b]8;;a\\[2Jb\x1b\\" in drawn


def test_title_cannot_break_out_of_its_sequence():
    assert b"\x1b]2;a[2Jb\x1b\\" == title("a\x1b[2J\x07\x9c\u202e\u2028\U000e0041b")


def test_note_cannot_break_out_of_its_row():
    painter = Painter(40, 1)
    painter.note = "a\x1b[2J\u202eb"

    assert "\x1b[0;7m a␛[2J<U+202E>b ".encode() in painter.paint(_view([]), (), clears=False)


def test_note_lies_over_the_last_row_until_it_is_cleared():
    painter, view = Painter(20, 2), _view([], [Run("beneath", CellStyle(), 7)])
    painter.note = "a note"
    assert b"\x1b[2;1H\x1b[0;7m a note " in painter.paint(view, (0, 1), clears=True)

    assert b"beneath" in painter.clear_note(view)
