"""What CLIs start as their MCP servers: our server of tools and skills, or an extension's own. Every method blocks.

What was handed over may be old by now: what may run is looked at again, and so are the files of each extension.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.core.extensions.settings import fill_settings
from oulipoly_engine.core.setup.mcp import expand
from oulipoly_engine.core.text.lines import LineSplitter, Oversized
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.drivers.mcp_server import LONGEST_LINE, McpServer, ServedTool, ToolResult
from oulipoly_engine.errors import ExtensionNotFound, Interrupted, RunnerError
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.process.command import inherited_environment, replace_process
from oulipoly_engine.process.spawn import boxed_words
from oulipoly_engine.service.extensions.brokers import PLAIN_VARIABLES
from oulipoly_engine.service.extensions.handover import OURS
from oulipoly_engine.service.extensions.offer import OfferedTool, Skill, list_servers, list_skills, list_tools

_SKILL_TOOL = "skill"
_LONGEST_ANSWER = 1 << 20  # characters
_CHUNK = 1 << 16


class Serving:
    """The servers of one user's extensions."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def serve(self, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
        """Offer tools and skills to one client until it leaves. read: returns what has come, nothing at its end."""
        try:
            active = self._home.extensions.list_active()
        except RunnerError as error:  # a server that does not begin would keep Codex from beginning
            self._home.note(f"Error: nothing can be offered: {error.message}")
            active = ()
        tools = list_tools(active)
        skills = list_skills(active, self._home.extensions.list_skill_folders())
        served = [
            ServedTool(name, offered.tool.description, offered.tool.parameters) for name, offered in tools.items()
        ]
        if skills:
            served.append(_describe_skills(skills))

        def call(name: str, arguments: Mapping[str, Any]) -> ToolResult:
            offered = tools.get(name)
            return _read_skill(skills, arguments) if offered is None else self._call(offered, arguments)

        server = McpServer(OURS, served, call)
        for line in _lines(read):
            write(server.receive(line))
        self._home.extensions.close()

    def serve_agent(self, read: Callable[[int], bytes], write: Callable[[bytes], object], token: str = "") -> None:
        """Offer what a token of an agent gives to one client until it leaves.

        token: empty: the client's first line is it. One that does not hold gives no tools.
        """
        from oulipoly_engine.facade.agents.tools import AgentTools  # noqa: PLC0415 - tools of extensions need none of it

        lines = _lines(read)
        token = token or next(lines, b"").decode("utf-8", "replace").strip()
        tools = AgentTools(self._home)
        try:
            offered = tools.list_tools(token)
        except RunnerError as error:  # as above
            self._home.note(f"Error: nothing can be offered: {error.message}")
            offered = ()

        def call(name: str, arguments: Mapping[str, Any]) -> ToolResult:
            try:
                return ToolResult(tools.call_tool(token, name, arguments))
            except Interrupted:
                raise
            except RunnerError as error:
                return ToolResult(redact_strictly(error.message), is_error=True)

        server = McpServer(OURS, [ServedTool(each.name, each.description, each.parameters) for each in offered], call)
        for line in lines:
            write(server.receive(line))

    def _call(self, offered: OfferedTool, arguments: Mapping[str, Any]) -> ToolResult:
        try:  # wrong arguments are the model's fault, and no failure of the extension
            arguments = fill_settings(offered.tool.parameters, arguments)
        except ValueError as error:
            return ToolResult(str(error).replace("the setting", "the argument"), is_error=True)
        try:
            answer = self._home.extensions.running.call_tool(offered.extension, offered.tool.name, arguments)
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
        except Interrupted:
            raise
        except (RunnerError, ValueError, RecursionError) as error:
            return ToolResult(error.message if isinstance(error, RunnerError) else str(error), is_error=True)
        return ToolResult(redact_strictly(text[:_LONGEST_ANSWER]))

    def run_server(self, name: str) -> NoReturn:
        """Become an extension's own MCP server. Raises ExtensionNotFound where none of that name may run now."""
        offered = list_servers(self._home.extensions.list_active()).get(name)
        if offered is None:
            raise ExtensionNotFound(f"no extension that may run commands has an MCP server {name[:64]!r} now")
        (extension, standing), server = offered
        ours = inherited_environment()
        may_read = Permission.READ_ENVIRONMENT in standing.granted
        env = {key: value for key, value in ours.items() if may_read or key in PLAIN_VARIABLES}
        own = {key: expand(text, ours if may_read else env) for key, text in server.env.items()}
        if extension.manifest.tier == "process":
            from oulipoly_engine.service.extensions.processes import confine  # noqa: PLC0415 - few have a sandbox

            program = _place_program(Path(extension.place), server.command)
            argv = (program, *server.args)
            command = confine(extension, standing.granted, self._home.extensions.confinement, argv)
            replace_process(boxed_words(command), {**command.env, **own})
        program = _find_program(_place_program(Path(extension.place), server.command), env)
        replace_process((program, *server.args), env | own)


def _place_program(folder: Path, program: str) -> str:
    """Return a server's program; a relative path leads from its extension's folder."""
    return str(folder / program) if "/" in program else program


def _find_program(program: str, env: Mapping[str, str]) -> str:
    path = shutil.which(program, path=env.get("PATH"))
    if path is None:
        raise ExtensionNotFound(f"the program {program[:80]!r} was not found: install it")
    return path


def _lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    splitter = LineSplitter(LONGEST_LINE)
    while data := read(_CHUNK):
        for line in splitter.feed(data):
            if not isinstance(line, Oversized):  # no client waits for an answer that no server of it could give
                yield line


def _describe_skills(skills: Mapping[str, Skill]) -> ServedTool:
    listed = "\n".join(f"- {name}: {skill.description}" for name, skill in skills.items())
    description = f"Read the instructions of a skill before you do a task that it is for. There are:\n{listed}"
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": list(skills)}},
        "required": ["name"],
    }
    return ServedTool(_SKILL_TOOL, description, schema)


def _read_skill(skills: Mapping[str, Skill], arguments: Mapping[str, Any]) -> ToolResult:
    skill = skills.get(str(arguments.get("name")))
    if skill is None:
        return ToolResult(f"there is no such skill; there are {', '.join(skills)}", is_error=True)
    return ToolResult(f"The files of this skill are in {skill.folder}\n\n{skill.text}")
