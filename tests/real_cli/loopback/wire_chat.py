"""OpenAI Chat Completions, as opencode 1.18.33 asks for them. Nothing is sent here.

Source of the shapes: the vendor's public API documentation, and what opencode sends and accepts (seen 2026-11).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from loopback.wire import Call, Refusal, ToolCall, new_id, parts_of, responses_refusal, said_of, text_of

_SHELL = "bash"


def call_of(account: str, body: dict) -> Call:
    """Read what is asked."""
    prompt, result = "", None
    for message in body["messages"]:
        if message["role"] == "tool":
            result = text_of(message["content"])
        elif message["role"] == "user":
            prompt, result = text_of(message["content"]), None
        elif message["role"] == "assistant" and message.get("content"):
            result = None
    tools = tuple(tool["function"]["name"] for tool in body.get("tools") or ())
    return Call(account, body["model"], prompt, result, tools, said_of(body["messages"]))


def refusal_of(kind: str) -> Refusal:
    """Return an error answer of a kind."""
    refusal = responses_refusal("credit" if kind == "spent" else kind)
    if kind == "login":
        refusal.body["error"]["message"] = "Incorrect API key provided: opencode-one."
    return refusal


def events_of(text: str, wanted: ToolCall | None, body: dict) -> Iterator[dict]:
    """Yield the stream of one answer: a text, or a call of a tool."""
    head = {"id": new_id("chatcmpl-"), "object": "chat.completion.chunk", "created": int(time.time())}
    head |= {"model": body["model"]}
    deltas = [{"role": "assistant", "content": part} for part in parts_of(text)]
    if wanted is not None:
        arguments = wanted.arguments | ({} if wanted.name else {"description": "run a command"})
        function = {"name": wanted.name or _SHELL, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": new_id("call_"), "type": "function", "function": function}
        deltas = [{"role": "assistant", "tool_calls": [call]}]
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "stop" if wanted is None else "tool_calls"
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
