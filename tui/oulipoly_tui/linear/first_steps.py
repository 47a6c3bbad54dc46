"""Where nothing is configured: add an account, set up what is there, check everything, or see the demo."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from oulipoly_engine.core.checks.finding import to_lines
from oulipoly_engine.facade import own_process

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_PROGRAM = (sys.executable, "-m", "oulipoly_tui")


def add_account(talk: Talk, _snapshot: Snapshot) -> None:
    """Give the terminal to `account add`, which asks for everything. Raises RequestRefused where there is none."""
    _run(talk, "account", "add")


def set_up_with_agent(talk: Talk, _snapshot: Snapshot) -> None:
    """Give the terminal to `setup run`, which asks in lines too. Raises RequestRefused where there is none."""
    _run(talk, "setup", "run")


def set_up(talk: Talk, _snapshot: Snapshot) -> None:
    """Show what would be set up, and write it after a yes."""
    from oulipoly_tui.view.frame.first_run import set_up_lines  # noqa: PLC0415 - only who begins
    from oulipoly_tui.view.transcript.spans import plain  # noqa: PLC0415 - as above

    found = talk.engine.configuration.set_up()
    for line in set_up_lines(found):
        talk.say(plain(line))
    if found.files and talk.confirm("Write the files?"):
        talk.engine.configuration.write_set_up(found)
        talk.say(f"Set up {', '.join(login.account for login in found.logins)}. `agents account undo` takes it back.")


def run_doctor(talk: Talk, _snapshot: Snapshot) -> None:
    """Check everything, and say what is wrong, what follows and what mends it."""
    talk.say("Checking everything.")
    for line in to_lines(talk.engine.checks.run()):
        talk.say(line)


def go_to_demo(talk: Talk, _snapshot: Snapshot) -> None:
    """Leave for the demo world, in lines as here."""
    if talk.confirm("Leave for the demo?"):
        talk.engine.close()
        own_process.replace_process((*_PROGRAM, "demo", "--", "--linear"), own_process.inherited_environment())


def _run(talk: Talk, *words: str) -> None:
    own_process.require_terminal()
    talk.say(f"Ended with exit code {own_process.run_program((*_PROGRAM, *words))}.")
