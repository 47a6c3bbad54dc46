"""The set-up: what was found, what would be written for it, and the question whether to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from oulipoly_tui.screens.reading import Reading
from oulipoly_tui.view.frame.first_run import set_up_lines
from oulipoly_tui.view.frame.hints import CLOSE, link

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import SetUp


class FirstSetUp(Reading):
    """Shows what would change in every file; `y` writes them, escape leaves everything as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "write", "write")]

    def __init__(self, found: SetUp) -> None:
        super().__init__("Set up", set_up_lines(found))
        self._found = found

    def on_mount(self) -> None:
        """Say what the keys do."""
        box = self.query_one("Vertical")
        if self._found.files:
            leave = link("esc leaves everything as it is", "screen.dismiss(None)")
            box.border_subtitle = f"{link('y writes the files', 'screen.write')}, {leave}"
        else:
            box.border_subtitle = CLOSE

    def action_write(self) -> None:
        """Write the files."""
        app: Any = self.app
        engine, found = app.engine, self._found
        if engine is None or not found.files:
            return

        def on_written(_result: None) -> None:
            app.say(f"Set up {', '.join(login.account for login in found.logins)}. `:setup undo` takes it back")
            app.take_snapshot()

        self.dismiss()
        app.work("set-up", lambda: engine.configuration.write_set_up(found), on_written)
