"""Sessions: begin, list, look, talk, cancel (contract B6, B7)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import PlainTextResponse, StreamingResponse

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ClientsChanged
from oulipoly_engine.core.live.sessions import QueuedMessage
from oulipoly_engine.core.search.query import SessionFlag
from oulipoly_engine.core.sessions.facets import SessionKind
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.web.access.viewer import NotAllowed, Viewer, check_grant
from oulipoly_engine.web.api.engine import (
    Anyone,
    NotFound,
    TheEngine,
    answer,
    find_to_drive,
    find_work,
    fork,
    live_of,
    serves,
    work_of,
)
from oulipoly_engine.web.api.listing import (
    SessionOfList,
    find_place,
    find_recorded,
    listed_row,
    message_row,
    milliseconds,
    open_recorded,
    read_list,
    read_messages,
    session_row,
)
from oulipoly_engine.web.api.machine import find_repository
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json, page
from oulipoly_engine.web.base.bodies import SessionId

router = APIRouter(tags=["sessions"])

_MOST_SESSIONS, _MOST_MESSAGES, _LAST_MESSAGES, _MOST_LINES = 100, 200, 20, 100_000
_ALL = 10_000
_BLOCK = 1 << 18


class ApprovalGone(RequestRefused, slug="approval-gone"):
    """No pending request of the session has that id."""


@router.post("/sessions", **serves("session new"), response_model=bodies.SessionCreated, responses=bodies.refusals(500))
def begin(body: bodies.NewSession, engine: TheEngine, viewer: Anyone) -> Json:
    """Begin a session."""
    begun = work_of(engine, viewer).begin(read_wish(engine, viewer, body))
    session = begun.session
    if not body.block_while_running:
        engine.work.set_block_while_running(session.session_id, value=False)
    told = bodies.SessionCreated(
        id=session.session_id,
        session_id=session.session_id,
        worktree_path=session.workspace,
        branch=None if begun.worktree is None else begun.worktree.branch,
        status="queued" if begun.waits_for else "starting",
        turn_id=begun.turn_id,
        waits_for=begun.waits_for,
        isolation=session.opening.level,
        login_in_reach=begun.login_in_reach or None,
    )
    return Json(told.model_dump())


def read_wish(engine: Engine, viewer: Viewer, body: bodies.NewSession) -> NewWork:
    """Return what a body asks for, where its device may begin that. Raises UsageInvalid, FolderRefused, NotAllowed."""
    folder = find_repository(engine, viewer, body.repo_path)
    agent, is_pool = find_agent(engine, body.agent_id)
    prompt = body.initial_message if body.prompt is None else body.prompt
    if body.lifecycle == "oneshot" and not (prompt or "").strip():
        prompt = "Start"  # contract B4
    if body.prompt is not None and body.initial_message not in (None, body.prompt):
        raise UsageInvalid("prompt and initial_message contradict each other: give one")
    given = {name: value for name in bodies.PARAMETERS if (value := getattr(body, name)) is not None}
    for name in given.keys() & body.params.keys():
        if given[name] != body.params[name]:
            raise UsageInvalid(f"{name} and params.{name} contradict each other: give one")
    wish = NewWork(
        repository=folder,
        model=agent if is_pool else None,
        runtime=None if is_pool else agent,
        branch=body.branch or "",
        reuses=body.reuse_branch,
        lifecycle=body.lifecycle,
        prompt=prompt if (prompt or "").strip() else None,
        profile=body.profile or "",
        title=body.title,
        uses_worktree=body.use_worktree,
        parameters=body.params | given,
        isolation=body.isolation or "",
        addresses=tuple(body.addresses),
    )
    is_weaker = engine.work.is_weaker(wish)
    if is_weaker and viewer.is_run:
        raise NotAllowed("an agent may not begin a session below `work_isolation`: a person does, in a terminal")
    if is_weaker or engine.work.acts_unasked(wish):
        check_grant(viewer)
    return wish


def find_agent(engine: Engine, name: str | None) -> tuple[str, bool]:
    """Return an agent's id and whether it is a pool; without a name the first one. Raises UsageInvalid."""
    known = {one.agent_id: one.kind == "pool" for one in reversed(engine.work.agents())}
    chosen = next(reversed(known), None) if name is None else name
    if chosen is None or chosen not in known:
        asked = "agent_id is missing and there is none" if chosen is None else f"there is no agent {chosen!r}"
        raise UsageInvalid(f"{asked}: {', '.join(reversed(known)) or 'configure an account first'}")
    return chosen, known[chosen]


@router.get("/sessions", **serves("session list"), response_model=list[bodies.SessionRow] | list[bodies.ListedSession])
def list_sessions(
    request: Request,
    engine: TheEngine,
    viewer: Anyone,
    limit: Annotated[int, Query(ge=1, le=_MOST_SESSIONS)] = _MOST_SESSIONS,
    after: Annotated[str | None, Query(max_length=64, description="The last session known, as `Link` has it.")] = None,
    kind: Annotated[tuple[SessionKind, ...], Query(description="Of these kinds.")] = (),
    flags: Annotated[tuple[SessionFlag, ...], Query(alias="is", description="`is:` of `session list`.")] = (),
    q: Annotated[str | None, Query(description="QUERY of `session list`; empty: every session.")] = None,
) -> Json:
    """List sessions. Without `q`, `kind` and `is` the live ones, the newest first; else of all, the latest used."""
    if q is not None or kind or flags:
        query = " ".join((*(f"is:{flag}" for flag in flags), q or ""))
        sessions = read_list(engine, viewer, query, kind, limit=limit + 1, after=after or "")
        return page(request, [listed_row(engine, viewer, session) for session in sessions], limit, key="chain_id")
    found = engine.work.list(limit + 1 if after is None else _ALL, all_live=True)
    if after is not None:
        place = next((number for number, one in enumerate(found) if one.session.session_id == after), None)
        if place is None:
            raise UsageInvalid(f"there is no session {after!r}")
        found = found[place + 1 : place + limit + 2]
    return page(request, [session_row(one) for one in found], limit)


@router.get(
    "/sessions/{session_id}",
    **serves("session status"),
    response_model=bodies.SessionDetail | bodies.RecordedDetail,
)
def show(session_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """Show a session and its last messages."""
    try:
        work = find_work(engine, session_id)
    except NotFound:
        return _show_recorded(engine, viewer, session_id)
    key = work.session.session_id
    clients = ClientsChanged() if work.pid is None else engine.live.clients(key)
    told = {
        "controller": clients.controller or None,
        "controlled_since": milliseconds(from_text(clients.since)) if clients.since else None,
        "attached": clients.attached,
    }
    last = engine.work.messages(key, limit=_LAST_MESSAGES, last=True)
    return Json(session_detail(engine, work) | told | {"messages": [message_row(one) for one in last]})


@router.patch("/sessions/{session_id}", **serves("session change"), response_model=bodies.SessionDetail)
def change(session_id: SessionId, body: bodies.SessionChange, engine: TheEngine, viewer: Anyone) -> Json:
    """Change how pages treat a session."""
    work = find_work(engine, session_id)
    engine.work.set_block_while_running(work.session.session_id, body.block_while_running)
    return show(work.session.session_id, engine, viewer)


@router.post(
    "/sessions/{session_id}/fork",
    **serves("session fork"),
    response_model=bodies.SessionForked,
    responses=bodies.refusals(500),
)
def fork_session(session_id: SessionId, body: bodies.Fork, engine: TheEngine, viewer: Anyone) -> Json:
    """Begin another session with the past of this one, on another runtime if need be."""
    begun = fork(engine, viewer, session_id, runtime=body.runtime_id, at_turn=body.at_turn, title=body.title)
    session = begun.session
    told = bodies.SessionForked(
        id=session.session_id,
        session_id=session.session_id,
        runtime_id=session.runtime_id,
        account=session.account,
        why=begun.why,
        losses=list(begun.losses),
    )
    return Json(told.model_dump())


@router.post("/sessions/{session_id}/cancel", **serves("session cancel"), response_model=answer_bodies.Status)
def cancel(session_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """End a session's turn and its process."""
    work = find_work(engine, session_id)
    return Json({"id": work.session.session_id, "status": work_of(engine, viewer).cancel(work.session.session_id)})


@router.get("/sessions/{session_id}/messages", **serves("session show"), response_model=list[bodies.MessageRow])
def list_messages(
    request: Request,
    session_id: SessionId,
    engine: TheEngine,
    viewer: Anyone,
    after: Annotated[str | None, Query(max_length=100, description="The id of the last message known.")] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_MESSAGES)] = _MOST_MESSAGES,
) -> Json:
    """List messages, oldest first."""
    try:
        work = find_work(engine, session_id)
    except NotFound:
        with open_recorded(engine, viewer, session_id) as stored:
            start = 0 if after is None else find_place(stored.entries, after) + 1
            messages = read_messages(stored, start, limit + 1)
    else:
        messages = engine.work.messages(work.session.session_id, after, limit + 1)
    return page(request, [message_row(message) for message in messages], limit)


@router.post(
    "/sessions/{session_id}/messages",
    **serves("session send"),
    response_model=bodies.MessageSent,
    responses=bodies.refusals(500),
)
def send(session_id: SessionId, body: bodies.NewMessage, engine: TheEngine, viewer: Anyone) -> Json:
    """Send a message, which begins a turn; 409 while one runs."""
    work = find_to_drive(engine, viewer, session_id)
    sent = work_of(engine, viewer).send(work.session.session_id, body.content)
    ids = {"user_message_id": sent.user_message_id, "assistant_message_id": sent.assistant_message_id}
    return Json({"message_id": sent.user_message_id, "turn_id": sent.turn_id, **ids})


@router.post("/sessions/{session_id}/steer", **serves("session steer"), response_model=answer_bodies.Steered)
def steer(session_id: SessionId, body: bodies.NewMessage, engine: TheEngine, viewer: Anyone) -> Json:
    """Give the running turn a message; one that cannot be taken waits in the queue."""
    return Json(_order(engine, viewer, session_id, orders.Steer(_text(body))))


@router.post(
    "/sessions/{session_id}/interrupt", **serves("session interrupt"), response_model=answer_bodies.Interrupted
)
def interrupt(session_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """End the running turn; the session stays."""
    return Json(_order(engine, viewer, session_id, orders.Interrupt()))


@router.get(
    "/sessions/{session_id}/queue", **serves("session queue show"), response_model=list[answer_bodies.QueuedMessage]
)
def list_queue(session_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """List the messages that wait for the running turn."""
    return Json(_queue_rows(engine.live.queue(find_work(engine, session_id).session.session_id)))


@router.post(
    "/sessions/{session_id}/queue",
    **serves("session send"),
    response_model=answer_bodies.Queued,
    responses=bodies.refusals(500),
)
def queue(session_id: SessionId, body: bodies.NewMessage, engine: TheEngine, viewer: Anyone) -> Json:
    """Send a message that waits while a turn runs."""
    work = find_to_drive(engine, viewer, session_id)
    result = live_of(engine, viewer).send(work.session.session_id, _text(body))
    return Json({"turn_id": result.turn_id, "status": result.status})


@router.patch(
    "/sessions/{session_id}/queue/{message_id}",
    **serves("session queue"),
    response_model=list[answer_bodies.QueuedMessage],
)
def change_queue(
    session_id: SessionId, message_id: SessionId, body: bodies.QueueChange, engine: TheEngine, viewer: Anyone
) -> Json:
    """Edit or move a message that waits."""
    if body.text is None and body.place is None:
        raise UsageInvalid("say what to change: text, or place")
    answered = Json([])
    if body.text is not None:
        find_to_drive(engine, viewer, session_id)  # the message may begin a turn of another process
        edit = orders.ChangeQueue("edit", message_id, text=body.text)
        answered = _tell_queue(engine, viewer, session_id, edit)
    if body.place is not None:
        move = orders.ChangeQueue("move", message_id, place=body.place)
        answered = _tell_queue(engine, viewer, session_id, move)
    return answered


@router.delete(
    "/sessions/{session_id}/queue/{message_id}",
    **serves("session queue"),
    response_model=list[answer_bodies.QueuedMessage],
)
def remove_from_queue(session_id: SessionId, message_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """Take back a message that waits."""
    return _tell_queue(engine, viewer, session_id, orders.ChangeQueue("remove", message_id))


@router.post(
    "/sessions/{session_id}/approvals",
    **serves("requests deny", "requests approve", "requests approve session"),
    response_model=answer_bodies.Status,
)
def approve(session_id: SessionId, body: bodies.Approval, engine: TheEngine, viewer: Anyone) -> Json:
    """Answer what a session asks, by the id of its call or of the request."""
    work = find_work(engine, session_id)
    if body.scope == "path":
        raise UsageInvalid("no CLI of these takes an approval for a path: approve once, or for the session")
    mine = [one for one in engine.live.requests() if one.session_id == work.session.session_id]
    found = next((one for one in mine if body.call_id in (one.native_id, one.request_id)), None)
    if work.pid is None or found is None:
        raise ApprovalGone(f"the session has no open request {body.call_id!r}")
    word = "approve_for_session" if body.decision == "approve" and body.scope == "session" else body.decision
    return Json({"id": found.request_id, "status": answer(engine, viewer, found, word)})


@router.get("/sessions/{session_id}/log", **serves("session log"), response_class=PlainTextResponse)
def log(
    session_id: SessionId,
    engine: TheEngine,
    _viewer: Anyone,
    tail: Annotated[str, Query(pattern=r"^(all|[0-9]{1,6})$", description="How many lines, or `all`.")] = "200",
) -> PlainTextResponse:
    """Return the end of a session's log, secrets hidden."""
    work = find_work(engine, session_id)
    lines = None if tail == "all" else min(int(tail), _MOST_LINES)
    return PlainTextResponse(engine.work.log_tail(work.session.session_id, lines))


@router.get(
    "/sessions/{session_id}/artifacts", **serves("session artifacts"), response_model=list[answer_bodies.Artifact]
)
def artifacts(session_id: SessionId, engine: TheEngine, _viewer: Anyone) -> Json:
    """List the files that a session has made for people, 1000 at most."""
    work = find_work(engine, session_id)
    found = engine.work.artifacts(work.session.session_id)
    return Json([{"name": name, "size": size, "mtime": milliseconds(at)} for name, size, at in found])


@router.get(
    "/sessions/{session_id}/artifacts/file",
    **serves("session artifacts"),
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
)
def artifact(
    session_id: SessionId,
    engine: TheEngine,
    _viewer: Anyone,
    path: Annotated[str, Query(min_length=1, max_length=4096, description="As the list has it.")],
) -> StreamingResponse:
    """Download one of them."""
    return download(engine, find_work(engine, session_id), path)


def download(engine: Engine, work: LiveStatus, path: str) -> StreamingResponse:
    """Return an artifact as a file to keep: no browser may show what an agent made as a page of ours."""
    file = engine.work.open_artifact(work.session.session_id, path)
    size = os.fstat(file.fileno()).st_size
    name = quote(os.fsencode(visible_line(path.rpartition("/")[2])))
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "content-length": str(size)}
    return StreamingResponse(_read(file, size), media_type="application/octet-stream", headers=headers)


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Give a file's first bytes, for it may grow meanwhile."""
    with file:
        while size > 0 and (part := file.read(min(size, _BLOCK))):
            size -= len(part)
            yield part


@router.get("/sessions/{session_id}/trace", **serves("session trace"), response_model=list[answer_bodies.Trace])
def trace(session_id: SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """Show what the last turns have done: thoughts, commands, plan and tokens."""
    try:
        work = find_work(engine, session_id)
    except NotFound:
        chain_id = find_recorded(engine, viewer, session_id)
        return Json(msgspec.to_builtins(engine.sessions.transcripts.trace(chain_id)))
    return Json(msgspec.to_builtins(engine.work.trace(work.session.session_id)))


# Rows ----------------------------------------------------------------------------------------------------------------
def _show_recorded(engine: Engine, viewer: Viewer, identity: str) -> Json:
    with open_recorded(engine, viewer, identity) as stored:
        start = max(0, len(stored.entries) - _LAST_MESSAGES)
        last = [message_row(message) for message in read_messages(stored, start, _LAST_MESSAGES)]
        row = listed_row(engine, viewer, SessionOfList(stored.listed, None))
        leaf = stored.leaf
    return Json(row | {"leaf": leaf, "messages": last})


def session_detail(engine: Engine, work: LiveStatus) -> dict[str, Any]:
    """Return a session as `SessionDetail` has it, but for the messages and the clients."""
    parameters, files = work.session.opening.parameters, engine.work.files_of(work.session)
    return {
        **session_row(work),
        **{name: parameters.get(name) for name in bodies.PARAMETERS},
        "log_path": files.log,
        "artifact_dir": files.artifacts,
        "agent_log_hint": files.agent_log_hint,
        "leaf": engine.live.find_leaf(work.session.session_id),
    }


def _text(body: bodies.NewMessage) -> str:
    if not body.content.strip():
        raise UsageInvalid("the message is empty")
    return body.content


def _order(engine: Engine, viewer: Viewer, identity: str, order: orders.Order) -> dict[str, Any]:
    work = find_work(engine, identity)
    told = live_of(engine, viewer).order(work.session.session_id, order, starts=False)
    return {"id": work.session.session_id, **told}


def _tell_queue(engine: Engine, viewer: Viewer, identity: str, order: orders.ChangeQueue) -> Json:
    work = find_work(engine, identity)
    return Json(_queue_rows(live_of(engine, viewer).change_queue(work.session.session_id, order)))


def _queue_rows(waiting: Iterable[QueuedMessage]) -> list[dict[str, Any]]:
    return [{"message_id": each.message_id, "text": each.text, "note": each.note} for each in waiting]
