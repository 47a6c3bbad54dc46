"""The user's own commands on the row under the cursor. Loaded at the start, so what is opened is imported late."""

from __future__ import annotations

import os.path
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_tui.actions.action import FRAME

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand
    from oulipoly_engine.facade.terminals.programs import Ended
    from oulipoly_tui.actions.action import Action
    from oulipoly_tui.app_interface import AppInterface
    from oulipoly_tui.panes.pane import Pane
    from oulipoly_tui.view.transcript.spans import Line

_MOST_LINES = 10_000  # of output; a million short ones would stop the app for seconds, to be wrapped


def find_obstacle(app: AppInterface, action: Action) -> str | None:
    """Say why a command cannot run now, as a sentence; None: it can."""
    pane = _find_pane(app, action)
    if pane is None or action.custom is None:
        return "its pane has not been opened yet"
    if app.engine is None:
        return "still opening: try again in a moment"
    values = pane.row_values()
    missing = next((name for name in action.custom.placeholders if name not in values), None)
    return None if missing is None else f"{action.label} needs a {missing}, and this row has none"


def run(app: AppInterface, action: Action) -> None:
    """Run a command on the row under the cursor, after a question where the user wants one."""
    pane, custom = _find_pane(app, action), action.custom
    if pane is None or custom is None:
        return
    from oulipoly_engine.facade.configuration import fill  # noqa: PLC0415 - loaded where there is an app.toml

    values = pane.row_values()
    try:
        words = fill(custom.words, values)
    except ValueError as error:
        app.say(f"{custom.name}: {error}", severity="warning")
        return
    cwd = values.get("cwd")
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - it raises nothing
        app.say(f"{custom.name}: the folder of this row is gone, {cwd}: nothing was run", severity="warning")
        return
    folder = None if cwd is None else Path(cwd)
    if not custom.confirm:
        _start(app, custom, words, folder)
        return
    import shlex  # noqa: PLC0415 - only when there is something to ask

    from oulipoly_engine.core.text.control_characters import visible_line  # noqa: PLC0415 - as above
    from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - as above

    def on_answered(yes: bool | None) -> None:  # noqa: FBT001, RUF100 - as Textual calls it
        if yes:
            _start(app, custom, words, folder)

    told = [shlex.join(words)] if folder is None else [shlex.join(words), f"in {folder}"]
    # A title with a line break or hidden characters must not look like another command, or another folder.
    app.push_screen(Confirm(custom.name, "\n".join(map(visible_line, told)), "run it"), on_answered)


def _find_pane(app: AppInterface, action: Action) -> Pane | None:
    return app.frame.current if action.where == FRAME else app.frame.find(action.where)


def _start(app: AppInterface, custom: CustomCommand, words: tuple[str, ...], folder: Path | None) -> None:
    if custom.run == "terminal":
        from oulipoly_tui.commands.terminals import show_program  # noqa: PLC0415 - only when one is shown

        show_program(app, words, folder)
        return
    assert app.engine is not None  # noqa: S101 - `find_obstacle` has looked
    programs = app.engine.programs
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
    from oulipoly_tui.screens.reading import Reading  # noqa: PLC0415 - only when there is something to read

    if not ended.output.strip():
        app.say(f"{name}: {ended.outcome}, and printed nothing", severity="warning" if ended.failed else "information")
        return
    printed = ended.output.splitlines()
    lines: list[Line] = [((text, ""),) for text in printed[:_MOST_LINES]]
    if len(printed) > _MOST_LINES:
        lines.append(((f"… {len(printed) - _MOST_LINES} more lines", "dim"),))
    app.push_screen(Reading(f"{name}: {ended.outcome}", lines))
