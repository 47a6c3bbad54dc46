"""How answers are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse


class Json(JSONResponse):
    """JSON in UTF-8. Names of files may hold bytes that are none: they come as escapes, as JSON allows."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - what JSON can hold
        """Return the bytes."""
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def page(request: Request, rows: Sequence[dict[str, Any]], limit: int, key: str = "id") -> Json:
    """Return the first rows of a list; where there are more, the header Link names the next page.

    rows: up to one more than `limit`. The next page is asked for with `after`, the last row's key.
    """
    response = Json(list(rows[:limit]))
    if len(rows) > limit > 0:
        query = urlencode({**request.query_params, "after": rows[limit - 1][key], "limit": limit})
        response.headers["link"] = f'<{request.url.path}?{query}>; rel="next"'
    return response
