"""Find a command by its name. Only the module of its capability is loaded. Pure."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oulipoly_engine.core.commands.command import Command

CAPABILITIES: Mapping[str, str] = {  # the first word of a name -> the module here that has it
    "account": "accounts",
    "agent": "server",
    "apply": "changes",
    "artifact": "artifacts",
    "changes": "changes",
    "commit": "changes",
    "completion": "setup",
    "config": "setup",
    "conflict": "changes",
    "demo": "setup",
    "device": "server",
    "diff": "changes",
    "doctor": "setup",
    "file": "changes",
    "folder": "server",
    "grants": "server",
    "merge": "changes",
    "pool": "quota",
    "promote": "changes",
    "prompt": "runs",
    "quota": "quota",
    "recover": "requests",
    "repl": "runs",
    "report": "quota",
    "requests": "requests",
    "resume": "runs",
    "run": "runs",
    "runtime": "accounts",
    "serve": "server",
    "server": "server",
    "session": "sessions",
    "setup": "setup",
    "state": "setup",
    "status": "quota",
    "terminal": "terminals",
    "trace": "runs",
    "turn": "requests",
    "undo": "app",
    "view": "app",
    "wait": "runs",
    "why": "quota",
    "worktree": "worktrees",
}


def find(name: str) -> Command:
    """Return a command. Raises KeyError for a name that the table does not have."""
    return _of_capability(CAPABILITIES[name.partition(" ")[0]])[name]


def every() -> tuple[Command, ...]:
    """Return all commands."""
    modules = sorted(set(CAPABILITIES.values()))
    return tuple(command for module in modules for command in _of_capability(module).values())


@cache
def _of_capability(module: str) -> Mapping[str, Command]:
    commands: tuple[Command, ...] = import_module(f"oulipoly_engine.core.commands.{module}").COMMANDS
    return {command.name: command for command in commands}
