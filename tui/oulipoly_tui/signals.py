"""End the app as `q` would when it is told to from outside: a terminal left in raw mode is the user's to mend."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def give_the_terminal_back(app: App[Any]) -> None:
    """End the app on TERM and HUP, with 128 plus the signal's number; for the app's own thread."""
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, app.exit, None, 128 + number)
