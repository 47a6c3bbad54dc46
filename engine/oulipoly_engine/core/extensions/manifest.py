"""What an extension declares of itself, known without importing its code. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from oulipoly_engine.records import Record

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")  # of an extension, a tool and a command
FILE = "extension.toml"  # beside the code
ENTRY = "extension.py:extension"  # where nothing else is declared

Tier = Literal["in-process", "process"]


class Permission(StrEnum):
    """What an extension may be allowed."""

    FILE_READ = "file_read"
    FILE_WRITE = "file_write"
    NETWORK = "network"
    EXECUTE_COMMAND = "execute_command"
    READ_ENVIRONMENT = "read_environment"

    @property
    def right(self) -> str:
        """Return what it allows, for people."""
        return _RIGHTS[self]


_RIGHTS: Mapping[Permission, str] = {
    Permission.FILE_READ: "read your files",
    Permission.FILE_WRITE: "write your files",
    Permission.NETWORK: "use the network",
    Permission.EXECUTE_COMMAND: "run commands",
    Permission.READ_ENVIRONMENT: "read environment variables",
}


class Tool(Record):
    """A tool that an extension gives to CLIs."""

    name: str
    description: str
    parameters: Mapping[str, Any] = {}  # JSON Schema of its arguments


class ExtensionCommand(Record):
    """A slash command of an extension."""

    name: str
    summary: str = ""
    hint: str = ""  # what is written behind it, for example `[FILE]`


class McpServer(Record):
    """An MCP server that an extension brings along."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class Manifest(Record):
    """All of it. What is relative is below the folder of the extension."""

    name: str
    version: str = "0.0.0"
    description: str = ""
    author: str = ""
    permissions: tuple[Permission, ...] = ()
    entry: str = ENTRY  # `module:factory` or `file.py:factory`
    tier: Tier = "in-process"
    command: tuple[str, ...] = ()  # argv of tier `process`; empty: our Python runs `entry`
    config_schema: Mapping[str, Any] = {}  # JSON Schema; empty: it has no settings
    hooks: tuple[str, ...] = ()  # of `hooks.HOOKS`
    tools: tuple[Tool, ...] = ()
    commands: tuple[ExtensionCommand, ...] = ()
    skills: tuple[str, ...] = ()  # folders with a SKILL.md
    mcp_servers: tuple[McpServer, ...] = ()
