"""What the set-up asks a person and shows them, as data: one description that the app and the terminal draw.

A description comes from our own set-up, or from a model's reply (agent-runner section 13, `ask_user`), which is hostile
until it has been read here. Texts are the model's own, so whoever draws them neutralises them as it does with others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from oulipoly_engine.core.text.secrets.names import IN_OTHER_LANGUAGES, NAME_OF_ONE
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.late_pattern import LatePattern
from oulipoly_engine.records import Record

SHORT = 200  # characters of a title, a label, a name
LONG = 4000  # characters of a message or a default
MOST_FIELDS = 20  # of a form
MOST_STEPS = 10  # of a wizard
MOST_OPTIONS = 50  # of a field
ANSWER = 20_000  # characters of one answer
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{1,63}")

# What the model is told stands in its vendor's log, and in each later prompt.
TO_MODEL = "The model gets what you answer here: no keys and no passwords."
_SECRET = LatePattern(
    rf"(?:{NAME_OF_ONE}|{'|'.join(IN_OTHER_LANGUAGES)}|pass ?code|one[ -]time"
    r"|(?:verification|security|login|auth(?:entication|orization)?)[ _-]?code)s?"
    r"(?![a-z])",
    re.IGNORECASE,
)

FieldType = Literal["text", "password", "number", "checkbox", "select", "multi_select", "textarea"]


class Dialog(Record):
    """What is asked; each has a title and its own answer."""


class Option(Record):
    """One of the values of a field with choices."""

    value: str
    label: str = ""


class FormField(Record):
    """One thing that a form asks for."""

    name: str
    label: str = ""
    field_type: FieldType = "text"
    required: bool = False
    default_value: str | bool | float | None = None
    options: tuple[Option, ...] = ()
    placeholder: str = ""
    help_text: str = ""

    @property
    def title(self) -> str:
        """What a person reads beside it."""
        return self.label or self.name

    @property
    def default_text(self) -> str:
        """The value it begins with, as a person would type it."""
        return "" if self.default_value is None else value_text(self.default_value)


class Form(Dialog, tag_field="type", tag="form"):
    """Several fields on one screen."""

    title: str
    fields: tuple[FormField, ...]
    form_id: str = "form"
    description: str = ""
    submit_label: str = "Go on"


class WizardPage(Record):
    """A step of a wizard."""

    label: str
    form: Form
    description: str = ""


class Wizard(Dialog, tag_field="type", tag="wizard"):
    """Forms one after the other; `current_step` is the one that is asked, from 0."""

    title: str
    steps: tuple[WizardPage, ...]
    wizard_id: str = "wizard"
    current_step: int = 0


class Confirmation(Dialog, tag_field="type", tag="confirm"):
    """A question to be answered with yes or no."""

    title: str
    message: str
    confirm_id: str = "confirm"
    confirm_label: str = "Yes"
    cancel_label: str = "No"


class LoginRequest(Dialog, tag_field="type", tag="oauth_flow"):
    """A login, or an installation, that a person does by a command of their own and then says that it is done."""

    provider: str
    login_command: str
    instructions: str = ""
    cli: str = ""  # that `account add` logs in to with `login_command`; "": the person does it elsewhere

    @property
    def title(self) -> str:
        """What stands above it."""
        what = "Install" if self.login_command.startswith("npm install") else "Log in to"
        return f"{what} {self.provider}"


class KeyRequest(Dialog, tag_field="type", tag="api_key_entry"):
    """An API key; what is typed is never shown, and no model gets it."""

    provider: str
    env_var: str
    help_url: str = ""
    keyring: str = ""  # what the user's keyring is called, which may be chosen; "": the key goes into a file

    @property
    def title(self) -> str:
        """What stands above it."""
        return f"API key for {self.provider}"


class CliOption(Record):
    """A CLI that can be chosen."""

    name: str
    installed: bool = False
    description: str = ""


class CliSelection(Dialog, tag_field="type", tag="cli_selection"):
    """Which CLIs the set-up is about; one or more."""

    available: tuple[CliOption, ...]
    message: str = "Which CLIs do you want to use?"

    @property
    def title(self) -> str:
        """What stands above it."""
        return "Choose CLIs"


AnyDialog = Form | Wizard | Confirmation | LoginRequest | KeyRequest | CliSelection

Value = str | bool | float | tuple[str, ...]


def value_text(value: Value) -> str:
    """Return a value as a person would type it."""
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Answer(Record):
    """What a person answered."""


class FormAnswer(Answer, tag_field="type", tag="form_submit"):
    """The values of a form by the names of its fields."""

    form_id: str
    values: Mapping[str, Value]


class WizardAnswer(Answer, tag_field="type", tag="wizard_step"):
    """The values of one step; the last step's answer ends the wizard."""

    wizard_id: str
    step: int
    values: Mapping[str, Value]


class Confirmed(Answer, tag_field="type", tag="confirm"):
    """Yes or no."""

    confirm_id: str
    confirmed: bool


class LoginDone(Answer, tag_field="type", tag="oauth_complete"):
    """The person says that they have logged in; whether it is so is looked at."""

    provider: str


class KeyGiven(Answer, tag_field="type", tag="api_key"):
    """A key; the key itself is in no document and no `repr`."""

    provider: str
    env_var: str
    key: str = ""
    in_keyring: bool = False  # else it goes into a file that its owner alone can read

    def __repr__(self) -> str:
        """Leave out the key."""
        return f"KeyGiven(provider={self.provider!r}, env_var={self.env_var!r})"


class CliChoice(Answer, tag_field="type", tag="cli_selection"):
    """The names of the CLIs that were chosen."""

    selected: tuple[str, ...]


class Skipped(Answer, tag_field="type", tag="skip"):
    """Not answered; the set-up goes on without it."""


class Cancelled(Answer, tag_field="type", tag="cancel"):
    """The set-up ends."""


AnyAnswer = FormAnswer | WizardAnswer | Confirmed | LoginDone | KeyGiven | CliChoice | Skipped | Cancelled


class Shown(Record):
    """What is shown and needs no answer."""


class CommandOutput(Shown, tag_field="type", tag="command_output"):
    """What a command wrote, and how it ended."""

    command: str
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""


class DetectionSummary(Shown, tag_field="type", tag="detection_summary"):
    """What was found on the machine; a line each."""

    lines: tuple[str, ...]


class ConfigWritten(Shown, tag_field="type", tag="config_written"):
    """A file that was written, with the change that was agreed to."""

    path: str
    description: str = ""
    diff: str = ""


class TestResult(Shown, tag_field="type", tag="test_result"):
    """Whether a model answered a test."""

    __test__ = False  # no class of tests

    model_name: str
    success: bool
    output: str = ""


AnyShown = CommandOutput | DetectionSummary | ConfigWritten | TestResult


class Problem(Record):
    """What is wrong with an answer: the field's name, and a sentence."""

    name: str
    text: str


def check_dialog(dialog: AnyDialog) -> None:
    """Refuse a description that nobody could draw or answer. Raises RequestRefused, which names what is wrong."""
    for text in _texts(msgspec.to_builtins(dialog)):
        _require(dialog.title, len(text) <= LONG, f"a text may have at most {LONG} characters")
        _require(dialog.title, not any("\ud800" <= sign <= "\udfff" for sign in text), "a text is not Unicode")
    if isinstance(dialog, Form):
        _check_form(dialog)
    elif isinstance(dialog, Wizard):
        _require(dialog.title, 0 < len(dialog.steps) <= MOST_STEPS, f"a wizard has 1 to {MOST_STEPS} steps")
        _require(dialog.title, 0 <= dialog.current_step < len(dialog.steps), "its current step is none of its steps")
        for step in dialog.steps:
            _check_form(step.form, step.label, step.description)
    elif isinstance(dialog, KeyRequest):
        _require(dialog.title, _VARIABLE.fullmatch(dialog.env_var) is not None, "it names no variable")
    elif isinstance(dialog, CliSelection):
        _require(dialog.title, 0 < len(dialog.available) <= MOST_OPTIONS, f"it offers 1 to {MOST_OPTIONS} CLIs")


def read_value(asked: FormField, text: str | tuple[str, ...]) -> Value:
    """Return what a typed text means for a field; several values have commas between them.

    text: a tuple has values of the field's options as they are, which nobody typed.
    Raises RequestRefused with a sentence that names the field.
    """
    if isinstance(text, tuple):
        _require(asked.title, bool(text) or not asked.required, "choose something")
        return text if asked.field_type == "multi_select" else text[0] if text else ""
    text = text.strip()
    if not text:
        _require(asked.title, not asked.required or asked.field_type == "checkbox", "it has to be filled in")
        return () if asked.field_type == "multi_select" else False if asked.field_type == "checkbox" else ""
    _require(asked.title, len(text) <= ANSWER, f"it may have at most {ANSWER} characters")
    if asked.field_type == "number":
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        _require(asked.title, number == number and abs(number) != float("inf"), f"{text!r} is not a number")
        return number
    if asked.field_type == "checkbox":
        _require(asked.title, text.lower() in ("y", "yes", "true", "n", "no", "false"), "answer yes or no")
        return text.lower() in ("y", "yes", "true")
    if asked.field_type == "multi_select":
        return tuple(dict.fromkeys(_choose(asked, word.strip()) for word in text.split(",") if word.strip()))
    return _choose(asked, text) if asked.field_type == "select" else text


def check_values(
    form: Form, texts: Mapping[str, str | tuple[str, ...]]
) -> tuple[dict[str, Value], tuple[Problem, ...]]:
    """Return the values of a form by name, and what is wrong; a field that was left out has its default."""
    values: dict[str, Value] = {}
    problems: list[Problem] = []
    for asked in form.fields:
        try:
            values[asked.name] = read_value(asked, texts.get(asked.name, asked.default_text))
        except RequestRefused as refused:
            problems.append(Problem(asked.name, refused.message))
    return values, tuple(problems)


def answer_document(answer: Answer) -> dict[str, object]:
    """Return an answer as a document: what a model is told, and what `--json` prints. It never has a key's text."""
    document: dict[str, object] = msgspec.to_builtins(answer)
    if isinstance(answer, KeyGiven):
        document["key"] = "(kept by the set-up, not shown)"
    return document


def _check_form(form: Form, *above: str) -> None:
    """Refuse a form that cannot be drawn, or asks for a secret. above: what else stands above its fields."""
    _require(form.title, 0 < len(form.fields) <= MOST_FIELDS, f"a form has 1 to {MOST_FIELDS} fields")
    names = [asked.name for asked in form.fields]
    _require(form.title, all(names) and len(set(names)) == len(names), "each field needs a name of its own")
    above = (form.title, form.description, *above) if len(form.fields) == 1 else ()  # it may be asked for there
    for asked in form.fields:
        has_options = asked.field_type in ("select", "multi_select")
        texts = (asked.name, asked.label, asked.placeholder, asked.help_text, *above)
        asks_secret = any(map(_SECRET.search, texts))
        is_told = asked.field_type in ("text", "textarea")
        _require(
            asked.title, not (is_told and asks_secret), "keys and passwords go by api_key_entry and oauth_flow alone"
        )
        _require(asked.title, not has_options or 0 < len(asked.options) <= MOST_OPTIONS, "it offers nothing to choose")
    for text in (form.title, *(asked.title for asked in form.fields)):
        _require(form.title, len(text) <= SHORT, f"a label may have at most {SHORT} characters")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _choose(asked: FormField, text: str) -> str:
    """Return the value that a text names: the value itself, else its label, else its number from 1."""
    wanted = text.casefold()
    fits = (
        *(one for one in asked.options if one.value == text),
        *(one for one in asked.options if wanted in (one.value.casefold(), one.label.casefold())),
        *(one for number, one in enumerate(asked.options, start=1) if text == str(number)),
    )
    if fits:
        return fits[0].value
    offered = ", ".join(option.value for option in asked.options)
    raise RequestRefused(f"{asked.title}: {text[:SHORT]!r} is none of {offered}")


def _require(name: str, is_so: bool, text: str) -> None:
    if not is_so:
        raise RequestRefused(f"{name[:SHORT]}: {text}")
