"""What sessions ask people, of all sessions: the inbox."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.requests import ORIGIN
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.web.api.engine import ANSWERS, Anyone, TheEngine, answer, find_request, serves
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json
from oulipoly_engine.web.base.bodies import RequestId

router = APIRouter(tags=["requests"])


@router.get("/requests", **serves("requests list"), response_model=list[answer_bodies.Request])
def list_requests(engine: TheEngine, _viewer: Anyone, all: bool = False) -> Json:
    """List what waits for an answer, oldest first; or with `all` the last 200, whatever became of them."""
    return Json([request_row(one) for one in engine.live.requests(all_states=all)])


@router.get("/requests/{request_id}", **serves("requests show"), response_model=answer_bodies.Request)
def show(request_id: RequestId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Show what a request would allow."""
    return Json(request_row(find_request(engine, request_id)))


@router.post("/requests/{request_id}", **serves(*ANSWERS.values()), response_model=answer_bodies.Status)
def reply(request_id: RequestId, body: bodies.RequestAnswer, engine: TheEngine, viewer: Anyone) -> Json:
    """Answer a request: once; whoever comes second learns who was first."""
    found = find_request(engine, request_id)
    status = answer(engine, viewer, found.request_id, body.decision, reason=body.reason, answers=body.answers)
    return Json({"id": found.request_id, "status": status})


def request_row(request: LiveRequest) -> dict[str, Any]:
    """Return a request as `agents requests list --json` gives it."""
    return {
        "id": request.request_id,
        "call_id": request.native_id,
        "origin": ORIGIN,
        "session_id": request.session_id,
        "turn_id": request.turn_id or None,
        "kind": request.kind,
        "status": request.status,
        "prompt": msgspec.to_builtins(request.prompt),
        "decision": request.decision or None,
        "answered_by": request.answered_by or None,
        "created_at": to_text(request.created_at),
        "resolved_at": None if request.resolved_at is None else to_text(request.resolved_at),
    }
