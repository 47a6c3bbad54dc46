"""The questions of a request as the one form that the app draws, and the answers that come of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.core.live.events import Question
from oulipoly_engine.core.setup.dialogs import Form, FormAnswer, FormField, Option, Value
from oulipoly_tui.view.setup.dialogs import Page, text_lines

_OTHER = " (your own answer)"


def questions_page(title: str, questions: Sequence[Question], text: str = "") -> Page:
    """Return the page that asks them: options to choose from, a line for an own answer, secrets masked.

    text: what stands above them.
    """
    fields = tuple(field for number, one in enumerate(questions) for field in _fields(one, number))
    form = Form(title, fields, submit_label="Answer")
    return Page(
        title, text_lines(text), form, lambda values: FormAnswer("answers", values), form.submit_label, is_begun=False
    )


def _fields(question: Question, number: int) -> tuple[FormField, ...]:
    name, label = f"q{number}", question.text or question.header or question.id
    if question.is_secret:
        return (FormField(name, label, "password", required=True),)
    if not question.options:
        return (FormField(name, label, required=not question.is_optional),)
    told = tuple(Option(one, f"{one}: {said}" if said else one) for one, said in question.options)
    kind = "multi_select" if question.takes_several else "select"
    is_required = not (question.takes_other or question.is_optional)
    chosen = FormField(name, label, kind, required=is_required, options=told)  # type: ignore[arg-type]
    if not question.takes_other:
        return (chosen,)
    return (chosen, FormField(f"{name}_other", f"{question.header or 'Other'}{_OTHER}"))


def answers_of(questions: Sequence[Question], values: Mapping[str, Value]) -> dict[str, tuple[str, ...]]:
    """Return the answers by the questions' ids; an own answer takes the place of one option, and joins several."""
    found: dict[str, tuple[str, ...]] = {}
    for number, question in enumerate(questions):
        given = _texts(values.get(f"q{number}"))
        own = _texts(values.get(f"q{number}_other"))
        found[question.id] = (*given, *own) if question.takes_several else own or given
    return {name: texts for name, texts in found.items() if texts}


def _texts(value: Value | None) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return tuple(value) if isinstance(value, tuple) else (str(value),)
