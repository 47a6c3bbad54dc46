"""The set-up with an agent in the app: it says what it does, asks for leave, runs on unseen, and can be ended."""

import asyncio
import threading
from functools import partial

import pytest

from oulipoly_engine.core.setup import dialogs
from oulipoly_engine.core.setup.dialogs import (
    Cancelled,
    CommandOutput,
    ConfigWritten,
    Confirmation,
    DetectionSummary,
    KeyRequest,
    LoginDone,
    LoginRequest,
)
from oulipoly_engine.core.setup.events import Agreement, Failure, Progress, Status
from oulipoly_engine.facade.setup.agent import SetupWish
from oulipoly_tui.screens import review
from oulipoly_tui.screens.choice import Choice
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.setup import agent
from oulipoly_tui.screens.setup.agent import AgentScreen

RUN = Agreement("command", "Run this command?", "bash -c 'curl x | sh'", "to see it", "bash can do anything")
DIFF = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"
STEPS = (
    ("tell", Status("Looking at this machine")),
    ("show", DetectionSummary(("claude 2.1.0, logged in as ada", "codex 0.9, not logged in"))),
    ("tell", Progress("turn 1 of 25: asks opus", 4.0)),
    ("agree", RUN),
    ("show", CommandOutput("bash -c 'curl x | sh'", 7, "a line", "a warning")),
    ("show", ConfigWritten("~/.config/x/providers.toml", "one account more", DIFF)),
    ("show", dialogs.TestResult("codex", True, "fish")),
    ("tell", Progress("turn 2 of 25: asks opus", 8.0)),
    ("tell", Failure("the answer could not be read: it is asked again", True)),
)


@pytest.fixture
def running(running):
    """Open the app with one pane, without reading quota."""
    return partial(running, panes=["pools"], reads_quota=False)


def said(app):
    return [note.message for note in app._notifications]


async def test_it_looks_as_it_did(empty_world, running, begin, screen_text, box_text, settled, check_golden):
    async with running((80, 24)) as (app, pilot):
        for size in ((80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await settled(pilot, lambda size=size: app.screen.size == size)
            script = await begin(app, pilot, *STEPS)
            await settled(pilot, lambda: "enter press" in screen_text(app)[-1])
            asks = box_text(app, app.screen_stack[1])
            await pilot.press("y")
            await settled(pilot, lambda: not app.busy)
            await pilot.pause()

            assert script.answers == [True]
            check_golden(f"setup-agent-{size[0]}", f"{asks}\n\n{box_text(app, app.screen)}")
            await close(app, pilot, settled)


async def test_the_end_is_shown_behind_all_that_was_said_before(empty_world, running, begin, screen_text, settled):
    async with running((80, 24)) as (app, pilot):
        goes_on, is_late = threading.Event(), asyncio.Event()

        def wait(face):
            assert goes_on.wait(60)
            return face

        await begin(app, pilot, ("tell", Progress("turn 1 of 25: asks opus", 4.0)), wrap=wait)
        app.screen.call_later(is_late.wait)
        goes_on.set()
        while app.busy:
            await asyncio.sleep(0.01)
        is_late.set()
        await settled(pilot, lambda: "esc: close" in "\n".join(screen_text(app)))

        assert "has ended" in "\n".join(screen_text(app))
        await close(app, pilot, settled)


async def close(app, pilot, settled):
    """Close the screen of a set-up that has ended."""
    await pilot.press("escape")
    await settled(pilot, lambda: app.screen is app.frame)


async def test_what_was_agreed_to_and_what_not_stays_in_the_log(
    empty_world, running, begin, screen_text, settled, monkeypatch
):
    async with running((120, 40)) as (app, pilot):
        for key, is_agreed in (("enter", False), ("escape", False), ("y", True)):
            script = await begin(app, pilot, ("agree", RUN))
            await pilot.press(key)
            await settled(pilot, lambda: not app.busy)
            await settled(pilot, lambda: "The set-up is complete" in "\n".join(screen_text(app)))

            assert script.answers == [is_agreed]
            mark = "✓ yes" if is_agreed else "✗ no"
            assert any(mark in line and "bash -c 'curl x | sh'" in line for line in screen_text(app))
            await close(app, pilot, settled)

        monkeypatch.setattr(review, "PAUSE_S", 1000.0)  # keys that are held down or pasted agree to nothing
        script = await begin(app, pilot, ("agree", RUN))
        await pilot.press("y", "right", "enter", "y")
        await pilot.pause()
        assert isinstance(app.screen, Review)
        assert script.answers == []
        await pilot.press("escape")
        await settled(pilot, lambda: script.answers == [False])


async def test_all_of_what_is_asked_is_shown(empty_world, running, begin, screen_text, settled):
    async def agree(text, *more):
        return await begin(app, pilot, ("agree", Agreement("command", "Run this command?", text, *more)))

    async def refuse(script):
        await pilot.press("escape")
        await settled(pilot, lambda: script.answers == [False] and not app.busy)
        await close(app, pilot, settled)

    async with running((80, 24)) as (app, pilot):
        script = await agree("\n".join((*("true" for _ in range(100)), "rm -rf ~")))  # a long one, and its length
        await settled(pilot, lambda: "101 lines" in "\n".join(screen_text(app)))
        await pilot.press("end")
        await settled(pilot, lambda: "rm -rf ~" in "\n".join(screen_text(app)))
        await refuse(script)

        script = await agree("echo one\u2028rm -rf ~\x0bend")  # what breaks a line, as a sign
        await settled(pilot, lambda: "echo one<U+2028>rm -rf ~␋end" in "\n".join(screen_text(app)))
        await refuse(script)

        # No reason of a model pushes the warning out of sight.
        await agree("bash x", "because\n" * 100, "bash does whatever it says")
        await settled(pilot, lambda: "! bash does whatever it says" in "\n".join(screen_text(app)))
        assert "bash x" in "\n".join(screen_text(app))


async def test_it_runs_on_while_it_is_hidden_and_asks_when_it_is_shown_again(
    empty_world, running, begin, screen_text, settled
):
    async with running((80, 24)) as (app, pilot):
        script = await begin(app, pilot, ("agree", RUN), ("ask", Confirmation("Keep it?", "as it is", "c")))
        app.screen.dismiss(False)
        await settled(pilot, lambda: "Keep it?" in "\n".join(screen_text(app)))
        app.pop_screen()
        await settled(pilot, lambda: isinstance(app.screen, AgentScreen))
        app.screen._is_asked = False
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("enter")
        await settled(pilot, lambda: app.screen is app.frame)
        assert app.busy
        await pilot.press("q")
        await settled(pilot, lambda: "the set-up with an agent is under way" in "\n".join(screen_text(app)))
        await pilot.press("n")
        app.order("setup agent")
        await settled(pilot, lambda: "Keep it?" in "\n".join(screen_text(app)))
        await pilot.press("y")
        await settled(pilot, lambda: not app.busy)
        assert script.answers[1].confirmed
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)
        assert not agent.show(app)

        # It is ended at any time, also while something is asked.
        script = await begin(app, pilot, ("ask", KeyRequest("OpenRouter", "A_KEY")), ("agree", RUN))
        await pilot.press("s", "k")
        app.jobs.ask_to_stop()
        await settled(pilot, lambda: script.has_ended.is_set() and not app.busy)
        await settled(pilot, lambda: "The set-up was cancelled" in "\n".join(screen_text(app)))
        assert script.answers == [Cancelled()]


async def test_what_fails_is_told_and_the_screen_can_be_closed(empty_world, running, begin, screen_text, settled):
    class Broken:
        def run(self, _wish, _face):
            raise RuntimeError("no such model")

    async with running((80, 24)) as (app, pilot):
        agent.begin(app, Broken(), SetupWish())
        await settled(pilot, lambda: "✗ no such model" in "\n".join(screen_text(app)))
        await pilot.press("q")
        await settled(pilot, lambda: app.screen is app.frame)

        script = await begin(app, pilot, ("agree", RUN), ("agree", RUN))  # leaving the app ends it
    app.jobs.wait_for_stopped()

    assert script.has_ended.is_set()
    assert script.answers == [False]


async def test_a_login_is_done_in_a_terminal_of_the_app_and_its_end_answers(
    empty_world, running, begin, settled, monkeypatch
):
    started = []

    def show_program(_app, argv, ended):
        started.append((argv, ended))

    monkeypatch.setattr("oulipoly_tui.orders.programs.show_program", show_program)
    login = LoginRequest("Claude Code", "agents account add claude", "", "claude")
    async with running((80, 24), panes=["pools", "repl"]) as (app, pilot):
        script = await begin(app, pilot, ("ask", login))
        await pilot.press("tab", "enter")
        await settled(pilot, lambda: started and app.screen is app.frame)
        program, ended = started[0]
        assert ("account", "add", "claude") == program[-3:]
        ended()
        await settled(pilot, lambda: not app.busy and isinstance(app.screen, AgentScreen))

    assert script.answers == [LoginDone("Claude Code")]
