"""The user's own commands on the row under the cursor. Loaded at the start, so what is opened is imported late."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RequestRefused
from oulipoly_tui.actions.action import FRAME, STILL_OPENING
from oulipoly_tui.actions.custom import find_missing, prepare
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.facade.configuration import CustomCommand
    from oulipoly_engine.facade.terminals.programs import Ended
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.base.app_interface import AppInterface
    from oulipoly_tui.base.pane import Pane
    from oulipoly_tui.view.transcript.spans import Line

_MOST_LINES = 10_000  # of output; a million short ones would stop the app for seconds, to be wrapped


def find_obstacle(app: AppInterface, action: Action) -> str | None:
    """Say why a command cannot run now, as a sentence; None: it can."""
    pane = _find_pane(app, action)
    if pane is None or action.custom is None:
        return "its pane has not been opened yet"
    if app.engine is None:
        return STILL_OPENING
    return find_missing(action.custom, pane.row_values())


def run(app: AppInterface, action: Action) -> None:
    """Run a command on the row under the cursor, after a question where the user wants one."""
    pane, custom = _find_pane(app, action), action.custom
    if pane is None or custom is None:
        return
    try:
        prepared = prepare(custom, pane.row_values())
    except RequestRefused as error:
        app.say(error.message, severity="warning")
        return
    start = partial(_start, app, custom, prepared.words, prepared.folder)
    if not custom.confirm:
        start()
        return
    dialogs.confirm(app, custom.name, "\n".join(prepared.lines), "run it", start)


def _find_pane(app: AppInterface, action: Action) -> Pane | None:
    return app.frame.current if action.where == FRAME else app.frame.find(action.where)


def _start(app: AppInterface, custom: CustomCommand, words: tuple[str, ...], folder: Path | None) -> None:
    if custom.run == "terminal":
        from oulipoly_tui.orders.programs import show_program  # noqa: PLC0415 - only when one is shown

        show_program(app, words, folder)
        return
    programs = engine_of(app).programs
    if custom.run == "background":
        job = partial(programs.run, words, folder)
        app.work(custom.name, job, partial(_show, app, custom.name), title=f"running {custom.name}", can_stop=True)
        return
    with app.suspend():
        problem = programs.run_on_screen(words, folder)
    app.refresh()
    if problem is not None:
        app.say(f"{custom.name}: {problem}", severity="warning")


def _show(app: AppInterface, name: str, ended: Ended) -> None:
    """Show what a command has printed; where that is nothing, say how it ended."""
    if not ended.output.strip():
        app.say(f"{name}: {ended.outcome}, and printed nothing", severity="warning" if ended.failed else "information")
        return
    printed = ended.output.splitlines()
    lines: list[Line] = [((text, ""),) for text in printed[:_MOST_LINES]]
    if len(printed) > _MOST_LINES:
        lines.append(((f"… {len(printed) - _MOST_LINES} more lines", "dim"),))
    dialogs.read(app, f"{name}: {ended.outcome}", lines)
