"""What the two vendors' model APIs say: requests read, refusals and streamed answers written. Nothing is sent here.

Source of the shapes: the vendors' public API documentation, and what Claude Code 2.1.197 and Codex 0.169.0 send and
accept (seen 2026-11).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

from oulipoly_engine.records import Record, field

RESET_IN_S = 3 * 3600
_STEERED = "The user sent a new message while you were working"  # so claude passes it on, as the system's word
_NOT_TYPED = ("<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md")


class Call(Record):
    """One request for an answer."""

    account: str
    model: str
    prompt: str  # the last thing that the user said
    tool_result: str | None  # what the last tool call gave, if the conversation ends with one
    tools: tuple[str, ...] = ()  # that the CLI offers the model
    said: tuple[tuple[str, str], ...] = ()  # (role, text) of the whole conversation, without what no user typed
    most_tokens: int | None = None  # that the answer may have
    temperature: float | None = None


class ToolCall(Record):
    """A tool that the CLI is asked to use."""

    name: str  # empty: whichever runs a command in a shell
    arguments: dict = field(default_factory=dict)
    text: str | None = None  # in place of arguments, of tools that take a text
    namespace: str = ""  # where Codex has the tools of an MCP server


class Refusal(Record):
    """An HTTP error in a vendor's words."""

    status: int
    body: dict
    headers: dict[str, str]


# ---- Anthropic Messages


def anthropic_call(account: str, body: dict) -> Call:
    """Read what is asked from a Messages request."""
    prompt, result = "", None
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "tool_result":
                result = text_of(block["content"])
            elif message["role"] == "user" and not text_of(block).startswith(_NOT_TYPED):
                prompt, result = text_of(block), None
    tools = tuple(tool["name"] for tool in body.get("tools", ()))
    steered = [one for one in body["messages"] if one["role"] != "system" or _STEERED in text_of(one["content"])]
    return Call(account, body["model"], prompt, result, tools, said_of(steered, "system"))


def anthropic_refusal(kind: str) -> Refusal:
    """Return Anthropic's error answer of a kind."""
    status, word, message, headers = {
        "login": (401, "authentication_error", "OAuth token has expired. Please obtain a new token.", {}),
        "burst": (
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit.",
            {"retry-after": "1"},
        ),
        "spent": (429, "rate_limit_error", "This request would exceed your account's rate limit.", _spent_plan()),
        "credit": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", {}),
        "server": (500, "api_error", "Internal server error", {}),
    }[kind]
    return Refusal(status, {"type": "error", "error": {"type": word, "message": message}}, headers)


def anthropic_events(text: str, wanted: ToolCall | None, body: dict) -> Iterator[dict]:
    """Yield the stream of one answer: a text, or a call of the shell tool."""
    usage = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": body["model"], "content": []}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    if wanted is None:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for part in parts_of(text):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
    else:
        call = {"type": "tool_use", "id": new_id("toolu_"), "name": wanted.name or "Bash", "input": {}}
        given = json.dumps(wanted.arguments | ({} if wanted.name else {"description": "run a command"}))
        yield {"type": "content_block_start", "index": 0, "content_block": call}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": given}}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if wanted is None else "tool_use"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 7},
    }
    yield {"type": "message_stop"}


def _spent_plan() -> dict[str, str]:
    """Return the headers that tell claude that the plan's five-hour window is full."""
    resets_at = int(time.time()) + RESET_IN_S
    limits = {
        "status": "rejected",
        "reset": resets_at,
        "representative-claim": "five_hour",
        "5h-status": "rejected",
        "5h-reset": resets_at,
        "5h-utilization": 1.0,
        "overage-status": "rejected",
        "overage-disabled-reason": "out_of_credits",
    }
    named = {f"anthropic-ratelimit-unified-{name}": str(value) for name, value in limits.items()}
    return {"retry-after": str(RESET_IN_S), "x-should-retry": "false", **named}


# ---- OpenAI Responses


def responses_call(account: str, body: dict) -> Call:
    """Read what is asked from a Responses request."""
    prompt, result = "", None
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind.endswith("_call_output"):
            result = text_of(item["output"])
        elif kind == "message" and item["role"] == "user":
            typed = [text for part in item["content"] if not (text := text_of(part)).startswith(_NOT_TYPED)]
            if typed:
                prompt, result = typed[-1], None
    tools = tuple(tool.get("name", tool["type"]) for tool in body.get("tools", ()))
    return Call(account, body["model"], prompt, result, tools, said_of(body["input"]))


def responses_refusal(kind: str) -> Refusal:
    """Return OpenAI's error answer of a kind, as the ChatGPT plans give it."""
    if kind == "spent":
        error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "pro"}
        resets = {"resets_at": int(time.time()) + RESET_IN_S, "resets_in_seconds": RESET_IN_S}
        return Refusal(429, {"error": error | resets}, {})
    status, word, message = {
        "login": (401, "invalid_api_key", "Provided authentication token is expired."),
        "burst": (429, "rate_limit_exceeded", "Rate limit reached for requests. Please try again in 1s."),
        "credit": (429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing."),
        "server": (500, "server_error", "The server had an error while processing your request."),
    }[kind]
    return Refusal(status, {"error": {"message": message, "type": word, "param": None, "code": word}}, {})


def responses_events(text: str, wanted: ToolCall | None, body: dict) -> Iterator[dict]:
    """Yield the stream of one answer: a text, or a call of the shell tool."""
    head = {"id": new_id("resp_"), "object": "response", "created_at": int(time.time()), "model": body["model"]}
    if wanted is None:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": new_id("msg_"), "role": "assistant", "status": "completed", "content": content}
    elif wanted.text is not None:
        call = {"call_id": new_id("call_"), "name": wanted.name, "input": wanted.text}
        item = {"type": "custom_tool_call", "id": new_id("ctc_"), **call}
    else:
        call = {"call_id": new_id("call_"), **_function_call(body, wanted)}
        item = {"type": "function_call", "id": new_id("fc_"), **call}
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    done = head | {"status": "completed", "output": [item], "usage": usage | details}
    yield {"type": "response.created", "response": head | {"status": "in_progress", "output": []}}
    if wanted is None:
        yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}}
        for part in parts_of(text):
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            yield {"type": "response.output_text.delta", **place, "delta": part}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": done}


def _function_call(body: dict, wanted: ToolCall) -> dict:
    """Return a tool's name and arguments; of a nameless one those of whichever shell tool this codex offers."""
    if wanted.name:
        place = {"namespace": wanted.namespace} if wanted.namespace else {}
        return {"name": wanted.name, "arguments": json.dumps(wanted.arguments), **place}
    command = wanted.arguments["command"]
    offered = {tool.get("name"): tool.get("parameters", {}).get("properties", {}) for tool in body["tools"]}
    name = next(name for name in ("exec_command", "shell_command", "shell") if name in offered)
    key = "cmd" if "cmd" in offered[name] else "command"
    is_list = offered[name].get(key, {}).get("type") == "array"
    return {"name": name, "arguments": json.dumps({key: ["bash", "-c", command] if is_list else command})}


# ---- both


def said_of(messages: list[dict], *more_roles: str) -> tuple[tuple[str, str], ...]:
    found = []
    for message in messages:
        content = message.get("content") if message.get("role") in ("user", "assistant", *more_roles) else ()
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            text = block.get("text") if block.get("type") in ("text", "input_text", "output_text") else None
            if text and not text.startswith(_NOT_TYPED):
                found.append((message["role"], text))
    return tuple(found)


def text_of(content: object) -> str:
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return content if isinstance(content, str) else "\n".join(text_of(part) for part in content)


def parts_of(text: str) -> list[str]:
    """Cut a text as a model would send it, a few characters at a time, though in no more than a hundred pieces."""
    size = max(8, len(text) // 100)
    return [text[start : start + size] for start in range(0, len(text), size)]


def new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]
