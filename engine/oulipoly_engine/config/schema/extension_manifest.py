"""extension.toml: what an extension declares of itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from oulipoly_engine.config.base.problem import Fault
from oulipoly_engine.config.schema.fields import OneOf, Table
from oulipoly_engine.core.extensions.hooks import HOOKS
from oulipoly_engine.core.extensions.manifest import ENTRY, NAME, Permission

_NAME = Field(pattern=f"^(?:{NAME.pattern})$", description="Small letters, digits, `-` and `_`; at most 64.")
_MOST = 200  # of anything that is a list


class ToolTable(Table):
    """`[[tools]]`: a tool that CLIs get."""

    name: str = _NAME
    description: str = Field("", description="What it does, for the model.")
    parameters: dict[str, Any] = Field({}, description="JSON Schema of its arguments.")


class CommandTable(Table):
    """`[[commands]]`: a slash command."""

    name: str = _NAME
    summary: str = Field("", description="What it does, as an infinitive.")
    hint: str = Field("", description="What is written behind it.")


class McpServerTable(Table):
    """`[[mcp_servers]]`: an MCP server that CLIs get."""

    name: str = _NAME
    command: str = Field(description="The program; a path is below the extension's folder.")
    args: list[str] = Field([], description="Its arguments.")
    env: dict[str, str] = Field({}, description="Its variables.")


class ManifestTable(Table):
    """All of extension.toml."""

    name: str = _NAME
    version: str = Field("0.0.0", pattern=r"^[\w.+!-]{1,64}$", description="Its version, at most 64 characters.")
    description: str = Field("", description="What it is for.")
    author: str = Field("", description="Who has made it.")
    permissions: list[Annotated[str, OneOf(*Permission, notes=[each.right for each in Permission])]] = Field(
        [], max_length=len(Permission), description="What a person is asked for."
    )
    entry: str = Field(ENTRY, description="`file.py:factory` below its folder.")
    tier: Annotated[str, OneOf("in-process", "process")] = Field("in-process", description="Where its code runs.")
    command: list[str] = Field(
        [],
        max_length=_MOST,
        description="Of tier `process`: its program; else Python runs `entry`.",
    )
    config_schema: dict[str, Any] = Field({}, description="JSON Schema of its settings.")
    hooks: list[Annotated[str, OneOf(*HOOKS)]] = Field([], description="What it hooks into.")
    tools: list[ToolTable] = Field([], max_length=_MOST, description="Tools that CLIs get.")
    commands: list[CommandTable] = Field([], max_length=_MOST, description="Slash commands.")
    skills: list[str] = Field([], max_length=_MOST, description="Folders with a SKILL.md, below its folder.")
    mcp_servers: list[McpServerTable] = Field([], max_length=_MOST, description="MCP servers that CLIs get.")

    def refusals(self) -> Iterator[Fault]:
        """Refuse what leads out of its folder, and a program that would never run."""
        if self.command and self.tier != "process":
            yield Fault(("command",), "only tier `process` has a `command`", 'write tier = "process"')
        for index, folder in enumerate(self.skills):
            if folder.startswith("/") or ".." in folder.split("/"):
                yield Fault(("skills", index), f"{folder!r} is not below its folder", "name a folder below it")
        for kind in ("tools", "commands", "mcp_servers"):
            names = [each.name for each in getattr(self, kind)]
            if len({*names}) < len(names):
                yield Fault((kind,), f"two of `{kind}` have one name", "give each a name of its own")
