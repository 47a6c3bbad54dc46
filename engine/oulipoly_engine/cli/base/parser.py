"""The top-level command line: its options, where a subcommand begins, and errors with the nearest known word."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from oulipoly_engine.cli.base import commands
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
        "--set",
        "-e",
        "--extension",
        "--models-dir",
        "--agents-dir",
        "--timeout",
        "--resume",
    )
)
AT_END = "go on behind the CLI's own last message, where the session goes on behind another one"
_MAKES_ONE_SHOT = frozenset(("-m", "--model", "-a", "--agent-file", "-f", "--file", "--resume"))
# Our texts are English: argparse would look for a translation of each of its own, some ten times a parser.
argparse._ = str  # type: ignore[attr-defined]


class _Help(argparse.HelpFormatter):
    """argparse's own would import shutil, and with it three compression libraries, to learn the width: 2 ms a start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=output.columns() - 2)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Name the value of an option once: `-m, --model MODEL`, as Python 3.13 does."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class RawHelp(_Help, argparse.RawDescriptionHelpFormatter):
    """The same for a text that is wrapped already."""


class Parser(argparse.ArgumentParser):
    """argparse that raises our own error and never guesses abbreviations.

    command: its name in the table of commands, whose summary begins the help. more: sentences behind it.
    """

    def __init__(self, *, command: str = "", more: str = "", **options: object) -> None:
        options.setdefault("formatter_class", _Help)
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]
        self._command = command
        self._more = more
        self.older: dict[str, str] = {}  # older spelling of an option -> the present one

    def accept_older(self, older: str, option: str) -> None:
        """Take an older spelling of an option too, which scripts use; no help shows it."""
        self._option_string_actions[older] = self._option_string_actions[option]
        self.older[older] = option

    def error(self, message: str) -> NoReturn:
        """Raise UsageInvalid with the usage's way out."""
        is_option = message.rpartition(" ")[2].startswith("--")
        if is_option:  # what stands behind `--token` would be taken for a secret, and hidden
            raise UsageInvalid(f"{message}: see `{self.prog} --help`")
        raise UsageInvalid(f"{message} (see `{self.prog} --help`)")

    def format_help(self) -> str:
        """Return the help. What it begins with is put together now: no other start needs it."""
        self.describe()
        return super().format_help()

    def describe(self) -> None:
        """Take what the help begins with from the table of commands."""
        if self._command:
            from oulipoly_engine.core.commands.table import find  # noqa: PLC0415 - only where help is asked for

            self.description = f"{find(self._command).sentence}. {self._more}".rstrip()

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
        usage = self.usage
        if usage is None and not any(word.startswith("-") and "h" in word for word in arguments):
            self.usage = ""  # argparse would put it together, 3 ms, for errors, and ours leave it out
        try:
            return self._refuse_unknown(self.parse_known_intermixed_args(list(arguments)))
        finally:
            self.usage = usage

    def parse_plain(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse arguments of a command that has commands of its own."""
        return self._refuse_unknown(self.parse_known_args(list(arguments)))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is none of the choices, and name the nearest one."""
        if action.choices is None or value in action.choices:
            return
        from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - only an error needs it

        known = [str(choice) for choice in action.choices]
        near = nearest(str(value), known)
        hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"
        raise argparse.ArgumentError(action, f"invalid choice: {str(value)[:80]!r}: {hint}")

    def _refuse_unknown(self, parsed: tuple[argparse.Namespace, list[str]]) -> argparse.Namespace:
        found, unknown = parsed
        if unknown:
            strangers = [word for word in unknown if word not in commands.OF_THE_APP]
            if not strangers:
                self.error(f"{unknown[0]} goes with the app alone: no command, no prompt and no other option beside it")
            self.error(self._unknown_text(strangers[0]))
        return found

    def _refuse_bytes(self, action: argparse.Action, value: object) -> None:
        """Refuse bytes that are not UTF-8 text in every argument that is not passed on as it is."""
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


class _TopLevel(Parser):
    def describe(self) -> None:
        """List the commands."""
        self.description = _overview(self.prog)


def top_level(program: str) -> Parser:
    """Return the parser of everything that is not a subcommand."""
    parser = _TopLevel(
        prog=program,
        formatter_class=RawHelp,
        usage=f"{program} [OPTIONS] [AGENT] [PROMPT...]\n       {program} COMMAND [ARGS...]",
        add_help=False,
    )
    one_shot = parser.add_argument_group("one prompt")
    one_shot.add_argument(
        "words", nargs="*", type=raw, metavar="AGENT PROMPT", help="an agent's name, then the words of the prompt"
    )
    one_shot.add_argument("-m", "--model", help="run a model without an agent; every word is then prompt")
    one_shot.add_argument("-f", "--file", type=path, metavar="FILE", help="read the prompt from a file")
    one_shot.add_argument("-p", "--project", type=path, metavar="DIR", help="working directory of the CLI")
    one_shot.add_argument("-a", "--agent-file", type=path, metavar="FILE", help="an agent's .md file, wherever it lies")
    one_shot.add_argument(
        "-i", "--input", action="append", type=raw, default=[], metavar="KEY=VALUE", help="a model input; repeatable"
    )
    one_shot.add_argument("--timeout", type=seconds, metavar="SECONDS", help="stop the CLI after so long")
    sessions = parser.add_argument_group("sessions")
    sessions.add_argument(
        "-n", "--new", action="store_true", help="open a new interactive session on the default account"
    )
    sessions.add_argument(
        "--resume", metavar="ID", help="resume a session, by the beginning of its id; with a prompt: without a screen"
    )
    sessions.add_argument("--at-end", action="store_true", help=f"with --resume: {AT_END}")
    other = parser.add_argument_group("other")
    other.add_argument("--usage", action="store_true", help="the same as `quota show`")
    other.add_argument("--version", action="store_true", help="print the version")
    other.add_argument("-h", "--help", action="help", help="print this help")
    other.add_argument(
        "--set",
        action="append",
        type=raw,
        default=[],
        metavar="KEY=VALUE",
        help="a setting for this once, above every file; repeatable",
    )
    other.add_argument(
        "-e", "--extension", action="append", type=path, default=[], metavar="PATH", help="an extension for this once"
    )
    other.add_argument("--no-extensions", action="store_true", help="leave out all extensions")
    scripts = parser.add_argument_group("for scripts")
    scripts.add_argument("--json", action="store_true", help="with --usage: print one JSON document")
    scripts.add_argument(
        "--result-on-stderr", action="store_true", help="put the OULIPOLY_RESULT line on stderr, for binary output"
    )
    scripts.add_argument("--models-dir", type=path, metavar="DIR", help="folder of model files")
    scripts.add_argument("--agents-dir", type=path, metavar="DIR", help="folder of agent files")
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
        raise argparse.ArgumentTypeError(f"not a number of seconds above 0: {text!r}")
    return value


def path(text: str) -> Path:
    """Read a path; whether something is there is for its user to say.

    Raises argparse's own error, which names the option, for what the system takes for no path at all.
    """
    from pathlib import Path  # noqa: PLC0415 - 5 ms, only where a path is given

    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
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
    """Return a text that is passed on as it came; bytes that are not UTF-8 stay what they are."""
    return text


def is_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8; a byte that is none came in as half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _overview(program: str) -> str:
    from oulipoly_engine.cli.base import nouns  # noqa: PLC0415 - only help needs it

    tops = [entry for entry in commands.SUBCOMMANDS if " " not in entry.name]
    return "\n".join(
        [
            "Pool the accounts of your agent CLIs: the one with most quota left runs your prompt.",
            "",
            f"  {program} -m MODEL PROMPT...     run one prompt",
            f"  {program} AGENT PROMPT...        run one prompt with an agent's instructions",
            f"  {program} --resume ID            go on with a session",
            f"  {program}                        open the app; --linear for screen readers (plain lines),",
            f"  {'':<{len(program)}}                        --read-only to change nothing, --no-anim to move nothing",
            f"  {program} demo                   try everything with made-up accounts",
            "",
            nouns.listing(tops),
            "",
            f"`{program} COMMAND --help` tells more.",
        ]
    )
