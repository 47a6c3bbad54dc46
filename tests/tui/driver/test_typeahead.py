"""Keys that come faster than they are done: each goes where the ones before it led."""

import importlib
import pkgutil
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from textual import events
from textual.screen import Screen
from textual.widgets import Input, TextArea

from oulipoly_engine.core.setup.dialogs import KeyRequest
from oulipoly_engine.core.setup.events import Outcome
from oulipoly_engine.core.web.devices import Device
from oulipoly_engine.facade.setup.agent import SetupWish
from oulipoly_tui import screens
from oulipoly_tui.driver import typeahead
from oulipoly_tui.driver.driver import LoopDriver
from oulipoly_tui.screens.command_line import CommandLine
from oulipoly_tui.screens.live.queue import QueueScreen
from oulipoly_tui.screens.prompt import Prompt
from oulipoly_tui.screens.setup import agent
from oulipoly_tui.screens.setup.form import FormScreen
from oulipoly_tui.screens.what_if import WhatIf
from oulipoly_tui.screens.work.pairing import Pairing
from oulipoly_tui.view.live.conversation import Queued


def burst(app, *keys):
    """Put keys into the app's queue in one go, as a paste into a slow terminal does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


def typed(app):
    return app.focused.value if isinstance(app.focused, Input) else None


@pytest.fixture
def running(running, monkeypatch):
    """Open the app with the panes that keys lead to here; keys wait for what they open, however slow that is."""
    for name in ("_OPENING_S", "_PATIENCE_S"):
        monkeypatch.setattr(typeahead, name, 60.0)
    return partial(running, (120, 30), panes=["pools", "sessions"], reads_quota=False)


async def test_keys_after_one_that_opens_something_go_into_what_it_opens(app_world, running, settled):
    async with running() as (app, pilot):
        burst(app, "colon", *"help")
        await settled(pilot, lambda: isinstance(app.screen, CommandLine) and typed(app) == "help")
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)

        for word in ("drain", "xq1z", "abcdefghij" * 30):  # a long one loses nothing, and keeps its order
            burst(app, "3", "slash", *word)
            await settled(pilot, lambda word=word: typed(app) == word)
            assert app.screen is app.frame
            assert app.frame.current.id == "sessions"
            await leave_filter(app, pilot, settled)

        burst(app, "3", "slash")
        app.post_message(events.Paste("two words"))  # waits for its turn
        burst(app, "x")
        await settled(pilot, lambda: typed(app) == "two wordsx")
        await leave_filter(app, pilot, settled)

        for count in (1, 60):  # a key that ends a dialog waits for the text before it
            sent = []
            app.push_screen(Prompt("opus"), sent.append)
            await settled(pilot, lambda: isinstance(app.focused, TextArea))
            burst(app, *("a" * count), "f2")
            await settled(pilot, lambda sent=sent: sent)
            assert sent == ["a" * count]
            await settled(pilot, lambda: app.screen is app.frame)


async def leave_filter(app, pilot, settled):
    await pilot.press("ctrl+u", "escape", "escape", "1")
    await settled(pilot, lambda: typed(app) is None and app.frame.current.id == "pools")


@pytest.mark.slow_hand
async def test_keys_after_a_dialog_that_a_key_closes_are_the_panes_again(app_world, running, settled):
    async with running() as (app, pilot):
        for opening in (("ctrl+p", *"theme"), ("question_mark",)):  # enter closes them: they do not close by themselves
            await pilot.press(*opening)
            await settled(pilot, lambda: app.screen is not app.frame)
            await pilot.press("enter")
            await pilot.press("escape")
            await settled(pilot, lambda: app.screen is app.frame)
            assert float("-inf") == app._closed_at

        burst(app, "colon", "x", "escape", "2", "3")
        await settled(pilot, lambda: app.screen is app.frame and app.frame.current.id == "sessions")


@pytest.mark.slow_hand
async def test_a_key_that_comes_as_a_dialog_closes_by_itself_does_nothing(app_world, running, settled, monkeypatch):
    ignored = []
    async with running() as (app, pilot):
        before = app.frame.current.id
        app.push_screen(Prompt("Any", "", "do it"))
        await settled(pilot, lambda: isinstance(app.screen, Prompt))
        app.pop_screen()
        early, late = events.Key("3", "3"), events.Key("3", "3")
        early.time, late.time = app._closed_at + 0.1, app._closed_at + 0.6
        monkeypatch.setattr(app, "say_too_soon", lambda: ignored.append(app.frame.current.id))
        app.post_message(early)
        await settled(pilot, lambda: ignored)
        assert [before] == ignored
        app.post_message(late)
        await settled(pilot, lambda: app.frame.current.id == "sessions")

        taken = []  # it goes to no terminal either
        app.focused.take_key = lambda event: taken.append(event.time) or True  # as a terminal's pane does
        driver = SimpleNamespace(_app=app)
        for seconds in (0.1, 0.6):
            key = events.Key("3", "3")
            key.time = app._closed_at + seconds
            LoopDriver._was_taken(driver, key)
        assert [app._closed_at + 0.6] == taken


def close_what_if(app):
    pool = app.snapshot.pools[0]
    dialog = WhatIf(pool, "ada", can_apply=True)
    app.push_screen(dialog)
    yield WhatIf
    dialog.action_apply()


def close_queue(app):
    waiting = [Queued("m", "and then?")]
    app.push_screen(QueueScreen(lambda: tuple(waiting), lambda *_: None))
    yield QueueScreen
    waiting.clear()


def close_old_code(app):
    app.push_screen(Pairing("https://127.0.0.1:1/", "view", app.now() + timedelta(minutes=2), lambda: ()))
    yield Pairing
    now = app.now
    app.now = lambda: now() + timedelta(minutes=3)


def close_used_code(app):
    devices = []
    app.push_screen(Pairing("https://127.0.0.1:1/", "view", app.now() + timedelta(minutes=2), lambda: tuple(devices)))
    yield Pairing
    devices.append(Device("d", "device", "phone", ("view",), app.now()))


def withdraw_question(app):
    class Asking:
        def run(self, _wish, face):
            face.ask(KeyRequest("OpenRouter", "A_KEY"))
            return SimpleNamespace(outcome=Outcome.CANCELLED, summary="", items=(), turns=1, changes=())

    agent.begin(app, Asking(), SetupWish("a pool of two", "opus"))
    yield FormScreen
    app.jobs.ask_to_stop()


@pytest.mark.slow_hand
async def test_the_key_after_a_dialog_that_closes_by_itself_does_nothing(app_world, running, settled, monkeypatch):
    ignored = []
    async with running() as (app, pilot):
        monkeypatch.setattr(app, "say_too_soon", lambda: ignored.append(app.frame.current.id))
        before = app.frame.current.id
        # The last one leaves the screen of the set-up open.
        for dialog in (close_what_if, close_queue, close_old_code, close_used_code, withdraw_question):
            app._closed_at = float("-inf")
            ignored.clear()
            steps = dialog(app)
            kind = next(steps)
            await settled(pilot, lambda kind=kind: isinstance(app.screen, kind))
            next(steps, None)
            await settled(pilot, lambda: app._closed_at > 0)
            key = events.Key("3", "3")
            key.time = app._closed_at + 0.1
            app.post_message(key)
            await settled(pilot, lambda: ignored)
            assert [before] == ignored, dialog


async def test_a_dialog_that_closes_by_itself_leaves_what_lies_above_it(app_world, running, settled):
    async with running() as (app, pilot):
        for dialog in (close_what_if, close_queue, close_old_code, close_used_code):
            steps = dialog(app)
            kind = next(steps)
            await settled(pilot, lambda kind=kind: isinstance(app.screen, kind))
            above = Prompt("Any", "", "do it")
            app.push_screen(above)
            await settled(pilot, lambda above=above: app.screen is above)
            next(steps, None)
            await pilot.pause(1.2)  # more than the dialog takes

            assert app.screen is above, dialog
            above.dismiss(None)
            await settled(pilot, lambda: app.screen is app.frame)


def test_every_dialog_closes_by_the_one_way_that_takes_note_of_it():
    names = [module.name for module in pkgutil.walk_packages(screens.__path__, f"{screens.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    dialogs = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Screen)
    ]

    assert len(set(dialogs)) > 25
    assert [] == [kind for kind in dialogs if kind.dismiss is not Screen.dismiss]
