"""What is pinned, drained and reserved, changed from the settings: each by a command, at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.transcript.spans import Row

if TYPE_CHECKING:
    from textual.app import App

    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.view.frame.settings import Control


def ask_control(app: App[None], own: AppInterface, control: Control) -> None:
    """Flip a control, or ask for its value."""
    if control.kind == "switch":
        turn_control(own, control, 1)
    elif control.kind == "choice":
        rows = [Row(f"={choice}", ((choice, ""),)) for choice in control.choices]
        rows.append(Row("default", (("not set", "dim"),)))
        dialogs.choose(app, control.name, rows, partial(_take_choice, own, control), control.description)
    else:
        text = f"{control.description}\nempty takes it away"
        dialogs.ask(app, control.name, text, partial(_take_share, own, control), control.value)


def turn_control(own: AppInterface, control: Control, step: int) -> None:
    """Give a control its next value."""
    if control.kind == "switch":
        order(own, control.undo if control.value else control.command)
    elif control.choices:
        values = ("", *control.choices)
        value = values[(values.index(control.value) + step) % len(values)] if control.value in values else ""
        order(own, (*control.command, value) if value else control.undo)
    else:
        own.say("Enter changes it: there is nothing to choose from")


def order(own: AppInterface, words: Sequence[str]) -> None:
    """Run a command."""
    own.order(words[0], words[1:])


def _take_choice(own: AppInterface, control: Control, key: str) -> None:
    order(own, (*control.command, key[1:]) if key.startswith("=") else control.undo)


def _take_share(own: AppInterface, control: Control, typed: str) -> None:
    order(own, (*control.command, typed) if typed.strip() else control.undo)
