"""Pairing a browser, confirming it, and the list of devices."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.web.api import access
from oulipoly_engine.web.api.access import set_cookie
from oulipoly_engine.web.base import bodies
from oulipoly_engine.web.pages.page import Page, get, post

_MOST = 60


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/pair", lambda page: page.show("pair.html")),
        post("/pair", _pair),
        get("/confirm", _show_confirm, "device confirm"),
        post("/confirm", _confirm, "device confirm"),
        get("/devices", _list, "device list"),
        post("/devices/{device_id}", _revoke, "device revoke"),
    ]


def _pair(page: Page) -> Response:
    """Trade a code for a cookie. With the code may come the certificate's fingerprint, which people compare."""
    code = page.field("code").strip().partition("&")[0]
    if not code:
        raise UsageInvalid("give the code that `agents device pair` shows on the computer")
    state, agent = page.request.state, page.request.headers.get("user-agent", "")
    paired = page.engine.web.redeem(code, page.field("name"), state.address, _name_of(agent))
    only = paired.device.request_id  # of a notice: its token answers this request and nothing else
    response = page.go("/" if only is None else f"/requests/{only}")
    set_cookie(response, page.request, paired)
    return response


def _name_of(agent: str) -> str:
    """Return what a browser's device is called where nobody has named it."""
    # An Android's says "Linux; Android 15", so the order decides.
    names = ("iPhone", "iPad", "Android", "Macintosh", "Windows", "Linux")
    return next((name for name in names if name in agent), "a browser")


def _show_confirm(page: Page) -> Response:
    back = page.query.get("back", "/")
    is_ours = back.startswith("/") and not back.startswith(("//", "/\\"))
    return page.show("confirm.html", is_asked=False, back=back if is_ours else "/")


def _confirm(page: Page) -> Response:
    code = page.field("code").strip()
    page.ask(access.confirm, body=bodies.Confirmation.model_construct(code=code), request=page.request)
    if not code:
        return page.show("confirm.html", back=page.back("/"), is_asked=True)
    return page.go(page.back("/"))


def _list(page: Page) -> Response:
    found = page.engine.web.devices()
    return page.show("devices.html", devices=found[-_MOST:], left_out=max(0, len(found) - _MOST))


def _revoke(page: Page) -> Response:
    device_id = page.path["device_id"]
    page.ask(access.revoke, device_id=device_id)
    return page.go("/devices" if device_id != page.viewer.device_id else "/pair")
