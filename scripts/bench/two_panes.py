"""An app that shows two terminals side by side, the first with the keys: `two_panes.py SOCKET SOCKET`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult

from oulipoly_tui.driver import driver
from oulipoly_tui.driver.terminal_link import TerminalLink
from oulipoly_tui.widgets.terminal_view import TerminalView


class TwoPanes(App[None], inherit_bindings=False):
    """The app."""

    CSS = "Screen { layout: horizontal; }"
    ENABLE_COMMAND_PALETTE = False

    def compose(self) -> ComposeResult:
        """Lay them out."""
        self.views = [TerminalView(partial(self._send, place)) for place in range(2)]
        yield from self.views

    def on_mount(self) -> None:
        """Connect both."""
        self.links = [TerminalLink(Path(sys.argv[1 + n]), view.take, print) for n, view in enumerate(self.views)]
        self.views[0].focus()

    def _send(self, place: int, message: Any) -> None:  # noqa: ANN401 - a message of the wire's
        self.links[place].send(message)


TwoPanes(driver_class=driver.choose()).run()  # as the app itself
