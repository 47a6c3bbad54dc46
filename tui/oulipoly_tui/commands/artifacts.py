"""Artifacts: those of a session or a run in a list, and one by its address."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.artifacts.addresses import parse
from oulipoly_tui.base.app_interface import engine_of
from oulipoly_tui.commands.sessions import find_session
from oulipoly_tui.screens.sessions.artifact_actions import ask_to_remove, read, save
from oulipoly_tui.screens.sessions.artifacts import ArtifactsScreen
from oulipoly_tui.view.sessions.sessions import title_of

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.versions import Version
    from oulipoly_engine.core.sessions.sessions import Session
    from oulipoly_tui.base.app_interface import AppInterface

_TITLE = 40  # characters of a session's title
_UUID = 8  # characters of a run's


def list_of_session(app: AppInterface, arguments: list[str]) -> None:
    """Open the list of what a session's runs have returned, received, sent and kept."""

    def on_found(one: Session) -> None:
        read_all = partial(engine_of(app).artifacts.of_session, [part.session_id for part in one.parts])
        folder = Path(one.workspace) if one.workspace else None
        app.push_screen(ArtifactsScreen(f"Artifacts of {title_of(one)[:_TITLE]}", read_all, folder))

    find_session(app, arguments[0], on_found)


def list_of_run(app: AppInterface, arguments: list[str]) -> None:
    """Open the list of what a run has returned, received, sent and kept."""
    uuid = arguments[0]
    app.push_screen(ArtifactsScreen(f"Artifacts of run {uuid[:_UUID]}", partial(engine_of(app).artifacts.of_run, uuid)))


def open_address(app: AppInterface, arguments: list[str]) -> None:
    """Read an artifact by its address."""
    _find(app, arguments[0], partial(read, app))


def save_address(app: AppInterface, arguments: list[str]) -> None:
    """Save an artifact by its address."""
    address, path = arguments
    _find(app, address, partial(save, app, text=path))


def remove_address(app: AppInterface, arguments: list[str]) -> None:
    """Remove an artifact by its address, after a yes."""
    _find(app, arguments[0], partial(ask_to_remove, app))


def _find(app: AppInterface, text: str, act: Callable[[Version], object]) -> None:
    artifacts = engine_of(app).artifacts
    app.work("find an artifact", lambda: artifacts.find(parse(text)), act)
