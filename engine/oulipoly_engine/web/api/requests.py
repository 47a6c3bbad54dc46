"""What sessions ask people, of all sessions: the inbox."""

from __future__ import annotations

from fastapi import APIRouter

from oulipoly_engine.core.live.requests import to_json
from oulipoly_engine.web.api.engine import ANSWERS, Anyone, TheEngine, answer, find_request, serves
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json
from oulipoly_engine.web.base.bodies import RequestId

router = APIRouter(tags=["requests"])


@router.get("/requests", **serves("requests list"), response_model=list[answer_bodies.Request])
def list_requests(engine: TheEngine, _viewer: Anyone, all: bool = False) -> Json:
    """List what waits for an answer, oldest first; or with `all` the last 200, whatever became of them."""
    return Json([to_json(one) for one in engine.live.requests(all_states=all)])


@router.get("/requests/{request_id}", **serves("requests show"), response_model=answer_bodies.Request)
def show(request_id: RequestId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Show what a request would allow."""
    return Json(to_json(find_request(engine, request_id)))


@router.post("/requests/{request_id}", **serves(*ANSWERS.values()), response_model=answer_bodies.Status)
def reply(request_id: RequestId, body: bodies.RequestAnswer, engine: TheEngine, viewer: Anyone) -> Json:
    """Answer a request: once; whoever comes second learns who was first."""
    found = find_request(engine, request_id)
    status = answer(
        engine,
        viewer,
        found,
        body.decision,
        reason=body.reason,
        answers=body.answers,
        digest=body.digest,
    )
    return Json({"id": found.request_id, "status": status})
