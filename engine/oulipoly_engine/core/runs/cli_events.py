"""What the agent CLIs' machine-readable events say of a failure. Pure.

Known: claude `--output-format json` and `stream-json`, `codex exec --json` and codex app-server notifications,
`opencode run --format json`, `gemini -o json|stream-json`. Versions as in `vendor_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.vendor_text import heuristic, match_sentence
from oulipoly_engine.records import Record, replace

Event = Mapping[str, object]

# Error words that settle the category whatever the sentence says.
_CERTAIN = {
    "authentication_failed": Category.AUTH_EXPIRED,
    "oauth_org_not_allowed": Category.AUTH_EXPIRED,
    "billing_error": Category.QUOTA_EXHAUSTED,
    "insufficient_quota": Category.QUOTA_EXHAUSTED,
    "usage_limit_exceeded": Category.QUOTA_EXHAUSTED,
    "usageLimitExceeded": Category.QUOTA_EXHAUSTED,
    "authentication_error": Category.AUTH_EXPIRED,
    "unauthorized": Category.AUTH_EXPIRED,
    "ProviderAuthError": Category.AUTH_EXPIRED,
}
# Error words that the sentence may refine: claude says `rate_limit` of a used-up plan too.
_VAGUE = {
    "rate_limit": Category.RATE_LIMIT,
    "rate_limit_error": Category.RATE_LIMIT,
    "overloaded_error": Category.NETWORK_ERROR,
    "api_error": Category.NETWORK_ERROR,
    "overloaded": Category.NETWORK_ERROR,
    "server_error": Category.NETWORK_ERROR,
    "serverOverloaded": Category.NETWORK_ERROR,
    "internalServerError": Category.NETWORK_ERROR,
    "httpConnectionFailed": Category.NETWORK_ERROR,
    "responseStreamConnectionFailed": Category.NETWORK_ERROR,
    "responseStreamDisconnected": Category.NETWORK_ERROR,
    "responseTooManyFailedAttempts": Category.NETWORK_ERROR,
}
_STATUS = {
    401: Category.AUTH_EXPIRED,
    403: Category.AUTH_EXPIRED,
    402: Category.QUOTA_EXHAUSTED,
    408: Category.NETWORK_ERROR,
    429: Category.RATE_LIMIT,
}
_STREAM_TYPES = frozenset(
    {"system", "assistant", "user", "result", "stream_event", "rate_limit_event"}  # claude
    | {"thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.completed"}  # codex
    | {"step_start", "step_finish", "text", "tool_use"}  # opencode
    | {"init", "message"}  # gemini
)
_SERVER_TROUBLE = range(500, 600)


class Failure(Record):
    """A failure as the CLI's own events tell it."""

    category: Category
    text: str  # the CLI's sentence; may be empty
    resets_at: str | None = None  # RFC 3339 when an event carried the instant, else the CLI's words


class _Report(Record):
    """One event's complaint, before it is judged."""

    text: str = ""
    word: str = ""
    status: int | None = None
    is_final: bool = True  # False: a retry; it counts only if nothing final follows


def parse_events(text: str) -> tuple[Event, ...]:
    """Return the JSON objects in an output, in order.

    Empty unless the output ends in one, because a text answer may quote events that are not its own. The first line
    may be cut, and so may the last.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and not text.endswith("\n") and _object(lines[-1]) is None:
        lines.pop()
    events = [event for line in lines if (event := _object(line)) is not None]
    if events and _object(lines[-1]) is not None:
        return tuple(events)
    last = _object(text) or _object(text[text.rfind("\n{") + 1 :])  # gemini prints one indented object
    return () if last is None else (last,)


def failure_in(events: Iterable[Event]) -> Failure | None:
    """Return the failure that the events end with; None when they end well or tell nothing."""
    report: _Report | None = None
    limit: Event | None = None
    for event in events:
        rejected = _find_rejected_limit(event)
        limit = rejected or limit
        found = _report_of(event)
        if found is not None and (found.is_final or report is None or not report.is_final):
            report = _with_word(found, report)
        elif _ends_well(event):
            report = limit = None
        elif _goes_on(event) and (report is None or not report.is_final):
            report = limit = None  # the retry helped
    if report is None and limit is None:
        return None
    report = report or _Report(status=429)
    # JSON can carry half a surrogate pair, which nobody can store or print.
    return _judge(replace(report, text=report.text.encode("utf-8", "replace").decode("utf-8")), limit)


def is_stream(events: Iterable[Event]) -> bool:
    """Tell whether these are a known CLI's own events, so that their text is its work and not its last words."""
    return any(_text(event.get("type")) in _STREAM_TYPES or "method" in event for event in events)


def _with_word(found: _Report, before: _Report | None) -> _Report:
    """Give claude's result the error word that its last message had for the same sentence."""
    if before is None or found.word or not found.text or before.text != found.text:
        return found
    return replace(found, word=before.word)


def _judge(report: _Report, limit: Event | None) -> Failure:
    matched = match_sentence(report.text)
    resets_at = matched.resets_at if matched else None
    is_limited = report.word == "rate_limit" or report.status == 429
    if limit is not None and is_limited:
        return Failure(Category.QUOTA_EXHAUSTED, report.text, _instant(limit.get("resetsAt")) or resets_at)
    category = _CERTAIN.get(report.word) or (matched.category if matched else None) or _by_status(report)
    return Failure(category or heuristic(report.text), report.text, resets_at)


def _by_status(report: _Report) -> Category | None:
    if report.status in _STATUS:
        return _STATUS[report.status]
    return Category.NETWORK_ERROR if report.status in _SERVER_TROUBLE else _VAGUE.get(report.word)


def _report_of(event: Event) -> _Report | None:
    """Return an event's complaint; None when it has none."""
    match event:
        case {"method": str(method), "params": dict() as params}:
            return _app_server(method, params)
        case {"type": "result", "is_error": True}:
            errors = event.get("errors")
            first = errors[0] if isinstance(errors, list) and errors else ""
            return _Report(_text(event.get("result")) or _text(first), status=_int(event.get("api_error_status")))
        case {"type": "result", "status": "error", "error": dict() as error}:
            return _gemini(error)
        case {"session_id": _, "error": dict() as error}:
            return _gemini(error)
        case {"type": "assistant", "error": str(word)}:
            return _Report(_assistant_text(event), word, is_final=False)
        case {"type": "system", "subtype": "api_retry"}:
            return _Report("", _text(event.get("error")), _int(event.get("error_status")), is_final=False)
        case {"type": "turn.failed", "error": dict() as error}:
            return _codex(error)
        case {"type": "error", "error": dict() as error}:
            return _opencode(error)
        case {"type": "error", "message": str(message)}:
            is_retry = message.startswith("Reconnecting...")
            return _Report(message, *_codex_info(event.get("codexErrorInfo")), is_final=not is_retry)
    return None


def _app_server(method: str, params: Event) -> _Report | None:
    match method, params:
        case "error", {"error": dict() as error}:
            report = _codex(error)
            return _Report(report.text, report.word, report.status, is_final=params.get("willRetry") is not True)
        case "turn/completed", {"turn": {"status": "failed", "error": dict() as error}}:
            return _codex(error)
    return None


def _codex(error: Event) -> _Report:
    return _Report(_text(error.get("message")), *_codex_info(error.get("codexErrorInfo")))


def _codex_info(info: object) -> tuple[str, int | None]:
    """Split Codex's error info, a word or `{word: {"httpStatusCode": number or null}}`."""
    match info:
        case str(word):
            return word, None
        case dict() if len(info) == 1:
            ((word, detail),) = info.items()
            return _text(word), _int(detail.get("httpStatusCode")) if isinstance(detail, dict) else None
    return "", None


def _gemini(error: Event) -> _Report:
    return _Report(_text(error.get("message")), _text(error.get("type")), _int(error.get("code")))


def _opencode(error: Event) -> _Report:
    data = error.get("data")
    detail: Event = data if isinstance(data, dict) else {}
    text, body = _text(detail.get("message")), _object(_text(detail.get("responseBody")))
    inner = body.get("error") if body else None
    code = _text(inner.get("code")) if isinstance(inner, dict) else ""
    name = _text(error.get("name")) or _text(error.get("type"))
    return _Report(
        text or _text(error.get("message")) or name, code if code in _CERTAIN else name, _int(detail.get("statusCode"))
    )


def _ends_well(event: Event) -> bool:
    match event:
        case (
            {"type": "result", "is_error": False} | {"type": "result", "status": "success"} | {"type": "turn.completed"}
        ):
            return True
        case {"method": "turn/completed", "params": {"turn": {"status": "completed"}}}:
            return True
    return False


def _goes_on(event: Event) -> bool:
    """Tell whether the model answered, which ends the troubles before it."""
    kind, item = event.get("type"), event.get("item")
    is_warning = isinstance(item, dict) and item.get("type") == "error"
    return kind in ("assistant", "step_finish", "text") or (kind == "item.completed" and not is_warning)


def _find_rejected_limit(event: Event) -> Event | None:
    """Return the limit of claude's event when a plan's window refused the call.

    A bare refusal names no window: that is the server's own passing limit. Paid overage means that work went on.
    """
    match event:
        case {"type": "rate_limit_event", "rate_limit_info": dict() as info} if info.get("status") == "rejected":
            has_window = "resetsAt" in info or "rateLimitType" in info
            return info if has_window and info.get("isUsingOverage") is not True else None
    return None


def _assistant_text(event: Event) -> str:
    match event.get("message"):
        case {"content": [{"text": str(text)}, *_]}:
            return text
    return ""


def _instant(value: object) -> str | None:
    seconds = _int(value)
    try:
        return None if seconds is None else to_text(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def _object(text: str) -> Event | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
