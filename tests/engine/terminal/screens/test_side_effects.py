"""What a child says beside its picture is collected, answered where it must be, and obeyed nowhere."""

import base64
import os
import re

import pytest

from oulipoly_engine.terminal.protocol.screen import PALETTE, SideEffects


def side_effects(shown, fed):
    shown.screen.feed(fed.encode())
    return shown.screen.take_side_effects()


@pytest.mark.parametrize("fed", ["\x1b]0;a title\x07", "\x1b]2;a title\x1b\\"], ids=["0", "2"])
def test_title(shown, fed):
    assert "a title" == side_effects(shown, fed).title


def test_a_title_has_no_controls(shown):
    title = side_effects(shown, "\x1b]2;a\u0085b\u202ec\x07").title

    assert title.isprintable()


def test_what_was_said_is_told_once(shown):
    side_effects(shown, "\x1b]0;t\x07\a\x1b[6n")

    assert SideEffects() == shown.screen.take_side_effects()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///tmp/x%20y", "/tmp/x y"),
        (f"file://{os.uname().nodename}/srv", "/srv"),
        ("file://localhost/srv", "/srv"),
        ("file://elsewhere.example/srv", None),
        ("http://x/srv", None),
        ("file:relative", None),
        ("file://[/x", None),
    ],
)
def test_folder(screens, uri, folder):
    shown = screens()
    assert folder == side_effects(shown, f"\x1b]7;{uri}\x07").folder


def test_bells_are_counted(shown):
    assert 3 == side_effects(shown, "\a\aab\a").bells


def test_a_bell_that_ends_a_string_does_not_ring(shown):
    assert 0 == side_effects(shown, "\x1b]0;x\x07").bells


def test_a_copy_is_collected(shown):
    text = base64.b64encode("häl\nlo".encode()).decode()

    assert ("häl\nlo",) == side_effects(shown, f"\x1b]52;c;{text}\x07").copied


def test_the_clipboard_is_never_read_out(shown):
    said = side_effects(shown, "\x1b]52;c;?\x07")

    assert b"" == said.replies.replace(b"\x1b]52;c;\x07", b"")


def test_a_notice_is_collected(shown):
    assert ("done",) == side_effects(shown, "\x1b]9;done\x07").notices


def test_a_notice_has_its_title_before_its_text(shown):
    (notice,) = side_effects(shown, "\x1b]777;notify;build;it works\x07").notices

    assert ["build", "it works"] == notice.replace(";", ":").split(": ")


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("fed", "percent"),
    [("4;1;42", 42), ("4;0", -1), ("4;3", 0), ("4;2;80", 80), ("4;1;0", 0)],
    ids=lambda value: str(value),
)
def test_progress(screens, fed, percent):
    shown = screens()
    said = side_effects(shown, f"\x1b]9;{fed}\x07")

    assert (percent, ()) == (said.progress, said.notices)


def test_a_child_that_says_things_for_ever_fills_no_memory(shown):
    said = side_effects(shown, "\x1b]9;note\x07\x1b]52;c;YQ==\x07" * 5000)

    assert 16 == len(said.notices) == len(said.copied)


REPLIES = {
    "cursor": ("\x1b[3;4H\x1b[6n", b"\x1b[3;4R"),
    "status": ("\x1b[5n", b"\x1b[0n"),
    "name": ("\x1b[>q", b"\x1bP>|agent-runner\x1b\\"),
    "foreground": ("\x1b]10;?\x1b\\", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
    "size in cells": ("\x1b[18t", b"\x1b[8;5;20t"),
    "size in pixels": ("\x1b[14t", b"\x1b[4;80;160t"),
    "cell in pixels": ("\x1b[16t", b"\x1b[6;16;8t"),
    "size reports": ("\x1b[?2048h", b"\x1b[48;5;20;80;160t"),
    "keyboard protocol": ("\x1b[>1u\x1b[?u", b"\x1b[?1u"),
    "a mode that is off": ("\x1b[?2004$p", b"\x1b[?2004;2$y"),
    "a mode that is on": ("\x1b[?2004h\x1b[?2004$p", b"\x1b[?2004;1$y"),
    "synchronised output is known": ("\x1b[?2026$p", b"\x1b[?2026;2$y"),
    "clusters are measured": ("\x1b[?2027$p", b"\x1b[?2027;1$y"),
    "clusters are measured after a reset": ("\x1bc\x1b[?2027$p", b"\x1b[?2027;1$y"),
    "rendition": ("\x1b[1m\x1bP$qm\x1b\\", b"\x1bP1$r0;1m\x1b\\"),
    "dark": ("\x1b[?996n", b"\x1b[?997;1n"),
    "title": ("\x1b]2;rm -rf\x07\x1b[21t", b""),
    "answerback": ("\x05", b""),
}


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("case", REPLIES)
def test_queries_are_answered(screens, case):
    shown = screens()
    fed, reply = REPLIES[case]

    said = side_effects(shown, fed).replies

    assert reply == (said.replace(b"\x07", b"\x1b\\") if case == "foreground" else said)  # either terminator will do


def test_the_background_is_told(shown):
    assert b"\x1b]11;rgb:1010/1010/1010\x07" == side_effects(shown, "\x1b]11;?\x07").replies


def test_colours_of_a_light_theme_are_told(shown):
    shown.screen.recolour(0x102030, 0xFFFEFD, dark=False)

    said = side_effects(shown, "\x1b]10;?\x07\x1b]11;?\x07").replies
    assert b"\x1b]10;rgb:1010/2020/3030\x07\x1b]11;rgb:ffff/fefe/fdfd\x07" == said
    assert said == side_effects(shown, "\x1bc\x1b]10;?\x07\x1b]11;?\x07").replies


def test_colour_that_the_program_has_set_stays(shown):
    shown.screen.feed(b"\x1b]11;#010203\x07")

    shown.screen.recolour(0x102030, 0xFFFEFD, dark=False)

    assert b"\x1b]11;rgb:0101/0202/0303\x07" == side_effects(shown, "\x1b]11;?\x07").replies


def test_program_that_wants_to_know_is_told_when_it_gets_light(shown):
    assert b"" == side_effects(shown, "\x1b[?2031h").replies

    for dark in (False, False, True):
        shown.screen.recolour(0x102030, 0xFFFEFD, dark=dark)

    assert b"\x1b[?997;2n\x1b[?997;1n\x1b[?997;1n" == side_effects(shown, "\x1b[?996n").replies


@pytest.mark.parametrize("query", ["c", ">c"])
def test_device_attributes_are_answered(shown, query):
    reply = side_effects(shown, f"\x1b[{query}").replies

    assert reply.startswith(b"\x1b[")
    assert reply.endswith(b"c")


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize("fed", ["\x1b[8;50;100t", "\x1b[?40h\x1b[?3h", "\x1b[132$|", "\x1b[50*|", "\x1b[60t"])
def test_the_child_does_not_set_the_size(screens, fed):
    shown = screens()
    shown.feed(fed).feed("\x1b[H\x1b[2Jx")

    assert (20, 5) == (shown.frame.columns, shown.frame.rows)
    assert ["x"] == shown.text
    assert 5 == len(shown.rows)


def test_child_is_told_the_colours_that_are_drawn(shown):
    replies = side_effects(shown, "".join(f"\x1b]4;{number};?\x1b\\" for number in range(16))).replies.decode()

    told = re.findall(r"rgb:(..)\1/(..)\2/(..)\3", replies)
    assert [f"{colour:06x}" for colour in PALETTE] == ["".join(parts) for parts in told]
