"""The REPL pane with real programs in real hosts: where the keys go, what is said, what comes back."""

import asyncio
import os
import signal
import time
from functools import partial

import pytest
from textual import events

from oulipoly_engine.facade.terminals.terminals import Terminals
from oulipoly_engine.records import replace
from oulipoly_tui.base.messages import ReplWanted
from oulipoly_tui.commands.setup import add_account
from oulipoly_tui.screens.question import Confirm
from oulipoly_tui.screens.terminal import clipboard_question
from oulipoly_tui.toasts import Toasts
from oulipoly_tui.widgets.terminal_view import TerminalView


def shown(app):
    """Return the text of the terminal that is shown."""
    view = next((one for one in app.query(TerminalView) if one.display), None)
    return "" if view is None else "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


def tabs(app):
    return app.query_one("#repl-tabs")


def has_keys(app):
    return isinstance(app.focused, TerminalView)


async def go_in(app, pilot, settled):
    """Go to the pane, and into the terminal of an earlier app that it shows."""
    await pilot.press("5")
    await settled(pilot, lambda: is_outside(app))
    await pilot.press("enter")
    await settled(pilot, lambda: has_keys(app))


def is_outside(app):
    pane = app.frame.find("repl")
    return pane is not None and "enter goes in" in str(pane.border_title) and tabs(app).has_focus


async def say(pilot, text):
    """Type a line as a user does."""
    await pilot.press(*("space" if letter == " " else letter for letter in text), "enter")


@pytest.fixture
def running(running):
    """Open the app with the panes that these tests lead to: the others cost as much again."""
    return partial(running, panes=["pools", "repl"])


@pytest.fixture
def toasts(monkeypatch):
    """Collect what is said."""
    said = []
    before = Toasts.say
    monkeypatch.setattr(Toasts, "say", lambda one, text, **more: (said.append(text), before(one, text, **more)))
    return said


async def test_a_model_is_talked_to_on_its_best_account_and_the_keys_are_the_terminals(
    repl_world, running, settled, toasts, hosts
):
    repl_world.account("dan")
    repl_world.model("mute", "dan")
    async with running((80, 24)) as (app, pilot):
        before = app.frame.current.id  # the keys come back to where an account was added
        assert before != "repl"
        add_account(app, ["--help"])
        await settled(pilot, lambda: any("Ended: account add" in text for text in toasts))
        await settled(pilot, lambda: app.frame.current.id == before)

        app.post_message(ReplWanted("mute"))  # a terminal that cannot be begun
        await settled(pilot, lambda: any("interactive_args" in text for text in toasts))
        assert not has_keys(app)
        assert "opening" not in str(tabs(app)._lines)

        app.post_message(ReplWanted("opus"))
        await settled(pilot, lambda: has_keys(app) and "hello from bob" in shown(app))
        await say(pilot, "echo $((40+2))q1")
        await settled(pilot, lambda: "42q1" in shown(app))
        assert any(text.startswith("bob: ") for text in toasts)
        living = {one.id: one.account for one in hosts.living()}
        assert ["bob"] == list(filter(None, living.values()))
        pane = app.frame.find("repl")
        assert "ctrl+] leaves" in pane.border_title

        current = pane._current  # a session that is open is turned to and not begun again
        current.terminal = replace(current.terminal, session_id="0123")
        app.post_message(ReplWanted("opus", None, "0123"))
        await settled(pilot, lambda: any("open already" in text for text in toasts))
        assert set(living) == {one.id for one in hosts.living()}


async def test_app_without_terminals_makes_no_pane_for_them(repl_world, running, settled):
    async with running((80, 24), panes=None) as (app, pilot):
        await settled(pilot, lambda: app.snapshot is not None and not app.busy)

        assert app.frame.find("repl") is None


async def test_a_terminal_is_drawn_though_the_map_of_the_screen_was_read_before_it_was_laid_out(
    repl_world, running, settled, hosts
):
    """After a scroll, Textual tells no widget that it is shown which the map already has when it is read."""
    async with running((80, 24)) as (app, pilot):
        await app.frame.turn_to("repl")
        await settled(pilot, lambda: not app.busy)
        hosts.start("sh", "-c", "echo once; cat")
        app.frame.find("repl")._show_survey(app.engine.terminals.look(), quietly=True)
        compositor, view = app.screen._compositor, app.query_one(TerminalView)
        while view not in compositor.full_map:
            compositor._full_map_invalidated = True  # as a scroll leaves it
            await asyncio.sleep(0)

        await settled(pilot, lambda: "once" in shown(app))


async def leave(app, pilot, settled):
    """Leave the terminal by the chord."""
    await pilot.press("ctrl+right_square_bracket")
    await settled(pilot, lambda: tabs(app).has_focus)


async def test_one_chord_or_a_click_leads_out_of_a_terminal_and_quitting_asks_while_it_lives(
    repl_world, running, settled, hosts
):
    hosts.start("cat")
    async with running((100, 30)) as (app, pilot):
        await pilot.press("5")
        await settled(pilot, lambda: is_outside(app))
        pane = app.frame.find("repl")
        pane.action_enter()
        pane.focus_inside()  # the look has ended, before the focus has come: who goes in meanwhile stays in
        await settled(pilot, lambda: has_keys(app))
        pane.focus_inside()
        await pilot.pause()
        assert has_keys(app)

        await pilot.press("q", "1", "escape", "ctrl+p")  # the program's, every one
        await leave(app, pilot, settled)
        await pilot.press("escape")
        await settled(pilot, lambda: app.frame.current.id == "pools")
        assert app.is_running

        await pilot.press("5")  # it is known by now
        await settled(pilot, lambda: has_keys(app))
        await pilot.click("#repl-tabs", offset=(30, 0))
        await settled(pilot, lambda: not has_keys(app))
        await pilot.press("enter")
        await settled(pilot, lambda: has_keys(app))
        await pilot.click("#pools-list", offset=(30, 0))
        await settled(pilot, lambda: not has_keys(app))

        await pilot.press("5")
        await settled(pilot, lambda: has_keys(app))
        await leave(app, pilot, settled)
        for zoomed in (True, False):
            await pilot.press("z")
            await settled(pilot, lambda: app.frame.area.zoomed is zoomed and tabs(app).has_focus)  # noqa: B023

        begun = app.engine.new_terminals.run(("cat",), (80, 24))  # is shown, although a look finds it first
        pane._show_survey(app.engine.terminals.look(), quietly=True)
        pane._show_start(begun)
        await settled(pilot, lambda: pane.row_values()["terminal"] == begun.terminal.id and has_keys(app))

        await leave(app, pilot, settled)
        await pilot.press("q")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await settled(pilot, lambda: not app.is_running)

    assert sorted(f"{one.id} cat" for one in hosts.living()) == sorted(pane.runs_on())


async def test_bars_offer_what_works_inside_a_terminal_and_a_click_there_opens_the_palette(
    repl_world, running, settled, hosts
):
    hosts.start("cat")
    async with running((100, 30)) as (app, pilot):
        await go_in(app, pilot, settled)
        await settled(pilot, lambda: offered(app) == ["ctrl+] leave", "shift+pgup look back", "click: commands"])
        await pilot.click("#footer", offset=(2, 0))
        await settled(pilot, lambda: tabs(app).has_focus and "enter type" in offered(app))
        await pilot.press("c")
        await settled(pilot, lambda: "y copy" in offered(app))
        await pilot.press("escape")
        await settled(pilot, lambda: "ctrl+] leave" in offered(app))

        place = next(hint for hint in app.frame.query_one("#footer").hints if hint.id == "frame.palette")
        await pilot.click("#footer", offset=(place.start + 1, 0))
        await settled(pilot, lambda: app.screen is not app.frame)
        await pilot.press("escape")
        await settled(pilot, lambda: has_keys(app))
        app.order("terminal leave")
        await settled(pilot, lambda: tabs(app).has_focus)
        await pilot.press("ctrl+p")
        await settled(pilot, lambda: app.screen is not app.frame)


# Where the last app ended, in one column and in several; this one begins with no program's keys.
@pytest.mark.parametrize(("pane", "size"), [("pools", (200, 50)), ("repl", (80, 24))])
async def test_terminal_of_an_earlier_app_is_told_and_gets_no_key_before_the_user_goes_in(
    repl_world, running, settled, toasts, hosts, size, pane
):
    hosts.start("cat")
    async with running(size, saved={"pane": pane}) as (app, pilot):
        await settled(pilot, lambda: "1 terminal of an earlier app: 5 goes there" in toasts)

        await pilot.press("5")
        await settled(pilot, lambda: is_outside(app) and "enter type" in offered(app))
        await pilot.press("5")
        await go_in(app, pilot, settled)
        await say(pilot, "mine")
        await settled(pilot, lambda: "mine" in shown(app))
        assert "5" not in shown(app)
        assert "ctrl+] leaves" in app.frame.find("repl").border_title

        await pilot.press("ctrl+right_square_bracket", "1", "5")  # it is known by now
        await settled(pilot, lambda: has_keys(app))


def offered(app):
    return [f"{hint.key} {hint.label}".strip() for hint in app.frame.query_one("#footer").hints]


async def test_the_last_shown_terminal_is_shown_again_and_hidden_ones_mark_their_tabs_and_get_no_pictures(
    repl_world, running, settled, hosts, monkeypatch
):
    around = hosts.start("cat")
    (hosts.home / "ring").write_text("until [ -e go ]; do sleep 0.02; done; printf 'hi\\a'; exec cat")
    bell, last = hosts.start("sh", "ring"), hosts.start("sh", "-c", "echo second; cat")
    saved = {"pane": "repl", "panes": {"repl": {"terminal": last.id}}}
    with monkeypatch.context() as inside:
        inside.setenv("OULIPOLY_TERMINAL", around.id)  # which the app runs in: it is not shown
        async with running((100, 30), saved=saved) as (app, pilot):
            await pilot.press("5")
            await settled(pilot, lambda: "second" in shown(app))
            pane = app.frame.find("repl")
            assert {bell.id, last.id} == set(pane._terminals)

            (hosts.home / "go").touch()
            hidden = pane._terminals[bell.id]
            await settled(pilot, lambda: hidden.tab.has_bell)
            assert [bell.id] == [alert.subject for alert in pane.attention()]
            await settled(pilot, lambda: "♪" in str(tabs(app)._lines))
            assert 0 == hidden.view._strips.count
            await pilot.press("left")
            await settled(pilot, lambda: "hi" in shown(app))
            assert not hidden.tab.has_bell
            assert () == pane.attention()


async def test_end_of_a_program_is_shown_and_its_tab_closed_at_will(
    repl_world, running, settled, hosts, home, toasts, alive
):
    hosts.start("sh", "-c", "echo the last words; read x; exit 3")
    async with running((100, 30)) as (app, pilot):
        await go_in(app, pilot, settled)
        await pilot.press("enter")
        pane = app.frame.find("repl")
        await settled(pilot, lambda: pane._current.tab.is_ended)
        assert "the last words" in shown(app)
        assert "ended 3" in tabs(app)._lines[0][0][0]
        assert tabs(app).has_focus
        await pilot.press("x")
        await settled(pilot, lambda: pane._current is None and not hosts.living())

        # A grandchild that holds the terminal and prints on hides no end.
        script = "trap '' HUP; (while :; do echo on; sleep 0.02; done) & echo $! > held; read x; exit 4"
        await show_new(app, pilot, settled, hosts.start("sh", "-c", script), "on")
        await pilot.press("enter")
        await settled(pilot, lambda: has_keys(app))
        await pilot.press("enter")
        try:
            await settled(pilot, lambda: pane._current.tab.is_ended)
            assert 4 == pane._current.tab.code
            await pilot.press("x")
            await settled(pilot, lambda: pane._current is None and not hosts.living())
        finally:
            os.kill(int((home / "held").read_text()), signal.SIGKILL)

        # A program that the user ends is asked about first.
        deaf = hosts.start("sh", "-c", "trap '' HUP; echo deaf; while :; do sleep 0.05; done")
        await show_new(app, pilot, settled, deaf, "deaf")
        await pilot.press("D", "y")
        await settled(pilot, lambda: pane._current.tab.is_ended)
        assert 137 == pane._current.tab.code
        await pilot.press("x")
        await settled(pilot, lambda: pane._current is None and not hosts.living())

        # A host that is killed is said.
        terminal = hosts.start("sh", "-c", "echo any; cat")
        await show_new(app, pilot, settled, terminal, "any")
        pids = (terminal.host_pid, hosts.now(terminal).screen_pid)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        await settled(pilot, lambda: any("host has died" in text for text in toasts) and not any(map(alive, pids)))
        assert tabs(app).has_focus


async def show_new(app, pilot, settled, terminal, words):
    """Show a terminal that was begun elsewhere, and wait for what its program says; the tabs have the keys."""
    pane = app.frame.find("repl")
    pane._show_survey(app.engine.terminals.look(), quietly=True)
    pane.show(terminal.id)
    await settled(pilot, lambda: words in shown(app))
    tabs(app).focus()
    await settled(pilot, lambda: tabs(app).has_focus)


async def test_a_screen_that_dies_comes_back_in_its_tab_until_it_has_died_three_times(
    repl_world, running, settled, hosts, toasts, alive
):
    terminal, other = hosts.start("sh", "-i"), hosts.start("sh", "-c", "echo other; cat")
    async with running((100, 30), saved={"pane": "repl", "panes": {"repl": {"terminal": terminal.id}}}) as (app, pilot):
        await go_in(app, pilot, settled)
        await settled(pilot, lambda: "$" in shown(app))
        victim = hosts.now(terminal).screen_pid
        os.kill(victim, signal.SIGKILL)
        await settled(pilot, lambda: any("started again" in text for text in toasts))
        await say(pilot, "echo a$((1+1))b")
        await settled(pilot, lambda: "a2b" in shown(app))

        for _ in range(2):
            await settled(pilot, lambda: hosts.now(terminal).screen_pid not in (0, victim))  # noqa: B023 - called at once
            victim = hosts.now(terminal).screen_pid
            os.kill(victim, signal.SIGKILL)
        await settled(pilot, lambda: "failed three times" in shown(app))
        text = " ".join(shown(app).split())
        assert "has failed three times. Nothing can be drawn here. The program runs on." in text
        assert f"agents terminal attach {terminal.id} or press f" in text
        assert tabs(app).has_focus  # so that the key is the app's
        assert alive(terminal.pid)
        app.frame.find("repl").show(other.id)
        await settled(pilot, lambda: "other" in shown(app))
        assert any("failed three times; the program runs on" in text for text in toasts)


async def test_a_host_that_was_killed_while_no_app_ran_is_said_at_the_next_start(
    repl_world, running, settled, hosts, toasts, alive
):
    for program in ("cat", "cat"):
        terminal = hosts.start(program)
        while not (screen := hosts.now(terminal).screen_pid):
            time.sleep(0.01)
        for pid in (terminal.host_pid, screen):
            os.kill(pid, signal.SIGKILL)
        while alive(terminal.pid):
            time.sleep(0.01)
    async with running((100, 30)) as (_, pilot):
        await pilot.press("5")
        await settled(pilot, lambda: any("host of the terminal was killed" in text for text in toasts))

    assert ["cat and 1 more ended: the host of the terminal was killed"] == [text for text in toasts if "host" in text]


async def test_read_only_app_shows_and_types_nothing(repl_world, running, settled, hosts):
    hosts.start("sh", "-c", "echo to be read; exec cat")
    async with running((100, 30), read_only=True) as (app, pilot):
        await pilot.press("5")
        await settled(pilot, lambda: "to be read" in shown(app))
        assert tabs(app).has_focus
        view = app.query_one(TerminalView)
        view.focus()
        await say(pilot, "typed")
        view.post_message(events.Paste("pasted"))
        await pilot.pause(0.3)

        assert "typed" not in shown(app)
        assert "pasted" not in shown(app)


@pytest.fixture
def no_typist(monkeypatch):
    """Nobody types when a program's question comes up."""
    monkeypatch.setattr(clipboard_question, "QUIET_S", 0.0)


async def test_clipboard_is_asked_for_once_and_a_refusal_stays(repl_world, running, settled, hosts, toasts, no_typist):
    hosts.start("sh", "-c", r"while read x; do printf '\033]52;c;aGVsbG8=\a'; done")
    script = r"read x; for i in 1 2 3 4 5 6 7 8 9; do printf '\033]52;c;YQ==\a'; done; printf '\033]52;c;aGVsbG8=\a'"
    many = hosts.start("sh", "-c", script + "; echo do''ne; cat")
    refused = hosts.start("sh", "-c", r"while read x; do printf '\033]52;c;aGVsbG8=\a'; echo wanted $x; done")
    async with running((100, 30)) as (app, pilot):
        await go_in(app, pilot, settled)
        pane = app.frame.find("repl")
        await pilot.press("enter")
        await settled(pilot, lambda: app.screen is not app.frame)
        assert not any("copied" in text for text in toasts)
        await pilot.press("y")
        await settled(pilot, lambda: "Copied 5 characters" in toasts and has_keys(app))
        await pilot.press("enter")
        await settled(pilot, lambda: 2 == toasts.count("Copied 5 characters"))

        # Many wishes are one question, and the newest is copied.
        toasts.clear()
        pane.show(many.id)
        pane.action_enter()
        await settled(pilot, lambda: pane._current.id == many.id and has_keys(app))
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Confirm) and "done" in shown(app))
        await pilot.press("y")
        await settled(pilot, lambda: app.screen is app.frame)
        assert ["Copied 5 characters"] == [text for text in toasts if "Copied" in text]

        toasts.clear()
        pane.show(refused.id)
        pane.action_enter()
        await settled(pilot, lambda: pane._current.id == refused.id and has_keys(app))
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("n")
        await settled(pilot, lambda: any("the clipboard stays closed to it" in text for text in toasts))
        await settled(pilot, lambda: has_keys(app))
        await say(pilot, "again")
        await settled(pilot, lambda: "wanted again" in shown(app))
        assert app.screen is app.frame
        assert not any("copied" in text for text in toasts)


async def test_word_that_is_being_typed_when_a_program_asks_answers_nothing_and_is_not_lost(
    repl_world, running, settled, hosts, toasts, monkeypatch
):
    monkeypatch.setattr(clipboard_question, "QUIET_S", 600.0)  # slow is no pause
    hosts.start("sh", "-c", r"read x; printf '\033]52;c;aGVsbG8=\a'; read x; echo got $x; cat")
    async with running((100, 30)) as (app, pilot):
        await go_in(app, pilot, settled)
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        await say(pilot, "any way")
        await settled(pilot, lambda: "got any way" in shown(app))

        assert isinstance(app.screen, Confirm)
        assert not any("copied" in text for text in toasts)
        await pilot.press("escape")
        await settled(pilot, lambda: has_keys(app))


async def test_a_chord_that_the_tmux_around_takes_is_told_and_another_works(
    repl_world, running, settled, hosts, toasts, monkeypatch
):
    monkeypatch.setattr(Terminals, "outer_prefixes", lambda _: ("C-]",))
    hosts.start("cat")
    async with running((100, 30)) as (app, pilot):
        await go_in(app, pilot, settled)
        await settled(pilot, lambda: any("may never come here" in text for text in toasts))
        await pilot.press("ctrl+backslash")
        await settled(pilot, lambda: tabs(app).has_focus)
        assert "ctrl+\\ leaves" in app.frame.find("repl").border_title


async def test_terminal_has_the_panes_size(repl_world, running, settled, hosts):
    hosts.start("sh", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done")
    async with running((80, 24)) as (app, pilot):
        await go_in(app, pilot, settled)
        view = app.query_one(TerminalView)
        for size in ((80, 24), (60, 20), (200, 50)):
            await pilot.resize_terminal(*size)
            await settled(pilot, lambda size=size: app.size == size and app.screen.size == size)

            await settled(pilot, lambda: f"{view.size.height} {view.size.width}" in shown(app))


async def test_terminal_has_the_panes_size_though_textual_has_sent_no_resize(
    repl_world, running, settled, hosts, monkeypatch
):
    monkeypatch.setattr(TerminalView, "on_resize", lambda view, event: None)
    hosts.start("sh", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done")
    async with running((60, 20)) as (app, pilot):
        await go_in(app, pilot, settled)
        view = app.query_one(TerminalView)

        await settled(pilot, lambda: f"{view.size.height} {view.size.width}" in shown(app))


async def test_pane_without_colour_says_by_marks_what_it_says_by_tones(
    repl_world, running, settled, hosts, monkeypatch
):
    monkeypatch.setenv("NO_COLOR", "1")
    hosts.start("sh", "-c", r"printf '\033[31mred\033[0m'; cat")
    async with running((100, 30)) as (app, pilot):
        await pilot.press("5")
        await settled(pilot, lambda: "red" in shown(app))

        assert tabs(app)._lines[0][0][0].startswith("[1 ")
    monkeypatch.delenv("NO_COLOR")
