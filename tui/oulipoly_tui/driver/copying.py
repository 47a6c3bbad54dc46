"""Put a text on the user's clipboard through the terminal, and say so."""

from __future__ import annotations

import os
import shlex
from typing import Any

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.driver import clipboard

_SHOWN = 60


def copy_line(app: Any, text: str) -> None:  # noqa: ANN401 - as below
    """Copy an id, a name, a path or a command: one line, which a shell may be given, without what is not seen."""
    copy(app, visible_line(text))


def copy_command(app: Any, command: str) -> None:  # noqa: ANN401 - as below
    """Copy a command as a shell takes it."""
    copy(app, format_for_shell(command))


def format_for_shell(command: str) -> str:
    """Return a command as it may be pasted: its line breaks are real where each stands within quotes, else signs."""
    try:
        is_whole = shlex.join(shlex.split(command)) == command
    except ValueError:  # it was cut, or a secret was taken out of it with a quote
        is_whole = False
    return "\n".join(map(visible_line, command.split("\n"))) if is_whole else visible_line(command)


def copy(app: Any, text: str) -> None:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
    """Copy a text as it is; one that no terminal takes is refused with the way out."""
    if not send(app, text):
        app.say("Too long for the terminal's clipboard: open it in the pager or the editor", severity="warning")
        return
    app._clipboard = text  # what Textual's own paste gives
    line = " ".join(text.split())
    app.say(f"Copied {line}" if len(line) <= _SHOWN else f"Copied {len(text):,} characters")


def send(app: Any, text: str) -> bool:  # noqa: ANN401 - AgentsApp or BareTerminal
    """Put a text on the clipboard; return whether the terminal takes one of that length."""
    sequence = clipboard.sequence(text, os.environ)
    if sequence is not None and app._driver is not None:
        app._driver.write(sequence)
    return sequence is not None
