"""Who has sent a request, and what that device may do."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from oulipoly_engine.core.agents.capabilities import MAY, Caller
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.web.devices import SCOPES, Scope
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record

__all__ = ["SCOPES"]


OWN_USER = "own-user"  # the device of this computer's own processes, which need none


class NotAllowed(RequestRefused, slug="not-allowed"):
    """The device may not do that; another one, or a confirmation, may."""


class ConfirmationNeeded(NotAllowed, slug="confirmation-needed"):
    """What was asked for can put code on this computer, and nobody has confirmed the device lately."""


class Viewer(Record):
    """A device that has shown its token."""

    name: str
    device_id: str
    scopes: tuple[str, ...]  # of SCOPES
    is_confirmed: bool = False  # shown to be its owner's within the last quarter of an hour: what plants code is open
    may_change: bool = True  # False: a link for somebody else, which looks and does nothing, not even deny
    is_person: bool = False  # at a page, rather than a program of the device: what they send takes control
    is_run: bool = False  # of the own user's processes one that an agent has started
    agent_token: str = ""  # of an agent, which gives its tools and nothing else; empty: a device asks

    @property
    def is_own_user(self) -> bool:
        """Return whether it is a process of the user's own, which could run `agents` itself."""
        return self.device_id == OWN_USER

    @property
    def may_operate(self) -> bool:
        """Return whether it may begin, send and change."""
        return "operate" in self.scopes

    @property
    def may_answer(self) -> bool:
        """Return whether it may approve and answer."""
        return "answer" in self.scopes

    @property
    def may_see_recorded(self) -> bool:
        """Return whether it sees sessions that were not begun here; a link for somebody else shows live ones alone."""
        return self.may_change


def viewer_of(request: HTTPConnection) -> Viewer:
    """Return who has sent a request; the gate has let nobody else in."""
    viewer = request.state.viewer
    assert isinstance(viewer, Viewer)  # noqa: S101 - the gate sets it
    return viewer


def check_command(viewer: Viewer, name: str) -> None:
    """Raise NotAllowed or ConfirmationNeeded where a device may not do a command of the table."""
    command = find(name)
    check_scope(viewer, command.scope)
    check_run(viewer, name)
    if command.is_confirmed:
        check_confirmed(viewer)


def check_run(viewer: Viewer, name: str) -> None:
    """Raise NotAllowed where a run of ours asks for what a person alone does with running agents."""
    if viewer.is_run and name in MAY and Caller.OTHER not in MAY[name]:
        act = find(name).summary.partition(":")[0]
        raise NotAllowed(f"an agent may not {act}: a person does, with `agents {name}` in a terminal of their own")


def check_scope(viewer: Viewer, scope: Scope | None) -> None:
    """Raise NotAllowed where a device lacks a scope. None: no device has what it takes."""
    if scope not in viewer.scopes:
        raise NotAllowed(f"the device {viewer.name!r} may not do that: it lacks the scope `{scope}`")


def check_agent_token(viewer: Viewer) -> str:
    """Return the token of an agent by which a request came. Raises NotAllowed for a device."""
    if not viewer.agent_token:
        raise NotAllowed("this takes the token of an agent: `agents token create NAME` on the computer makes one")
    return viewer.agent_token


def check_grant(viewer: Viewer) -> None:
    """Raise NotAllowed or ConfirmationNeeded where a device may not say yes to what a session does unasked.

    It is an answer given in advance, for as long as the session works.
    """
    check_scope(viewer, "answer")
    check_confirmed(viewer)


def check_confirmed(viewer: Viewer) -> None:
    """Raise ConfirmationNeeded unless a person has confirmed the device within the last quarter of an hour."""
    if not viewer.is_confirmed:
        raise ConfirmationNeeded(
            "this can put code on the computer, so it needs a fresh confirmation: run "
            f"`agents device confirm {viewer.device_id}` there, or give a code of `agents device pair` to /confirm"
        )
