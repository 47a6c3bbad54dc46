"""End the app as `q` would when it is told to from outside: a terminal left in raw mode is the user's to mend."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
from types import FrameType
from typing import TYPE_CHECKING, Any

from oulipoly_tui.driver.driver import LoopDriver

if TYPE_CHECKING:
    from textual.app import App

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_OF_KEYS = (signal.SIGINT, signal.SIGQUIT)


def give_the_terminal_back(app: App[Any]) -> None:
    """End the app on TERM, HUP, INT and QUIT, with 128 plus the signal's number; for the app's own thread."""
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()  # the app's: a handler has that of whatever it interrupts

    def on_told(number: int, _frame: FrameType | None) -> None:
        if loop.is_closed():  # the app has ended: nothing is left to be done before us
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if number in _OF_KEYS and not getattr(app._driver, "_auto_restart", True):
            return  # the app has lent its terminal to an editor, and a key that is the editor's comes to us as well
        if isinstance(app._driver, LoopDriver):
            app._driver.wait_no_more()
        loop.call_soon_threadsafe(app.exit, None, 128 + number, context=context)

    # Not the loop's own handlers: those wait for their turn, and the loop may be waiting for a terminal that hangs.
    for number in _ENDING:
        signal.signal(number, on_told)
