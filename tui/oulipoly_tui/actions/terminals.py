"""Commands for terminals. The palette opens by the mouse too, from the footer: a way out that needs no key at all."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from oulipoly_tui.actions.frame import accounts, models
from oulipoly_tui.actions.registry import Argument, Command
from oulipoly_tui.messages import ReplWanted

if TYPE_CHECKING:
    from oulipoly_tui.app import AgentsApp


def _repl(app: AgentsApp, arguments: list[str]) -> None:
    app.post_message(ReplWanted(arguments[0], arguments[1] if len(arguments) > 1 else None))


def _run(app: AgentsApp, arguments: list[str]) -> str | None:
    try:
        argv = tuple(shlex.split(" ".join(arguments)))
    except ValueError as error:
        return f"that is no command line: {error}"
    if not argv:
        return "no command is named"

    async def begin() -> None:
        await app.frame.turn_to("repl")
        pane: Any = app.frame.find("repl")
        pane.run_program(argv)

    app.call_next(begin)
    return None


def _leave(app: AgentsApp, _arguments: list[str]) -> str | None:
    pane: Any = app.frame.find("repl")
    if pane is None:
        return "no terminal is open"

    async def leave() -> None:
        await app.frame.turn_to("repl")
        pane.to_tabs()

    app.call_after_refresh(leave)
    return None


COMMANDS = (
    Command(
        "repl",
        "talk to a model in a terminal",
        _repl,
        (Argument("model", models), Argument("account", accounts, is_optional=True)),
        writes=True,
    ),
    Command("terminal run", "run any command in a terminal", _run, (Argument("command", is_rest=True),), writes=True),
    Command("terminal leave", "give the keys back to the app", _leave, needs_engine=False),
)
