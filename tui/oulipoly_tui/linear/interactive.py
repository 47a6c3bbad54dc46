"""A CLI in the user's own terminal, from the screen reader's face: what the CLI writes comes as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.facade import diagnostics, own_process
from oulipoly_engine.facade.runs.interactive import InteractiveRequest, ResumeRequest

if TYPE_CHECKING:
    from oulipoly_tui.linear.talk import Talk


def open_cli(talk: Talk, *, model: str | None = None, session: str | None = None, is_fork: bool = False) -> None:
    """Give the terminal to a CLI until it ends, as `agents repl` does: in a new session of a model, or in an old one.

    Raises UsageInvalid where there is no terminal.
    """
    own_process.require_terminal()
    wish = None if session is None else ResumeRequest(session, is_fork=is_fork)
    request = InteractiveRequest(
        Path.cwd(), model, wish=wish, parent=own_process.parent_invocation(), is_shown=diagnostics.is_terminal()
    )
    talk.say(f"Ended with exit code {talk.engine.interactive.attend(request)}.")
