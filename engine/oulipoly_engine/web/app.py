"""The server's app: pages and REST over one engine."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route

from oulipoly_engine import __version__
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.access.gate import Gate, Serving, is_open
from oulipoly_engine.web.api import access, agents, branches, changes, events, machine, push, requests, sessions
from oulipoly_engine.web.api.streams import Hub
from oulipoly_engine.web.base import bodies, errors
from oulipoly_engine.web.links import add_links
from oulipoly_engine.web.pages.router import page_routes

_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_OF_ALL = (400, 421, 431, 503)
_OF_DEVICES = (401, 403, 429)  # no token, a scope that is missing, too many wrong ones
_OF_CHANGES = (403, 408, 409, 413, 422)  # another site's page, slow or large bodies, an Idempotency-Key


class _App(FastAPI):
    """The app, whose document tells what it really answers: errors are of one form, whatever is wrong."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            document = super().openapi()
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    _complete(operation, method, path)
            add_links(document)
            parts = document["components"]
            for name in ("HTTPValidationError", "ValidationError"):
                parts["schemas"].pop(name, None)
            problem = bodies.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            parts["schemas"] |= problem.pop("$defs") | {"Problem": problem}
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        return self.openapi_schema or {}


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    """Add to an operation what the gate and the handlers of errors answer."""
    answers = operation["responses"]
    answers.pop("422", None)  # FastAPI's own, which nobody gets
    statuses = {*_OF_ALL, *(int(status) for status in answers if status >= "400")}
    if is_open(path):
        operation["security"] = []
    else:
        statuses |= {*_OF_DEVICES}
    if "{" in path:
        statuses |= {404}
    if method != "get":
        statuses |= {*_OF_CHANGES}
    for status in sorted(statuses):  # JSON, also where a text is the answer
        answers[str(status)] = {"description": HTTPStatus(status).phrase, "content": _PROBLEM}
    operation["responses"] = dict(sorted(answers.items()))


def make_app(engine: Engine, serving: Serving | None = None) -> FastAPI:
    """Return the app. Handlers find the engine as `request.app.state.engine`, and `request.state.viewer`."""
    app = _App(title="agents", version=__version__, docs_url=None, redoc_url=None)
    app.state.engine, app.state.serving, app.state.hub = engine, serving or Serving(), Hub(engine)
    pages = page_routes(engine)
    modules = (machine, sessions, agents, branches, events, changes, requests, access, push)
    # As they are: `include_router` has each app read all handlers' signatures again, at its first request.
    rest = [route for module in modules for route in module.router.routes]
    app.router.routes.extend((*pages, *rest))
    app.state.routes = [route for route in (*pages, *rest) if isinstance(route, Route)]
    errors.add_handlers(app)
    app.add_middleware(Gate, engine=engine, serving=app.state.serving)
    return app
