"""Commands for sessions that work by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from oulipoly_engine.paths import expand_user
from oulipoly_tui.commands.live import show
from oulipoly_tui.view.work.works import work_name

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.worktrees.work import BegunWork, Work
    from oulipoly_tui.app_interface import AppInterface

_TITLE = 40  # characters


def _engine(app: AppInterface) -> Engine:
    if app.engine is None:
        raise RuntimeError("asked before the engine was open")  # `line.run` refuses before it comes to this
    return app.engine


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

    def on_found(work: Work) -> None:
        app.push_screen(ChangesScreen(work.session.session_id, work_name(work)[:_TITLE]))

    engine = _engine(app)
    app.work("changes", lambda: engine.work.find(arguments[0]), on_found)


def worktrees(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """List the worktrees."""
    from oulipoly_tui.screens.work.worktrees import WorktreesScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(WorktreesScreen())


def server(app: AppInterface, _arguments: list[str] | None = None) -> None:
    """Show the server."""
    from oulipoly_tui.screens.work.server import ServerScreen  # noqa: PLC0415 - only when it is opened

    app.push_screen(ServerScreen())


def _offered_folders(app: AppInterface) -> tuple[Path, ...]:
    """Return our own folder, then those in which work sessions work, each repository once."""
    pane: Any = app.frame.find("sessions")
    known = [] if pane is None else [one.worktree.repository for one in pane.works if one.worktree is not None]
    return tuple(dict.fromkeys((Path.cwd(), *map(Path, known))))
