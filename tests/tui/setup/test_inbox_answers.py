"""What no session asks, in the app: answered in its inbox, and taken away where somebody else has answered it."""

from functools import partial

import pytest

from oulipoly_engine.core.live.events import Prompt, Question
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.process.liveness import own_mark
from oulipoly_engine.service.setup.inbox import Inbox
from oulipoly_engine.store.live import live_requests
from oulipoly_tui.screens.live.inbox import Inbox as InboxScreen
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.setup.form import FormScreen

RUN = Agreement("command", "Run this command?", "npm ls", "to see")
ASKS = Prompt("Which?", questions=(Question("q", "Which of them?", options=(("a", ""), ("b", ""))),))


@pytest.fixture
def running(running):
    """Open the app with one pane, without reading quota."""
    return partial(running, panes=["pools"], reads_quota=False)


def ask(app, identity, kind, prompt):
    """Have a set-up of this process ask something."""
    home = app.engine.web._home
    asker = {"origin": "setup", "asker": own_mark()}
    with home.lend_store() as store:
        live_requests.insert(store, LiveRequest(identity, "", "", "", kind, "pending", prompt, home.now(), **asker))


def last(app):
    return app.engine.live.requests(all_states=True)[0]


async def open_inbox(app, pilot, settled):
    await settled(pilot, lambda: app.requests.open)
    await pilot.press("I")
    await settled(pilot, lambda: isinstance(app.screen, InboxScreen) and app.screen._chosen is not None)
    await pilot.press("enter")


async def test_leave_is_given_and_a_question_answered_in_the_inbox_which_is_an_alert(empty_world, running, settled):
    async with running() as (app, pilot):
        for keys, decision in ((["y"], "approve"), (["n", "down", "enter"], "deny")):
            ask(app, decision, "command_approval", Prompt("Run this command?", "npm ls"))
            await open_inbox(app, pilot, settled)
            await settled(pilot, lambda: isinstance(app.screen, Review))
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await settled(pilot, lambda: app.screen is app.frame and not app.busy)
            assert decision == app.engine.live.find_request(decision).decision
            await settled(pilot, lambda: not app.requests.open)

        ask(app, "question", "user_input", ASKS)
        await open_inbox(app, pilot, settled)
        await settled(pilot, lambda: isinstance(app.screen, FormScreen))
        await pilot.press("down", "enter", "ctrl+s")
        await settled(pilot, lambda: app.engine.live.find_request("question").decision == "answer")
        assert app.engine.live.find_request("question").answers["q"] in (("a",), ("b",))
        await settled(pilot, lambda: app.screen is app.frame and not app.requests.open)

        ask(app, "left", "command_approval", Prompt("Run this command?", "npm ls"))
        await open_inbox(app, pilot, settled)
        await settled(pilot, lambda: isinstance(app.screen, Review))
        for key in ("n", "enter"):  # neither yes nor no
            await pilot.press(key)
            await pilot.pause()
        await settled(pilot, lambda: app.screen is app.frame and not app.busy)
        assert "" == app.engine.live.find_request("left").decision

        await pilot.press("f8")  # no session asks it: the next alert goes to the inbox
        await settled(pilot, lambda: isinstance(app.screen, InboxScreen))


async def test_a_question_of_the_set_up_goes_when_it_is_answered_elsewhere(
    empty_world, running, begin, settled, screen_text
):
    async with running((100, 30)) as (app, pilot):
        home = app.engine.web._home
        wrap = partial(Inbox, lend_store=home.lend_store, clock=home.clock, by="ann@desk")
        script = await begin(app, pilot, ("agree", RUN), wrap=wrap)
        await settled(pilot, lambda: app.requests.open)
        assert not any("inbox" in note.message for note in app._notifications)  # its own screen asks
        app.engine.live.acting_as("ann's phone", is_person=True).answer(last(app).request_id, "approve")
        await settled(pilot, lambda: script.answers == [True])
        await settled(pilot, lambda: not isinstance(app.screen, Review))
        await settled(pilot, lambda: "approved by ann's phone" in "\n".join(screen_text(app)))
