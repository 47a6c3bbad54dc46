"""Web push: a device switches on, for itself, that it is told of requests."""

from __future__ import annotations

from fastapi import APIRouter

from oulipoly_engine.core.web.push import Subscription, check_endpoint
from oulipoly_engine.web.api.engine import Anyone, TheEngine
from oulipoly_engine.web.base import answer_bodies, bodies, push
from oulipoly_engine.web.base.answers import Json

router = APIRouter(prefix="/me/push", tags=["devices"])


@router.get("", response_model=answer_bodies.PushAccess)
def show(engine: TheEngine, viewer: Anyone) -> Json:
    """Return the server's public key, and whether this device is told."""
    return Json({"public_key": push.public_key(engine), "is_on": bool(engine.web.push.is_on(viewer.device_id))})


@router.put("", response_model=answer_bodies.PushState)
def switch_on(body: bodies.PushSubscription, engine: TheEngine, viewer: Anyone) -> Json:
    """Tell this device of requests at the endpoint that its browser gives, in place of any other."""
    check_endpoint(body.endpoint, takes_loopback=push.TAKES_LOOPBACK)
    push.check_keys(body.keys.p256dh, body.keys.auth)
    engine.web.push.subscribe(Subscription(viewer.device_id, body.endpoint, body.keys.p256dh, body.keys.auth))
    return Json({"is_on": True})


@router.delete("", response_model=answer_bodies.PushState)
def switch_off(engine: TheEngine, viewer: Anyone) -> Json:
    """Tell this device of no further request."""
    engine.web.push.unsubscribe(viewer.device_id)
    return Json({"is_on": False})
