"""Pages are made here. Every value that a template shows is escaped, and its hidden characters are made visible."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.text.control_characters import visible_line, visible_text
from oulipoly_engine.core.text.quantities import ago, duration, local, moment, percent

_HERE = Path(__file__).parents[1]
STATIC = _HERE / "static"
_COMMAND = re.compile(r"`([^`\n]{1,400})`")
_SCRIPT = "text/javascript; charset=utf-8"
KINDS: Mapping[str, str] = {
    "app.css": "text/css; charset=utf-8",
    "app.js": _SCRIPT,
    "app.webmanifest": "application/manifest+json",
    "push.js": _SCRIPT,
    "push-worker.js": _SCRIPT,
}


def render(template: str, **values: Any) -> str:  # noqa: ANN401 - whatever a template shows
    """Return a page."""
    return _environment().get_template(template).render(**values)


@cache
def static_file(name: str) -> bytes:
    """Return one of `KINDS`."""
    return (STATIC / name).read_bytes()


@cache
def static_address(name: str) -> str:
    """Return where a file of ours is found: another address for another content, so that it may be kept for long."""
    return f"/static/{hashlib.sha256(static_file(name)).hexdigest()[:12]}/{name}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["static"] = static_address
    environment.filters |= {"percent": percent, "line": _line, "clock": _clock, "ago": ago, "duration": duration}
    environment.filters |= {"moment": moment, "local": local, "size": size_text, "told": _told}
    return environment


def _shown(value: Any) -> Any:  # noqa: ANN401 - whatever a template shows
    """Return a value as it may stand in a page; texts of agents may hold marks that turn the direction of text."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible_text(value)


def _line(text: str, limit: int = 120) -> str:
    """Return a text as one short line."""
    line = visible_line(text[: limit + 1])
    return line if len(text) <= limit else f"{line[: limit - 1]}…"


def _told(message: str) -> Markup:
    """Return what the program says, with the commands that it names marked as such."""
    return Markup(_COMMAND.sub(r"<code>\1</code>", str(escape(visible_text(message)))))  # noqa: S704 - escaped


def _clock(at: datetime | str) -> str:
    """Return the time of the day, in the computer's zone."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{moment.astimezone():%H:%M}"
