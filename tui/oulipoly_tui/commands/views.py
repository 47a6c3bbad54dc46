"""Commands for saved views of the list of sessions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.sessions import did
from oulipoly_tui.screens import dialogs

if TYPE_CHECKING:
    from collections.abc import Callable

    from oulipoly_engine.facade.configuration import Settings
    from oulipoly_tui.base.app_interface import AppInterface


def _find(app: AppInterface, name: str) -> SavedView | None:
    views = () if app.snapshot is None else app.snapshot.views
    return next((one for one in views if one.name == name), None)


def _settings(app: AppInterface) -> Settings:
    return engine_of(app).configuration.settings


def choose_view(app: AppInterface, arguments: list[str]) -> str | None:
    """Show a saved view."""
    view = _find(app, arguments[0])
    if view is None:
        return _unknown(app, arguments[0])

    async def show() -> None:
        pane = await app.frame.turn_to("sessions")
        if pane is not None:
            app.call_after_refresh(pane.order.choose_view, view)

    app.call_next(show)
    return None


def save_view(app: AppInterface, arguments: list[str]) -> str | None:
    """Keep what is shown under a name."""
    pane: Any = app.frame.find("sessions")
    if pane is None:
        return "the list of sessions was not looked at yet: go to it with 3"
    view, before = pane.order.present_view(arguments[0]), _find(app, arguments[0])
    settings = _settings(app)
    if before is not None:
        back: Callable[[], object] = partial(settings.save_view, before)
    else:
        back = partial(settings.delete_view, view.name)

    def on_kept(was_there: bool) -> None:
        _did(app, f"View {view.name} {'replaced' if was_there else 'saved'}", back)

    app.work("view", partial(settings.save_view, view), on_kept)
    return None


def delete_view(app: AppInterface, arguments: list[str]) -> str | None:
    """Forget a saved view, after a question."""
    view = _find(app, arguments[0])
    if view is None:
        return _unknown(app, arguments[0])
    settings = _settings(app)
    back = partial(settings.save_view, view)
    gone = partial(settings.delete_view, view.name)
    delete = partial(app.work, "view", gone, lambda _: _did(app, f"View {view.name} deleted", back))
    dialogs.confirm(app, "Delete this view?", f"{view.name}. u: undo, until the app ends.", "delete it", delete)
    return None


def _did(app: AppInterface, text: str, take_back: Callable[[], object]) -> None:
    app.take_snapshot()  # has the views; no need to wait until the file is noticed
    did(app, text, take_back)


def _unknown(app: AppInterface, name: str) -> str:
    known = () if app.snapshot is None else tuple(one.name for one in app.snapshot.views)
    return f"there is no view {name!r}: " + (f"there are {', '.join(known)}" if known else "V keeps what is shown")
