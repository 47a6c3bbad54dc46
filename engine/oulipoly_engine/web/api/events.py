"""What happens, as it happens: one session exactly and from any place on, and hints of all."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from oulipoly_engine.core.live.events import to_json
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.access.viewer import Viewer
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, find_work, serves
from oulipoly_engine.web.api.event_stream import EventStream
from oulipoly_engine.web.api.listing import find_recorded, read_events
from oulipoly_engine.web.api.streams import PAGE, Hub, Listener, Reader, follow, follow_all
from oulipoly_engine.web.base import answer_bodies
from oulipoly_engine.web.base.answers import Json
from oulipoly_engine.web.base.bodies import SessionId

router = APIRouter(tags=["events"])

_PULSE_S = 15.0
_STREAM = "text/event-stream"
_STREAM_SCHEMA = {"schema": {"type": "string"}}
_HIGHEST = 1 << 53


@router.get(
    "/sessions/{session_id}/events",
    **serves("session follow"),
    response_model=answer_bodies.EventPage,
    responses={200: {"content": {_STREAM: _STREAM_SCHEMA}, "description": "Events, and those to come."}},
)
async def of_session(
    request: Request,
    session_id: SessionId,
    engine: TheEngine,
    viewer: Anyone,
    after: Annotated[int, Query(ge=0, le=_HIGHEST, description="The number of the last event known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = PAGE,
    last_event_id: Annotated[str, Header(pattern=r"^[0-9]{0,15}$")] = "",
) -> Response:
    """Return the events after a number; to who accepts `text/event-stream` also all that come."""
    identity, read = await run_in_threadpool(_find_reader, engine, viewer, session_id)
    after = int(last_event_id or after)
    if _STREAM in request.headers.get("accept", ""):
        hub: Hub = request.app.state.hub
        listener = Listener(viewer.device_id, viewer.name)
        return EventStream(follow(hub, identity, read, listener, after, _PULSE_S), listener)
    page = await run_in_threadpool(read, after, limit)
    return Json(
        {"events": [to_json(one) for one in page], "after": page[-1].seq if page else after, "more": len(page) == limit}
    )


def _find_reader(engine: Engine, viewer: Viewer, identity: str) -> tuple[str, Reader]:
    """Return a session's whole id, and what reads its events. Raises NotFound."""
    try:
        session_id = find_work(engine, identity).session.session_id
    except NotFound:
        chain_id = find_recorded(engine, viewer, identity)
        return chain_id, partial(read_events, engine, chain_id)
    return session_id, partial(engine.live.events_after, session_id)


@router.get(
    "/events",
    **serves("server events"),
    status_code=200,
    response_class=EventStream,
    responses={200: {"content": {_STREAM: _STREAM_SCHEMA}, "description": "Hints, without an end."}},
)
async def of_all(request: Request, viewer: Anyone) -> EventStream:
    """Tell hints of what changes: sessions, and requests that are opened and answered. It begins with `resync`."""
    listener = Listener(viewer.device_id)
    return EventStream(follow_all(request.app.state.hub, listener, _PULSE_S), listener)
