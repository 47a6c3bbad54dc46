"""What every request passes: the name it was sent to, its origin, its device; and the headers of every answer.

Plain ASGI, for a middleware of Starlette's own kind would stand between an endless answer and its client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from oulipoly_engine.records import Record
from oulipoly_engine.web.access.viewer import SCOPES, Viewer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS: Mapping[str, str] = {
    # What agents write is shown by pages: it can never run, nor call anybody.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Serving(Record):
    """How the server is reached."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")  # names that requests may be sent to
    is_tls: bool = False
    behind_proxy: bool = False


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Gate:
    """The outermost part of the app."""

    def __init__(self, app: ASGIApp, serving: Serving) -> None:
        self._app, self._serving = app, serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_host(headers)
            self._check_origin(scope["method"], headers)
            scope.setdefault("state", {})["viewer"] = Viewer("this computer", "local", SCOPES, is_confirmed=True)
        except Refusal as refusal:
            await _refuse(refusal, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check_host(self, headers: Headers) -> None:
        """Refuse names that are not ours: a page whose name was bound to our address must not pass for us."""
        if host_name(headers.get("host", "")) not in self._serving.hosts:
            raise Refusal(421, "host-unknown", "this server is not known by that name: start it with --allow-host NAME")

    def _check_origin(self, method: str, headers: Headers) -> None:
        """Refuse changes that another site's page asks for."""
        if method in _SAFE:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        same = origin is None or origin.partition("://")[2] == headers.get("host", "")
        if not same or site not in ("same-origin", "none"):
            raise Refusal(403, "origin-refused", "this was asked for by the page of another site")


def host_name(host: str) -> str:
    """Return the name in a Host header, in lower case, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"error": {"code": refusal.code, "message": str(refusal)}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
