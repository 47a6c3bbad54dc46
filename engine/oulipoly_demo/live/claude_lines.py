"""Lines that Claude writes with `--output-format stream-json`, whether one answer is asked for or many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import claude_files, ids
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

COMMANDS = (("compact", "Forget the details of what was said"), ("clear", "Begin a new session"))
_EFFORTS = ["low", "medium", "high"]
_MODELS: tuple[tuple[str, str, str, str, list[str]], ...] = (
    ("default", "demo-sonnet-1", "Default (recommended)", "Made-up answers at a middling price", _EFFORTS),
    ("opus", "demo-opus-1", "Demo Opus", "The dearest made-up answers", _EFFORTS),
    ("haiku", "demo-haiku-1", "Demo Haiku", "The cheapest made-up answers", []),
)
_CONTEXT_TOKENS = 200_000


def init_line(context: CliContext, session_id: str, model: str, mode: str = "default") -> dict[str, Any]:
    """Return the line that begins a turn."""
    return {
        "type": "system",
        "subtype": "init",
        "cwd": str(context.cwd),
        "session_id": session_id,
        "tools": [],
        "mcp_servers": [],
        "model": model,
        "permissionMode": mode,
        "apiKeySource": "none",
        "claude_code_version": "9.0.0-demo" if context.drifts else VERSION,
        "uuid": ids.random_uuid(),
    }


def result_line(session_id: str, tokens: Tokens, subtype: str) -> dict[str, Any]:
    """Return the line that ends a turn, of one that came to nothing."""
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": claude_files.usage(tokens),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": ids.random_uuid(),
    }


def model_usage(tokens: Tokens) -> dict[str, Any]:
    """Return what a model was used for."""
    counts = {"inputTokens": tokens.input, "outputTokens": tokens.output, "cacheReadInputTokens": 0}
    rest = {"cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0, "contextWindow": _CONTEXT_TOKENS}
    return counts | rest


def rate_limit(failure: Failure | None, context: CliContext) -> dict[str, Any]:
    """Return how the account's window stands after an answer or a refusal."""
    if failure is not None and failure.kind == "429":
        return {"status": "rejected", "isUsingOverage": False}
    now = context.now()
    tiers = context.meter.read(now)
    tier = levels.blocking(tiers, now) or next(tier for tier in tiers if tier.kind == "short")
    return {
        "status": "allowed" if failure is None else "rejected",
        "resetsAt": int(tier.resets_at or now + tier.length_s),
        "rateLimitType": "five_hour" if tier.kind == "short" else "seven_day",
        "isUsingOverage": False,
    }


def greeting(account: str, pid: int) -> dict[str, Any]:
    """Return the answer to `initialize`."""
    models = [
        {"value": value, "resolvedModel": model, "displayName": name, "description": text}
        | ({"supportsEffort": True, "supportedEffortLevels": efforts} if efforts else {})
        for value, model, name, text, efforts in _MODELS
    ]
    return {
        "commands": [{"name": name, "description": text, "argumentHint": ""} for name, text in COMMANDS],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": models,
        "account": {"email": f"{account}@demo.invalid", "subscriptionType": "Demo", "apiProvider": "firstParty"},
        "pid": pid,
    }


def leave_request(tool: str, given: Mapping[str, Any], tool_use_id: str, cwd: str) -> dict[str, Any]:
    """Return what is asked before a tool is used."""
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    suggestions: list[dict[str, Any]] = [mode] if tool in ("Write", "Edit") else []
    if tool == "Bash":
        rule = {"toolName": "Bash", "ruleContent": given["command"]}
        allow = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
        folders = {"type": "addDirectories", "directories": [cwd], "destination": "session"}
        suggestions = [allow, folders, mode]
    request = {"subtype": "can_use_tool", "tool_name": tool, "display_name": tool, "input": given}
    return request | {"permission_suggestions": suggestions, "tool_use_id": tool_use_id}
