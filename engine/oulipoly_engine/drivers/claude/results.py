"""How claude tells that a turn is over, what it took, and what is left of the account. Pure.

Failures of the API come as `success`: `is_error`, `api_error_status` and the `error` of a message tell, not `subtype`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import ModelInfo, QuotaSeen, TurnEnd, Usage
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, number, text_of

_LOST = "No conversation found with session ID"
_OF_NO_USE = "[ede_diagnostic]"  # claude's own note for its developers
_CODES = {
    "authentication_failed": failures.UNAUTHORIZED,
    "oauth_org_not_allowed": failures.UNAUTHORIZED,
    "rate_limit": failures.RATE_LIMIT,
    "billing_error": failures.USAGE_LIMIT,
}


class Ending(NamedTuple):
    """How a turn ended."""

    status: TurnEnd
    message: str = ""
    code: str = ""


def ending_of(result: Mapping[str, Json], *, error: str, is_spent: bool, is_interrupted: bool) -> Ending:
    """Return how a turn ended.

    error: of the turn's last message, empty for none. is_spent: the plan's window was told to be used up in this turn.
    is_interrupted: we had asked for the turn's end.
    """
    subtype, reason = text_of(result.get("subtype")), text_of(result.get("terminal_reason"))
    problems = [text_of(one) for one in listing(result.get("errors")) if not text_of(one).startswith(_OF_NO_USE)]
    if subtype == "error_during_execution" and (is_interrupted or reason.startswith("aborted") or not problems):
        return Ending("interrupted")
    if result.get("is_error") is not True and not subtype.startswith("error"):
        return Ending("completed")
    code = _code(error, result.get("api_error_status"), is_spent=is_spent)
    message = "; ".join(problems) or text_of(result.get("result")) or f"claude ended the turn with {subtype}"
    return Ending("failed", message, code or (subtype if subtype != "success" else ""))


def lost_session(result: Mapping[str, Json]) -> str:
    """Return claude's sentence where it has no session to resume, else nothing."""
    texts = map(text_of, listing(result.get("errors")))
    return next((text for text in texts if text.startswith(_LOST)), "")


def usage_of(result: Mapping[str, Json], *, cost_usd: float | None, context: int | None) -> Usage:
    """Return what a turn used. cost_usd: of this turn. context: tokens of its last call."""
    told = mapping(result.get("usage"))
    cached = count(told.get("cache_read_input_tokens"))
    windows = [count(mapping(one).get("contextWindow")) for one in mapping(result.get("modelUsage")).values()]
    return Usage(
        input=count(told.get("input_tokens")) + count(told.get("cache_creation_input_tokens")) + cached,
        cached=cached,
        output=count(told.get("output_tokens")),
        context=context,
        window=max(windows, default=0) or None,
        cost_usd=cost_usd,
    )


def context_of(usage: Mapping[str, Json]) -> int | None:
    """Return how full the window is after a call with this usage."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return sum(count(usage.get(name)) for name in names) or None


def quota_of(told: Mapping[str, Json]) -> QuotaSeen:
    """Return the account's window; a short refusal of too many requests names none."""
    is_rejected = told.get("status") == "rejected"
    share, name = number(told.get("utilization")), text_of(told.get("rateLimitType"))
    used = 100.0 if is_rejected else None if share is None else min(100.0, 100.0 * share)
    if used is None or not name:
        return QuotaSeen((), is_rejected)
    return QuotaSeen(((name, used, count(told.get("resetsAt")) or None),), is_rejected)


def models_of(told: Json) -> tuple[ModelInfo, ...]:
    """Return the models that the answer to `initialize` lists."""
    models = [mapping(one) for one in listing(told)]
    return tuple(_model(one) for one in models if text_of(one.get("value")))


def commands_of(told: Json) -> tuple[tuple[str, str], ...]:
    """Return the slash commands that the answer to `initialize` lists."""
    commands = [mapping(one) for one in listing(told)]
    return tuple((text_of(one.get("name")), text_of(one.get("description"))) for one in commands)


def _model(told: Mapping[str, Json]) -> ModelInfo:
    efforts = [one for one in listing(told.get("supportedEffortLevels")) if isinstance(one, str)]
    return ModelInfo(
        id=text_of(told.get("value")),
        name=text_of(told.get("displayName")),
        description=text_of(told.get("description")),
        is_default=told.get("value") == "default",
        efforts=tuple(efforts),
        input_modalities=("text", "image"),
    )


def _code(error: str, status: Json, *, is_spent: bool) -> str:
    code = _CODES.get(error) or failures.code_of_status(count(status)) or error
    return failures.USAGE_LIMIT if is_spent and code == failures.RATE_LIMIT else code
