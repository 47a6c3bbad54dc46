"""Devices: pair one, confirm it, list and revoke them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

from oulipoly_engine.core.web.devices import device_document
from oulipoly_engine.web.access.viewer import check_command
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, serves
from oulipoly_engine.web.base import answer_bodies, bodies
from oulipoly_engine.web.base.answers import Json

if TYPE_CHECKING:
    from starlette.responses import Response

    from oulipoly_engine.facade.web.access import Paired
    from oulipoly_engine.web.access.gate import Serving

router = APIRouter(tags=["devices"])

_COOKIE_LIFE_S = 400 * 24 * 3600  # the most that browsers keep one


@router.post("/pair", response_model=answer_bodies.Paired, responses=bodies.refusals(429))
def pair(body: bodies.Pairing, request: Request, engine: TheEngine) -> Json:
    """Trade a code that the computer shows for a device's token: in a cookie, and for programs in the answer."""
    paired = engine.web.redeem(body.code, body.name, request.state.address)
    response = Json(device_document(paired.device) | {"token": paired.token})
    set_cookie(response, request, paired)
    return response


def set_cookie(response: Response, request: Request, paired: Paired) -> None:
    """Have a browser keep a device's token."""
    keep_cookie(response, request.app.state.serving, paired, is_secure=request.state.is_https_outside)


def keep_cookie(response: Response, serving: Serving, paired: Paired, *, is_secure: bool) -> None:
    """Have a browser keep a device's token. is_secure: it speaks TLS, and sends the token over nothing else."""
    response.set_cookie(
        serving.cookie,
        paired.token,
        max_age=_COOKIE_LIFE_S,
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="strict",
    )


class _CertificateResponse(PlainTextResponse):
    media_type = "application/x-x509-ca-cert"


@router.get("/authority.pem", response_class=_CertificateResponse, responses=bodies.refusals(404))
def authority(request: Request, engine: TheEngine) -> _CertificateResponse:
    """Return the certificate of the server's own authority, for a phone to trust; 404 where it speaks no TLS."""
    serving: Serving = request.app.state.serving
    place = engine.surroundings.paths.data / "web" / "authority.pem"
    if not serving.is_tls or not place.is_file():
        raise NotFound("this server has no certificate of its own")
    return _CertificateResponse(place.read_text("ascii"))


@router.post("/confirm", **serves("device confirm"), response_model=answer_bodies.Confirmed)
def confirm(body: bodies.Confirmation, request: Request, engine: TheEngine, viewer: Anyone) -> Json:
    """Confirm the device by a code of `agents device pair`, for a quarter of an hour; or ask at the computer for it."""
    if not body.code:
        return Json({"confirmed": False, "request_id": engine.web.ask_confirmation(viewer.device_id)})
    engine.web.confirm_by_code(viewer.device_id, body.code, request.state.address)
    return Json({"confirmed": True})


@router.get("/devices", **serves("device list"), response_model=list[answer_bodies.Device])
def list_devices(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the devices and links that may use the server."""
    return Json([device_document(one) for one in engine.web.devices()])


@router.delete("/devices/{device_id}", **serves("device leave", "device revoke"), response_model=answer_bodies.Device)
def revoke(device_id: bodies.SessionId, engine: TheEngine, viewer: Anyone) -> Json:
    """Revoke a device at once, its open streams too. Each may revoke itself; others take the scope `operate`."""
    if device_id != viewer.device_id:
        check_command(viewer, "device revoke")
    if device_id not in {one.device_id for one in engine.web.devices()}:
        raise NotFound(f"there is no device {device_id[:40]!r}: it was revoked already")
    return Json(device_document(engine.web.revoke(device_id)))
