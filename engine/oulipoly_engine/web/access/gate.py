"""What every request passes: the name it was sent to, its origin, its device, its size; and the headers of answers.

Plain ASGI, for a middleware of Starlette's own kind would stand between an endless answer and its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders

from oulipoly_engine.core.agents.capabilities import AGENT_PREFIX
from oulipoly_engine.core.agents.tokens import is_agent_token
from oulipoly_engine.core.web.devices import Device, TooManyTries
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_engine.web.access.forwarded import Network, find_client, find_network, is_proxy
from oulipoly_engine.web.access.idempotency import serve_once
from oulipoly_engine.web.access.viewer import OWN_USER, SCOPES, Viewer
from oulipoly_engine.web.base.errors import answer_client, status_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from oulipoly_engine.facade.engine import Engine

HEAD_LIMIT = 32 << 10  # bytes of the address and the headers; h11 has a limit for those that come in pieces alone
BODY_LIMIT = 8 << 20  # bytes
BODY_PATIENCE_S = 20.0  # for all of a body
_SAFE = ("GET", "HEAD", "OPTIONS")
BY_RUN = ("run", 0)  # the client of the own user's socket that a run of ours has started: no person
AGENT_TOOLS = "/agent-tools"  # all that the token of an agent opens
# To everybody who reaches the server; so is what pages are made of.
_OPEN = ("/health", "/pair", "/authority.pem", "/push-worker.js")
_OPEN_BELOW = "/static/"
# What whoever passes requests on adds to them: then the process at the other end is not who asks.
_PASSED_ON = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip")
_HEADERS: Mapping[str, str] = {
    # What agents write is shown by pages: it can never run, nor call anybody.
    "content-security-policy": "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with `no-referrer` a browser names no origin with a form, which is then refused
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Serving(Record):
    """How the server is reached."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")  # names that requests may be sent to
    port: int = 0
    is_tls: bool = False
    behind_proxy: bool = False
    proxies: tuple[Network, ...] = ()  # whose word counts then, besides that of this computer's own

    @property
    def cookie(self) -> str:
        """Return the cookie's name. Ports share cookies, so each server on this computer has its own."""
        return "__Host-agents" if self.is_tls else f"agents-{self.port}"


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Gate:
    """The outermost part of the app."""

    def __init__(self, app: ASGIApp, engine: Engine, serving: Serving) -> None:
        self._app, self._engine, self._serving = app, engine, serving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":  # the app's own begin and end
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        try:
            _check_head(scope)
            host = self._host(scope, headers)
            self._check_host(host, headers)
            self._check_origin(scope["method"], host, headers)
            state = scope.setdefault("state", {})
            state["address"], state["viewer"] = self._address(scope, headers), None
            state["is_https_outside"] = self._is_https_outside(scope, headers)
            state["viewer"] = viewer = await self._find_viewer(scope, headers)
            if scope["method"] in _SAFE:
                await self._app(scope, receive, send_with_headers)
                return
            _check_may_change(viewer, scope["path"])
            body = await _read_body(headers, receive)
            await serve_once(self._app, self._engine, viewer, body, scope, receive, send_with_headers)
        except Refusal as refusal:
            if refusal.status == 401 and _is_page(scope["method"], headers):
                told = {"type": "http.response.start", "status": 303, "headers": [(b"location", b"/pair")]}
                await send_with_headers(told)
                await send_with_headers({"type": "http.response.body", "body": b""})
                return
            told_error = answer_client(scope, refusal.status, refusal.code, str(refusal))
            await told_error(scope, receive, send_with_headers)
        except RunnerError as error:
            await answer_client(scope, status_of(error), error.slug, error.message)(scope, receive, send_with_headers)

    # Where it comes from ---------------------------------------------------------------------------------------------
    def _check_host(self, host: str, headers: Headers) -> None:
        """Refuse names that are not ours: a page whose name was bound to our address must not pass for us."""
        if len(headers.getlist("host")) != 1 or host_name(host) not in self._serving.hosts:
            raise Refusal(421, "host-unknown", "this server is not known by that name: start it with --allow-host NAME")

    def _host(self, scope: Scope, headers: Headers) -> str:
        forwarded = headers.get("x-forwarded-host", "") if self._believes(scope) else ""
        return forwarded or headers.get("host", "")

    def _believes(self, scope: Scope) -> bool:
        """Return whether a proxy whose word counts passes the request on."""
        return self._serving.behind_proxy and is_proxy(_peer(scope), self._serving.proxies)

    def _is_https_outside(self, scope: Scope, headers: Headers) -> bool:
        """Return whether the client's browser speaks TLS, with us or with a proxy."""
        told = headers.get("x-forwarded-proto", "") if self._believes(scope) else ""
        return self._serving.is_tls or (self._serving.behind_proxy and told != "http")

    def _check_origin(self, method: str, host: str, headers: Headers) -> None:
        """Refuse changes that another site's page asks for; one on another port of this computer is another site."""
        if method in _SAFE:
            return
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        same = origin is None or origin.partition("://")[2] in (headers.get("host", ""), host)
        if not same or site not in ("same-origin", "none"):
            raise Refusal(403, "origin-refused", "this was asked for by the page of another site")

    def _address(self, scope: Scope, headers: Headers) -> str:
        hops = headers.getlist("x-forwarded-for") if self._believes(scope) else []
        return find_network(find_client(_peer(scope), hops, self._serving.proxies))

    # Who it comes from -----------------------------------------------------------------------------------------------
    async def _find_viewer(self, scope: Scope, headers: Headers) -> Viewer | None:
        """Return who asks; None: nobody, where anybody may. Raises Refusal."""
        path, token = scope["path"], self._token(headers)
        is_open_path = is_open(path)
        device = None
        if is_agent_token(token) and not is_open_path:
            if path != AGENT_TOOLS:
                raise Refusal(403, "not-allowed", f"this token gives the tools of an agent, at {AGENT_TOOLS} alone")
            token_id = await run_in_threadpool(self._engine.agent_tools.check_token, token)
            return Viewer("an agent", f"{AGENT_PREFIX}{token_id}", (), agent_token=token)
        if token:
            # What anybody may see costs nobody a try: an old cookie is sent along with it.
            address = "" if is_open_path else scope["state"]["address"]
            device = await run_in_threadpool(self._authenticate, token, address)
        is_own = _comes_by_own_socket(scope) and not any(name in headers for name in _PASSED_ON)
        if not token and is_own and (not is_open_path or path == "/health"):
            is_run = scope.get("client") == BY_RUN
            return Viewer("this computer", OWN_USER, SCOPES, is_confirmed=True, is_run=is_run)
        if device is None and not is_open_path:
            raise _not_paired()
        if device is None:
            return None
        if device.request_id is not None and path != f"/requests/{device.request_id}" and not is_open_path:
            raise Refusal(403, "not-allowed", "this token answers one request and does nothing else")
        is_confirmed = device.is_confirmed(self._engine.surroundings.clock.now())
        return Viewer(device.name, device.device_id, device.scopes, is_confirmed, device.kind != "link")

    def _token(self, headers: Headers) -> str:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return token.strip()
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._serving.cookie)
        except CookieError:
            return ""
        return "" if cookie is None else cookie.value

    def _authenticate(self, token: str, address: str) -> Device | None:
        device = self._engine.web.authenticate(token, address)
        if device is None and address:
            try:
                self._engine.web.refuse_locked(address)
            except TooManyTries as error:
                raise Refusal(429, error.slug, error.message) from error
        return device


def _check_head(scope: Scope) -> None:
    """Refuse an address and headers that are longer than any that a browser sends."""
    size = len(scope["path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > HEAD_LIMIT:
        raise Refusal(431, "headers-too-large", f"a request's address and headers may have {HEAD_LIMIT >> 10} KiB")


def _check_may_change(viewer: Viewer | None, path: str) -> None:
    """Refuse every order of a link for somebody else; a browser that holds one may be paired all the same."""
    if viewer is not None and not viewer.may_change and path != "/pair":
        raise Refusal(403, "not-allowed", "this link is to look with: it changes and answers nothing")


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    """Return a request's body. Raises Refusal for one that is too large or too slow."""
    too_large = Refusal(413, "too-large", f"a body may have {BODY_LIMIT >> 20} MiB")
    told = headers.get("content-length", "0")
    if not told.isdecimal() or len(told) > 12 or int(told) > BODY_LIMIT:
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_PATIENCE_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "invalid-argument", "the body was cut off")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > BODY_LIMIT:
                    raise too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError as error:
        raise Refusal(408, "timed-out", "the body took too long") from error


def _peer(scope: Scope) -> str:
    """Return the address that is connected."""
    return (scope.get("client") or ("unknown", 0))[0]


def _comes_by_own_socket(scope: Scope) -> bool:
    """Return whether a request comes by the own user's socket: only a Unix socket has no port, says ASGI."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _not_paired() -> Refusal:
    message = "this device is not paired: run `agents device pair` on the computer; programs there use the socket that "
    return Refusal(401, "not-paired", f"{message}`agents serve` names")


def is_open(path: str) -> bool:
    """Return whether everybody who reaches the server gets what is at a path."""
    return path in _OPEN or path.startswith(_OPEN_BELOW)


def host_name(host: str) -> str:
    """Return the name in a Host header, in lower case, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().rstrip(".")


def _is_page(method: str, headers: Headers) -> bool:
    return method == "GET" and "text/html" in headers.get("accept", "")
