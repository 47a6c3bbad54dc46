"""The set-up agent's face in a terminal: one question after the other, each answered by a line."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.setup.api_key import keyring_question
from oulipoly_engine.core.setup import dialog_lines
from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyDialog,
    AnyShown,
    Cancelled,
    CliChoice,
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
    Value,
    Wizard,
    WizardAnswer,
    read_value,
    value_text,
)
from oulipoly_engine.core.setup.events import Agreement, Told
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.facade import output
from oulipoly_engine.facade.setup.agent import Look, NobodyAnswers, SetupCancelled, keep_waiting
from oulipoly_engine.records import replace


class _Back(RunnerError):
    """The person wants the step before."""


class _Skip(RunnerError):
    """The person leaves this out."""


_SHOWN = 100  # characters of a question, in an error
_WORDS: dict[str, type[RunnerError]] = {"back": _Back, "skip": _Skip, "cancel": SetupCancelled}


class TerminalFace:
    """Asks on a terminal. Without one `--yes` answers for what can be undone, and any other question ends it all."""

    def __init__(self, questions: Questions, add_account: Callable[[str], None]) -> None:
        """add_account: logs in to a CLI and adds the account; shows and asks for what it does by itself."""
        self._questions = questions
        self._add_account = add_account
        self._given: dict[tuple[str, int], dict[str, Value]] = {}  # by a wizard and its step

    def ask(self, dialog: AnyDialog, look: Look = keep_waiting) -> Answer:
        """Ask a person. Raises NobodyAnswers."""
        self._questions.look = look
        self._require_person(dialog.title)
        self._write(("", *dialog_lines.head_lines(dialog)))
        try:
            return self._ask(dialog)
        except _Skip:
            return Skipped()
        except (SetupCancelled, RequestRefused):  # the last one: the terminal is gone
            return Cancelled()

    def agree(self, agreement: Agreement, look: Look = keep_waiting) -> bool:
        """Show all of it and ask; `--yes` answers for what can be undone, never for what is run now or later."""
        self._questions.look = look
        self._write(("", *((f"Why: {agreement.description}",) if agreement.description else ())))
        if agreement.is_diff:  # its lines begin with signs of their own
            output.write_block(agreement.text if agreement.text.endswith("\n") else f"{agreement.text}\n")
        else:
            self._write((agreement.text,))
        if agreement.warning:
            self._write((f"Careful: {agreement.warning}.",))
        can_be_undone = agreement.kind != "command" and not agreement.warning
        if can_be_undone and self._questions.is_agreed:
            return True
        self._require_person(agreement.question, "give --yes, " if can_be_undone else "")
        try:
            return self._read_yes(agreement.question, default=False)
        except (_Skip, _Back):
            return False
        except RequestRefused as error:  # the terminal is gone
            raise SetupCancelled(error.message) from error

    def show(self, shown: AnyShown) -> None:
        """Show what came of something."""
        self._write(dialog_lines.shown_lines(shown))

    def tell(self, event: Told) -> None:
        """Say what goes on."""
        self._write(dialog_lines.told_lines(event))

    def _require_person(self, question: str, other_way: str = "") -> None:
        if not self._questions.can_ask:
            shown = visible_line(question)[:_SHOWN]
            raise NobodyAnswers(
                f"{shown!r} has to be answered, and nobody can be asked here, so the set-up has ended: {other_way}"
                "run it in a terminal, or answer on stdin with --json"
            )

    def _ask(self, dialog: AnyDialog) -> Answer:
        match dialog:
            case Form():
                return FormAnswer(dialog.form_id, self._fill(dialog))
            case Wizard():
                return self._step(dialog)
            case Confirmation():
                labels = f"{dialog.confirm_label} or {dialog.cancel_label.lower()}"
                return Confirmed(dialog.confirm_id, self._read_yes(f"{labels}?", default=False))
            case LoginRequest():
                return self._log_in(dialog)
            case KeyRequest():
                key = self._questions.secret(f"{dialog.env_var}, not shown while you type; empty leaves it out: ")
                return (
                    KeyGiven(dialog.provider, dialog.env_var, key, self._choose_keyring(dialog))
                    if key.strip()
                    else Skipped()
                )
            case CliSelection():
                return CliChoice(self._choose_clis(dialog))

    def _fill(self, form: Form, given: dict[str, Value] | None = None) -> dict[str, Value]:
        """Ask field by field; `back` goes to the field before. Raises _Back at the first one.

        given: what was answered before, which stands in for the defaults.
        """
        values = dict(given or {})
        number = 0
        while number < len(form.fields):
            asked = form.fields[number]
            if asked.name in values and asked.field_type != "password":
                asked = replace(asked, default_value=value_text(values[asked.name]))
            try:
                values[asked.name] = self._ask_field(asked)
                number += 1
            except _Back:
                if number == 0:
                    raise
                number -= 1
        return values

    def _step(self, wizard: Wizard) -> Answer:
        """Ask the current step; `back` at its first field asks the step before, whose answer is returned then."""
        number = wizard.current_step
        while True:
            step = wizard.steps[number]
            if number != wizard.current_step:
                self._write((f"back to step {number + 1} of {len(wizard.steps)}, {step.label}",))
            key = (wizard.wizard_id, number)
            try:
                self._given[key] = self._fill(step.form, self._given.get(key))
            except _Back:
                number = max(0, number - 1)
            else:
                return WizardAnswer(wizard.wizard_id, number, self._given[key])

    def _ask_field(self, asked: FormField) -> Value:
        self._write(dialog_lines.field_lines(asked))
        while True:
            text = self._read_field(asked)
            try:
                return read_value(asked, text)
            except RequestRefused as refused:
                self._write((refused.message,))

    def _read_field(self, asked: FormField) -> str:
        question, default = dialog_lines.field_question(asked), asked.default_text
        if asked.field_type == "password":
            return self._questions.secret(f"{visible_line(question)}, not shown while you type: ") or default
        while True:
            line = self._read_line(f"{question} [{default}]: " if default else f"{question}: ")
            if line in ("?", "help"):
                self._write(dialog_lines.field_help(asked))
                continue
            if asked.field_type != "textarea" or not line:
                return line or default
            lines = [line]
            while more := self._questions.line("... "):
                lines.append(more)
            return "\n".join(lines)

    def _choose_keyring(self, asked: KeyRequest) -> bool:
        return bool(asked.keyring) and self._read_yes(keyring_question(asked.keyring), default=False)

    def _log_in(self, asked: LoginRequest) -> Answer:
        if asked.cli and self._read_yes(f"Run `{asked.login_command}` here now?", default=True):
            self._add_account(asked.cli)
            return LoginDone(asked.provider)
        done = self._read_yes("Say y when it is done, or n to go on without it:", default=False)
        return LoginDone(asked.provider) if done else Skipped()

    def _choose_clis(self, dialog: CliSelection) -> tuple[str, ...]:
        options = tuple(Option(one.name) for one in dialog.available)
        known = [one.name for one in dialog.available if one.installed]
        default = known[0] if len(known) == 1 else None
        asked = FormField("clis", "CLIs", "multi_select", required=True, default_value=default, options=options)
        while True:
            try:
                found = read_value(asked, self._read_field(asked))
            except RequestRefused as refused:
                self._write((refused.message,))
            else:
                return found if isinstance(found, tuple) else (str(found),)

    def _read_yes(self, question: str, *, default: bool) -> bool:
        while True:
            line = self._read_line(f"{question} ({'Y/n' if default else 'y/N'}) ").lower()
            if line in ("y", "yes", "n", "no", ""):
                return line.startswith("y") if line else default
            self._write((f"Say y or n; {dialog_lines.WORDS}.",))

    def _read_line(self, question: str) -> str:
        """Return a line. Raises _Back, _Skip or _Cancel for the words; `=skip` is the text itself."""
        line = self._questions.line(visible_line(question))
        if (meant := _WORDS.get(line.lower())) is not None:
            raise meant(line)
        return line.removeprefix("=") if line.lower().removeprefix("=") in _WORDS else line

    @staticmethod
    def _write(lines: tuple[str, ...]) -> None:
        """Write texts; of several lines the others are indented, so that nothing in a text passes for a question."""
        for text in lines:
            first, *others = text.split("\n")
            output.write_lines((first, *(f"  {line}" for line in others)))
