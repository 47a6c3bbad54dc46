"""Codex's errors, items and inputs as it writes them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

VERSION = "0.169.0-demo"  # of the codex that it stands for: what is older than 0.60 is refused
LONGEST_INPUT = 1_048_576
FAILURES: Mapping[str, Any] = {
    "quota": "usageLimitExceeded",
    "429": {"responseTooManyFailedAttempts": {"httpStatusCode": 429}},
    "401": {"httpConnectionFailed": {"httpStatusCode": 401}},
    "500": "internalServerError",
    "network": {"httpConnectionFailed": {"httpStatusCode": None}},
    "529": {"httpConnectionFailed": {"httpStatusCode": 503}},
}


def error_of(message: str, info: Any, details: str | None = None) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return an error as notifications and failed turns carry it."""
    return {"message": message, "codexErrorInfo": info, "additionalDetails": details, "misalignment": None}


def user_message(identity: str, text: str, client_id: str | None) -> dict[str, Any]:
    """Return a user's message as an item."""
    content = [{"type": "text", "text": text, "text_elements": []}]
    return {"type": "userMessage", "id": identity, "clientId": client_id, "content": content}


def agent_message(identity: str, text: str) -> dict[str, Any]:
    """Return an agent's message as an item."""
    return {"type": "agentMessage", "id": identity, "text": text, "phase": None}


def command(identity: str, script: str, cwd: str, status: str, output: str | None) -> dict[str, Any]:
    """Return a command as an item."""
    return {
        "type": "commandExecution",
        "id": identity,
        "command": shell_of(script),
        "cwd": cwd,
        "processId": None,
        "source": "agent",
        "status": status,
        "commandActions": [{"type": "unknown", "command": script}],
        "aggregatedOutput": output,
        "exitCode": None if output is None else 0,
        "durationMs": None if output is None else 1,
    }


def command_approval(identity: str, script: str, cwd: str) -> dict[str, Any]:
    """Return what is asked before a command."""
    amendment = script.split()
    always = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": amendment}}
    return {
        "itemId": identity,
        "kind": "command",
        "command": shell_of(script),
        "cwd": cwd,
        "commandActions": [{"type": "unknown", "command": script}],
        "proposedExecpolicyAmendment": amendment,
        "availableDecisions": ["accept", always, "cancel"],
    }


def reasoning(identity: str, *summary: str) -> dict[str, Any]:
    """Return a thought as an item."""
    return {"type": "reasoning", "id": identity, "summary": list(summary), "content": []}


def shell_of(script: str) -> str:
    """Return a script as codex runs it."""
    quoted = script.replace("'", "'\"'\"'")
    return f"/bin/bash -lc '{quoted}'"


def turn_of(identity: str, status: str, error: Any = None, items: Any = ()) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a turn."""
    return {
        "id": identity,
        "rootTurnId": identity,
        "items": list(items),
        "itemsView": "summary" if items else "notLoaded",
        "status": status,
        "error": error,
    }
