"""Put a text on the user's clipboard through the terminal, and say so."""

from __future__ import annotations

import os
from typing import Any

from oulipoly_tui.driver import clipboard

_SHOWN = 60


def copy(app: Any, text: str) -> None:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
    """Copy a text; one that no terminal takes is refused with the way out."""
    sequence = clipboard.sequence(text, os.environ)
    if sequence is None:
        app.say("too long for the terminal's clipboard: open it in the pager or the editor", severity="warning")
        return
    app._clipboard = text  # what Textual's own paste gives
    if app._driver is not None:
        app._driver.write(sequence)
    line = " ".join(text.split())
    app.say(f"copied {line}" if len(line) <= _SHOWN else f"copied {len(text):,} characters")
