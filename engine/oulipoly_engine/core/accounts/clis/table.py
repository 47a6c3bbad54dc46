"""The CLIs that are known; a further one is a module beside these and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.claude import CLAUDE
from oulipoly_engine.core.accounts.clis.cli import Cli
from oulipoly_engine.core.accounts.clis.codex import CODEX
from oulipoly_engine.core.accounts.clis.gemini import GEMINI
from oulipoly_engine.core.accounts.clis.opencode import OPENCODE
from oulipoly_engine.records import Record

CLIS: Mapping[str, Cli] = {cli.name: cli for cli in (CLAUDE, CODEX, GEMINI, OPENCODE)}


class AccountCli(Record):
    """The CLI of an account, and how it is led to its login."""

    cli: Cli
    program: str  # as the account names it: `claude`, or a path
    folder: Path  # where the CLI keeps this login
    variables: Mapping[str, str]  # that lead it there; none: it is where the CLI looks by itself


def recognise_cli(account: Account, home: Path) -> AccountCli | None:
    """Return the CLI that an account starts; None for a program that is not known, a wrapper's for example.

    home: what `~` stands for. `env VARIABLE=VALUE claude` counts as `claude` with that variable.
    """
    if not account.command:
        return None
    words = (account.command, *account.args)
    variables = dict(account.environment)
    if PurePosixPath(words[0]).name == "env":
        words, variables = _skip_env(words[1:], variables)
    cli = CLIS.get(PurePosixPath(words[0]).name) if words else None
    if cli is None:
        return None
    own = {name: variables[name] for name in cli.place.variables if name in variables}
    folder = cli.place.find_folder(own)
    return AccountCli(cli, words[0], home / cli.place.default if folder is None else Path(folder), own)


def _skip_env(words: tuple[str, ...], variables: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Take the options and variables of `env` off; `-u`, `-C` and `-S` take a word of their own."""
    rest = list(words)
    while rest:
        if rest[0] in ("-u", "--unset", "-C", "--chdir", "-S"):
            del rest[:2]
        elif rest[0].startswith("-"):
            del rest[0]
        elif "=" in rest[0]:
            name, _, value = rest.pop(0).partition("=")
            variables[name] = value
        else:
            break
    return tuple(rest), variables
