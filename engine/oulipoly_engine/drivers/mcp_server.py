"""Our end of the Model Context Protocol as a server of tools: JSON-RPC 2.0 in lines. Pure.

Source: the protocol's revisions 2024-11-05 to 2025-11-25, and what Claude Code 2.1.197, Codex 0.169, opencode 1.18.33
and Gemini CLI 0.61 ask (seen 2026-11). Whatever a client says, nothing is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oulipoly_engine import __version__
from oulipoly_engine.drivers.json_values import text_of
from oulipoly_engine.drivers.jsonrpc import UNKNOWN_METHOD, Endpoint, Json, ServerRequest
from oulipoly_engine.records import Record

LONGEST_LINE = 8 << 20  # bytes of a message
_REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # the newest first
_INVALID_PARAMS = -32602


class ServedTool(Record):
    """A tool as clients get it."""

    name: str  # [a-zA-Z0-9_-], short enough to stand behind the server's name in the 64 characters that models take
    description: str
    parameters: Mapping[str, Any]  # JSON Schema of its arguments


class ToolResult(Record):
    """What a call has given."""

    text: str
    is_error: bool = False


class McpServer:
    """One conversation with a client."""

    def __init__(
        self, name: str, tools: Sequence[ServedTool], call: Callable[[str, Mapping[str, Any]], ToolResult]
    ) -> None:
        """call: does what a tool does, and waits for it."""
        self._name = name
        self._call = call
        self._tools = {tool.name: tool for tool in tools}
        self._endpoint = Endpoint(has_version=True)

    def receive(self, line: bytes) -> bytes:
        """Take a line of the client's and return what is to be written."""
        received = self._endpoint.receive(line)
        if isinstance(received, ServerRequest):
            self._answer(received)
        return self._endpoint.take()

    def _answer(self, asked: ServerRequest) -> None:
        match asked.method:
            case "initialize":
                result = self._introduce(asked.params)
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": [_describe(tool) for tool in self._tools.values()]}
            case "tools/call":
                name = text_of(asked.params.get("name"))
                arguments = asked.params.get("arguments") or {}
                if name not in self._tools or not isinstance(arguments, dict):
                    why = f"there is no tool {name[:80]!r} here that takes such arguments"
                    self._endpoint.refuse(asked.id, _INVALID_PARAMS, why)
                    return
                done = self._call(name, arguments)
                result = {"content": [{"type": "text", "text": done.text}], "isError": done.is_error}
            case _:
                self._endpoint.refuse(asked.id, UNKNOWN_METHOD, f"{asked.method[:80]!r} is not known here")
                return
        self._endpoint.answer(asked.id, result)

    def _introduce(self, params: Mapping[str, Json]) -> dict[str, Json]:
        revision = params.get("protocolVersion")
        return {
            "protocolVersion": revision if revision in _REVISIONS else _REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._name, "version": __version__},
        }


def _describe(tool: ServedTool) -> dict[str, Json]:
    schema = {"type": "object", "properties": {}, **tool.parameters}
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}
