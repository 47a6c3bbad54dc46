"""Where a CLI keeps what it is extended by, skills and MCP servers, and how it writes a server down. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from oulipoly_engine.records import Record


class Location(Record):
    """A file or a folder of a CLI's."""

    default: str  # below the user's home, where nothing leads the CLI elsewhere
    variable: str = ""  # that leads it elsewhere; "": it is the same for all its homes, so it belongs to the usual one
    below: str = ""  # below the folder of that variable

    def find(self, home: str, variables: Mapping[str, str]) -> str:
        """Return where it is. home: the user's; variables: that lead the CLI to its home."""
        if variables.get(self.variable, "").startswith("/"):
            return str(PurePosixPath(variables[self.variable]) / self.below)
        return str(PurePosixPath(home) / self.default)


class McpForm(Record):
    """How an entry for one MCP server is written. A key that is empty is one that the CLI does not have."""

    types: Mapping[str, str]  # what `type` says of a server that is `local`, `http` or `sse`; "": nothing need be said
    has_command_list: bool = False  # the program and its arguments stand in one list
    env: str = "env"
    headers: str = "headers"
    http_url: str = ""  # a second key for the address, of servers that speak HTTP
    cwd: str = ""
    timeout: str = ""
    timeout_unit_ms: int = 1
    tools: str = ""  # those that may be used
    hidden_tools: str = ""
    enabled: str = ""
    disabled: str = ""
    reference: str = "${"  # how a variable's name begins inside a value, up to a "}"; "": none is put in its place
    has_bare_references: bool = False  # `$NAME` is one as well
    env_names: str = ""  # variables that are handed on under their own names
    header_names: str = ""  # of a header, the variable that holds its value
    bearer_name: str = ""  # the variable that holds the token


class McpServers(Record):
    """Files that hold a CLI's MCP servers, all in one form; the CLI reads those that are there."""

    files: tuple[Location, ...]  # JSON, with comments or without, or TOML by their ending
    key: str  # of the object that has them
    form: McpForm
    projects: str = ""  # the key of the object that has, by project, further objects like the whole
    inner: str = ""  # the key inside it where a newer version keeps them, which then says `disabled`


USUAL_FORM = McpForm({"local": "stdio", "http": "http", "sse": "sse"}, timeout="timeout")
