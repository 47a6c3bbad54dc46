"""The set-up agent's face for scripts: events as lines of JSON on stdout, answers as lines of JSON on stdin.

Each question is a `need_input` event, permission for a command or a file too: that is a `confirm` with an `agreement`
beside it. One line answers it (agent-runner section 13, "Responses"). The end of stdin cancels.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping

import msgspec

from oulipoly_engine.cli.base.questions import LOOK_S
from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyAnswer,
    AnyDialog,
    AnyShown,
    Cancelled,
    CliChoice,
    CliSelection,
    Confirmation,
    Confirmed,
    Form,
    FormAnswer,
    KeyGiven,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Skipped,
    Value,
    Wizard,
    WizardAnswer,
    check_values,
    value_text,
)
from oulipoly_engine.core.setup.events import Agreement, Failure, NeedInput, ShowResult, Told, event_document
from oulipoly_engine.facade import output
from oulipoly_engine.facade.base.own_process import interruptible
from oulipoly_engine.facade.setup.agent import Look, SetupCancelled, keep_waiting
from oulipoly_engine.records import prepare

_LONGEST = 1 << 20  # bytes of an answer
_PIECE = 64 << 10  # bytes that are read at once
_EXPECTED: Mapping[type[object], type[object]] = {
    Form: FormAnswer,
    Wizard: WizardAnswer,
    Confirmation: Confirmed,
    LoginRequest: LoginDone,
    KeyRequest: KeyGiven,
    CliSelection: CliChoice,
}


class JsonFace:
    """Writes events and reads answers."""

    def __init__(self) -> None:
        self._agreements = 0
        self._typed = b""  # that has not been read as a line yet

    def ask(self, dialog: AnyDialog, look: Look = keep_waiting) -> Answer:
        """Ask until an answer fits the question."""
        output.write_json(event_document(NeedInput(dialog)), pretty=False)
        while (line := self._read(look)) is not None:
            try:
                return _check(msgspec.json.decode(line, type=prepare(AnyAnswer)), dialog)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                self.tell(Failure(f"this is not an answer to the question: {error}", recoverable=True))
        return Cancelled()

    def agree(self, agreement: Agreement, look: Look = keep_waiting) -> bool:
        """Ask for permission; whatever is no `"confirmed": true` is a no. Raises SetupCancelled at stdin's end."""
        self._agreements += 1
        dialog = Confirmation(agreement.question, agreement.text, f"agreement-{self._agreements}")
        document = event_document(NeedInput(dialog))
        document["data"]["agreement"] = msgspec.to_builtins(agreement)
        output.write_json(document, pretty=False)
        line = self._read(look)
        if line is None:
            raise SetupCancelled("stdin has ended")
        try:
            answer = msgspec.json.decode(line, type=prepare(AnyAnswer))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.tell(
                Failure(f"this is not an answer to the question, so it counts as a no: {error}", recoverable=True)
            )
            return False
        return isinstance(answer, Confirmed) and answer.confirm_id == dialog.confirm_id and answer.confirmed

    def show(self, shown: AnyShown) -> None:
        """Write what came of something."""
        output.write_json(event_document(ShowResult(shown)), pretty=False)

    def tell(self, event: Told) -> None:
        """Write an event."""
        output.write_json(event_document(event), pretty=False)

    def _read(self, look: Look) -> bytes | None:
        """Return one line; None at the end of stdin, without any, and for a line that is too long."""
        if sys.stdin is None:
            return None
        with interruptible() as guard, guard.arming():
            while b"\n" not in self._typed and len(self._typed) < _LONGEST:
                if not select.select([0], [], [], LOOK_S)[0]:
                    look()
                elif not (piece := os.read(0, _PIECE)):
                    return None
                else:
                    self._typed += piece
        line, newline, self._typed = self._typed.partition(b"\n")
        is_whole = newline and len(line) < _LONGEST
        return line if is_whole else None


def _check(answer: AnyAnswer, dialog: AnyDialog) -> Answer:
    """Return an answer that fits its question. Raises ValueError, which says what does not."""
    if isinstance(answer, (Skipped, Cancelled)):
        return answer
    expected = _EXPECTED[type(dialog)]
    if type(answer) is not expected:
        raise ValueError(f"{expected.__name__} is expected, skip or cancel")
    if isinstance(answer, FormAnswer) and isinstance(dialog, Form):
        return FormAnswer(dialog.form_id, _values(dialog, answer.values))
    if isinstance(answer, WizardAnswer) and isinstance(dialog, Wizard):
        if not 0 <= answer.step <= dialog.current_step:
            raise ValueError(f"step {answer.step} was not asked yet")
        return WizardAnswer(dialog.wizard_id, answer.step, _values(dialog.steps[answer.step].form, answer.values))
    if isinstance(answer, KeyGiven) and answer.in_keyring and isinstance(dialog, KeyRequest) and not dialog.keyring:
        raise ValueError("there is no keyring that could keep it")
    if isinstance(answer, CliChoice) and isinstance(dialog, CliSelection):
        unknown = set(answer.selected) - {one.name for one in dialog.available}
        if unknown:
            raise ValueError(f"not offered: {', '.join(sorted(unknown))}")
    return answer


def _values(form: Form, given: Mapping[str, Value]) -> dict[str, Value]:
    texts = {name: value_text(value) for name, value in given.items()}
    values, problems = check_values(form, texts)
    if problems:
        raise ValueError("; ".join(problem.text for problem in problems))
    return values
