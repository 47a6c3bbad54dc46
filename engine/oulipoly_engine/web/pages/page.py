"""One request of a browser: what it asks, who asks, and the answers that pages give."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import quote, unquote_to_bytes

from fastapi.params import Depends
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.records import Record, replace
from oulipoly_engine.web.access.viewer import NotAllowed, Viewer, check_run, check_scope
from oulipoly_engine.web.base.errors import status_of
from oulipoly_engine.web.base.page_route import PageRoute
from oulipoly_engine.web.base.templates import render

if TYPE_CHECKING:
    from starlette.requests import Request

    from oulipoly_engine.facade.engine import Engine

_MOST_FIELDS = 2000
PART = "x-page-part"  # header of our script: it wants no other page, only to know whether it was done


class Page(Record):
    """A request of a browser."""

    engine: Engine
    request: Request
    fields: Mapping[str, tuple[str, ...]]  # of a form

    @property
    def known(self) -> Viewer | None:
        """Return who asks; None: nobody knows, and it is a page that everybody may see."""
        viewer: Viewer | None = self.request.state.viewer
        return viewer

    @property
    def viewer(self) -> Viewer:
        """Return who asks. Raises NotAllowed where nobody knows."""
        if self.known is None:
            raise NotAllowed("this browser is not paired: `agents device pair` on the computer shows a code")
        return self.known

    @property
    def path(self) -> Mapping[str, str]:
        """Return the words of the path."""
        return self.request.path_params

    @property
    def query(self) -> Mapping[str, str]:
        """Return what stands behind the question mark."""
        return self.request.query_params

    @property
    def is_part(self) -> bool:
        """Tell whether our script asks."""
        return PART in self.request.headers

    def ask(self, handler: Callable[..., Response], **given: object) -> Any:  # noqa: ANN401 - what JSON can hold
        """Have REST's handler of the same resource do it, with the checks that it declares, and return its answer.

        given: its parameters but for those that FastAPI injects, a body as a model that was made of the form.
        """
        for name, hint in get_type_hints(handler, include_extras=True).items():
            for mark in getattr(hint, "__metadata__", ()):
                if isinstance(mark, Depends) and mark.dependency is not None:
                    given[name] = mark.dependency(self.request)
        return json.loads(bytes(handler(**given).body))

    def field(self, name: str) -> str:
        """Return a field of the form; empty where it is missing."""
        return (self.fields.get(name) or ("",))[0]

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a number of the query. Raises UsageInvalid."""
        text = self.query.get(name, "")
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise UsageInvalid(f"{name} has to be a number, not {text[:40]!r}")
        return int(text)

    def show(self, template: str, status: int = 200, **values: Any) -> Response:  # noqa: ANN401 - whatever is shown
        """Answer with a page."""
        if "waiting" not in values:
            values["waiting"] = 0 if self.known is None else len(self.engine.live.requests())
        return HTMLResponse(render(template, viewer=self.known, **values).encode("utf-8", "replace"), status)

    def go(self, place: str) -> Response:
        """Answer a form that was done: with the page to go to, which our script does not want."""
        return Response(status_code=204) if self.is_part else Response(status_code=303, headers={"location": place})

    def back(self, default: str) -> str:
        """Return the page that a form was on, if the form says so and it is one of ours."""
        place = self.field("back")
        ours = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable() and place.isascii()
        return place if ours else default


Handler = Callable[[Page], Response]


def get(path: str, handler: Handler, command: str = "") -> BaseRoute:
    """Return the route of a page. command: which it gets ready, if any; who lacks the scope for it gets no page."""
    return PageRoute(path, _serve(handler, command), methods=["GET"])


def post(path: str, handler: Handler, command: str = "") -> BaseRoute:
    """Return the route of a form. command: whose scope it takes; where it destroys something, a page asks first.

    A handler asks by itself for a fresh confirmation of the device.
    """
    return PageRoute(path, _serve(handler, command), methods=["POST"])


def encode_path(path: str) -> str:
    """Return a file's path as an address or a form holds it: any bytes survive."""
    return quote(os.fsencode(path), safe="/")


def decode_path(text: str) -> str:
    """Return the path that `encode_path` was given."""
    return os.fsdecode(unquote_to_bytes(text))


def _serve(handler: Handler, command: str) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        fields: dict[str, tuple[str, ...]] = {}
        if request.method == "POST":
            async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
                for name, value in form.multi_items():
                    # A browser sends the newlines of a text as CRLF.
                    fields[name] = (*fields.get(name, ()), str(value).replace("\r\n", "\n"))
        if request.state.viewer is not None:
            request.state.viewer = replace(request.state.viewer, is_person=True)
        page = Page(request.app.state.engine, request, fields)
        return await run_in_threadpool(_answer, handler, command, page)

    return endpoint


def _answer(handler: Handler, command: str, page: Page) -> Response:
    try:
        if command:
            does = find(command)
            check_scope(page.viewer, does.scope)
            check_run(page.viewer, command)
            if does.destroys and page.field("sure") != "yes":
                return page.show("ask.html", does=does, page=page, back=page.back("/"))
        return handler(page)
    except RunnerError as error:
        values = {"message": redact(error.message), "code": error.slug}
        # What was typed is not lost: the page that says what is wrong shows it.
        kept = {name: page.field(name) for name in ("content", "text", "message") if page.field(name)}
        return page.show("error.html", status_of(error), kept=kept, back=page.back("/"), **values)
