"""The routes of the pages; `make_app` puts them before those of REST."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.web.base.templates import KINDS, static_file
from oulipoly_engine.web.pages import agents, branches, changes, dashboard, devices, requests, session, sessions


def page_routes(engine: Engine) -> list[BaseRoute]:
    """Return the routes that answer a browser; each matches nothing else."""
    del engine  # handlers find it in the app
    return [
        Route("/static/{digest}/{name}", _static, methods=["GET"]),
        Route("/push-worker.js", _worker, methods=["GET"]),
        *dashboard.routes(),
        *sessions.routes(),
        *agents.routes(),
        *session.routes(),
        *branches.routes(),
        *changes.routes(),
        *requests.routes(),
        *devices.routes(),
    ]


async def _worker(_request: Request) -> Response:
    """Answer with the service worker, at an address that stays: a browser looks there for a newer one."""
    return Response(static_file("push-worker.js"), media_type=KINDS["push-worker.js"])


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in KINDS:
        raise HTTPException(404, "there is no such file")
    headers = {"cache-control": "public, max-age=31536000, immutable", "content-type": KINDS[name]}
    return Response(static_file(name), headers=headers)
