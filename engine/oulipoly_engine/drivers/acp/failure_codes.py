"""What an agent's error means: adapters put the cause into `data`, gemini an HTTP status into the code. Pure."""

from __future__ import annotations

from typing import NamedTuple

from oulipoly_engine.core.live.lines import decode_json
from oulipoly_engine.drivers.json_values import mapping, text_of
from oulipoly_engine.drivers.jsonrpc import Failure

_AUTH_REQUIRED = -32000
_BY_CODE = {
    _AUTH_REQUIRED: "unauthorized",
    401: "unauthorized",
    403: "unauthorized",
    429: "rate_limit",
    529: "overloaded",
}
_BY_WORD = {
    "authentication_failed": "unauthorized",
    "unauthorized": "unauthorized",
    "rate_limit": "usage_limit",  # of claude-agent-acp, which names both so
    "usageLimitExceeded": "usage_limit",
}


class Described(NamedTuple):
    """A failure for people."""

    message: str
    code: str


def describe(failure: Failure) -> Described:
    """Return what a failure says, and the word for it."""
    data = mapping(failure.data)
    told = text_of(data.get("message")) or text_of(data.get("details"))
    message = _plain(failure.message)
    if told and told not in message:
        message = told if message == "Internal error" else f"{message}: {told}"
    word = next((text_of(data[name]) for name in ("errorKind", "codexErrorInfo") if text_of(data.get(name))), "")
    code = _BY_WORD.get(word) or _BY_CODE.get(failure.code) or word
    return Described(message.removeprefix("Internal error: "), code)


def _plain(message: str) -> str:
    """Return the sentence in a message that is the answer of gemini's API as it came."""
    if not message.startswith("{"):
        return message
    try:
        answer = mapping(decode_json(message.encode("utf-8", "replace")))
    except ValueError:
        return message
    return text_of(mapping(answer.get("error")).get("message")) or message


def is_login_wanted(failure: Failure) -> bool:
    """Tell whether it fails for want of a login."""
    return describe(failure).code == "unauthorized"
