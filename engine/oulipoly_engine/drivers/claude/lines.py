"""Lines of claude's protocol: those that we write, and a careful look into those that it writes. Pure.

Claude leaves with code 1 at a line that is no JSON, or whose role is not user: everything written is made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from oulipoly_engine.core.live.lines import decode_json

Json = Any  # what JSON holds: foreign, and looked at field by field


def user_line(text: str, uuid: str, *, priority: str = "") -> bytes:
    """Return a person's message. uuid: fresh; claude drops a message in silence whose uuid it has seen."""
    content = [{"type": "text", "text": _without_surrogates(text)}]
    line: dict[str, Json] = {"type": "user", "message": {"role": "user", "content": content}, "uuid": uuid}
    return _encode(line | ({"priority": priority} if priority else {}))


def control_request(request_id: str, request: Mapping[str, Json]) -> bytes:
    """Return a request of ours."""
    return _encode({"type": "control_request", "request_id": request_id, "request": request})


def control_answer(request_id: str, response: Mapping[str, Json]) -> bytes:
    """Return the answer to a request of claude's."""
    return _control_response({"subtype": "success", "request_id": request_id, "response": response})


def control_refusal(request_id: str, message: str) -> bytes:
    """Return the answer to a request of claude's that cannot be answered."""
    return _control_response({"subtype": "error", "request_id": request_id, "error": message})


def decode(line: bytes) -> dict[str, Json] | None:
    """Return a line's object, or None where it is none."""
    try:
        message = decode_json(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def mapping(value: Json) -> dict[str, Json]:
    """Return an object, empty where it is something else."""
    return value if isinstance(value, dict) else {}


def listing(value: Json) -> list[Json]:
    """Return an array, empty where it is something else."""
    return value if isinstance(value, list) else []


def text_of(value: Json) -> str:
    """Return a text, empty where it is something else."""
    return value if isinstance(value, str) else ""


def number(value: Json) -> float | None:
    """Return a number, or None where it is something else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Json) -> int:
    """Return a whole number, 0 where it is something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _control_response(response: Mapping[str, Json]) -> bytes:
    return _encode({"type": "control_response", "response": response})


def _encode(line: Mapping[str, Json]) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
