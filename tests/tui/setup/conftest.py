"""A set-up that does what a test says, in the real app: its questions come from a thread, as the engine's do."""

import threading
from types import SimpleNamespace

import pytest
from textual.containers import Vertical

from oulipoly_engine import stopping
from oulipoly_engine.core.setup.dialogs import Cancelled
from oulipoly_engine.core.setup.events import Outcome
from oulipoly_engine.facade.setup.agent import SetupWish
from oulipoly_tui.screens import review
from oulipoly_tui.screens.setup import agent, questions


class Script:
    """Steps of a set-up, each a method of its face and what that is given; what came back is kept."""

    def __init__(self, *steps, wrap):
        self.steps, self.wrap = steps, wrap
        self.answers = []
        self.has_ended = threading.Event()

    def run(self, _wish, face):
        outcome, face = Outcome.SUCCESS, self.wrap(face)
        for name, value in self.steps:
            answer = getattr(face, name)(value)
            if name in ("ask", "agree"):
                self.answers.append(answer)
            if isinstance(answer, Cancelled) or stopping.is_asked():
                outcome = Outcome.CANCELLED
                break
        self.has_ended.set()
        summary = "All is set up." if outcome is Outcome.SUCCESS else ""
        items, changes = (("the pool work",), ("added the account claude2",)) if summary else ((), ())
        return SimpleNamespace(outcome=outcome, summary=summary, items=items, turns=2, changes=changes)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """Hear keys at once: a test types as fast as a paste."""
    monkeypatch.setattr(review, "PAUSE_S", 0.0)


@pytest.fixture
def begin(settled):
    """Begin a scripted set-up in an app, and wait until something is asked: `await begin(app, pilot, *steps)`."""

    async def start(app, pilot, *steps, model="opus", wrap=lambda face: face):
        script = Script(*steps, wrap=wrap)
        agent.begin(app, script, SetupWish("a pool of two", model))
        await settled(pilot, lambda: app.screen_stack[-1] is not app.frame)
        if any(name in ("ask", "agree") for name, _ in steps):
            await at_question(app, pilot)
        return script

    async def at_question(app, pilot):
        await settled(pilot, lambda: type(app.screen).__name__ in ("FormScreen", "Review"))

    return start


@pytest.fixture
def asked(settled):
    """Ask one thing in an app: `answers = await asked(app, pilot, dialog)` is filled once it is answered."""

    typed = {}

    async def ask(app, pilot, dialog, *, can_run=False):
        answers = []
        questions.ask(app, dialog, answers.append, typed=typed, can_run=can_run)
        await settled(pilot, lambda: app.screen is not app.frame and app.focused is not None)
        return answers

    return ask


@pytest.fixture
def box_text(screen_text):
    """Return what is on the screen within the box of a screen: what lies beside it names folders of the test."""

    def crop(app, screen):
        region = screen.query_one(Vertical).region
        lines = screen_text(app)[region.y : region.bottom]
        return "\n".join(line[region.x : region.right].rstrip() for line in lines)

    return crop
