"""Gemini's generateContent, as gemini 0.61.0 asks for it. Nothing is sent here.

Source of the shapes: the vendor's public API documentation, and what gemini sends and accepts (seen 2026-11).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from loopback.wire import Call, Refusal, ToolCall, parts_of

_SHELL = "run_shell_command"
_NOT_TYPED = "<session_context>"


def call_of(account: str, body: dict) -> Call:
    """Read what is asked."""
    prompt, result, said = "", None, []
    for message in body["contents"]:
        role = "assistant" if message.get("role") == "model" else "user"
        for part in message["parts"]:
            text = part.get("text", "")
            if "functionResponse" in part:
                result = json.dumps(part["functionResponse"]["response"])
            elif text and not text.lstrip().startswith(_NOT_TYPED):
                said.append((role, text))
                prompt, result = (text, None) if role == "user" else (prompt, None)
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
    return Call(account, "gemini", prompt, result, tuple(one["name"] for one in declared), tuple(said))


def refusal_of(kind: str) -> Refusal:
    """Return an error answer of a kind."""
    plan = "You exceeded your current quota, please check your plan and billing details."
    status, word, message = {
        "login": (401, "UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        "burst": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "spent": (429, "RESOURCE_EXHAUSTED", plan),
        "credit": (429, "RESOURCE_EXHAUSTED", plan),
        "server": (500, "INTERNAL", "An internal error has occurred."),
    }[kind]
    daily = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [daily]}]
    error = {"code": status, "status": word, "message": message, "details": details if message == plan else []}
    return Refusal(status, {"error": error}, {})


def events_of(text: str, wanted: ToolCall | None, _body: dict) -> Iterator[dict]:
    """Yield the stream of one answer: a text, or a call of a tool."""
    parts = [{"text": part} for part in parts_of(text)]
    if wanted is not None:
        call = {"name": wanted.name or _SHELL, "args": wanted.arguments}
        parts = [{"text": "I begin."}, {"functionCall": call, "thoughtSignature": "c2lnbmVk"}]
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    for place, part in enumerate(parts):
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if place == len(parts) - 1:
            candidate["finishReason"] = "STOP"
        yield {"candidates": [candidate], "usageMetadata": usage}


def whole_of(text: str, wanted: ToolCall | None, body: dict) -> Iterator[dict]:
    """Yield the answer in one piece."""
    settings = body.get("generationConfig") or {}
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    yield list(events_of("{}" if schema else text.replace("\n", " "), wanted, body))[-1]
