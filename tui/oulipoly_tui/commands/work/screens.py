"""Commands for sessions that work by themselves."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.paths import expand_user
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.live import show
from oulipoly_tui.screens import dialogs
from oulipoly_tui.view.live.lists import name_of
from oulipoly_tui.view.transcript.spans import Row, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.web.grants import Grant
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.worktrees.work import BegunWork
    from oulipoly_tui.base.app_interface import AppInterface

_TITLE = 40  # characters
_KIND, _SUBJECT = 8, 24  # columns


def begin(app: AppInterface, arguments: list[str] | None = None) -> str | None:
    """Ask what shall be begun, and show the session."""
    from oulipoly_tui.screens.work.new_work import NewWorkScreen  # noqa: PLC0415 - only when it is opened

    folders = _offered_folders(app)
    if arguments:
        folder = expand_user(arguments[0]).absolute()
        if not folder.is_dir():
            return f"there is no folder {arguments[0]!r}"
        folders = (folder, *(one for one in folders if one != folder))

    def on_begun(begun: BegunWork | None) -> None:
        if begun is not None:
            show(app, begun.session.session_id)

    app.push_screen(NewWorkScreen(folders), on_begun)
    return None


def changes(app: AppInterface, arguments: list[str]) -> None:
    """Open the changes of a session by its id."""
    from oulipoly_tui.screens.work.changes import ChangesScreen  # noqa: PLC0415 - only when it is opened

    def on_found(work: LiveStatus) -> None:
        app.push_screen(ChangesScreen(work.session.session_id, name_of(work)[:_TITLE]))

    engine = engine_of(app)
    app.work("changes", lambda: engine.work.find(arguments[0]), on_found)


def worktrees(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """List the worktrees."""
    from oulipoly_tui.screens.work.worktrees import WorktreesScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(WorktreesScreen())


def server(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """Show the server."""
    from oulipoly_tui.screens.work.server import ServerScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(ServerScreen())


def grants(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """List what is allowed to anybody; what is chosen is revoked, once that was agreed to."""
    engine = engine_of(app)

    def on_listed(listed: tuple[Grant, ...]) -> None:
        if not listed:
            app.say("Nothing is allowed to anybody")
            return
        by_id = {grant.grant_id: grant for grant in listed}
        text = "Who may what. enter revokes the chosen one, after a question."
        rows = [_grant_row(grant) for grant in listed]
        dialogs.choose(app, "Grants", rows, lambda grant_id: ask_first(by_id[grant_id]), text)

    def ask_first(grant: Grant) -> None:
        subject = visible_line(grant.subject)
        text = f"{grant.kind} {subject}: {visible_line(grant.right)}. Revoking it {grant.revoking}."
        work = partial(engine.grants.revoke, grant.grant_id)
        revoke = partial(app.work, "revoke", work, lambda _: app.say(f"Revoked: {grant.kind} {subject}"))
        dialogs.confirm(app, "Revoke?", text, "revoke", revoke)

    app.work("grants", engine.grants.list, on_listed)


def _grant_row(grant: Grant) -> Row:
    kind, subject = fit_text(grant.kind, _KIND), fit_text(visible_line(grant.subject), _SUBJECT)
    return Row(grant.grant_id, ((f"{kind} ", "dim"), (f"{subject} ", "strong"), (visible_line(grant.right), "")))


def _offered_folders(app: AppInterface) -> tuple[Path, ...]:
    """Return our own folder, then those in which work sessions work, each repository once."""
    pane: Any = app.frame.find("sessions")
    known = [] if pane is None else [one.worktree.repository for one in pane.reading.works if one.worktree is not None]
    return tuple(dict.fromkeys((Path.cwd(), *map(Path, known))))
