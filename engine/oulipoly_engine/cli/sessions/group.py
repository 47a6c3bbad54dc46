"""`session`: what other programs build on. Every failure is one JSON line on stderr and an empty stdout."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.errors import RunnerError, translate_system_errors
from oulipoly_engine.facade import diagnostics


class _Command(NamedTuple):
    module: str  # below oulipoly_engine.cli; has `run(context, program, command, arguments) -> int`
    summary: str


class _Module(Protocol):
    def run(self, context: Context, program: str, command: str, arguments: list[str]) -> int: ...


_COMMANDS = {
    "list": _Command("sessions.list", "list every conversation of every account"),
    "search": _Command("sessions.search", "search what was said in all conversations"),
    "show": _Command("sessions.show", "read a conversation"),
    "name": _Command("sessions.note", "give a conversation a name"),
    "note": _Command("sessions.note", "keep a note with a conversation"),
    "pin": _Command("sessions.note", "keep a conversation at the top of the list"),
    "unpin": _Command("sessions.note", "take its pin away"),
    "locate": _Command("sessions.locations", "print where a session lies, as one JSON line"),
    "export": _Command("sessions.export", "print a session: canonical JSON lines, Markdown or HTML"),
    "bundle": _Command("sessions.bundle", "pack a conversation into one file, to carry it to another machine"),
    "unbundle": _Command("sessions.bundle", "unpack such a file, so that the conversation can be resumed here"),
    "archive": _Command("sessions.archive", "keep copies of transcripts before their CLIs delete them"),
    "move": _Command("sessions.move", "carry a session over to another account"),
    "import-replace": _Command("sessions.replace", "replace a session's turns by edited canonical JSON lines"),
    "undo": _Command("sessions.replace", "put a replaced session back as it was"),
    "pause-handshake": _Command("sessions.locations", "take a session's lease and print its token"),
    "resume-handshake": _Command("sessions.locations", "give a session's lease back"),
    "schema-probe": _Command("sessions.probe", "inspect the state file without touching it"),
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one session command."""
    program = f"{context.program} {name}"
    if not arguments or arguments[0] not in _COMMANDS:
        return _refuse(program, arguments)
    command, *rest = arguments
    module: _Module = import_module(f"oulipoly_engine.cli.{_COMMANDS[command].module}")
    try:
        with translate_system_errors():
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
