"""What active extensions offer to CLIs: their tools and skills by a server of ours, and their own MCP servers."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from oulipoly_engine import variables
from oulipoly_engine.config.base import text_file
from oulipoly_engine.core.extensions.installed import Installed, Standing
from oulipoly_engine.core.extensions.manifest import McpServer, Permission, Tool
from oulipoly_engine.core.setup.mcp import Server
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.extensions.handover import OURS

_HANDED_ON = (variables.DATA_DIR, "PYTHONPATH")
_LONGEST_NAME = 48  # of a tool: models take 64 characters, of which the server's name and its marks need some
_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)\n---", re.DOTALL)
_PLAIN_KEY = re.compile(r"^(name|description):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_YAML_MARKS = tuple("|>'\"[{&*!")
_UNUSABLE = re.compile(r"[^a-zA-Z0-9-]+")


class Active(NamedTuple):
    """An extension that may run, and what is known of it."""

    installed: Installed
    standing: Standing


class OfferedTool(NamedTuple):
    """A tool and whose it is."""

    extension: str
    tool: Tool


class Skill(NamedTuple):
    """A folder with a SKILL.md."""

    name: str
    description: str
    folder: Path
    text: str


def list_tools(active: Sequence[Active]) -> Mapping[str, OfferedTool]:
    """Return tools by the names that CLIs get; the short one is the first extension's by name."""
    offered: dict[str, OfferedTool] = {}
    for extension, _standing in sorted(active, key=lambda each: each.installed.name):
        for tool in extension.manifest.tools:
            name = tool.name if tool.name not in offered else f"{extension.name}-{tool.name}"
            offered.setdefault(name[:_LONGEST_NAME], OfferedTool(extension.name, tool))
    return offered


def list_servers(active: Sequence[Active]) -> Mapping[str, tuple[Active, McpServer]]:
    """Return the MCP servers of extensions that may run commands or have a sandbox, by the names that CLIs get."""
    offered: dict[str, tuple[Active, McpServer]] = {}
    for each in sorted(active, key=lambda each: each.installed.name):
        extension, standing = each
        if Permission.EXECUTE_COMMAND in standing.granted or extension.manifest.tier == "process":
            for server in extension.manifest.mcp_servers:
                name = _UNUSABLE.sub("-", server.name)  # Gemini CLI takes what stands before a `_` for the name
                if name in offered or name == OURS:
                    name = f"{_UNUSABLE.sub('-', extension.name)}-{name}"
                offered.setdefault(name, (each, server))
    return offered


def list_skills(active: Sequence[Active], folders: Sequence[Path] = ()) -> Mapping[str, Skill]:
    """Return the skills of folders and of extensions by name; one that cannot be read is left out."""
    offered: dict[str, Skill] = {}
    for folder in folders:
        for skill in _read_skill(folder):
            offered.setdefault(skill.name if skill.name not in offered else str(folder), skill)
    for extension, _standing in sorted(active, key=lambda each: each.installed.name):
        for below in extension.manifest.skills:
            for skill in _read_skill(Path(extension.place) / below):
                name = skill.name if skill.name not in offered else f"{extension.name}:{skill.name}"
                offered.setdefault(name, skill)
    return offered


def _read_skill(folder: Path) -> Iterator[Skill]:
    path = folder / "SKILL.md"
    text = text_file.read_text(path)
    if not isinstance(text, str):
        return
    facts = _read_keys(path, text)
    description = " ".join(facts.get("description", "").split())
    yield Skill(facts.get("name") or folder.name, description, folder, text)


def _read_keys(path: Path, text: str) -> Mapping[str, str]:
    """Return the keys of a skill; a CLI waits for them, so YAML is read as such only where one line does not do."""
    opening = _FRONTMATTER.match(text)
    keys = {} if opening is None else dict(_PLAIN_KEY.findall(opening[1]))
    if not any(value.startswith(_YAML_MARKS) or not value for value in keys.values()):
        return keys
    from oulipoly_engine.config.parse.agents import split_frontmatter  # noqa: PLC0415 - 100 ms

    read, _body = split_frontmatter(path, text)
    return {name: str(value) for name, value in read.items()} if isinstance(read, dict) else {}


def make_servers(
    active: Sequence[Active],
    paths: Paths,
    environment: Mapping[str, str],
    options: Sequence[str],
    *,
    has_skills: bool,
) -> dict[str, Server]:
    """Return what CLIs are to start, by name. Each is this program: it looks again at what may run, and starts that.

    environment: ours, which a CLI does not hand on whole. options: of our own command, before its name.
    """
    command = (sys.executable, "-P", "-m", "oulipoly_tui", *options, "ext", "serve")
    env = _folders(paths) | {name: environment[name] for name in _HANDED_ON if name in environment}
    env[variables.PARENT_INVOCATION] = f"${{{variables.PARENT_INVOCATION}}}"
    servers = {name: Server("local", (*command, name), env) for name in list_servers(active)}
    if has_skills or list_tools(active):
        servers[OURS] = Server("local", command, env)
    return servers


def _folders(paths: Paths) -> dict[str, str]:
    """Return the variables that lead to our folders, though an account leads its CLI elsewhere by the same ones."""
    cache = {} if paths.cache is None else {"XDG_CACHE_HOME": str(paths.cache.parent)}
    folders = {"XDG_CONFIG_HOME": str(paths.config.parent), "XDG_DATA_HOME": str(paths.data.parent)}
    return {"HOME": str(paths.home), **folders, **cache}
