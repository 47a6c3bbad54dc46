"""`session`: what other programs build on. Every failure is one JSON line on stderr and an empty stdout."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol

from oulipoly_engine.cli import diagnostics
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.errors import RunnerError


class _Command(NamedTuple):
    module: str  # below oulipoly_engine.cli; has `run(context, program, command, arguments) -> int`
    summary: str


class _Module(Protocol):
    def run(self, context: Context, program: str, command: str, arguments: list[str]) -> int: ...


_COMMANDS = {
    "list": _Command("session_list", "list every conversation of every account"),
    "search": _Command("session_search", "search what was said in all conversations"),
    "show": _Command("session_show", "read a conversation"),
    "name": _Command("session_note", "give a conversation a name"),
    "note": _Command("session_note", "keep a note with a conversation"),
    "pin": _Command("session_note", "keep a conversation at the top of the list"),
    "unpin": _Command("session_note", "take its pin away"),
    "locate": _Command("session_locate", "print where a session lies, as one JSON line"),
    "export": _Command("session_export", "print a session: canonical JSON lines, Markdown or HTML"),
    "bundle": _Command("session_bundle", "pack a conversation into one file, to carry it to another machine"),
    "unbundle": _Command("session_bundle", "unpack such a file, so that the conversation can be resumed here"),
    "archive": _Command("session_archive", "keep copies of transcripts before their CLIs delete them"),
    "move": _Command("session_move", "carry a session over to another account"),
    "import-replace": _Command("session_replace", "replace a session's turns by edited canonical JSON lines"),
    "undo": _Command("session_replace", "put a replaced session back as it was"),
    "pause-handshake": _Command("session_lease", "take a session's lease and print its token"),
    "resume-handshake": _Command("session_lease", "give a session's lease back"),
    "schema-probe": _Command("session_probe", "inspect the state file without touching it"),
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one session command."""
    program = f"{context.program} {name}"
    if not arguments or arguments[0] not in _COMMANDS:
        return _refuse(program, arguments)
    command, *rest = arguments
    module: _Module = import_module(f"oulipoly_engine.cli.{_COMMANDS[command].module}")
    try:
        return module.run(context, f"{program} {command}", command, rest)
    except RunnerError as error:
        return diagnostics.fail_json(error)


def _refuse(program: str, arguments: list[str]) -> int:
    """Show the help if it is asked for; otherwise raise UsageInvalid, which names the commands."""
    parser = Parser(prog=program, description="Session commands for scripts: JSON out, JSON errors on stderr.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        commands.add_parser(name, help=command.summary)
    parser.parse_plain(arguments)
    return 2  # not reached: the parser refuses every word that is no command
