"""JSON that CLIs print and write: whatever is not what it should be counts as not said. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

_LONGEST = 200  # characters of a name or a plan


def read_object(text: str) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_claims(token: object) -> Mapping[str, Any]:
    """Return what a JSON Web Token says of its owner; nothing where it is none.

    Its signature is its reader's business, and we grant nothing by it.
    """
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return {}
    try:
        return read_object(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)).decode())
    except ValueError:
        return {}


def object_in(told: object, key: str) -> Mapping[str, Any]:
    """Return an object inside another one; an empty one where it is not there."""
    found = told.get(key) if isinstance(told, Mapping) else None
    return found if isinstance(found, dict) else {}


def text_of(told: object, key: str) -> str | None:
    """Return a short text on one line; None where it is not there."""
    found = told.get(key) if isinstance(told, Mapping) else None
    is_text = isinstance(found, str) and found.strip() and found.isprintable() and len(found) <= _LONGEST
    return found if isinstance(found, str) and is_text else None
