"""What the set-up asks, brought to the one form that the app draws, and the answers that come of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.clis.table import CLIS
from oulipoly_engine.core.setup.dialogs import (
    TO_MODEL,
    Answer,
    CliChoice,
    CliSelection,
    Form,
    FormAnswer,
    FormField,
    KeyGiven,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Option,
    Value,
    Wizard,
    WizardAnswer,
)
from oulipoly_engine.records import Record, replace
from oulipoly_tui.view.transcript.spans import Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.facade.setup.agent import Offers

_KEY, _KEYRING, _CLIS = "key", "keyring", "clis"
EVERY_CLI = "all"
_NOTE: Line = ((TO_MODEL, "dim"),)


class RunLogin(Answer):
    """Run a login in a terminal of the app; the request stays open meanwhile."""


class Page(Record):
    """One screen with fields; a page without any is a text with buttons."""

    title: str
    head: tuple[Line, ...]
    form: Form
    answer: Callable[[Mapping[str, Value]], Answer]
    submit: str
    steps: str = ""  # of a wizard: how far it has come
    is_back_possible: bool = False
    more: tuple[str, Answer] | None = None  # one more button, and what it answers
    is_begun: bool = True  # the set-up runs: who leaves the page is asked whether it shall end


def wish_page(offers: Offers) -> Page:
    """Return the page that a set-up begins with; where there is no model yet, the set-up itself sees to one."""
    hint = "Leave it empty, and the agent looks at what is there and asks."
    example = "one line, as you would tell a colleague"
    wish = FormField("wish", "What do you want", placeholder=example, help_text=hint)
    options = tuple(Option(name) for name in offers.models)
    name = "Model that does it"
    model = FormField("model", name, "select", required=True, default_value=offers.model, options=options)
    clis = (Option(EVERY_CLI, "whatever is wanted"), *(Option(one.name, f"{one.title} alone") for one in CLIS.values()))
    cli = FormField("cli", "What it sets up", "select", required=True, default_value=EVERY_CLI, options=clis)
    fields = (wish, model, cli) if options else (wish, cli)
    form = Form("Set up with an agent", fields, submit_label="Begin")
    text = "An agent looks at this machine and sets it up. It runs no command and writes no file without your yes."
    return replace(form_page(form), head=text_lines(text), is_begun=False)


def form_page(form: Form) -> Page:
    """Return the page of a form."""
    return Page(
        form.title,
        (*text_lines(form.description), _NOTE),
        form,
        lambda values: FormAnswer(form.form_id, values),
        form.submit_label,
    )


def wizard_page(wizard: Wizard, place: int) -> Page:
    """Return the page of a wizard's step, from 0."""
    step, count = wizard.steps[place], len(wizard.steps)
    return Page(
        wizard.title,
        (((step.label, "heading"),), *text_lines(step.description), *text_lines(step.form.description), _NOTE),
        step.form,
        lambda values: WizardAnswer(wizard.wizard_id, place, values),
        step.form.submit_label if place == count - 1 else "Next",
        f"step {place + 1} of {count}",
        is_back_possible=place > 0,
    )


def key_page(asked: KeyRequest) -> Page:
    """Return the page that asks for an API key."""
    where = f"Where you get one: {asked.help_url}" if asked.help_url else ""
    fields = [FormField(_KEY, asked.env_var, "password", required=True, help_text=where)]
    note = "What you type is not shown. No model gets it: it is kept in a file that only you can read."
    if asked.keyring:
        note = "What you type is not shown, and no model gets it."
        places = (Option("file", "a file that only you can read"), Option(_KEYRING, f"the keyring ({asked.keyring})"))
        fields.append(FormField("place", "Kept in", "select", required=True, default_value="file", options=places))
    return Page(
        asked.title,
        text_lines(note),
        Form(asked.title, tuple(fields)),
        lambda values: KeyGiven(asked.provider, asked.env_var, str(values[_KEY]), values.get("place") == _KEYRING),
        "Keep the key",
    )


def cli_page(asked: CliSelection) -> Page:
    """Return the page that lets CLIs be chosen; those that are installed are chosen already."""
    options = tuple(
        Option(one.name, " · ".join(filter(None, (one.name, _INSTALLED[one.installed], one.description))))
        for one in asked.available
    )
    installed = ",".join(one.name for one in asked.available if one.installed)
    field = FormField(_CLIS, "CLIs", "multi_select", required=True, default_value=installed, options=options)
    return Page(asked.title, text_lines(asked.message), Form(asked.title, (field,)), _read_clis, "Go on")


def login_page(asked: LoginRequest, *, can_run: bool) -> Page:
    """Return the page of a login, or of an installation. can_run: the app has terminals."""
    command: Sequence[Line] = [(("    ", ""), (line, "strong")) for line in split_lines(asked.login_command)]
    here = bool(asked.cli) and can_run
    told = "Run it here in a terminal, or elsewhere." if here else "Run it in a terminal of your own."
    return Page(
        asked.title,
        (*text_lines(asked.instructions), (), *command, (), ((f"{told} Whether it has worked is looked at.", "dim"),)),
        Form(asked.title, ()),
        lambda _values: LoginDone(asked.provider),
        "I have done it",
        more=("Run it in a terminal", RunLogin()) if here else None,
    )


def text_lines(text: str) -> tuple[Line, ...]:
    """Return a text of several lines; nothing for an empty one."""
    return tuple(((line, ""),) for line in split_lines(text))


def split_lines(text: str) -> list[str]:
    """Return the lines of a text; other signs than a newline that break lines stay in them, and are shown."""
    return text.removesuffix("\n").split("\n") if text else []


_INSTALLED = {True: "installed", False: "not installed"}


def _read_clis(values: Mapping[str, Value]) -> Answer:
    chosen = values[_CLIS]
    return CliChoice(chosen if isinstance(chosen, tuple) else ())
