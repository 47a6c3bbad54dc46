"""Lines of claude's protocol: those that we write, and what those that it writes hold. Pure.

Claude leaves with code 1 at a line that is no JSON, or whose role is not user: everything written is made here.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from oulipoly_engine.core.text.lines import decode_json
from oulipoly_engine.drivers.json_values import Json, without_halves


def user_line(text: str, uuid: str, *, priority: str = "") -> bytes:
    """Return a person's message. uuid: fresh; claude drops a message in silence whose uuid it has seen."""
    content = [{"type": "text", "text": without_halves(text)}]
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


def _control_response(response: Mapping[str, Json]) -> bytes:
    return _encode({"type": "control_response", "response": response})


def _encode(line: Mapping[str, Json]) -> bytes:
    return msgspec.json.encode(line) + b"\n"
