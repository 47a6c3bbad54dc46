"""One request of a browser: what it asks, who asks, and the answers that pages give."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.web.access.viewer import NotAllowed, Viewer, check_scope
from oulipoly_engine.web.base.errors import status_of
from oulipoly_engine.web.base.page_route import PageRoute
from oulipoly_engine.web.base.templates import render

if TYPE_CHECKING:
    from starlette.requests import Request

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.sessions import LiveSessions
    from oulipoly_engine.facade.worktrees.work import WorkSessions
    from oulipoly_engine.web.access.gate import Serving

_MOST_FIELDS = 2000
PART = "x-page-part"  # header of our script: it wants no other page, only to know whether it was done


class Page(Record):
    """A request of a browser."""

    engine: Engine
    known: Viewer | None  # None: a page that everybody may see
    serving: Serving
    address: str
    agent: str  # what the browser calls itself
    is_https_outside: bool  # the browser speaks TLS, with us or with a proxy
    path: Mapping[str, str]  # words of the path
    query: Mapping[str, str]
    fields: Mapping[str, tuple[str, ...]]  # of a form
    is_part: bool  # our script asks

    @property
    def viewer(self) -> Viewer:
        """Return who asks. Raises NotAllowed where nobody knows."""
        if self.known is None:
            raise NotAllowed("this browser is not paired: `agents device pair` on the computer shows a code")
        return self.known

    @property
    def live(self) -> LiveSessions:
        """Return the live sessions in the name of who asks."""
        return self.engine.live.acting_as(self.viewer.name, is_person=True)

    @property
    def work(self) -> WorkSessions:
        """Return the sessions that work by themselves, in the same name."""
        return self.engine.work.acting_as(self.live)

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
    """Return the route of a form. command: whose scope it takes; the handler asks for a confirmation by itself."""
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
        page = Page(
            request.app.state.engine,
            request.state.viewer,
            request.app.state.serving,
            request.state.address,
            request.headers.get("user-agent", ""),
            request.state.is_https_outside,
            request.path_params,
            request.query_params,
            fields,
            PART in request.headers,
        )
        return await run_in_threadpool(_answer, handler, command, page)

    return endpoint


def _answer(handler: Handler, command: str, page: Page) -> Response:
    try:
        if command:
            check_scope(page.viewer, find(command).scope)
        return handler(page)
    except RunnerError as error:
        values = {"message": redact(error.message), "code": error.slug}
        # What was typed is not lost: the page that says what is wrong shows it.
        kept = {name: page.field(name) for name in ("content", "text", "message") if page.field(name)}
        return page.show("error.html", status_of(error), kept=kept, back=page.back("/"), **values)
