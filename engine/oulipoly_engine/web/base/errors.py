"""Errors as answers: `{"error": {"code", "message"}}` with the status that fits, and a page for a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RequestRefused, RunnerError, StoreLocked, UsageInvalid
from oulipoly_engine.facade.live.sessions import HostGone, HostUnreachable, OrderRefused
from oulipoly_engine.web.base.page_route import PageRoute, prefers_html
from oulipoly_engine.web.base.templates import render

_STATUS: Mapping[str, int] = {  # by slug; what is not here: by class
    "not-allowed": 403,
    "confirmation-needed": 403,
    "code-refused": 403,
    "too-many-tries": 429,
    "not-found": 404,
    "request-stale": 409,
    "approval-gone": 409,
    "turn-in-flight": 409,
    "declined": 409,
    "no-turn": 409,
    "message-gone": 404,
    "session-busy": 409,
    "session-not-found": 404,
    "setup-changed": 409,
    "remote-missing": 409,
    "session-is-oneshot": 400,
    "revive-failed": 503,
    "account-exhausted": 409,
    "spawn-failed": 500,
    "path-refused": 400,
    "file-missing": 404,
    "file-changed": 409,
    "too-large": 413,
    "timed-out": 504,
    "switched-off": 404,
    "index-locked": 409,
    "uncommitted-changes": 409,
    "merge-conflicts": 409,
    "branch-moved": 409,
    "push-refused": 502,
    "worktree-busy": 409,
    "worktree-blocked": 409,
    "setup-not-allowed": 403,
    "folder-refused": 400,
    "agent-state-invalid": 409,
    "agent-failed": 503,
    "too-many-agents": 409,
    "token-invalid": 401,
    "token-revoked": 401,
    "link-missing": 403,
    "note-not-found": 404,
}
_SENTENCES: Mapping[str, str] = {  # for words of Starlette's
    "Not Found": "there is nothing at this address",
    "Method Not Allowed": "this address does not take that kind of request",
}
_BY_CLASS: tuple[tuple[type[RunnerError], int], ...] = (
    (StoreLocked, 503),
    (HostGone, 503),
    (HostUnreachable, 503),
    (RequestRefused, 400),
    (UsageInvalid, 400),
)


def status_of(error: RunnerError) -> int:
    """Return the HTTP status of an error."""
    if error.slug in _STATUS:
        return _STATUS[error.slug]
    if isinstance(error, OrderRefused) and error.slug != RunnerError.slug:  # any refusal, by way of the session's host
        return 400
    return next((status for kind, status in _BY_CLASS if isinstance(error, kind)), 500)


def answer(status: int, code: str, message: str) -> JSONResponse:
    """Return an error as every answer tells it."""
    return JSONResponse({"error": {"code": code, "message": redact(message)}}, status)


def answer_client(scope: Scope, status: int, code: str, message: str) -> Response:
    """Return an error as its client reads it: a page for a browser, JSON for a program."""
    if not prefers_html(Headers(scope=scope).get("accept", "")):
        return answer(status, code, message)
    viewer = scope.get("state", {}).get("viewer")
    values = {"viewer": viewer, "waiting": 0, "code": code, "message": redact(message), "kept": {}, "back": "/"}
    return HTMLResponse(render("error.html", **values).encode("utf-8", "replace"), status)


def add_handlers(app: FastAPI) -> None:
    """Have an app answer all errors so."""
    app.add_exception_handler(RunnerError, _tell_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http)


async def _tell_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RunnerError)  # noqa: S101 - what it is registered for
    return answer_client(request.scope, status_of(error), error.slug, error.message)


async def _tell_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    if first["type"] == "json_invalid":  # then it is not a place in the document, but a number of a character
        where = "body"
    return answer_client(request.scope, 400, "invalid-argument", f"{where or first['loc'][0]}: {first['msg']}")


async def _tell_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    word = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    code = "invalid-argument" if word == "bad-request" else word
    response = answer_client(request.scope, error.status_code, code, _SENTENCES.get(error.detail, error.detail))
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:  # the router names the methods of one route alone
        response.headers["allow"] = ", ".join(_methods_at(request))
    return response


def _methods_at(request: Request) -> list[str]:
    """Return the methods that an address takes; of a program without those that only a browser's forms use."""
    routes: Sequence[Route] = request.app.state.routes
    if not prefers_html(request.headers.get("accept", "")):
        routes = [route for route in routes if not isinstance(route, PageRoute)]
    path = request.scope["path"]
    return sorted({method for route in routes if route.path_regex.match(path) for method in route.methods or ()})
