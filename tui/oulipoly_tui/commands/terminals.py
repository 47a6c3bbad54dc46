"""Commands for terminals. The palette opens by the mouse too, from the footer: a way out that needs no key at all."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.commands.needs import Need
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.base.messages import ReplWanted
from oulipoly_tui.orders.programs import show_program
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from oulipoly_tui.base.app_interface import AppInterface


def start_repl(app: AppInterface, arguments: list[str]) -> None:
    """Talk to a model in a terminal."""
    app.post_message(ReplWanted(arguments[0], arguments[1] if len(arguments) > 1 else None))


def run_program(app: AppInterface, arguments: list[str]) -> str | None:
    """Run any command in a terminal."""
    try:
        argv = tuple(shlex.split(" ".join(arguments)))
    except ValueError as error:
        return f"that is not a command line: {error}"
    if not argv:
        return "no command is named"
    show_program(app, argv)
    return None


def end_run(app: AppInterface, arguments: list[str]) -> str | None:
    """End a CLI whose runner was killed, after a question."""
    begun = arguments[0].lower()
    orphans = () if app.snapshot is None else app.snapshot.orphans
    orphan = next((one for one in orphans if one.uuid.startswith(begun)), None)
    if orphan is None:
        return f"no CLI runs on without a runner under {arguments[0]!r}"
    end = partial(engine_of(app).orphans.kill, orphan.uuid)

    def answer() -> None:
        app.work("end run", end, lambda ended: app.say(f"Process {ended.pid} of {ended.account} has ended"))

    dialogs.confirm(app, "End this program?", f"{orphan.text}, with all that it does", "end it", answer)
    return None


def leave(app: AppInterface, _arguments: list[str]) -> str | None:
    """Give the keys back to the app."""
    pane: Any = app.frame.find("repl")
    if pane is None:
        return Need.TERMINAL.value

    async def leave() -> None:
        await app.frame.turn_to("repl")
        pane.to_tabs()

    app.call_after_refresh(leave)
    return None
