"""The bare pane for `agents terminal -- CMD…` on a terminal: whether it is asked for, and the showing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.terminals.terminals import Terminal

_ELSEWHERE = ("--detach", "--plain", "-h", "--help")  # answered without a pane


class TerminalOutcome(Record):
    """What came of a terminal that was shown."""

    exit_code: int  # 0 when the user has left it running
    last_lines: tuple[str, ...]
    farewell: str  # what happened, in a sentence, when it was no plain end


class BarePane(Record):
    """Shows one terminal on the whole screen, without the app."""

    lines_kept: int = 1  # below the terminal

    def show(self, socket: Path, terminal: Terminal, key: str) -> TerminalOutcome:
        """Show a terminal until its program ends or the user leaves. key: a name of `core.text.leave_key`."""
        from oulipoly_tui.single.bare_terminal import BareTerminal  # noqa: PLC0415 - Textual, 200 ms, once the program is on its way
        from oulipoly_tui.view.frame.chords import read_chord  # noqa: PLC0415 - beside the app

        app = BareTerminal(socket, terminal, read_chord(key))
        code = app.run(mouse=True)
        return TerminalOutcome((app.return_code or 0) if code is None else code, app.last_lines, app.farewell)


def is_for_pane(arguments: Sequence[str]) -> bool:
    """Tell whether the arguments of `terminal` ask for a pane, and there is a screen for one."""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return not any(word in _ELSEWHERE for word in ours) and os.isatty(0) and os.isatty(1)
