"""The list above the composer: what a begun name can become."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_tui.panes.live.jobs import list_folder
from oulipoly_tui.view.live.completion import (
    Completion,
    Wanted,
    complete_command,
    complete_file,
    completion_rows,
    find_wanted,
    folder_of,
)
from oulipoly_tui.widgets.lines import VirtualList

if TYPE_CHECKING:
    from collections.abc import Callable

    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_tui.view.live.conversation import Conversation
    from oulipoly_tui.widgets.live.composer import Composer


_ROWS = 8  # of the list that are seen at once


class CompletionList(VirtualList, can_focus=False):
    """Its keys come from the composer."""


class LiveCompleting:
    """The completing half of the pane."""

    app: Any
    session: LiveSession | None
    talk: Conversation
    query_one: Callable[..., Any]
    show_keys_soon: Callable[[], None]

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the pane's own
        super().__init__(**more)
        self._wanted: Wanted | None = None
        self._completions: tuple[Completion, ...] = ()
        self._names: tuple[str, tuple[tuple[str, bool], ...]] = ("\0", ())  # of the folder that was read last

    @property
    def composer(self) -> Composer:
        """Return the line that is written on."""
        raise NotImplementedError

    def look_for_completions(self) -> None:
        """Offer what the text before the cursor can become."""
        wanted = find_wanted(self.composer.before_cursor)
        if wanted == self._wanted:
            return
        self._wanted = wanted
        if wanted is None or self.session is None:
            self._offer(())
        elif wanted.kind == "command":
            self._offer(complete_command(wanted.begun, self.talk.commands))
        elif folder_of(wanted.begun) == self._names[0]:
            self._offer(complete_file(wanted.begun, self._names[1]))
        else:
            folder = folder_of(wanted.begun)
            work = partial(list_folder, self.session.workspace, folder)
            self.app.work("files", work, partial(self._take_names, folder))

    def press_completion_key(self, key: str) -> None:
        """Move in the list, take what the cursor is on, or close it."""
        rows = self.query_one(CompletionList)
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
            length = len(self.composer.before_cursor) - wanted.start
            self._offer(())
            if is_whole:
                self.composer.press_enter()
            else:
                self.composer.complete(length, chosen.text)

    def _take_names(self, folder: str, names: tuple[tuple[str, bool], ...]) -> None:
        self._names = folder, names
        wanted = self._wanted
        if wanted is not None and wanted.kind == "file" and folder_of(wanted.begun) == folder:
            self._offer(complete_file(wanted.begun, names))

    def _offer(self, found: tuple[Completion, ...]) -> None:
        if bool(found) != bool(self._completions):
            self.show_keys_soon()
        self._completions = found
        rows = self.query_one(CompletionList)
        rows.display = bool(found)
        self.composer.is_completing = bool(found)
        if found:
            rows.styles.height = min(_ROWS, len(found))
            rows.show_rows(completion_rows(found, max(20, rows.size.width or 60)))
            rows.action_first()
