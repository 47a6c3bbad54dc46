"""The user's own commands on a row that was chosen, with the checks of the full screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.base import own_process
from oulipoly_tui.actions.custom import find_missing, prepare
from oulipoly_tui.view import row_values

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand
    from oulipoly_engine.facade.snapshot import AccountView, PoolView
    from oulipoly_engine.facade.terminals.terminals import Terminal
    from oulipoly_tui.linear.talk import Talk

Values = Mapping[str, str]


def list_commands(talk: Talk, values: Values, *panes: str) -> tuple[CustomCommand, ...]:
    """Return the commands for a row of some panes that has all that they need."""
    found = talk.engine.configuration.app().value.commands
    return tuple(
        one for one in found if (not one.panes or set(one.panes) & set(panes)) and find_missing(one, values) is None
    )


def run(talk: Talk, command: CustomCommand, values: Values) -> None:
    """Run a command on a row, after a question where the user wants one. Raises RequestRefused."""
    prepared = prepare(command, values)
    if command.confirm:
        for line in prepared.lines:
            talk.quote(line)
        if not talk.confirm("Run it?"):
            return
    programs = talk.engine.programs
    if command.run != "background":  # there are no tabs here: the terminal is given to it
        own_process.require_terminal()
        problem = programs.run_on_screen(prepared.words, prepared.folder)
        if problem is not None:
            raise RequestRefused(problem)
        return
    talk.say(f"{command.name} runs.")
    try:
        ended = programs.run(prepared.words, prepared.folder)
    except KeyboardInterrupt:
        talk.say("Stopped.")
        return
    talk.say(f"{ended.outcome.capitalize()}." + ("" if ended.output.strip() else " It printed nothing."))
    for text in ended.output.splitlines():
        talk.quote(text)


def run_on_member(talk: Talk, pool: PoolView) -> None:
    """Choose an account of a model and a command, and run it."""
    accounts = tuple(dict.fromkeys(one.account for one in pool.model.members))
    account = talk.choose("Account", accounts) if accounts else None
    if account is not None:
        _choose_and_run(talk, row_values.of_account(account, pool.model.name), "pools")


def run_on_account(talk: Talk, view: AccountView) -> None:
    """Choose a command, and run it on an account."""
    _choose_and_run(talk, row_values.of_account(view.name), "quota")


def run_on_terminal(talk: Talk, one: Terminal) -> None:
    """Choose a command, and run it on a terminal."""
    _choose_and_run(talk, row_values.of_terminal(one, _find_title(talk, one.session_id)), "terminals")


def _find_title(talk: Talk, session_id: str | None) -> str | None:
    rows = talk.engine.sessions.catalogue.board().rows if session_id else ()
    parts = ((row.session, part) for row in rows for part in row.session.parts)
    return next((one.title for one, part in parts if part.session_id == session_id), None)


def _choose_and_run(talk: Talk, values: Values, pane: str) -> None:
    empty = "No command of your own is for this. Settings, Show and change, Add a command of your own."
    command = talk.choose_of("Command", list_commands(talk, values, pane), lambda own: own.name, empty)
    if command is not None:
        run(talk, command, values)
