"""What an agent's error means: adapters put the cause into `data`, gemini an HTTP status into the code. Pure.

opencode has nothing but the vendor's sentence, and gemini's status does not tell a used-up plan from a busy minute: for
both the sentences are read that one-shots are judged by.
"""

from __future__ import annotations

from typing import NamedTuple

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.vendor_text import match_sentence
from oulipoly_engine.core.text.lines import decode_json
from oulipoly_engine.drivers.json_values import mapping, text_of
from oulipoly_engine.drivers.jsonrpc import Failure

_AUTH_REQUIRED = -32000
_BY_WORD = {
    "authentication_failed": failures.UNAUTHORIZED,
    "unauthorized": failures.UNAUTHORIZED,
    "rate_limit": failures.USAGE_LIMIT,  # of claude-agent-acp, which names both so
    "usageLimitExceeded": failures.USAGE_LIMIT,
}
_BY_CATEGORY = {
    Category.AUTH_EXPIRED: failures.UNAUTHORIZED,
    Category.QUOTA_EXHAUSTED: failures.USAGE_LIMIT,
    Category.RATE_LIMIT: failures.RATE_LIMIT,
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
    code = _BY_WORD.get(word) or _code_of(failure.code, message) or word
    return Described(message.removeprefix("Internal error: "), code)


def _code_of(number: int | None, message: str) -> str:
    if number == _AUTH_REQUIRED:
        return failures.UNAUTHORIZED
    told, found = failures.code_of_status(number), match_sentence(message)
    if told not in ("", failures.RATE_LIMIT) or found is None:
        return told
    return _BY_CATEGORY.get(found.category, told)


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
    return describe(failure).code == failures.UNAUTHORIZED
