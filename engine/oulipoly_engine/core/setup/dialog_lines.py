"""Dialogs as lines of text, for a terminal and a screen reader: what is said before each question. Pure."""

from __future__ import annotations

from oulipoly_engine.core.setup.dialogs import (
    TO_MODEL,
    AnyDialog,
    AnyShown,
    CliOption,
    CliSelection,
    CommandOutput,
    ConfigWritten,
    Confirmation,
    DetectionSummary,
    Form,
    FormField,
    KeyRequest,
    LoginRequest,
    TestResult,
    Wizard,
)
from oulipoly_engine.core.setup.events import Complete, Failure, Progress, Status, Told

WORDS = "`?` helps, `back` goes to the question before, `skip` leaves all of this out, `cancel` ends the set-up"
_TYPES = {
    "text": "a text",
    "password": "a password; it is not shown",
    "number": "a number",
    "checkbox": "yes or no",
    "select": "one of these, by its number or its name",
    "multi_select": "one or more of these, by number or name, with commas between",
    "textarea": "a text of several lines; an empty line ends it",
}


def head_lines(dialog: AnyDialog) -> tuple[str, ...]:
    """Return what stands above a dialog's questions."""
    match dialog:
        case Form():
            return _without_empty(dialog.title, dialog.description, TO_MODEL)
        case Wizard():
            step = dialog.steps[dialog.current_step]
            number = f"{dialog.title}: step {dialog.current_step + 1} of {len(dialog.steps)}, {step.label}"
            return _without_empty(number, step.description, *head_lines(step.form)[1:])
        case Confirmation():
            return _without_empty(dialog.title, dialog.message)
        case LoginRequest():
            return _without_empty(dialog.title, dialog.instructions, f"Command: {dialog.login_command}")
        case KeyRequest():
            where = f"Where to get one: {dialog.help_url}" if dialog.help_url else ""
            return _without_empty(dialog.title, where, "The key is not shown, and no model gets it.")
        case CliSelection():
            return (dialog.message, *cli_lines(dialog))


def cli_lines(dialog: CliSelection) -> tuple[str, ...]:
    """Return a line for each CLI that is offered."""
    return tuple(f"  {number}. {_cli_text(one)}" for number, one in enumerate(dialog.available, start=1))


def field_lines(asked: FormField) -> tuple[str, ...]:
    """Return what stands above a field's question: its choices."""
    return tuple(
        f"  {number}. {option.label or option.value}{f' ({option.value})' * bool(option.label)}"
        for number, option in enumerate(asked.options, start=1)
    )


def field_question(asked: FormField) -> str:
    """Return a field's question."""
    if asked.field_type == "checkbox":
        return f"{asked.title}, yes or no"
    return asked.title if asked.required else f"{asked.title} (may be left empty)"


def field_help(asked: FormField) -> tuple[str, ...]:
    """Return what `?` answers."""
    example = f"For example: {asked.placeholder}" if asked.placeholder else ""
    return _without_empty(asked.help_text, f"{asked.title} is {_TYPES[asked.field_type]}.", example, f"{WORDS}.")


def told_lines(event: Told) -> tuple[str, ...]:
    """Return an event in words."""
    match event:
        case Status():
            return (event.message,)
        case Progress():
            return _without_empty(event.message, event.detail)
        case Complete():
            return _without_empty(f"Set up: {event.summary or 'done'}", *(f"  {one}" for one in event.items_configured))
        case Failure():
            return (f"{'Problem' if event.recoverable else 'Error'}: {event.message}",)


def shown_lines(shown: AnyShown) -> tuple[str, ...]:
    """Return what came of something in words."""
    match shown:
        case CommandOutput():
            ending = "did not end" if shown.exit_code is None else f"ended with {shown.exit_code}"
            said = (*shown.stdout.splitlines(), *shown.stderr.splitlines())
            return (f"{shown.command} {ending}", *(f"  {line}" for line in said))
        case DetectionSummary():
            return shown.lines
        case ConfigWritten():
            return (f"written: {shown.path}",)
        case TestResult():
            how = "answers" if shown.success else "does not answer"
            return (f"{shown.model_name} {how}: {shown.output}",)


def _cli_text(cli: CliOption) -> str:
    name = cli.name if cli.installed else f"{cli.name}, not installed"
    return f"{name}: {cli.description}" if cli.description else name


def _without_empty(*lines: str) -> tuple[str, ...]:
    return tuple(line for line in lines if line)
