"""What a model is told of its actions (agent-runner section 13, "Feedback to the next turn"). Pure; redacts nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from oulipoly_engine.core.setup.dialogs import Answer, Form, FormAnswer, Wizard, WizardAnswer, answer_document

NOTHING = "Continue."
_STDOUT, _STDERR, _TEST = 500, 200, 300  # characters
_PASSWORD = "(typed by the user, not shown)"  # noqa: S105 - says that there is none


def of_command(shown: str, exit_code: int | None, stdout: str, stderr: str, stopped: str = "") -> str:
    """Return how a command ended and the beginnings of what it wrote. stopped: why it did not end by itself."""
    ending = stopped or f"exit {exit_code}"
    return f"run_command {shown}: {ending}\nstdout: {_indent(stdout[:_STDOUT])}\nstderr: {_indent(stderr[:_STDERR])}"


def of_test(model: str, output: str, *, success: bool) -> str:
    """Return whether a model answered."""
    return f"test_integration {model}: {'PASS' if success else 'FAIL'} {_indent(output[:_TEST])}".rstrip()


def of_refusal(kind: str, reason: str) -> str:
    """Return why an action was not done."""
    return f"{kind}: refused: {reason}"


def of_no(kind: str, what: str) -> str:
    """Return that the person said no."""
    return f"{kind} {what}: the user said no, so it was not done; do not ask for the same again".replace("  ", " ")


def of_unreadable(reason: str) -> str:
    """Return why a reply was not read."""
    return f"Your reply could not be read: {reason}. Answer with one JSON object and nothing else."


def of_answer(answer: Answer, asked: Form | Wizard | None = None) -> str:
    """Return what a person answered, as JSON; what was typed into a field for passwords is left out."""
    document = answer_document(answer)
    if isinstance(answer, (FormAnswer, WizardAnswer)):
        document["values"] = _without_passwords(answer, asked)
    return f"ask_user: {json.dumps(document, ensure_ascii=False)}"


def join(parts: Sequence[str]) -> str:
    """Return the feedback of a turn."""
    return "\n".join(parts) or NOTHING


def _indent(output: str) -> str:
    """Return what a program wrote with its lines set in: none of them begins as ours do."""
    return "\n  ".join(output.splitlines())


def _without_passwords(answer: FormAnswer | WizardAnswer, asked: Form | Wizard | None) -> Mapping[str, object]:
    form = asked
    if isinstance(asked, Wizard):
        number = answer.step if isinstance(answer, WizardAnswer) else asked.current_step
        form = asked.steps[number].form if 0 <= number < len(asked.steps) else None
    fields = () if not isinstance(form, Form) else form.fields
    hidden = {one.name for one in fields if one.field_type == "password"}
    return {name: _PASSWORD if name in hidden and value else value for name, value in answer.values.items()}
