"""A program in a host: typed to, drawn, asked for, ended."""

import shutil
import sys

import pytest

from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Attr, CellStyle, Mods


def test_what_is_typed_comes_back_drawn(hosts):
    watcher = hosts.watch(hosts.shell())

    watcher.types("echo $((40+2))\n")

    watcher.shows("\n42")


def test_first_picture_is_full_and_later_ones_hold_only_what_changed(hosts):
    watcher = hosts.watch(hosts.shell())
    watcher.shows("$")
    before = len(watcher.pictures)
    watcher.types("x")
    watcher.shows("$ x")

    assert watcher.pictures[0].full
    assert {(0,)} == {tuple(y for y, _ in picture.changed) for picture in watcher.pictures[before:]}


def test_colours_arrive_with_their_text(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", r"printf '\033[1;31mred\033[0m plain'; cat"))

    watcher.shows("red plain")

    styles = {run.text: run.style for run in watcher.view.rows[0]}
    assert CellStyle(foreground=1, attrs=Attr.BOLD) == styles["red"]


def test_keys_are_encoded_in_the_modes_of_the_program(hosts):
    script = r"stty raw -echo; printf '\033[?1hready'; head -c 3 | od -An -c; cat"
    watcher = hosts.watch(hosts.start("sh", "-c", script))
    watcher.shows("ready")

    watcher.client.send(messages.KeyInput("up"))

    watcher.shows("033   O   A")


def test_paste_is_bracketed_where_the_program_asked_for_it(hosts):
    script = r"stty raw -echo; printf '\033[?2004hready'; head -c 14 | od -An -c; cat"
    watcher = hosts.watch(hosts.start("sh", "-c", script))
    watcher.shows("ready")

    watcher.client.send(messages.PasteInput("hi"))

    watcher.shows("2   0   0   ~   h   i 033   [   2   0   1")


def test_mouse_goes_to_the_program_only_when_it_asked(hosts):
    script = r"stty raw -echo; printf '\033[?1000h\033[?1006hready'; head -c 9 | od -An -c; cat"
    watcher = hosts.watch(hosts.start("sh", "-c", script))
    watcher.shows("ready")

    watcher.client.send(messages.MouseInput("press", 1, 4, 2))

    watcher.shows("033   [   <   0   ;   5   ;   3   M")
    assert watcher.view.mouse


def test_questions_of_the_program_are_answered_when_nobody_is_attached(hosts, waited):
    answer = hosts.home / "answer"
    asks = (
        "import os,tty,sys; tty.setraw(0); os.write(1, b'\\033[6n'); answer=os.read(0, 20);"
        "open('answer','wb').write(answer); os.read(0,1)"
    )
    hosts.start(sys.executable, "-c", asks)

    assert b"\x1b[1;1R" == waited(lambda: answer.exists() and answer.read_bytes())


def test_title_folder_bell_clipboard_and_notice_are_told(hosts):
    script = r"read x; printf '\033]2;a title\a\a\033]52;c;aGVsbG8=\a\033]9;done\a'; cat"
    watcher = hosts.watch(hosts.start("sh", "-c", script))
    watcher.types("\n")

    watcher.until(lambda: "a title" in [one.title for one in _happened(watcher)])
    watcher.until(lambda: ("hello",) in [one.copied for one in _happened(watcher)])
    watcher.until(lambda: ("done",) in [one.notices for one in _happened(watcher)])
    watcher.until(lambda: sum(one.bells for one in _happened(watcher)) == 1)


def _happened(watcher):
    return [one for one in watcher.told if isinstance(one, messages.SideEffectReport)]


def test_title_reaches_the_list(hosts, waited):
    terminal = hosts.start("sh", "-c", r"printf '\033]2;busy\a'; cat")

    waited(lambda: hosts.survey().living[0].title == "busy", "the title")

    assert [terminal.id] == [one.id for one in hosts.survey().living]


def test_scrolling_back_pins_the_picture_and_a_key_returns_to_the_end(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "seq 100; exec cat"))
    watcher.shows("100")
    watcher.client.send(messages.ScrollRequest(-60))
    watcher.shows("\n20\n")
    assert 60 == watcher.view.offset

    watcher.types("x")

    watcher.shows("100\nx")
    assert 0 == watcher.view.offset


def test_old_rows_and_hits_can_be_asked_for_without_moving_the_picture(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "seq 100; exec cat"))
    watcher.shows("100")

    watcher.client.send(messages.RowsRequest(1, 4, 2))
    watcher.client.send(messages.SearchRequest(2, "42"))

    rows = watcher.view.answered_rows(watcher.hears(messages.RowsAnswer))
    assert [(4, "5"), (5, "6")] == [(line, "".join(run.text for run in row)) for line, row in rows]
    assert ((41, 0, 2),) == watcher.hears(messages.SearchAnswer).hits
    assert 0 == watcher.view.offset


def test_lines_are_given_by_numbers_that_stay_their_own(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "seq 90; read x; seq 100001 160000; echo done; exec cat"))
    watcher.shows("90")
    assert messages.understands(watcher.hears(messages.Hello), messages.NUMBERS)
    watcher.client.send(messages.LineNumbersRequest())
    watcher.client.send(messages.LinesRequest(1, 4, 2))
    assert [4, 5] == [number for number, _ in watcher.hears(messages.LinesAnswer).rows]
    assert [] == [one for one in watcher.told if isinstance(one, messages.TrimReport)]

    watcher.types("\n")
    watcher.shows("done")
    watcher.told.clear()
    watcher.client.send(messages.LinesRequest(2, 4, 2))
    assert () == watcher.hears(messages.LinesAnswer).rows

    watcher.told.clear()
    watcher.client.send(messages.SearchRequest(3, "159999"))
    ((line, _, _),) = watcher.hears(messages.SearchAnswer).hits
    trimmed = watcher.trimmed
    watcher.told.clear()
    watcher.client.send(messages.LinesRequest(4, trimmed + line, 1))
    ((number, ((text, _, _),)),) = watcher.hears(messages.LinesAnswer).rows
    assert (trimmed + line, "159999") == (number, text)
    assert trimmed > 90


def test_client_that_does_not_ask_for_numbers_is_sent_nothing_new(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "seq 100000; echo done; exec cat"))
    watcher.shows("done")
    watcher.client.send(messages.RowsRequest(1, 0, 1))

    watcher.hears(messages.RowsAnswer)
    assert not [one for one in watcher.told if isinstance(one, (messages.TrimReport, messages.LinesAnswer))]


def test_a_line_that_was_broken_is_told_as_one(hosts):
    watcher = hosts.watch(hosts.start("sh", "-c", "printf '%0100d' 7; exec cat"))
    watcher.shows("7")
    watcher.client.send(messages.LinesRequest(1, 0, 24))

    assert (0,) == watcher.hears(messages.LinesAnswer).goes_on


def test_program_is_told_the_colours_of_whoever_types(hosts):
    ask = (
        r"""stty raw -echo; printf '\033]11;?\007'; dd bs=1 count=24 2>/dev/null | tr -d '\007\033'; stty sane; echo"""
    )
    watcher = hosts.watch(hosts.start("sh", "-c", f"echo up; read x; {ask}; exec cat"))
    watcher.shows("up")
    watcher.client.send(messages.Colours(0x102030, 0xFFFEFD, dark=False))

    watcher.types("\n")

    watcher.shows("]11;rgb:ffff/fefe/fdfd")


def test_control_keys_interrupt(hosts):
    watcher = hosts.watch(hosts.shell())
    watcher.types("""sh -c 'echo re""ady; exec sleep 1000'\n""")  # it has the terminal when it says so
    watcher.shows("ready")

    watcher.client.send(messages.KeyInput("c", mods=int(Mods.CTRL)))
    watcher.types("echo b''ack\n")

    watcher.shows("back")


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_edits_resizes_and_leaves(hosts):
    terminal = hosts.start("vim", "-u", "NONE", "-N", "note.txt")
    watcher = hosts.watch(terminal)
    watcher.shows("~")

    watcher.types("ihello wörld")
    watcher.client.send(messages.KeyInput("escape"))
    watcher.shows("hello wörld")
    watcher.client.send(messages.WindowSize(60, 12))
    watcher.until(lambda: (60, 12) == (watcher.view.columns, watcher.view.height))
    watcher.types(":wq\n")

    assert 0 == watcher.hears(messages.Exited).code
    assert "hello wörld\n" == (hosts.home / "note.txt").read_text()
