"""An extension with a tool and a skill, and how each CLI's model names a tool of our server."""

from __future__ import annotations

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
CALLS = {  # how each CLI's model names a tool of our server
    "claude": lambda name, arguments: ToolCall(f"mcp__agents__{name}", arguments),
    "codex": lambda name, arguments: ToolCall(name, arguments, namespace="mcp__agents"),
    "opencode": lambda name, arguments: ToolCall(f"agents_{name}", arguments),
    "gemini": lambda name, arguments: ToolCall(f"mcp_agents_{name}", arguments),
}


def add_extension(world: World) -> None:
    """Put the extension where a user puts it."""
    folder = world.home / ".config" / "oulipoly-agent-runner" / "extensions" / "weather"
    (folder / "skills" / "umbrella").mkdir(parents=True)
    (folder / "extension.toml").write_text(MANIFEST)
    (folder / "extension.py").write_text(CODE)
    (folder / "skills" / "umbrella" / "SKILL.md").write_text(SKILL)
