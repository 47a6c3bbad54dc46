"""Find a command by its name. Only the module of its capability is loaded. Pure."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oulipoly_engine.core.commands.command import Command

WORDS: Mapping[str, str] = {  # a module here -> the first words of its commands' names
    "accounts": "account runtime",
    "app": "help quit settings undo view",
    "artifacts": "artifact image registry",
    "changes": "apply changes commit conflict diff file merge promote",
    "quota": "pool quota report status why",
    "requests": "recover requests turn",
    "runs": "agent job note prompt repl resume run token trace wait",
    "server": "device folder grants serve server",
    "sessions": "chat session",
    "setup": "completion config demo doctor ext pkg setup state telemetry",
    "terminals": "terminal",
    "worktrees": "worktree",
}
_CAPABILITIES = {word: module for module, words in WORDS.items() for word in words.split()}


def find(name: str) -> Command:
    """Return a command. Raises KeyError for a name that the table does not have."""
    return _of_capability(_CAPABILITIES[name.partition(" ")[0]])[name]


def every() -> tuple[Command, ...]:
    """Return all commands."""
    return tuple(command for module in WORDS for command in _of_capability(module).values())


@cache
def _of_capability(module: str) -> Mapping[str, Command]:
    commands: tuple[Command, ...] = import_module(f"oulipoly_engine.core.commands.{module}").COMMANDS
    return {command.name: command for command in commands}
