"""The CLIs that are known; a further one is a module beside these and a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

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
    variables: Mapping[str, str]  # of the account, that lead it there; none: it is where the CLI looks by itself
    inherited: str = ""  # the variable that leads it there though the account does not set it


def recognise_cli(
    account: Account, home: Path, inherited: Mapping[str, str] = MappingProxyType({})
) -> AccountCli | None:
    """Return the CLI that an account starts; None for a program that is not known, a wrapper's for example.

    home: what `~` stands for. `env VARIABLE=VALUE claude` counts as `claude` with that variable. inherited: the
    environment that its runs begin with, for whoever asks where it works now.
    """
    if not account.command:
        return None
    words = (account.command, *account.args)
    variables = dict(account.environment)
    if PurePosixPath(words[0]).name == "env":
        position, given = read_env(account.args)
        words, variables = account.args[position:], variables | given
    cli = CLIS.get(PurePosixPath(words[0]).name) if words else None
    if cli is None:
        return None
    own = {name: variables[name] for name in cli.place.variables if name in variables}
    folder = cli.place.find_folder(own)
    seen = {name: inherited[name] for name in cli.place.variables if name in inherited}
    seen = {name: value for name, value in seen.items() if name not in account.unset_environment} | own
    leading = next((name for name in seen if name not in own and cli.place.find_folder({name: seen[name]})), "")
    if folder is None and leading:
        return AccountCli(cli, words[0], Path(cli.place.find_folder(seen) or ""), own, leading)
    return AccountCli(cli, words[0], home / cli.place.default if folder is None else Path(folder), own)


def read_env(words: Sequence[str]) -> tuple[int, dict[str, str]]:
    """Return where among the arguments of `env` the program stands, and the variables that are given before it.

    `-u`, `-C` and `-S` take a word of their own. Without a program that is the number of words.
    """
    given: dict[str, str] = {}
    position = 0
    while position < len(words):
        word = words[position]
        if word in ("-u", "--unset", "-C", "--chdir", "-S"):
            position += 1
        elif not word.startswith("-"):
            name, is_given, value = word.partition("=")
            if not is_given:
                return position, given
            given[name] = value
        position += 1
    return len(words), given
