"""Every box can be answered and left by mouse, and no text of somebody else's is taken for markup."""

import inspect
from pathlib import Path

import pytest
from textual.app import App

from oulipoly_tui.app import AgentsApp
from oulipoly_tui.screens.choice import Choice
from oulipoly_tui.screens.prompt import Prompt
from oulipoly_tui.screens.question import Confirm, Question
from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets import theming

ROWS = [Row("a", (("first", ""),)), Row("b", (("second", ""),))]
NOT_ANSWERED = object()


class Asking(App):
    """Shows one box."""

    CSS_PATH = Path(inspect.getfile(AgentsApp)).with_suffix(".tcss")

    def __init__(self, screen):
        super().__init__()
        self.shown = screen
        self.answer = NOT_ANSWERED
        self.harmed = False

    def on_mount(self):
        self.push_screen(self.shown, self.keep)

    def get_css_variables(self):
        return theming.with_own(super().get_css_variables())

    def keep(self, answer):
        self.answer = answer

    def action_harm(self):
        self.harmed = True


def place_of(app, text):
    """Return where a text stands on the screen."""
    for y, line in enumerate(app.screen._compositor.render_strips(app.size)):
        x = line.text.find(text)
        if x >= 0:
            return x, y
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("box", "clicked", "expected"),
    [
        (lambda: Question("Name", "what", "mine"), "enter: OK", "mine"),
        (lambda: Question("Name", "what", "mine"), "esc: cancel", None),
        (lambda: Choice("Which", ROWS), "enter: OK", "a"),
        (lambda: Choice("Which", ROWS), "esc: cancel", None),
        (lambda: Reading("Text", ((("words", ""),),)), "esc: close", None),
        (lambda: Confirm("Sure?", "really", "do it"), "Yes, do it", True),
        (lambda: Confirm("Sure?", "really", "do it"), "No (n)", False),
        (lambda: Prompt("opus"), "esc: cancel", None),
    ],
)
async def test_hints_can_be_clicked(box, clicked, expected):
    app = Asking(box())
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        x, y = place_of(app, clicked)
        await pilot.click(offset=(x + 1, y))
        await pilot.pause()

    assert app.answer == expected


async def test_refused_answer_keeps_the_box():
    app = Asking(Question("Name", "what", "bad", lambda _text: "✗ not that"))
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.pause()
        x, y = place_of(app, "enter: OK")
        await pilot.click(offset=(x, y))
        await pilot.pause()
        assert place_of(app, "✗ not that")

    assert app.answer is NOT_ANSWERED


@pytest.mark.parametrize(
    "box",
    [
        lambda title: Question(title, "what"),
        lambda title: Choice(title, ROWS),
        lambda title: Reading(title, ((("words", ""),),)),
        lambda title: Confirm(title, "really", "do it"),
        Prompt,
    ],
)
async def test_markup_in_a_title_is_only_text(box):
    hostile = "x [@click=app.harm]free[/] [red]tea"
    app = Asking(box(hostile))
    async with app.run_test(size=(110, 30)) as pilot:
        await pilot.pause()
        x, y = place_of(app, hostile)
        await pilot.click(offset=(x + hostile.index("free"), y))
        await pilot.pause()

    assert not app.harmed
