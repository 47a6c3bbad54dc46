"""What handlers need of the engine: the engine, the viewer, a session or a request by what a path says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.live.permissions import acts_unasked, read_profile
from oulipoly_engine.core.live.requests import parse_decision
from oulipoly_engine.core.live.sessions import ASKERS
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.access.viewer import (
    NotAllowed,
    Viewer,
    check_command,
    check_grant,
    check_scope,
    viewer_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.core.commands.slash.lines import Order
    from oulipoly_engine.core.live.requests import Decision
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.live.sessions import Begun, LiveSessions
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.worktrees.work import WorkSessions


ANSWERS: Mapping[str, str] = {  # what a person says to a request -> the command that it is
    "deny": "requests deny",
    "approve": "requests approve",
    "approve_for_session": "requests approve session",
    "answer": "requests answer",
    "cancel": "requests cancel",
}


def serves(*names: str, confirms_later: bool = False) -> dict[str, Any]:
    """Return what a route declares of a command: its words, and that each request is checked for who may do it.

    names: several where a body says which it is; then the handler checks that one, and here the scope is checked that
    all of them need. confirms_later: the handler checks the confirmation, once it has looked at something else.
    """
    commands = [find(name) for name in names]
    scopes = {command.scope for command in commands}

    async def check(request: Request) -> None:
        viewer = viewer_of(request)
        if len(scopes) == 1:
            check_scope(viewer, commands[0].scope)
        if len(names) == 1 and not confirms_later:
            check_command(viewer, names[0])

    summary = "; ".join(command.sentence for command in commands)
    return {"summary": summary, "dependencies": [Depends(check)], "openapi_extra": {"x-commands": [*names]}}


class NotFound(RequestRefused, slug="not-found"):
    """There is nothing of that id."""


def engine_of(request: Request) -> Engine:
    """Return the engine of the app."""
    engine: Engine = request.app.state.engine
    return engine


def find_work(engine: Engine, identity: str) -> LiveStatus:
    """Return a session. Raises NotFound."""
    try:
        return engine.work.find(identity)
    except RequestRefused as error:
        raise NotFound(error.message) from error


def find_to_drive(engine: Engine, viewer: Viewer, identity: str) -> LiveStatus:
    """Return a session that a message goes to. Raises NotFound.

    Where its process has ended, the message starts another: as with a new session, what it may do unasked, and work
    outside of the roots, is an answer given in advance. Raises NotAllowed for a device that may not give it.
    """
    work = find_work(engine, identity)
    if work.pid is None:
        _check_start(engine, viewer, work, work.session.runtime_kind)
    return work


def fork(engine: Engine, viewer: Viewer, identity: str, *, runtime: str, at_turn: str = "", title: str = "") -> Begun:
    """Begin another session with the past of one, in the name of a device. Raises RunnerError."""
    work = find_work(engine, identity)
    check_fork(engine, viewer, work, runtime)
    return live_of(engine, viewer).fork(work.session.session_id, at_turn=at_turn, runtime=runtime, title=title)


def check_fork(engine: Engine, viewer: Viewer, work: LiveStatus, runtime: str = "") -> None:
    """Raise NotAllowed where a device may not begin a session with the past of one. runtime: another one's id."""
    target = engine.live.catalogue().find(runtime or work.session.runtime_id)
    _check_start(engine, viewer, work, "" if target is None else target.kind)


def check_slash(engine: Engine, viewer: Viewer, work: LiveStatus, order: Order) -> None:
    """Raise NotAllowed or ConfirmationNeeded where a device that may send messages may not run a slash command."""
    command = order.slash.does
    if command.scope is None:
        why = order.slash.instead or "no device may do it"
        raise NotAllowed(f"/{order.slash.name} is done at the computer alone: {why}")
    check_command(viewer, command.name)
    if command.name == "session fork":
        check_fork(engine, viewer, work)
    elif command.name == "session provider" and order.words:
        check_fork(engine, viewer, work, order.words[0])


def _check_start(engine: Engine, viewer: Viewer, work: LiveStatus, kind: str) -> None:
    """Raise NotAllowed where a device may not start a process that goes on with a session. kind: of its runtime."""
    if _needs_grant(engine, work, kind):
        check_grant(viewer)


def may_drive(engine: Engine, viewer: Viewer, work: LiveStatus) -> bool:
    """Tell whether a device may send a session a message, perhaps after a confirmation."""
    if work.pid is not None or viewer.may_answer:
        return viewer.may_operate
    return viewer.may_operate and not _needs_grant(engine, work, work.session.runtime_kind)


def _needs_grant(engine: Engine, work: LiveStatus, kind: str) -> bool:
    profile = read_profile(work.session.opening.profile)
    return not lies_below_roots(engine, Path(work.session.workspace)) or acts_unasked((kind,), profile)


def lies_below_roots(engine: Engine, folder: Path) -> bool:
    """Return whether a folder, links followed, lies below one of those that devices may work in."""
    try:
        real = folder.resolve()
    except (OSError, RuntimeError):  # links that lead to themselves
        return False
    return any(real.is_relative_to(root) for root in engine.web.settings().roots)


def find_request(engine: Engine, identity: str) -> LiveRequest:
    """Return a request. Raises NotFound."""
    try:
        return engine.live.find_request(identity)
    except RequestRefused as error:
        raise NotFound(error.message) from error


def check_answer(viewer: Viewer, request: LiveRequest, word: Decision) -> None:
    """Raise NotAllowed or ConfirmationNeeded where a device may not say that to a request."""
    check_command(viewer, ANSWERS[word])
    if viewer.is_run and request.origin != "live":  # of sessions agents may ask each other
        raise NotAllowed(
            "an agent may not answer what only a person may allow: a person does, in a terminal of their own"
        )
    asker = ASKERS.get(request.origin)
    if asker is None or word != "approve":
        return
    if not (asker.hears_devices or viewer.is_own_user):
        raise NotAllowed("whoever is at the computer says yes to this, and no device: `agents requests approve` there")
    if asker.command:
        check_command(viewer, asker.command)


def answer(
    engine: Engine,
    viewer: Viewer,
    request: LiveRequest,
    decision: str,
    *,
    reason: str = "",
    answers: Mapping[str, Sequence[str]] | None = None,
    digest: str | None = None,
) -> str:
    """Answer a request in the name of a device, and return what became of it. Raises RunnerError."""
    word = parse_decision(decision)
    if word is None:
        raise UsageInvalid(f"{decision[:40]!r} is not an answer to a request")
    check_answer(viewer, request, word)
    told = {key: tuple(values) for key, values in (answers or {}).items()}
    return live_of(engine, viewer).answer(request.request_id, word, reason=reason, answers=told, digest=digest)


def live_of(engine: Engine, viewer: Viewer) -> LiveSessions:
    """Return the live sessions in the name of a device."""
    return engine.live.acting_as(viewer.name, is_person=viewer.is_person, is_run=viewer.is_run)


def work_of(engine: Engine, viewer: Viewer) -> WorkSessions:
    """Return the sessions that work by themselves, in the same name."""
    return engine.work.acting_as(live_of(engine, viewer))


TheEngine = Annotated[Engine, Depends(engine_of)]
Anyone = Annotated[Viewer, Depends(viewer_of)]
Told = dict[str, Any]
