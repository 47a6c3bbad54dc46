"""What codex tells of its version, tokens, quota and errors, in our words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import QuotaSeen, Usage
from oulipoly_engine.core.quota.readings import duration_label
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.jsonrpc import Failure
from oulipoly_engine.records import Record

OVERLOADED = -32001
_CODES = {
    "usagelimitexceeded": failures.USAGE_LIMIT,
    "unauthorized": failures.UNAUTHORIZED,
    "internalservererror": failures.SERVER_ERROR,
    "serveroverloaded": failures.OVERLOADED,
}


class NativeError(Record):
    """An error of a turn."""

    message: str
    code: str  # usage_limit, rate_limit, unauthorized, or codex's own word


def decode_version(initialized: Json) -> str:
    """Return codex's version; the word before the slash is the name that we gave ourselves."""
    told = fields.text(initialized, "version")
    if told:
        return told
    words = fields.text(initialized, "userAgent").partition("/")[2].split()
    return words[0] if words else ""


def decode_usage(token_usage: Json, part: str) -> Usage:
    """Return one part of a thread's tokens. part: `total` of the thread, `last` call."""
    counts, last = fields.mapping(token_usage, part), fields.mapping(token_usage, "last")
    return Usage(
        input=fields.whole_number(counts, "inputTokens"),
        cached=fields.whole_number(counts, "cachedInputTokens"),
        output=fields.whole_number(counts, "outputTokens"),
        context=fields.whole_number(last, "totalTokens"),
        window=fields.whole_number(token_usage, "modelContextWindow"),
    )


def subtract_usage(total: Usage, before: Usage) -> Usage:
    """Return what was used since."""
    return Usage(
        input=_subtract(total.input, before.input),
        cached=_subtract(total.cached, before.cached),
        output=_subtract(total.output, before.output),
        context=total.context,
        window=total.window,
    )


def decode_quota(params: Json) -> QuotaSeen | None:
    """Return the account's windows; None where the message names none."""
    limits = fields.mapping(params, "rateLimits")
    windows = []
    for slot in ("primary", "secondary"):
        window = fields.mapping(limits, slot)
        used, minutes = fields.finite_number(window, "usedPercent"), fields.finite_number(window, "windowDurationMins")
        if used is not None:
            name = slot if minutes is None else duration_label(minutes * 60)
            windows.append((name, used, fields.whole_number(window, "resetsAt")))
    if not windows:
        return None
    return QuotaSeen(tuple(windows), is_rejected=bool(fields.text(limits, "rateLimitReachedType")))


def decode_error(error: Json) -> NativeError:
    """Return an error as `error` and a failed turn carry it."""
    message, details = fields.text(error, "message"), fields.text(error, "additionalDetails")
    whole = f"{message}: {details}" if message and details else message or details
    return NativeError(whole or "codex gave no reason", _code(error))


def code_of_refusal(failure: Failure) -> str:
    """Return the code of a turn that codex refused to begin."""
    if failure.kind == "timeout":
        return failures.TIMED_OUT
    if failure.kind == "closed":
        return failures.CLOSED
    if is_thread_lost(failure):
        return failures.THREAD_LOST
    if failure.code == OVERLOADED:
        return failures.OVERLOADED
    return fields.text(failure.data, "input_error_code") or str(failure.code)


def is_thread_lost(failure: Failure) -> bool:
    """Tell whether codex does not know the thread."""
    said = failure.message.lower()
    return any(words in said for words in ("no rollout", "thread not found", "invalid session id", "invalid thread id"))


def _code(error: Json) -> str:
    info = error.get("codexErrorInfo") if isinstance(error, Mapping) else None
    word, status = info if isinstance(info, str) else "", None
    if isinstance(info, Mapping) and info:
        word, more = next(iter(info.items()))
        status = fields.whole_number(more, "httpStatusCode")
    told = _CODES.get(word.replace("_", "").lower(), word) or fields.text(error, "code")
    return failures.code_of_status(status) or told


def _subtract(total: int | None, before: int | None) -> int | None:
    return None if total is None else max(0, total - (before or 0))
