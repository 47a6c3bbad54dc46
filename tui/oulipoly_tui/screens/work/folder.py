"""A folder, typed with what completes it below."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.paths import expand_user
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.screens.box import Box, ListScreen
from oulipoly_tui.view.frame.hints import BACK, link
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.widgets.lines import VirtualList
from oulipoly_tui.widgets.standing import is_standing

_MOST = 200  # folders of a list
_ROWS = 10


class FolderQuestion(ListScreen[Path | None]):
    """Its answer is a folder that is there; None: nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel", priority=True),
        Binding("tab", "complete", "complete", priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    DEFAULT_CSS = f"FolderQuestion VirtualList {{ height: {_ROWS}; }}"

    def __init__(self, folder: Path, known: Sequence[Path]) -> None:
        """known: folders that are offered before anything is typed, the likeliest first."""
        super().__init__()
        self._begun = folder
        self._known = tuple(known)
        self._is_typed = False

    def compose(self) -> ComposeResult:
        """Lay out the line and what completes it."""
        with Box() as box:
            box.border_title = "Folder"
            hints = (link("enter: OK", "screen.take"), link("tab: complete", "screen.complete"))
            box.border_subtitle = " · ".join((*hints, BACK))
            yield Input(short_path(str(self._begun), str(Path.home())))
            yield VirtualList()

    def on_mount(self) -> None:
        """Offer what is known."""
        self.rows.can_focus = False
        self.query_one(Input).focus()
        self._take(self._known)

    def action_complete(self) -> None:
        """Take the folder under the cursor into the line, to type on below it."""
        key = self.rows.cursor_key
        if key is not None:
            line = self.query_one(Input)
            line.value = key.rstrip("/") + "/"
            line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_take(self) -> None:
        """Answer with the line's folder, or say that there is none."""
        folder = expand_user(self.query_one(Input).value.strip() or ".").absolute()
        app = app_of(self)
        if folder.is_dir():
            self.dismiss(folder)
        else:
            app.say(f"There is no folder {visible_line(str(folder))}", severity="warning")

    @on(VirtualList.Chosen)
    def _handle_choice(self, message: VirtualList.Chosen) -> None:
        self.query_one(Input).value = message.key

    @on(Input.Changed)
    def _look(self) -> None:
        line = self.query_one(Input)
        if not self._is_typed and line.value == short_path(str(self._begun), str(Path.home())):
            return
        self._is_typed = True
        self._app.work_newest("folders", self._ask)

    def _ask(self) -> None:
        if is_standing(self):
            self._app.work("folders", partial(list_folders, self.query_one(Input).value), self._take)

    def _take(self, found: Sequence[Path]) -> None:
        if is_standing(self):
            home = str(Path.home())
            rows = [
                Row(shown, ((visible_line(shown), ""), ("  git" if (one / ".git").exists() else "", "good")))
                for one in found
                if (shown := short_path(str(one), home))
            ]
            self.rows.show_rows(rows)


def list_folders(typed: str) -> tuple[Path, ...]:
    """Return the folders that a path may become, those of repositories first; hidden ones when they are asked for."""
    path = expand_user(typed) if typed.strip() else Path()
    parent, begun = (path, "") if typed.endswith("/") or not typed else (path.parent, path.name)
    try:
        with os.scandir(parent) as entries:
            names = [one.name for one in entries if one.name.startswith(begun) and one.is_dir()]
    except OSError:
        return ()
    found = [parent / name for name in sorted(names) if begun.startswith(".") or not name.startswith(".")][:_MOST]
    return tuple(sorted(found, key=lambda one: not (one / ".git").exists()))
