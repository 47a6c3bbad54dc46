"""An extension with a tool, a skill and an MCP server, and how each CLI's model names a tool of a server."""

from __future__ import annotations

import sys

from loopback.wire import ToolCall
from loopback.world import World

MANIFEST = """
name = "weather"
description = "Tells the weather"
skills = ["skills/umbrella"]

[[tools]]
name = "forecast"
description = "Tell the weather of a city"

[tools.parameters]
type = "object"
required = ["city"]

[tools.parameters.properties.city]
type = "string"
"""
CODE = """
class Weather:
    def __init__(self):
        self.tools = {"forecast": lambda arguments: f"sunny in {arguments['city']}"}

def extension():
    return Weather()
"""
SKILL = "---\nname: umbrella\ndescription: When to take one\n---\nLook at the sky.\n"
SERVER = """
permissions = ["execute_command"]

[[mcp_servers]]
name = "stations"
command = "./stations"
"""
STATIONS = f"""#!{sys.executable}
import json, sys

TOOL = {{"name": "near", "description": "Stations of a city", "inputSchema": {{"type": "object"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            version = asked["params"]["protocolVersion"]
            server = {{"name": "stations", "version": "1"}}
            result = {{"protocolVersion": version, "capabilities": {{"tools": {{}}}}, "serverInfo": server}}
        case "tools/list":
            result = {{"tools": [TOOL]}}
        case "tools/call":
            result = {{"content": [{{"type": "text", "text": "Termini"}}]}}
        case _:
            result = {{}}
    if "id" in asked:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
"""
CALLS = {  # how each CLI's model names a tool of our server
    "claude": lambda name, arguments: ToolCall(f"mcp__agents__{name}", arguments),
    "codex": lambda name, arguments: ToolCall(name, arguments, namespace="mcp__agents"),
    "opencode": lambda name, arguments: ToolCall(f"agents_{name}", arguments),
    "gemini": lambda name, arguments: ToolCall(f"mcp_agents_{name}", arguments),
}


SERVER_CALLS = {  # and a tool of the extension's server
    "claude": ToolCall("mcp__stations__near", {}),
    "codex": ToolCall("near", {}, namespace="mcp__stations"),
    "opencode": ToolCall("stations_near", {}),
    "gemini": ToolCall("mcp_stations_near", {}),
}


def add_extension(world: World) -> None:
    """Put the extension where a user puts it."""
    folder = world.home / ".config" / "oulipoly-agent-runner" / "extensions" / "weather"
    (folder / "skills" / "umbrella").mkdir(parents=True)
    (folder / "extension.toml").write_text(MANIFEST)
    (folder / "extension.py").write_text(CODE)
    (folder / "skills" / "umbrella" / "SKILL.md").write_text(SKILL)


def add_server(world: World) -> None:
    """Give the extension a server of its own."""
    folder = world.home / ".config" / "oulipoly-agent-runner" / "extensions" / "weather"
    opening, _, tables = SERVER.partition("\n\n")
    manifest = folder / "extension.toml"
    manifest.write_text(f"{opening}\n{manifest.read_text()}\n{tables}")
    (folder / "stations").write_text(STATIONS)
    (folder / "stations").chmod(0o755)
