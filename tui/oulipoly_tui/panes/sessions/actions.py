"""What can be done with a session: each action asks what it must know, then wishes for a command of the registry."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.driver.copying import copy_line
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.sessions import quote_title, title_of
from oulipoly_tui.view.transcript.spans import Row

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import ListedSession
    from oulipoly_tui.base.pane import Pane
    from oulipoly_tui.panes.session_keys import SessionKeys
    from oulipoly_tui.panes.sessions.cursor import SessionCursor
    from oulipoly_tui.panes.sessions.reading import SessionReading
    from oulipoly_tui.panes.sessions.undo import UndoSteps

_NEEDS_TRANSCRIPT = frozenset(("resume", "resume_elsewhere", "fork", "move", "edit_file"))


class SessionActions:
    """What is done with the session under the cursor, or with all that are marked, and how it is taken back."""

    def __init__(
        self, pane: Pane, reading: SessionReading, cursor: SessionCursor, keys: SessionKeys, undos: UndoSteps
    ) -> None:
        self._pane = pane
        self._reading = reading
        self._cursor = cursor
        self._keys = keys
        self._undos = undos

    def obstacle_of(self, action: str, listed: ListedSession, restoring: str = "B") -> str | None:
        """Say why an action does nothing now with this session. restoring: what puts its kept copy back."""
        one = listed.session
        board = self._reading.board
        owner = (one.active.account, one.active.session_id)
        is_kept = board is not None and owner in board.kept
        if action in ("resume", "resume_elsewhere", "fork") and not app_of(self._pane).has_pane("repl"):
            return "this version has no terminals yet: `agents repl --resume` does it in the shell"
        if action in _NEEDS_TRANSCRIPT and self._has_transcript(listed) is False:
            return "its transcript is gone" + (f": {restoring} restores the archive's copy" if is_kept else "")
        if (
            action in ("resume_elsewhere", "move", "export", "import_file", "edit_file")
            and board is not None
            and owner in board.live
        ):
            busy = "it is open in its CLI: leave it there first"
            return None if action == "export" else busy
        if action == "fork" and board is not None and one.active.account not in board.forkable:
            name = one.active.account
            return f"{name} does not say how its CLI forks: `fork_args` in [{name}.resume] does"
        if action == "restore" and ((is_there := self._has_transcript(listed)) is not False or not is_kept):
            return "its transcript is there" if is_there else "the archive has no copy of it"
        return None

    def _has_transcript(self, listed: ListedSession) -> bool | None:
        """Look whether the transcript is there now, None where no file is known: the list may be two minutes old."""
        path = listed.session.active.transcript
        if path is None or listed.has_transcript is None:
            return None
        found = os.path.isfile(path)  # noqa: PTH113 - of every key in the footer; it raises nothing
        if found is not listed.has_transcript:
            self._reading.look_soon()
        return found

    # ---- taking back

    def can_undo(self, listed: ListedSession | None) -> bool:
        """Tell whether there is anything to take back, of what was done here or of a session."""
        if self._undos.steps:
            return True
        board = self._reading.board
        return listed is not None and board is not None and board.is_replaced(listed.session)

    def did(self, text: str, take_back: Callable[[], object] | None) -> None:
        """Remember what takes an action back, and say so."""
        if take_back is None:
            app_of(self._pane).say(text)
            return
        app_of(self._pane).say(f"{text}. u: undo")
        self._undos.remember(text, take_back)

    def action_undo(self) -> None:
        """Take back what was done last here, or the latest replacement of the session's entries."""
        self.undo(self._cursor.listed)

    def undo(self, listed: ListedSession | None) -> None:
        """Take back what was done last here, or the latest replacement of a session's entries."""
        if self._undos.steps:
            self._undos.take_back_last()
        elif listed is not None:
            self._pane.wish("session undo", listed.session.chain_id)

    # ---- what a person says of it

    def action_pin(self) -> None:
        """Pin what is chosen, or take the pins away where all have one."""
        chains = self._cursor.chosen_chains
        are_pinned = all(session.pinned_at is not None for session in self._cursor.chosen_sessions)
        self._pane.wish("session unpin" if are_pinned else "session pin", " ".join(chains))

    def action_rename(self) -> None:
        """Ask for a name."""
        self._ask("Name", "What this session is called; empty: by its first words", "name", "session name")

    def action_note(self) -> None:
        """Ask for a note."""
        self._ask("Note", "What you want to remember of it; empty: nothing", "note", "session note")

    # ---- files

    def action_archive(self) -> None:
        """Keep copies."""
        self._pane.wish("session archive", " ".join(self._cursor.chosen_chains))

    def action_restore(self) -> None:
        """Put the kept copy back."""
        listed = self._cursor.listed
        if listed is not None:
            self._pane.wish("session restore", listed.session.chain_id)

    def action_export(self) -> None:
        """Open the export screen for what is chosen."""
        sessions = self._cursor.chosen_sessions
        if sessions:
            self._keys.open_export(sessions)

    def action_bundle(self) -> None:
        """Ask where the bundle goes."""
        listed = self._cursor.listed
        if listed is None:
            return
        chain = listed.session.chain_id

        def on_asked(path: str) -> None:
            if path:
                self._pane.wish("session bundle", chain, path)

        text = "File to write; `agents session unbundle` takes it on the other machine"
        name = f"{listed.session.active.session_id[:8]}.bundle"
        dialogs.ask(self._pane.app, f"Bundle {quote_title(title_of(listed.session))}", text, on_asked, name)

    def action_copy(self) -> None:
        """Choose what is copied."""
        listed = self._cursor.listed
        if listed is None:
            return
        one = listed.session
        part = one.active
        texts = {
            "session id": part.session_id,
            "id in agent-runner": one.chain_id,
            "path": part.transcript or "",
            "resume command": f"agents repl --resume {shlex.quote(part.session_id)}",
            "workspace": one.workspace or "",
            "title": one.title or "",
        }
        rows = [Row(name, ((f"{name:<16}", ""), (text, "dim"))) for name, text in texts.items() if text]
        title = f"Copy of {quote_title(title_of(one))}"
        dialogs.choose(self._pane.app, title, rows, lambda name: copy_line(self._pane.app, texts[name]))

    # ---- parts

    def _ask(self, title: str, text: str, field: str, command: str) -> None:
        listed = self._cursor.listed
        if listed is None:
            return
        session = listed.session
        keep = partial(self._pane.wish, command, session.chain_id)
        title = f"{title} of {quote_title(title_of(session))}"
        dialogs.ask(self._pane.app, title, text, keep, getattr(session, field) or "")
