"""Every key of the REPL pane, over real terminals; and every key of copy mode in one of them."""

import os
import pty
import re
import threading
from contextlib import contextmanager

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from oulipoly_tui.widgets.terminal_view import TerminalView

keys = pytest.mark.keys
LEAVE = "ctrl+right_square_bracket"


@pytest.fixture
def tabs(repl_world, hosts, hand):
    """Open the app with terminals that run programs, the keys on their tabs."""

    async def begin(one, programs):
        await one.until(lambda: len(one.app.frame.find("repl")._terminals) == len(programs))
        await one.until(lambda: one.app.focused.id == "repl-tabs")

    return begin


def view(one):
    return next(found for found in one.app.query(TerminalView) if found.display)


@contextmanager
def real_terminal():
    """A terminal for stdin and stdout; whoever sits at it leaves by the chord once it shows the program's words."""
    master, slave = pty.openpty()
    kept = [os.dup(number) for number in (0, 1)]
    seen = bytearray()

    def sit():
        while b"apples" not in seen:
            seen.extend(os.read(master, 1 << 16))
        os.write(master, b"\x1d")

    person = threading.Thread(target=sit, daemon=True)
    person.start()
    for number in (0, 1):
        os.dup2(slave, number)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(HeadlessDriver, "can_suspend", property(lambda _: True))
            yield seen
    finally:
        for number, before in enumerate(kept):
            os.dup2(before, number)
            os.close(before)
        person.join(60)
        os.close(slave)
        os.close(master)


@keys("repl.enter", "enter")
@keys("repl.next", "right", "l", "tab")
@keys("repl.previous", "left", "h", "shift+tab")
@keys("repl.hand_over", "f")
@keys("repl.close", "x")
@keys("repl.attach", "R")
@keys("repl.kill", "D")
async def test_keys_go_from_tab_to_tab_into_a_program_and_back_put_terminals_away_and_end_them(
    tabs, hosts, alive, hand
):
    programs = {word: hosts.start("sh", "-c", f"echo {word}; exec cat") for word in ("apples", "pears")}
    async with hand("repl", panes=("pools", "repl"), size=(120, 40)) as one:
        await tabs(one, programs)
        await go_from_tab_to_tab(one)
        await show(one, "apples")
        await give_the_whole_screen_until_the_chord(one)
        await show(one, "pears")
        await end_a_program_after_a_yes(one, programs["pears"], hosts, alive)
        await one.press("x")
        await one.sees(in_view("apples"))
        await put_away_and_bring_back(one, hosts)
        await give_the_keys_to_the_program(one)


def in_view(word):
    """Return what the screen holds when a terminal shows a word; it is in the tab of each terminal as well."""
    return f"│{word}"


async def show(one, word):
    """Go to the terminal that shows a word."""
    if in_view(word) not in one.text:
        await one.press("right")
    await one.sees(in_view(word))


async def go_from_tab_to_tab(one):
    """By keys, and by clicks on the tabs."""
    await one.until(lambda: any(in_view(word) in one.text for word in ("apples", "pears")))
    shown, other = sorted(("apples", "pears"), key=lambda word: in_view(word) not in one.text)
    for following, before in (("right", "left"), ("l", "h"), ("tab", "shift+tab")):
        await one.press(following)
        await one.sees(in_view(other))
        await one.press(before)
        await one.sees(in_view(shown))
    tabs = one.app.frame.query_one("#repl-tabs")
    for place in (1, 0):
        opened = list(one.app.frame.find("repl")._terminals.values())[place]
        starts = [match.start() for match in re.finditer(r"sh -c", "".join(part for part, _ in tabs.lines[0]))]
        await one.pilot.click(tabs, offset=(starts[place], 0))
        await one.until(lambda opened=opened: opened.view.display)


async def give_the_whole_screen_until_the_chord(one):
    with real_terminal() as seen:
        await one.press("f")
    await one.sees(in_view("apples"), "5 REPL")
    assert b"apples" in seen
    await one.until(lambda: one.app.focused.id == "repl-tabs")


async def end_a_program_after_a_yes(one, program, hosts, alive):
    for answer, left in (("escape", 2), ("y", None)):
        await one.press("D")
        await one.at("Confirm")
        assert "End this program?" == one.title
        await one.press(answer)
        await one.at("Frame")
        await one.rest()
        assert left is None or left == len(hosts.living())
    await one.until(lambda: one.app.frame.find("repl")._current.tab.is_ended)
    await one.until(lambda: not alive(program.pid))


async def put_away_and_bring_back(one, hosts):
    await one.press("x")
    await one.sees("No terminal is open.")
    assert 1 == len(hosts.living())
    await one.press("R")
    await one.sees(in_view("apples"))


async def give_the_keys_to_the_program(one):
    await one.until(lambda: one.app.focused.id == "repl-tabs")
    await one.press("enter")
    await one.until(lambda: one.app.focused is view(one))
    await one.type("plums")
    await one.sees("plums")


@keys("repl.new", "r")
async def test_r_talks_to_the_same_model_in_another_terminal(repl_world, hand):
    async with hand("repl", reads_quota=True, panes=("pools", "repl"), size=(120, 40)) as one:
        one.app.order("repl", ("opus",))
        await one.sees("hello from bob")
        await one.press(LEAVE, "r")
        await one.until(lambda: 2 == len(one.app.frame.find("repl")._terminals))
        await one.sees("hello from bob")


@keys("repl.find", "slash")
@keys("repl.copy", "c")
@keys("copy mode", "up", "k", "down", "j", "left", "h", "right", "l")
@keys("copy mode", "pageup", "ctrl+b", "pagedown", "ctrl+f", "ctrl+u", "ctrl+d")
@keys("copy mode", "g", "home", "G", "end", "0", "circumflex_accent", "dollar_sign")
@keys("copy mode", "v", "space", "V", "y", "enter", "slash", "n", "N", "escape", "q", "i")
async def test_the_whole_text_of_a_terminal_is_searched_walked_over_and_copied(tabs, hosts, hand):
    programs = [hosts.start("sh", "-c", "seq 10000 10200; exec cat")]
    async with hand("repl", panes=("pools", "repl"), size=(120, 40)) as one:
        await tabs(one, programs)
        await one.sees("10200")
        await search(one)
        await one.press("c")
        await one.sees("10200")
        await one.until(lambda: view(one).copy_mode is not None)
        await walk(one, view(one).copy_mode)
        await one.copying("q")
        await one.press(LEAVE)
        await select_copy_search_and_leave(one)


async def search(one):
    await one.press("slash")
    await one.at("Question")
    assert "Search" == one.title
    await one.type("10007")
    await one.press("enter")
    await one.sees("10007")
    await one.until(lambda: view(one).copy_mode is not None)
    await one.press("escape", LEAVE)
    await one.until(lambda: view(one).copy_mode is None)


async def walk(one, mode):
    height = mode.height
    for key, (line, x) in (
        ("g", (0, 0)),
        ("j", (1, 0)),
        ("down", (2, 0)),
        ("k", (1, 0)),
        ("up", (0, 0)),
        ("l", (0, 1)),
        ("right", (0, 2)),
        ("h", (0, 1)),
        ("left", (0, 0)),
        ("dollar_sign", (0, 4)),
        ("0", (0, 0)),
        ("l", (0, 1)),
        ("circumflex_accent", (0, 0)),
        ("ctrl+d", (height // 2, 0)),
        ("ctrl+u", (0, 0)),
        ("pagedown", (height, 0)),
        ("pageup", (0, 0)),
        ("ctrl+f", (height, 0)),
        ("ctrl+b", (0, 0)),
        ("G", (mode.total - 1, 0)),
        ("home", (0, 0)),
        ("end", (mode.total - 1, 0)),
    ):
        await one.copying(key)
        assert (line, x) == tuple(mode.cursor), key
        await one.sees(f"{10000 + min(line, 200)}")


async def select_copy_search_and_leave(one):
    for select, copied in (("gvly", 2), (("g", "space", "l", "l", "enter"), 3), ("gVjy", 11)):
        await one.press("c")
        await one.copying(*select)
        await one.told(f"Copied {copied} characters")
        await one.press(LEAVE)
    await one.press("c")
    await one.copying("slash")
    await one.at("Question")
    await one.type("15")
    await one.press("enter")
    await one.sees("10159")
    first = view(one).copy_mode.cursor.line
    await one.copying("n")
    second = view(one).copy_mode.cursor.line
    assert second < first
    await one.copying("N")
    assert first == view(one).copy_mode.cursor.line
    await one.copying("v", "escape")
    assert view(one).copy_mode.anchor is None
    for key in ("escape", "q", "i"):
        await one.copying(key)
        assert view(one).copy_mode is None
        await one.press(LEAVE, "c")
