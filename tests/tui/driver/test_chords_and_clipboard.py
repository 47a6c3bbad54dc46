"""Chords as they are written and eaten, the clipboard's sequence, and the line of tabs."""

import base64

import pytest

from oulipoly_tui.driver import clipboard
from oulipoly_tui.driver.copying import format_for_shell
from oulipoly_tui.view.frame.chords import describe_interceptor, format_chord, from_tmux, read_chord, suggest_chord
from oulipoly_tui.view.terminal.repl import Tab, tab_line
from oulipoly_tui.view.transcript.spans import plain


@pytest.mark.parametrize(
    ("chord", "text"),
    [("ctrl+right_square_bracket", "ctrl+]"), ("f12", "f12"), ("ctrl+shift+x", "ctrl+shift+x")],
)
def test_a_chord_is_shown_as_people_write_it(chord, text):
    assert text == format_chord(chord)


@pytest.mark.parametrize(
    ("chord", "environ", "prefix", "is_eaten"),
    [
        ("ctrl+b", {"TMUX": "/tmp/x"}, None, True),
        ("ctrl+b", {}, None, False),
        ("ctrl+a", {"STY": "1.x"}, None, True),
        ("ctrl+o", {"TMUX": "/tmp/x"}, "ctrl+o", True),
        ("ctrl+s", {}, None, True),
        ("ctrl+right_square_bracket", {"TMUX": "/tmp/x"}, "ctrl+b", False),
    ],
    ids=["tmux", "no tmux", "screen", "own prefix", "xoff", "ours"],
)
def test_a_chord_that_never_reaches_us_is_told(chord, environ, prefix, is_eaten):
    assert is_eaten == (describe_interceptor(chord, environ, None if prefix is None else (prefix,)) is not None)


@pytest.mark.parametrize(
    ("key", "chord"),
    [("C-b", "ctrl+b"), ("C-]", "ctrl+right_square_bracket"), ("M-a", "alt+a"), ("C-Space", "ctrl+space"), ("`", "`")],
)
def test_tmuxs_words_for_keys_are_understood(key, chord):
    assert chord == from_tmux(key)


@pytest.mark.parametrize(
    ("chord", "prefixes", "instead"),
    [
        ("ctrl+b", ("ctrl+b",), "ctrl+right_square_bracket"),
        ("ctrl+right_square_bracket", ("ctrl+right_square_bracket",), "ctrl+backslash"),
    ],
)
def test_another_chord_is_offered(chord, prefixes, instead):
    assert instead == suggest_chord(chord, {"TMUX": "x"}, prefixes)


@pytest.mark.parametrize("written", ["ctrl+]", "ctrl+\\", "ctrl+^", "ctrl+_", "ctrl+@", "ctrl+g", "f12"])
def test_a_written_chord_has_textuals_name_and_back(written):
    assert written == format_chord(read_chord(written))


def test_the_clipboard_gets_the_text_and_tmux_its_wrapping():
    code = base64.b64encode("hé".encode()).decode()

    assert f"\x1b]52;c;{code}\a" == clipboard.sequence("hé", {})
    assert f"\x1bPtmux;\x1b\x1b]52;c;{code}\a\x1b\\" in clipboard.sequence("hé", {"TMUX": "x"})
    assert clipboard.sequence("x" * 80_000, {}) is None


def test_tabs_tell_by_marks_what_happened_in_them():
    tabs = [
        Tab("a", "claude"),
        Tab("b", "codex", has_bell=True),
        Tab("c", "sh", is_active=True),
        Tab("d", "old", is_ended=True, code=3),
    ]

    assert "[1 claude] 2 ♪ codex  3 • sh  4 ended 3 old " == plain(tab_line(tabs, "a", 80))


def test_what_a_tab_wants_is_in_sight_where_its_label_is_cut():
    tabs = [Tab("a", "claude-opus@claude2"), Tab("b", "demo-haiku@demo-claude-with-a-long-name", has_bell=True)]

    shown = plain(tab_line(tabs, "a", 34))[:34]

    assert "♪" in shown


def test_the_chosen_tab_stays_in_sight():
    tabs = [Tab(str(number), f"terminal {number}") for number in range(20)]

    assert "[20 terminal 19]" in plain(tab_line(tabs, "19", 40))[:60]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("sh -c 'one\ntwo' x", "sh -c 'one\ntwo' x"),
        ("echo 'a\n\x1b[31m\u202eb\tc'", "echo 'a\n␛[31m<U+202E>b␉c'"),
        ("echo 'it'\"'\"'s\nfine'", "echo 'it'\"'\"'s\nfine'"),
        ("echo 'cut\nrm -rf x", "echo 'cut␊rm -rf x"),  # the log keeps so much of a command and no more
        ("echo a\nrm -rf x", "echo a␊rm -rf x"),
        ("tool --token=••• 'a\nb'", "tool --token=••• 'a␊b'"),
    ],
)
def test_a_command_is_copied_with_the_line_breaks_that_a_shell_does_not_obey(command, text):
    assert text == format_for_shell(command)
