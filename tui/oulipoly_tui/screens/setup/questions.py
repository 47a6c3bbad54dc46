"""Which screen asks what, and what it answers: the pages of a wizard one after the other, a yes or no in a review."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.setup.dialogs import (
    Answer,
    AnyDialog,
    Cancelled,
    CliSelection,
    Confirmation,
    Confirmed,
    Form,
    KeyRequest,
    LoginRequest,
    Wizard,
    WizardPage,
)
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.setup.form import FormScreen
from oulipoly_tui.view.setup import dialogs as pages
from oulipoly_tui.view.setup.log import agreement_body, agreement_head

if TYPE_CHECKING:
    from textual.app import App

    from oulipoly_tui.screens.setup.fields import Given

Typed = dict[tuple[str, tuple[WizardPage, ...], int], dict[str, "Given"]]  # by wizard, its steps, and the step

_YES = {"command": "Yes, run it", "file": "Yes, write it"}


def ask(
    app: App[Any], dialog: AnyDialog, answer: Callable[[Answer], None], *, typed: Typed, can_run: bool = False
) -> None:
    """Ask a person, and hand on the answer.

    typed: what was typed into steps of wizards, each of which is asked by itself. can_run: the app has terminals.
    """
    match dialog:
        case Wizard():
            _ask_step(app, dialog, dialog.current_step, typed, answer)
        case Confirmation():
            _ask_yes_or_no(app, dialog, answer)
        case Form():
            _ask_page(app, pages.form_page(dialog), answer)
        case KeyRequest():
            _ask_page(app, pages.key_page(dialog), answer)
        case CliSelection():
            _ask_page(app, pages.cli_page(dialog), answer)
        case LoginRequest():
            _ask_page(app, pages.login_page(dialog, can_run=can_run), answer)


def agree(app: App[Any], asked: Agreement, answer: Callable[[bool], None]) -> None:
    """Ask for leave, with all that would be done; the default is no."""
    review = Review(
        asked.question,
        agreement_head(asked),
        agreement_body(asked),
        yes=_YES.get(asked.kind, "Yes"),
        waits=True,
    )
    app.push_screen(review, lambda yes: answer(bool(yes)))


def _ask_page(app: App[Any], page: pages.Page, answer: Callable[[Answer], None]) -> None:
    app.push_screen(FormScreen(page), lambda given: answer(Cancelled() if given is None else given))


def _ask_yes_or_no(app: App[Any], asked: Confirmation, answer: Callable[[Answer], None]) -> None:
    review = Review(
        asked.title,
        (),
        pages.text_lines(asked.message),
        yes=asked.confirm_label,
        no=asked.cancel_label,
        waits=True,
    )
    app.push_screen(review, lambda yes: answer(Confirmed(asked.confirm_id, bool(yes))))


def _ask_step(app: App[Any], wizard: Wizard, place: int, typed: Typed, answer: Callable[[Answer], None]) -> None:
    """Ask one step; from an earlier one that was gone back to, the set-up goes on with the step behind it."""
    screen = FormScreen(pages.wizard_page(wizard, place), typed.get((wizard.wizard_id, wizard.steps, place)))

    def on_answered(given: Answer | None) -> None:
        typed[wizard.wizard_id, wizard.steps, place] = screen.typed
        if given is None:
            _ask_step(app, wizard, place - 1, typed, answer)
        else:
            answer(given)

    app.push_screen(screen, on_answered)
