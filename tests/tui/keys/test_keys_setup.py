"""Every key of the set-up's screens."""

from types import SimpleNamespace

import pytest
from textual.containers import VerticalScroll
from textual.widgets import Input

from oulipoly_engine.core.setup.dialogs import DetectionSummary, Form, FormAnswer, FormField
from oulipoly_engine.core.setup.events import Outcome
from oulipoly_engine.facade.setup.agent import SetupWish
from oulipoly_tui.screens import review
from oulipoly_tui.screens.setup import agent, questions
from oulipoly_tui.screens.setup.sync import SyncScreen
from oulipoly_tui.widgets.lines import Lines, VirtualList

keys = pytest.mark.keys
FORM = Form("A form", tuple(FormField(name) for name in "abcdefghij"))


@keys("pools.set_up_agent", "S")
async def test_shift_s_asks_what_a_set_up_with_an_agent_shall_do(app_world, hand):
    async with hand(panes=("pools",), size=(100, 30)) as one:
        await one.press("S")
        await one.at("FormScreen")
        await one.sees("What do you want", "( ) opus")


async def test_without_a_model_a_set_up_begins_all_the_same(empty_world, hand):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        patch.setattr(review, "PAUSE_S", 0.0)
        async with hand(panes=("pools",), size=(100, 40)) as one:
            await one.press("S")
            await one.at("FormScreen")
            await one.misses("Model that does it")
            await one.press("f2")
            await one.sees("Found on this machine", "npm install -g @anthropic-ai/claude-code")
            await one.press("tab", "enter")
            await one.sees("The set-up could not begin", "no CLI is installed")


@keys("FormScreen", "escape", "ctrl+s", "ctrl+enter", "f2", "pagedown", "pageup")
@keys("AgentScreen", "escape", "q", "down", "j", "up", "k", "pagedown", "space", "ctrl+d", "pageup", "ctrl+u")
@keys("AgentScreen", "home", "g", "end", "G")
@keys("SyncScreen", "escape", "q", "space", "R")
async def test_a_form_is_answered_what_a_set_up_said_scrolled_and_skills_marked_and_all_three_left(empty_world, hand):
    async with hand(panes=("pools",), size=(80, 24)) as one:
        await mark_skills_and_look_for_them_again(one)
        await scroll_what_a_set_up_said(one)
        await answer_scroll_and_leave_a_form(one)


async def answer_scroll_and_leave_a_form(one):
    answers = []
    for count, key in enumerate(("ctrl+s", "ctrl+enter", "f2"), 1):
        questions.ask(one.app, FORM, answers.append, typed={})
        await one.at("FormScreen")
        await one.press(key)
        await one.until(lambda count=count: count == len(answers))
    questions.ask(one.app, FORM, answers.append, typed={})
    await one.at("FormScreen")
    scrolled = one.app.screen.query_one(VerticalScroll)
    await one.until(lambda: scrolled.max_scroll_y > 5)
    for key, place in (("pagedown", 5), ("pageup", 0)):
        await one.press(key)
        await one.until(lambda place=place: place == scrolled.scroll_offset.y)
    await one.press("escape")
    await one.at("Confirm")
    await one.press("n")
    await one.at("FormScreen")

    assert 3 == len(answers)
    assert all(isinstance(answer, FormAnswer) for answer in answers)
    assert one.app.screen.query(Input)


async def scroll_what_a_set_up_said(one):
    class Script:
        def run(self, _wish, face):
            face.show(DetectionSummary(tuple(f"line {number}" for number in range(100))))
            return SimpleNamespace(outcome=Outcome.DONE, summary="", items=(), turns=1, changes=())

    for closing in ("escape", "q"):
        agent.begin(one.app, Script(), SetupWish())
        await one.sees("The set-up has ended")
        lines = one.app.screen.query_one(Lines)
        last = lines.max_scroll_y
        for key, place in (
            *(("home", 0), ("down", 1), ("j", 2), ("up", 1), ("k", 0), ("pagedown", 10), ("pageup", 0)),
            *(("space", 10), ("ctrl+u", 0), ("ctrl+d", 10), ("g", 0), ("end", last), ("home", 0), ("G", last)),
        ):
            await one.press(key)
            await one.until(lambda place=place, lines=lines: place == lines.scroll_offset.y)
        await one.press(closing)
        await one.at("Frame")


async def mark_skills_and_look_for_them_again(one):
    looks = []

    def homes():
        cli = SimpleNamespace(name="claude", title="Claude Code")
        looks.append(cli)
        return (SimpleNamespace(name="claude", cli=cli, skills=("a", "b"), servers={}, problems=()),)

    for closing in ("escape", "q"):
        one.app.push_screen(SyncScreen(SimpleNamespace(homes=homes)))
        await one.sees("2 skills")
        await one.press("space")
        await one.sees("1 marked")
        assert "1" == one.app.screen.query_one(VirtualList).cursor_key
        count = len(looks)
        await one.press("R")
        await one.until(lambda count=count: count < len(looks))
        await one.press(closing)
        await one.at("Frame")
