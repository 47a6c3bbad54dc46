"""Errors as answers: `{"error": {"code", "message"}}` with the status that fits."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RequestRefused, RunnerError, StoreLocked, UsageInvalid

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

_STATUS: Mapping[str, int] = {  # by slug; what is not here: by class
    "not-allowed": 403,
    "confirmation-needed": 403,
    "code-refused": 403,
    "too-many-tries": 429,
    "not-found": 404,
    "request-stale": 409,
    "approval-gone": 409,
    "turn-in-flight": 409,
    "session-is-oneshot": 400,
    "revive-failed": 503,
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
}
_BY_CLASS: tuple[tuple[type[RunnerError], int], ...] = ((StoreLocked, 503), (RequestRefused, 400), (UsageInvalid, 400))


def status_of(error: RunnerError) -> int:
    """Return the HTTP status of an error."""
    if error.slug in _STATUS:
        return _STATUS[error.slug]
    return next((status for kind, status in _BY_CLASS if isinstance(error, kind)), 500)


def answer(status: int, code: str, message: str) -> JSONResponse:
    """Return an error as every answer tells it."""
    return JSONResponse({"error": {"code": code, "message": redact(message)}}, status)


def add_handlers(app: FastAPI) -> None:
    """Have an app answer all errors so."""
    app.add_exception_handler(RunnerError, _tell_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http)


async def _tell_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RunnerError)  # noqa: S101 - what it is registered for
    return answer(status_of(error), error.slug, error.message)


async def _tell_invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return answer(400, "invalid-argument", f"{where or first['loc'][0]}: {first['msg']}")


async def _tell_http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    word = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    response = answer(error.status_code, "invalid-argument" if word == "bad-request" else word, error.detail)
    response.headers.update(error.headers or {})
    return response
