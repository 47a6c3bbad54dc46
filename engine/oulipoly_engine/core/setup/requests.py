"""The questions of a set-up as requests of the inbox, and what an answer there means. Pure.

What is asked there is told without what is secret: a key or a password is typed at the set-up alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.core.live.events import FileChange, Prompt, Question, RequestKind
from oulipoly_engine.core.live.requests import Decision
from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyDialog,
    Cancelled,
    CliChoice,
    CliSelection,
    Confirmation,
    Confirmed,
    Form,
    FormAnswer,
    FormField,
    KeyRequest,
    LoginDone,
    LoginRequest,
    Skipped,
    Value,
    Wizard,
    WizardAnswer,
    read_value,
)
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.errors import Declined
from oulipoly_engine.records import replace

_NOT_HERE = "a secret is typed where the set-up runs, and nowhere else; cancel leaves it out"
_KINDS: Mapping[str, RequestKind] = {"command": "command_approval", "file": "file_change_approval"}
_ONLY = "answer"  # the id of the question of a dialog that has one
_DONE = "done"
_SKIP = "skip"


def request_of(asked: AnyDialog | Agreement) -> tuple[RequestKind, Prompt]:
    """Return what is asked as the kind of a request, and what it says."""
    match asked:
        case Agreement():
            return _KINDS.get(asked.kind, "permission_approval"), _agreement_prompt(asked)
        case Confirmation():
            labels = ((asked.confirm_label, ""), (asked.cancel_label, ""))
            return "user_input", Prompt(asked.title, questions=(Question(_ONLY, asked.message, options=labels),))
        case LoginRequest():
            options = ((_DONE, "it is done"), (_SKIP, "go on without it"))
            question = Question(_ONLY, asked.instructions or asked.title, options=options)
            return "user_input", Prompt(asked.title, asked.login_command, questions=(question,))
        case CliSelection():
            names = tuple((cli.name, cli.description) for cli in asked.available)
            return "user_input", Prompt(
                asked.title, questions=(Question(_ONLY, asked.message, options=names, takes_several=True),)
            )
        case Form():
            return _form_request(asked, asked.title, asked.description)
        case Wizard():
            step = asked.steps[asked.current_step]
            title = f"{asked.title}: step {asked.current_step + 1} of {len(asked.steps)}, {step.label}"
            return _form_request(step.form, title, step.description or step.form.description)
        case KeyRequest():
            return "other", Prompt(asked.title, note=_NOT_HERE)


def read_agreement(decision: str, answers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether an answer of the inbox allows what was asked. Raises Declined where a person said why not."""
    reason = "".join(answers.get("reason", ()))
    if reason:
        raise Declined(f"the user said no, and why: {reason}")
    return decision == "approve"


def read_answer(dialog: AnyDialog, decision: str, answers: Mapping[str, Sequence[str]]) -> Answer:
    """Return what an answer of the inbox means. Raises RequestRefused for one that does not fit the question."""
    if decision != "answer":
        return Skipped()
    given = tuple(answers.get(_ONLY, ()))
    match dialog:
        case Confirmation():
            return Confirmed(dialog.confirm_id, given == (dialog.confirm_label,))
        case LoginRequest():
            return LoginDone(dialog.provider) if given == (_DONE,) else Skipped()
        case CliSelection():
            names = {cli.name for cli in dialog.available}
            return CliChoice(tuple(name for name in given if name in names))
        case Form():
            return FormAnswer(dialog.form_id, _read_values(dialog, answers))
        case Wizard():
            step = dialog.current_step
            return WizardAnswer(dialog.wizard_id, step, _read_values(dialog.steps[step].form, answers))
        case KeyRequest():
            return Skipped()


def decision_of(answer: Answer | bool) -> Decision:
    """Return what was said at the set-up itself, in the words of the inbox."""
    if isinstance(answer, bool):
        return "approve" if answer else "deny"
    return "cancel" if isinstance(answer, (Skipped, Cancelled)) else "answer"


def _agreement_prompt(asked: Agreement) -> Prompt:
    warning = f"Careful: {asked.warning}." if asked.warning else ""
    reason = "\n".join(filter(None, (asked.description, warning)))
    if asked.kind == "command":
        return Prompt(asked.question, asked.text, reason=reason)
    if not asked.is_diff:
        return Prompt(asked.question, reason="\n".join(filter(None, (reason, asked.text))))
    paths = [line.removeprefix("+++ ") for line in asked.text.splitlines() if line.startswith("+++ ")]
    return Prompt(asked.question, reason=reason, changes=(FileChange(", ".join(paths), diff=asked.text),))


def _form_request(form: Form, title: str, reason: str) -> tuple[RequestKind, Prompt]:
    if any(field.field_type == "password" for field in form.fields):
        return "other", Prompt(title, reason=reason, note=_NOT_HERE)
    return "user_input", Prompt(title, reason=reason, questions=tuple(map(_field_question, form.fields)))


def _field_question(field: FormField) -> Question:
    options = tuple((option.label or option.value, "") for option in field.options)
    if field.field_type == "checkbox":
        options = (("yes", ""), ("no", ""))
    default = f"[{field.default_text}]" if field.default_text else ""
    return Question(
        field.name,
        " ".join(filter(None, (field.title, default, field.help_text))),
        options=options,
        takes_several=field.field_type == "multi_select",
        is_optional=not field.required or bool(field.default_text),
    )


def _read_values(form: Form, answers: Mapping[str, Sequence[str]]) -> dict[str, Value]:
    return {field.name: _read_field(field, answers.get(field.name, ())) for field in form.fields}


def _read_field(field: FormField, given: Sequence[str]) -> Value:
    if not given:
        return read_value(field, field.default_text)
    if field.field_type != "multi_select":
        return read_value(field, given[0])
    choice = replace(field, field_type="select")
    return tuple(dict.fromkeys(str(read_value(choice, text)) for text in given))
