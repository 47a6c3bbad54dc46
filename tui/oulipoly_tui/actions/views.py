"""Commands for saved views of the list of conversations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_tui.actions.registry import Argument, Command
from oulipoly_tui.actions.sessions import did

if TYPE_CHECKING:
    from collections.abc import Callable

    from oulipoly_engine.facade.configuration import Settings
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.app import AgentsApp


def names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the saved views."""
    return tuple(one.name for one in snapshot.views)


def _find(app: AgentsApp, name: str) -> SavedView | None:
    views = () if app.snapshot is None else app.snapshot.views
    return next((one for one in views if one.name == name), None)


def _settings(app: AgentsApp) -> Settings:
    if app.engine is None:
        raise RuntimeError("asked before the engine was open")  # `commands.run` refuses before it comes to this
    return app.engine.configuration.settings


def _choose(app: AgentsApp, arguments: list[str]) -> str | None:
    view = _find(app, arguments[0])
    if view is None:
        return _unknown(app, arguments[0])

    async def show() -> None:
        await app.frame.turn_to("sessions")
        pane: Any = app.frame.find("sessions")
        if pane is not None:
            app.call_after_refresh(pane.choose_view, view)

    app.call_next(show)
    return None


def _save(app: AgentsApp, arguments: list[str]) -> str | None:
    pane: Any = app.frame.find("sessions")
    if pane is None:
        return "the list of conversations was not looked at yet: go to it with 3"
    view, before = pane.present_view(arguments[0]), _find(app, arguments[0])
    settings = _settings(app)
    if before is not None:
        back: Callable[[], object] = partial(settings.save_view, before)
    else:
        back = partial(settings.delete_view, view.name)

    def kept(was_there: bool) -> None:
        _did(app, f"view {view.name} is {'replaced' if was_there else 'kept'}", back)

    app.work("view", partial(settings.save_view, view), kept)
    return None


def _delete(app: AgentsApp, arguments: list[str]) -> str | None:
    view = _find(app, arguments[0])
    if view is None:
        return _unknown(app, arguments[0])
    settings = _settings(app)
    back = partial(settings.save_view, view)
    gone = partial(settings.delete_view, view.name)
    app.work("view", gone, lambda _: _did(app, f"view {view.name} is gone", back))
    return None


def _did(app: AgentsApp, text: str, take_back: Callable[[], object]) -> None:
    app.take_snapshot()  # has the views; no need to wait until the file is noticed
    did(app, text, take_back)


def _unknown(app: AgentsApp, name: str) -> str:
    known = () if app.snapshot is None else names(app.snapshot)
    return f"there is no view {name!r}: " + (f"there are {', '.join(known)}" if known else "V keeps what is shown")


COMMANDS = (
    Command("session view", "show a saved view", _choose, (Argument("name", names, is_rest=True),)),
    Command(
        "session view save",
        "keep filter, grouping and order under a name",
        _save,
        (Argument("name", is_rest=True),),
        writes=True,
    ),
    Command(
        "session view delete", "forget a saved view", _delete, (Argument("name", names, is_rest=True),), writes=True
    ),
)
