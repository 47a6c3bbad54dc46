"""Routes for browsers on the paths of REST: each takes what a browser sends, and leaves the rest to REST."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.routing import Match, Route
from starlette.types import Scope

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class PageRoute(Route):
    """A route that matches a GET whose client prefers HTML, or a POST of a form."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Say whether a request is for this route; one that is not may be REST's."""
        match, child = super().matches(scope)
        if match is not Match.FULL or not is_of_browser(scope["method"], Headers(scope=scope)):
            return Match.NONE, {}
        return match, child


def is_of_browser(method: str, headers: Headers) -> bool:
    """Tell whether a request is a browser's rather than a script's."""
    if method == "POST":
        return headers.get("content-type", "").partition(";")[0].strip().lower() in _FORMS
    return method in ("GET", "HEAD") and prefers_html(headers.get("accept", ""))


def prefers_html(accept: str) -> bool:
    """Tell whether an Accept header names HTML, and JSON not above it; `*/*` alone is a script's."""
    qualities: dict[str, float] = {}
    for part in accept.split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        quality = next((word[2:] for word in parameters if word.startswith("q=")), "1")
        try:
            qualities[kind] = float(quality)
        except ValueError:
            qualities[kind] = 0.0
    html = qualities.get("text/html", 0.0)
    return html > 0 and html >= qualities.get("application/json", 0.0)
