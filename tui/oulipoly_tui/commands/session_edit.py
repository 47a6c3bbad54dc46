"""Editing a session in the user's own editor: export, edit, look at the difference, import."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.session_files import show_difference
from oulipoly_tui.commands.sessions import find_session

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_engine.facade.sessions.sessions import Sessions
    from oulipoly_engine.facade.sessions.types import Draft
    from oulipoly_engine.facade.sessions.values import Import
    from oulipoly_tui.base.app_interface import AppInterface


def edit(app: AppInterface, arguments: list[str]) -> None:
    """Let the user change a session in the editor, and show the difference."""

    def on_found(one: Session) -> None:
        app.work("edit", partial(engine_of(app).sessions.edits.draft, one.chain_id), partial(_write, app, one))

    find_session(app, arguments[0], on_found)


def _write(app: AppInterface, session: Session, draft: Draft) -> None:
    """Let the user write; the app has let go of the terminal."""
    try:
        with app.suspend():
            problem = engine_of(app).sessions.edits.edit_draft(draft)
    except BaseException:
        draft.close()
        raise
    app.refresh()
    if problem:
        draft.close()
        app.say(problem, severity="warning")
        return
    work = partial(_read, engine_of(app).sessions, session.chain_id, draft)
    app.work("import", work, partial(_take_answer, app, session, draft))


def _read(sessions: Sessions, chain_id: str, draft: Draft) -> Import | Exception | None:
    """Return what the draft would change, None where it is as it was, or what is wrong with it: it can be mended."""
    from oulipoly_engine.errors import RunnerError  # noqa: PLC0415 - loaded already

    try:
        return None if draft.is_as_it_was else sessions.edits.read_import(chain_id, draft.path)
    except RunnerError as error:
        return error


def _take_answer(app: AppInterface, session: Session, draft: Draft, found: Import | Exception | None) -> None:
    if isinstance(found, Exception):
        _offer_again(app, session, draft, str(getattr(found, "message", found)))
        return
    draft.close()  # an import holds its lines itself
    if found is None:
        app.say("The file is as it was: nothing is changed")
    else:
        show_difference(app, found, session, "what you have written")


def _offer_again(app: AppInterface, session: Session, draft: Draft, wrong: str) -> None:
    """Ask before an edited text that cannot be taken is thrown away."""
    from oulipoly_tui.screens.question import Confirm  # noqa: PLC0415 - only when there is something to ask

    def on_answered(yes: bool | None) -> None:
        if yes:
            _write(app, session, draft)
        else:
            draft.close()
            app.say("What you have written is thrown away: nothing is changed")

    app.push_screen(Confirm("This cannot be imported. Edit it again?", wrong, "edit again"), on_answered)
