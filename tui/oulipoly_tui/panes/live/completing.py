"""The list above the composer: what a begun name can become."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.orders import line
from oulipoly_tui.panes.live.jobs import list_folder
from oulipoly_tui.view.live.completion import (
    Completion,
    Wanted,
    complete_command,
    complete_file,
    complete_words,
    completion_rows,
    find_wanted,
    folder_of,
)
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oulipoly_engine.core.commands.command import Argument, Choices
    from oulipoly_tui.panes.live.base import LiveBase
    from oulipoly_tui.panes.live.following import LiveFollowing

_ROWS = 8  # of the list that are seen at once


class CompletionList(VirtualList, can_focus=False):
    """Its keys come from the composer."""


class LiveCompleting:
    """What the text before the cursor can become."""

    def __init__(self, pane: LiveBase, following: LiveFollowing) -> None:
        self._pane = pane
        self._following = following
        self._wanted: Wanted | None = None
        self._completions: tuple[Completion, ...] = ()
        self._names: tuple[str, tuple[tuple[str, bool], ...]] = ("\0", ())  # of the folder that was read last

    def look(self) -> None:
        """Offer what the text before the cursor can become."""
        wanted = find_wanted(self._pane.composer.before_cursor)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if wanted is None or self._following.session is None:
            self._offer(())
        elif wanted.kind == "command":
            self._offer(complete_command(wanted.begun, self._following.known))
            if not wanted.begun:
                self._following.read_own()
        elif wanted.kind == "words":
            self._offer(complete_words(wanted.begun, self._following.known, self._complete_words))
        elif folder_of(wanted.begun) == self._names[0]:
            self._offer(complete_file(wanted.begun, self._names[1]))
        else:
            folder = folder_of(wanted.begun)
            work = partial(list_folder, self._following.session.workspace, folder)
            app_of(self._pane).work("files", work, partial(self._take_names, folder))

    def _complete_words(self, arguments: Sequence[Argument], words: Sequence[str], ends_open: bool) -> Sequence[str]:
        own: Mapping[Choices, Sequence[str]] = {
            "session models": [model.id for model in self._following.talk.models],
            "runtimes": self._following.runtimes,
        }
        return line.complete_words(arguments, words, self._following.snapshot, ends_open=ends_open, own=own)

    def press(self, key: str) -> None:
        """Move in the list, take what the cursor is on, or close it."""
        rows = self._pane.query_one(CompletionList)
        if key == "up":
            rows.action_up()
        elif key == "down":
            rows.action_down()
        elif key == "escape" or self._wanted is None or rows.cursor_key is None:
            self._offer(())
        else:
            chosen = self._completions[int(rows.cursor_key)]
            wanted = self._wanted
            is_whole = key == "enter" and f"/{wanted.begun} " == chosen.text  # a whole command is sent
            length = len(self._pane.composer.before_cursor) - wanted.start
            self._offer(())
            if is_whole:
                self._pane.composer.press_enter()
            else:
                self._pane.composer.complete(length, chosen.text)

    def _take_names(self, folder: str, names: tuple[tuple[str, bool], ...]) -> None:
        self._names = folder, names
        wanted = self._wanted
        if wanted is not None and wanted.kind == "file" and folder_of(wanted.begun) == folder:
            self._offer(complete_file(wanted.begun, names))

    def _offer(self, found: tuple[Completion, ...]) -> None:
        if bool(found) != bool(self._completions):
            self._pane.show_keys_soon()
        self._completions = found
        rows = self._pane.query_one(CompletionList)
        rows.display = bool(found)
        self._pane.composer.is_completing = bool(found)
        if found:
            rows.styles.height = min(_ROWS, len(found))
            rows.show_rows(completion_rows(found, max(20, rows.size.width or 60)))
            rows.action_first()
