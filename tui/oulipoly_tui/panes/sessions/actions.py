"""What can be done with a session: each action asks what it must know, then wishes for a command of the registry."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.sessions.facets import RECORDED
from oulipoly_engine.records import replace
from oulipoly_tui.base.app_interface import app_of
from oulipoly_tui.commands.frame_keys import open_target
from oulipoly_tui.driver.copying import copy_line
from oulipoly_tui.panes.session_keys import SessionKeys
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.sessions import Item, Kind, quote_title, title_of
from oulipoly_tui.view.transcript.spans import Row
from oulipoly_tui.view.transcript.transcript import Target

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Part, Session
    from oulipoly_engine.facade.sessions.types import Board, Inside, ListedSession
    from oulipoly_tui.panes.sessions.undo import UndoSteps

_NEEDS_TRANSCRIPT = frozenset(("resume", "resume_elsewhere", "fork", "move", "edit_file"))


class SessionActions(SessionKeys):
    """The actions of the Sessions pane, which has the cursor and the marks."""

    app: Any
    board: Board | None
    marked: set[str]
    undos: UndoSteps
    wish: Callable[..., None]
    post_message: Callable[..., bool]
    call_next: Any
    _inside: dict[str, Inside]
    _look_soon: Callable[[], None]

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the pane's own
        super().__init__(**more)
        self.exports: dict[str, Path] = {}  # by chain: where it was last written without loss, in this run

    @property
    def item(self) -> Item | None:
        """Return what is under the cursor of the list."""
        raise NotImplementedError

    @property
    def listed(self) -> ListedSession | None:
        """Return the session under the cursor."""
        raise NotImplementedError

    @property
    def chosen_chains(self) -> tuple[str, ...]:
        """Return the marked sessions, else the one under the cursor."""
        raise NotImplementedError

    def with_session(self, act: Callable[[Session], None]) -> None:
        """Act on the session under the cursor."""
        listed = self.listed
        if listed is not None:
            act(listed.session)

    def obstacle_of(self, action: str, listed: ListedSession, restoring: str = "B") -> str | None:
        """Say why an action does nothing now with this session. restoring: what puts its kept copy back."""
        one = listed.session
        board = self.board
        owner = (one.active.account, one.active.session_id)
        is_kept = board is not None and owner in board.kept
        if action in ("resume", "resume_elsewhere", "fork") and not self.app.has_pane("repl"):
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
            self._look_soon()
        return found

    def live_of(self, listed: ListedSession | None) -> str | None:
        """Return the live session that a session is; None: it is none."""
        if listed is None or self.board is None:
            return None
        return self.board.facets.get(listed.session.chain_id, RECORDED).live_id or None

    # ---- taking back

    def can_undo(self, listed: ListedSession | None) -> bool:
        """Tell whether there is anything to take back, of what was done here or of a session."""
        if self.undos.steps:
            return True
        board = self.board
        return listed is not None and board is not None and board.is_replaced(listed.session)

    def did(self, text: str, take_back: Callable[[], object] | None) -> None:
        """Remember what takes an action back, and say so."""
        if take_back is None:
            self.app.say(text)
            return
        self.app.say(f"{text}. u: undo")
        self.undos.remember(text, take_back)

    def action_undo(self) -> None:
        """Take back what was done last here, or the latest replacement of the session's entries."""
        self.undo(self.listed)

    def undo(self, listed: ListedSession | None) -> None:
        """Take back what was done last here, or the latest replacement of a session's entries."""
        if self.undos.steps:
            self.undos.take_back_last()
        elif listed is not None:
            self.wish("session undo", listed.session.chain_id)

    # ---- reading it

    def target(self) -> Target | None:
        """Return what the transcript pane is to show of the row under the cursor."""
        item, listed = self.item, self.listed
        if listed is None:
            return None
        one = listed.session
        found = self._inside.get(one.chain_id)
        part = one.parts[item.place] if item is not None and item.kind is Kind.SEGMENT else None
        target = self.target_of(listed, part)
        if item is not None and item.kind is Kind.LINE and found is not None:
            line = found.tree.lines[item.place]
            entry_id, at = found.firsts.get(line.rows[0], ("", ""))
            return replace(target, entry_id=entry_id, at=at)
        if item is not None and item.kind is Kind.FILE and found is not None:
            name, path = found.side_files[item.place]
            return replace(target, path=str(path), side=name)
        return target

    def target_of(self, listed: ListedSession, part: Part | None = None) -> Target:
        """Return what the transcript pane is to show of a session, or of one of its segments."""
        one, part = listed.session, part or listed.session.active
        return Target(one.chain_id, part.account, part.session_id, part.transcript, title_of(one))

    def open_target(self, target: Target) -> None:
        """Open a transcript and give it the keys."""
        app = app_of(self)
        open_target(app, target)

    # ---- what a person says of it

    def action_pin(self) -> None:
        """Pin what is chosen, or take the pins away where all have one."""
        chains = self.chosen_chains
        found = [self.board.of_chain(chain) for chain in chains] if self.board is not None else []
        are_pinned = all(one is not None and one.session.pinned_at is not None for one in found)
        self.wish("session unpin" if are_pinned else "session pin", " ".join(chains))

    def action_rename(self) -> None:
        """Ask for a name."""
        self._ask("Name", "What this session is called; empty: by its first words", "name", "session name")

    def action_note(self) -> None:
        """Ask for a note."""
        self._ask("Note", "What you want to remember of it; empty: nothing", "note", "session note")

    # ---- files

    def action_archive(self) -> None:
        """Keep copies."""
        self.wish("session archive", " ".join(self.chosen_chains))

    def action_restore(self) -> None:
        """Put the kept copy back."""
        listed = self.listed
        if listed is not None:
            self.wish("session restore", listed.session.chain_id)

    def action_export(self) -> None:
        """Open the export screen for what is chosen."""
        found = [] if self.board is None else [self.board.of_chain(chain) for chain in self.chosen_chains]
        chosen_sessions = [one.session for one in found if one is not None]
        if chosen_sessions:
            self.open_export(chosen_sessions)

    def take_export(self, chain_id: str, path: Path) -> None:
        """Remember where a session was written without loss: it may be imported from there."""
        self.exports[chain_id] = path

    def action_bundle(self) -> None:
        """Ask where the bundle goes."""
        listed = self.listed
        if listed is None:
            return
        chain = listed.session.chain_id

        def on_asked(path: str) -> None:
            if path:
                self.wish("session bundle", chain, path)

        text = "File to write; `agents session unbundle` takes it on the other machine"
        name = f"{listed.session.active.session_id[:8]}.bundle"
        dialogs.ask(self.app, f"Bundle {quote_title(title_of(listed.session))}", text, on_asked, name)

    def action_copy(self) -> None:
        """Choose what is copied."""
        listed = self.listed
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
        dialogs.choose(self.app, title, rows, lambda name: copy_line(self.app, texts[name]))

    # ---- parts

    def _ask(self, title: str, text: str, field: str, command: str) -> None:
        listed = self.listed
        if listed is None:
            return
        session = listed.session
        keep = partial(self.wish, command, session.chain_id)
        title = f"{title} of {quote_title(title_of(session))}"
        dialogs.ask(self.app, title, text, keep, getattr(session, field) or "")
