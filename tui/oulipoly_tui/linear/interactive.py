"""Other programs in the user's own terminal, from the screen reader's face: what they write comes as it is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.facade.base import own_process
from oulipoly_engine.facade.runs.interactive import InteractiveRequest, ResumeRequest

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

PROGRAM = (sys.executable, "-m", "oulipoly_tui")


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


def run_own_command(talk: Talk, *words: str) -> None:
    """Give the terminal to one of our commands until it ends. Raises RequestRefused where there is none."""
    own_process.require_terminal()
    talk.say(f"Ended with exit code {own_process.run_program((*PROGRAM, *words))}.")


def type_command(talk: Talk, _snapshot: Snapshot) -> None:
    """Run a command of ours that is typed as in a shell, without the program's name."""
    talk.ask_until(
        "Command, for example: trace",
        lambda line: run_own_command(talk, *_split(line)),
        "Type a command and its options, as behind agents in a shell. List the commands tells what there is.",
    )


def list_commands(talk: Talk, _snapshot: Snapshot) -> None:
    """Say what commands there are."""
    run_own_command(talk, "--help")


def _split(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = f"that is not a command line: {error}"
        raise UsageInvalid(message) from error
    return words[1:] if words[:1] == ["agents"] else words
