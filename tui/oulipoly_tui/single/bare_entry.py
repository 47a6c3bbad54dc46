"""From `agents terminal -- CMD…` on a terminal to the command in a bare pane, and to its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oulipoly_engine.cli.context import Context
    from oulipoly_engine.facade.terminals import Terminal

_ELSEWHERE = ("--detach", "--plain", "-h", "--help")  # answered without a pane
_OWN_LINES = 1  # below the terminal


def is_for_pane(arguments: Sequence[str]) -> bool:
    """Tell whether the arguments of `terminal` ask for a pane, and there is a screen for one."""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not any(word in _ELSEWHERE for word in ours) and os.isatty(0) and os.isatty(1)


def run(arguments: Sequence[str]) -> int:
    """Run the command in a pane; its exit code is ours, 0 when the user has left it running."""
    from oulipoly_engine.cli import diagnostics  # noqa: PLC0415 - the app itself has no use for it
    from oulipoly_engine.cli.context import Context  # noqa: PLC0415 - as above
    from oulipoly_engine.errors import RunnerError  # noqa: PLC0415 - as above

    try:
        return _run(Context(Path(sys.argv[0]).name if sys.argv[0].endswith("agents") else "agents"), arguments)
    except KeyboardInterrupt:
        return 130
    except RunnerError as error:
        return diagnostics.fail(error)


def _run(context: Context, arguments: Sequence[str]) -> int:
    from oulipoly_engine.cli import terminals  # noqa: PLC0415 - only this command needs it

    chord = terminals.leave_chord(context)
    begun = terminals.begin(context, f"{context.program} terminal", list(arguments), lines_kept=_OWN_LINES)
    return _show(context, begun.terminal, chord)


def _show(context: Context, terminal: Terminal, chord: str) -> int:
    from oulipoly_engine.cli import diagnostics, output  # noqa: PLC0415 - as in `run`
    from oulipoly_engine.terminal.host.runtime_folder import Place  # noqa: PLC0415 - as in `run`
    from oulipoly_tui.single.bare_terminal import BareTerminal  # noqa: PLC0415 - Textual, 200 ms, once the program is on its way
    from oulipoly_tui.view.frame.chords import named  # noqa: PLC0415 - beside the app

    app = BareTerminal(Place(context.paths.runtime, terminal.id).socket, terminal, named(chord))
    code = app.run(mouse=True)
    if app.last_lines:
        output.write_line("\n".join(app.last_lines))
    if app.farewell:
        diagnostics.note(f"[{app.farewell}]")
    if code is None:
        return app.return_code or 0
    return code
