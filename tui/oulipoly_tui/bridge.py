"""Turns the engine's events into messages: the only place where its threads meet the app's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oulipoly_tui.messages import EventArrived

if TYPE_CHECKING:
    from textual.app import App

    from oulipoly_engine.events import Event, Listeners


def connect(listeners: Listeners, app: App[Any]) -> Callable[[], None]:
    """Post every event to the app from now on; return what ends that. `post_message` may be called by any thread."""

    def post(event: Event) -> None:
        if app.is_running:
            app.post_message(EventArrived(event))

    return listeners.subscribe(post)
