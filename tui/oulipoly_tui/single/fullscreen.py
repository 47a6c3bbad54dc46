"""The whole screen for one terminal, while the app is suspended: the way that cannot fail."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.core.text import leave_key
from oulipoly_engine.errors import Interrupted, RunnerError
from oulipoly_engine.facade.terminals.terminals import Terminal, show
from oulipoly_tui.view.frame.chords import format_chord


def hand_over(socket: Path, terminal: Terminal, chord: str, *, only_reads: bool) -> str:
    """Show a terminal on the real one until it ends or is left; return what went wrong, or nothing.

    chord: as Textual names it; one that is not a single byte in every terminal is replaced by the default.
    Raises Interrupted for a signal that ends the app.
    """
    name = format_chord(chord)
    leave = name if name in leave_key.BYTES else leave_key.DEFAULT
    try:
        result = show(socket, terminal, leave, _write, name="app, whole screen", only_reads=only_reads)
    except Interrupted:
        raise
    except RunnerError as error:
        return error.message
    return result.problem or ""


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
