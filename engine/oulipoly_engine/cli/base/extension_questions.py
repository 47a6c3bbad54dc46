"""The question whether an extension may do what it asks for, at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.facade import diagnostics

if TYPE_CHECKING:
    from oulipoly_engine.facade.extensions.extensions import ExtensionStatus


def ask(questions: Questions, status: ExtensionStatus) -> bool:
    """Ask whoever sits at the terminal for what an extension wants, and return whether that is a yes."""
    for line in status.question.splitlines():
        diagnostics.note(plain(line))
    questions.drop_typed_ahead()
    return questions.confirm("Allow it?")
