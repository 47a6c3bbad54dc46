"""Who has sent a request, and what that device may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from starlette.requests import HTTPConnection

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record

Scope = Literal["view", "answer", "operate", "terminal"]
SCOPES: tuple[Scope, ...] = ("view", "answer", "operate", "terminal")


class NotAllowed(RequestRefused):
    """The device may not do that; another one, or a confirmation, may."""

    slug = "not-allowed"


class Viewer(Record):
    """A device that has shown its token."""

    name: str
    device_id: str
    scopes: tuple[str, ...]  # of SCOPES
    is_confirmed: bool = False  # shown to be its owner's within the last quarter of an hour: what plants code is open


def viewer_of(request: HTTPConnection) -> Viewer:
    """Return who has sent a request; the gate has let nobody else in."""
    viewer = request.state.viewer
    assert isinstance(viewer, Viewer)  # noqa: S101 - the gate sets it
    return viewer


def need(scope: Scope) -> Callable[[HTTPConnection], Viewer]:
    """Return a dependency that gives the viewer, and raises NotAllowed where its device lacks a scope."""

    def check(request: HTTPConnection) -> Viewer:
        viewer = viewer_of(request)
        if scope not in viewer.scopes:
            message = f"the device {viewer.name!r} may not do that: it lacks the scope `{scope}`"
            raise NotAllowed(message)
        return viewer

    return check
