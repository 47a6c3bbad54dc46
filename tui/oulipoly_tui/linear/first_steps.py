"""Set-up and checks: add an account, set up what is there, sync skills, check everything, or see the demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.checks.finding import to_lines
from oulipoly_engine.facade.base import own_process
from oulipoly_engine.facade.setup.sync import find_filled, tell_empty
from oulipoly_tui.linear.interactive import PROGRAM, run_own_command

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk


def sync(talk: Talk, _snapshot: Snapshot) -> None:
    """Say what skills and MCP servers each CLI has, and copy those of one to another, which shows each change first."""
    homes = talk.engine.setup_sync.homes()
    for home in find_filled(homes):
        talk.say(f"{home.name}. Skills: {_join(home.skills)}. MCP servers: {_join(tuple(home.servers))}.")
        for problem in home.problems:
            talk.say(f"Warning. {problem}.")
    for text in tell_empty(homes):
        talk.say(text)
    sources = [home.name for home in homes if home.skills or home.servers]
    source = talk.choose("Copy from", sources) if sources else None
    target = None if source is None else talk.choose("Copy to", [one.name for one in homes if one.name != source])
    if source is not None and target is not None:  # it shows each change, and asks
        run_own_command(talk, "setup", "sync", "--from", source, "--to", target)


def set_up(talk: Talk, _snapshot: Snapshot) -> None:
    """Show what would be set up, and write it after a yes."""
    from oulipoly_tui.view.frame.first_run import set_up_lines  # noqa: PLC0415 - only who begins
    from oulipoly_tui.view.transcript.spans import plain  # noqa: PLC0415 - as above

    found = talk.engine.configuration.set_up()
    for line in set_up_lines(found):
        talk.say(plain(line))
    if found.files and talk.confirm("Write the files?"):
        talk.engine.configuration.write_set_up(found)
        talk.say(f"Set up {', '.join(login.account for login in found.logins)}. Undo: `agents account undo`.")


def run_doctor(talk: Talk, _snapshot: Snapshot) -> None:
    """Check everything, and say what is wrong, what follows and what mends it."""
    talk.say("Checking everything.")
    for line in to_lines(talk.engine.checks.run()):
        talk.say(line)


def go_to_demo(talk: Talk, _snapshot: Snapshot) -> None:
    """Leave for the demo world, in lines as here."""
    if talk.confirm("Leave for the demo?"):
        talk.engine.close()
        own_process.replace_process((*PROGRAM, "demo", "--", "--linear"), own_process.inherited_environment())


def _join(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
