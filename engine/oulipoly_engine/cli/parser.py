"""The top-level command line: its options, where a subcommand begins, and errors with the nearest known word."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from oulipoly_engine.cli import commands
from oulipoly_engine.errors import SessionIdInvalid, UsageInvalid
from oulipoly_engine.facade import output

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import SupportsWrite

_TAKES_VALUE = frozenset(
    (
        "-m",
        "--model",
        "-a",
        "--agent-file",
        "-f",
        "--file",
        "-p",
        "--project",
        "-i",
        "--input",
        "--models-dir",
        "--agents-dir",
        "--timeout",
        "--resume",
    )
)
_MAKES_ONE_SHOT = frozenset(("-m", "--model", "-a", "--agent-file", "-f", "--file", "--resume"))


class _Help(argparse.HelpFormatter):
    """argparse's own would import shutil, and with it three compression libraries, to learn the width: 2 ms a start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=output.columns() - 2)


class _RawHelp(_Help, argparse.RawDescriptionHelpFormatter):
    """The same for a text that is wrapped already."""


class Parser(argparse.ArgumentParser):
    """argparse that raises our own error and never guesses abbreviations."""

    def __init__(self, **options: object) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Raise UsageInvalid with the usage's way out."""
        raise UsageInvalid(f"{message} (see `{self.prog} --help`)")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Print the help; argparse's own says nothing where a full disk or a closed stdout takes none of it."""
        if file is None:
            output.write_block(self.format_help())
        else:
            super().print_help(file)

    def parse_known_args(  # type: ignore[override]  # one of its forms is enough
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse what is known, as argparse does for itself and for the parsers of subcommands."""
        found, unknown = super().parse_known_args(args, namespace)
        for action in self._actions:
            self._refuse_bytes(action, getattr(found, action.dest, None))
        return found, unknown

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse arguments; an unknown option names its nearest known one."""
        return self._refuse_unknown(self.parse_known_intermixed_args(list(arguments)))

    def parse_plain(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse arguments of a command that has commands of its own."""
        return self._refuse_unknown(self.parse_known_args(list(arguments)))

    def _refuse_unknown(self, parsed: tuple[argparse.Namespace, list[str]]) -> argparse.Namespace:
        found, unknown = parsed
        if unknown:
            strangers = [word for word in unknown if word not in commands.OF_THE_APP]
            if not strangers:
                self.error(f"{unknown[0]} goes with the app alone: no command, no prompt and no other option beside it")
            self.error(self._unknown_text(strangers[0]))
        return found

    def _refuse_bytes(self, action: argparse.Action, value: object) -> None:
        """Refuse bytes that are no UTF-8 text in every argument that is not passed on as it is."""
        for text in value if isinstance(value, list) else (value,):
            if action.type is None and isinstance(text, str) and not is_text(text):
                name = "/".join(action.option_strings) or str(action.metavar or action.dest)
                message = f"argument {name}: {text[:80]!r} is not UTF-8 text"
                raise (SessionIdInvalid if action.metavar == "ID" else UsageInvalid)(message)

    def _unknown_text(self, word: str) -> str:
        known = [option for action in self._actions for option in action.option_strings]
        import difflib  # noqa: PLC0415 - only an error needs it

        near = difflib.get_close_matches(word.split("=")[0], known, n=1)
        return f"unknown argument {word!r}" + (f": did you mean {near[0]}?" if near else "")


def top_level(program: str) -> Parser:
    """Return the parser of everything that is no subcommand."""
    parser = Parser(
        prog=program,
        description="Pool the accounts of your agent CLIs: the one whose quota lasts longest runs your prompt.",
        epilog=_epilog(program),
        formatter_class=_RawHelp,
        usage=f"{program} [OPTIONS] [AGENT] [PROMPT...]\n       {program} COMMAND [ARGS...]",
    )
    parser.add_argument(
        "words", nargs="*", type=raw, metavar="AGENT PROMPT", help="agent name, then the words of the prompt"
    )
    parser.add_argument("-m", "--model", help="run a model directly; every word is then prompt")
    parser.add_argument("-a", "--agent-file", type=path, help="an agent's .md file, wherever it lies")
    parser.add_argument("-f", "--file", type=path, help="read the prompt from a file")
    parser.add_argument("-p", "--project", type=path, help="working directory of the CLI")
    parser.add_argument(
        "-i",
        "--input",
        action="append",
        type=raw,
        default=[],
        metavar="KEY=VALUE",
        help="a model input; may be repeated",
    )
    parser.add_argument(
        "-n", "--new", action="store_true", help="open a new interactive session on the default account"
    )
    parser.add_argument(
        "--resume",
        metavar="ID",
        help="go on with a session, by the beginning of its id; with a prompt: without a screen",
    )
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="stop the CLI after so long")
    parser.add_argument(
        "--result-on-stderr", action="store_true", help="put the OULIPOLY_RESULT line on stderr, for binary output"
    )
    parser.add_argument("--models-dir", type=path, help="folder of model files")
    parser.add_argument("--agents-dir", type=path, help="folder of agent files")
    parser.add_argument("--usage", action="store_true", help="read every pool account's quota and show its windows")
    parser.add_argument("--json", action="store_true", help="with --usage: print one JSON document")
    parser.add_argument("--version", action="store_true", help="print the version")
    return parser


def split(arguments: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Split a command line where a subcommand begins: options before it, its name, its own arguments.

    Only the first word can be a subcommand, and only where nothing before it makes this a one-shot.
    """
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if word == "--" or word.split("=")[0] in _MAKES_ONE_SHOT:
            break
        if not word.startswith("-") or word == "-":
            if word in commands.names():
                return list(arguments[:index]), word, list(arguments[index + 1 :])
            break
        index += 2 if word in _TAKES_VALUE else 1
    return list(arguments), None, []


def seconds(text: str) -> float:
    """Read a time limit. Raises argparse's own error, which names the option."""
    value = float(text)
    if not 0 < value < float("inf"):
        message = f"not a number of seconds above 0: {text!r}"
        raise argparse.ArgumentTypeError(message)
    return value


def path(text: str) -> Path:
    """Read a path; whether something is there is for its user to say.

    Raises argparse's own error, which names the option, for what the system takes for no path at all.
    """
    from pathlib import Path  # noqa: PLC0415 - 5 ms, only where a path is given

    if not text:
        message = "the path is empty"
        raise argparse.ArgumentTypeError(message)
    try:
        os.stat(text)  # noqa: PTH116 - pathlib's takes no name that is too long
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            message = f"{text[:80]!r}: {error.strerror}"
            raise argparse.ArgumentTypeError(message) from error
    except ValueError as error:  # half a character; a command line has neither that nor a NUL
        message = f"{text[:80]!r} cannot be a path"
        raise argparse.ArgumentTypeError(message) from error
    return Path(text)


def raw(text: str) -> str:
    """Return a text that is passed on as it came; bytes that are no UTF-8 stay what they are."""
    return text


def is_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8; a byte that is none came in as half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _epilog(program: str) -> str:
    lines = [f"  {entry.name:<16}{entry.summary}" for entry in commands.SUBCOMMANDS]
    return "\n".join(
        [
            f"the app (`{program}` alone, or with these):",
            "  --linear        plain lines and numbered menus, for screen readers",
            "  --read-only     shows everything, changes nothing",
            "  --no-anim       nothing moves",
            "",
            "commands:",
            *lines,
            "",
            f"`{program} COMMAND --help` tells more; `{program} demo` shows it all living.",
        ]
    )
