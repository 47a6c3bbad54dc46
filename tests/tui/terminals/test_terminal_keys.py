"""What a key in a terminal's pane sends to the program there is what it sends without us between them."""

import sys

import pytest

from oulipoly_engine.terminal.emulators.bittty_screen import BitttyScreen
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Key

if sys.platform != "linux":
    pytest.skip("elsewhere the app keeps Textual's own driver", allow_module_level=True)

from oulipoly_tui.driver.driver import _Sequences
from oulipoly_tui.widgets.terminal_keys import is_one_of, pressed


def keys(typed):
    parser = _Sequences()
    found = list(parser.feed(typed))
    if parser._timeout_time is not None:
        parser._timeout_time = 0.0
        found += parser.tick()
    return found


def sent(typed, modes=b""):
    screen = BitttyScreen()
    screen.feed(modes)
    parts = []
    for event in keys(typed):
        match pressed(event):
            case messages.Typed(data):
                parts.append(data)
            case messages.Pressed(name, text, mods):
                parts.append(screen.encode_key(Key(name, text, mods)))
    return b"".join(parts)


_LONE = [*"aAzZ019.,;:'\"/?<>!@#$%^&*()-_=+{}|`~\\ []é", *map(chr, range(0x1B)), "\x1c", "\x1d", "\x1e", "\x1f", "\x7f"]


@pytest.mark.parametrize("modes", [b"", b"\x1b[>1u", b"\x1b[>4;2m"], ids=["old", "kitty", "xterm"])
def test_a_key_with_alt_sends_what_the_terminal_sent_whatever_the_program_asked_for(modes):
    wrong = {one: got for one in _LONE if (got := sent(f"\x1b{one}", modes)) != f"\x1b{one}".encode()}

    assert {} == wrong


@pytest.mark.parametrize(
    "typed", ["x\x1b.y\x1b1z", "ihello\x1b:wq\r", "\x1b[\x1b]", "\x1b\x1ba", "\x1bOld\r", "a\x08b\x7f", "\x1bO\x1bb"]
)
def test_keys_in_one_breath_come_as_they_were_sent(typed):
    assert typed.encode() == sent(typed)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\x1b[97;3u", b"\x1ba"),
        ("\x1b[97;4u", b"\x1bA"),
        ("\x1b[97;7u", b"\x1b\x01"),
        ("\x1b[46;3u", b"\x1b."),
        ("\x1b[13;3u", b"\x1b\r"),
        ("\x1b[127;3u", b"\x1b\x7f"),
        ("\x1b[104;5u", b"\x08"),
        ("\x1b[97;6u", b"\x01"),
        ("\x1b[1;3A", b"\x1b[1;3A"),
    ],
)
def test_a_key_in_a_protocol_comes_in_the_old_form_to_who_knows_no_other(typed, expected):
    assert expected == sent(typed)


def test_shift_is_told_to_who_asked_for_a_protocol():
    assert b"\x1b[97;4u" == sent("\x1b[97;4u", b"\x1b[>1u")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\x1bx", "alt+x"),
        ("\x1b<", "alt+less_than_sign"),
        ("\x1bX", "alt+shift+x"),
        ("\x1b\x03", "alt+ctrl+c"),
        ("\x1b1", "alt+1"),
        ("\x1bf", "ctrl+right"),
        ("\x1bb", "ctrl+left"),
        ("\x1b\x7f", "ctrl+w"),
        ("\x08", "backspace"),
        ("\x1b", "escape"),
    ],
)
def test_the_app_knows_keys_by_the_names_that_its_fields_and_bindings_have(typed, expected):
    (key,) = keys(typed)

    assert expected == key.key
    assert not key.is_printable  # a field for text must not take it for text


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("\x1d", True), ("\x1b\x1d", True), ("\x1bx", True), ("\x17", True), ("\x1b\x7f", False), ("\x1b[93;7u", False)],
)
def test_a_chord_is_known_behind_escape_but_not_where_a_field_knows_the_key_by_its_name(typed, expected):
    (key,) = keys(typed)

    assert is_one_of(key, ("ctrl+right_square_bracket", "alt+x", "ctrl+w")) is expected


def test_backspace_of_a_terminal_that_erases_by_control_h_is_a_backspace():
    parser = _Sequences()
    parser.erases_by_control_h = True
    (key,) = parser.feed("\x08")

    assert ("backspace", "\x7f") == (key.key, key.character)
