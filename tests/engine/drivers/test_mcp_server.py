"""Our end of the Model Context Protocol: what clients get for what they say."""

import json

import pytest

from oulipoly_engine.drivers.mcp_server import McpServer, ServedTool, ToolResult

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.fixture
def client():
    """Ask a server with a tool `echo` and one `fail`."""

    def call(name, arguments):
        return ToolResult(f"{name}: {arguments.get('text')}", is_error=name == "fail")

    server = McpServer("agents", (ServedTool("echo", "Say it again", SCHEMA), ServedTool("fail", "", {})), call)

    def ask(method, **params):
        told = server.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return json.loads(told)

    ask.server = server
    return ask


@pytest.mark.parametrize(
    ("asked", "spoken"), [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")]
)
def test_server_speaks_the_clients_revision_or_its_newest(client, asked, spoken):
    result = client("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "x"})["result"]

    assert (spoken, {"tools": {}}) == (result["protocolVersion"], result["capabilities"])


def test_tools_are_listed_with_a_schema_of_an_object(client):
    first, second = client("tools/list")["result"]["tools"]

    assert {"name": "echo", "description": "Say it again", "inputSchema": SCHEMA} == first
    assert {"type": "object", "properties": {}} == second["inputSchema"]


def test_call_gives_what_the_tool_says(client):
    assert {"content": [{"type": "text", "text": "echo: hi"}], "isError": False} == client(
        "tools/call", name="echo", arguments={"text": "hi"}
    )["result"]
    assert client("tools/call", name="fail", arguments=None)["result"]["isError"] is True


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "rm"}, -32602),
        ("tools/call", {"name": "echo", "arguments": [1]}, -32602),
        ("tools/call", {"name": ["echo"]}, -32602),
        ("resources/list", {}, -32601),
    ],
    ids=["unknown-tool", "arguments-no-object", "name-no-text", "unknown-method"],
)
def test_what_is_wrong_is_answered_with_an_error(client, method, params, code):
    assert code == client(method, **params)["error"]["code"]


@pytest.mark.parametrize(
    "line", [b"", b"\xff", b"[1]", b'{"method":"notifications/initialized"}', b'{"id":7,"result":{}}', b"[" * 100_000]
)
def test_nothing_is_said_to_what_asks_nothing(client, line):
    assert b"" == client.server.receive(line)
    assert {} == client("ping")["result"]
