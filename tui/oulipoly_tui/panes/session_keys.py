"""The keys of one session, in every pane that shows one: each asks what it must know, then wishes for a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import app_of, engine_of
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.sessions.sessions import quote_title, title_of

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_tui.base.pane import Pane


class SessionKeys:
    """What a pane does with the session that it shows."""

    def __init__(
        self,
        pane: Pane,
        with_session: Callable[[Callable[[Session], None]], None],
        find_live: Callable[[], str | None],
    ) -> None:
        """with_session: acts on the session that is shown, if any. find_live: returns which live session it is."""
        self._pane = pane
        self._with_session = with_session
        self._find_live = find_live

    # ---- going on

    def action_resume(self) -> None:
        """Go on with it where it lies; a live session is talked to where it is shown."""
        live = self._find_live()
        if live is not None:
            self._pane.wish("live open", live)
        else:
            self._wish_for("session resume")

    def action_resume_elsewhere(self) -> None:
        """Choose an account, move it there, go on."""
        self._with_session(partial(self._ask_account, "Go on with", "session resume"))

    def action_fork(self) -> None:
        """Go on in a new session that begins with its past."""
        self._wish_for("session fork")

    def action_move(self) -> None:
        """Choose an account and move it there."""
        self._with_session(partial(self._ask_account, "Move", "session move"))

    def action_tree(self) -> None:
        """Show all its branches."""
        live = self._find_live()
        if live is not None:
            self._pane.wish("session tree", live)
        else:
            self._wish_for("session tree")

    # ---- files

    def action_export(self) -> None:
        """Open the export screen."""
        self._with_session(lambda session: self.open_export((session,)))

    def action_import_file(self) -> None:
        """Ask for the edited export, then show the difference."""
        self._with_session(self._ask_import)

    def action_edit_file(self) -> None:
        """Open its entries in the editor, then show the difference."""
        self._wish_for("session edit")

    # ---- parts

    def open_export(self, sessions: Sequence[Session]) -> None:
        """Open the export screen for sessions; the app remembers where they were written without loss."""
        from oulipoly_tui.screens.sessions.export import Export  # noqa: PLC0415 - only when it is opened

        def on_written(done: Mapping[str, Path] | None) -> None:
            app_of(self._pane).exports.update(done or {})

        self._pane.app.push_screen(Export(sessions), on_written)

    def _wish_for(self, command: str) -> None:
        self._with_session(lambda session: self._pane.wish(command, session.chain_id))

    def _ask_account(self, deed: str, command: str, session: Session) -> None:
        app = app_of(self._pane)
        names = engine_of(app).sessions.moves.targets(session)
        if not names:
            app.say(f"No other account can go on with a session of {session.active.account}")
            return
        title = f"{deed} {quote_title(title_of(session))} where?"
        dialogs.choose_account(app, title, names, partial(self._pane.wish, command, session.chain_id))

    def _ask_import(self, session: Session) -> None:
        def on_asked(path: str) -> None:
            if path:
                self._pane.wish("session import", session.chain_id, path)

        text = (
            "File of canonical JSON lines, as an export in that format writes them. Nothing is changed before you agree"
        )
        title = f"Import into {quote_title(title_of(session))}"
        dialogs.ask(self._pane.app, title, text, on_asked, self._find_export(session))

    def _find_export(self, session: Session) -> str:
        """Return the file that an import most likely means; empty: none is known."""
        from oulipoly_engine.facade.sessions.values import ExportOptions  # noqa: PLC0415 - loaded already
        from oulipoly_tui.view.sessions.export import LOSSLESS  # noqa: PLC0415 - with all of Markdown

        app = app_of(self._pane)
        names = engine_of(app).sessions.files.names([session], ExportOptions(LOSSLESS))
        known = (app.exports.get(session.chain_id), Path(names[0]))
        return next((str(path) for path in known if path is not None and path.is_file()), "")
