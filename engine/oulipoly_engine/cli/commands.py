"""The table of subcommands: name, the module that serves it, and the line that `--help` shows. Nothing heavy here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from oulipoly_engine.cli.context import Context


class Subcommand(NamedTuple):
    """One entry."""

    name: str
    module: str  # below oulipoly_engine.cli; has `run(context, name, arguments) -> int`
    summary: str


class _Module(Protocol):
    def run(self, context: Context, name: str, arguments: list[str]) -> int: ...


SUBCOMMANDS = (
    Subcommand("account", "account_command", "drain, disable or keep a reserve of an account; list them"),
    Subcommand("config", "config_command", "check, show or find the configuration"),
    Subcommand("demo", "demo_command", "a throw-away world with made-up accounts, to try everything"),
    Subcommand("forecast", "forecast_command", "when each window runs dry at the present pace"),
    Subcommand("migrate", "migrate_command", "set the state file aside and start a fresh one (--rebuild)"),
    Subcommand("migrate-config", "migrate_command", "move old model files' account settings into providers.toml"),
    Subcommand("migrate-db", "migrate_command", "fill in chains and compaction marks of an older state file"),
    Subcommand("quota-check", "quota_command", "read every account, show its windows and each pool's next pick"),
    Subcommand(
        "session", "session_command", "locate, export, lease a conversation; probe the state file (for scripts)"
    ),
    Subcommand("session-scan", "scan_command", "run the turn scripts of sessions.toml and count what is new"),
    Subcommand("trace", "trace_command", "show an invocation and everything it started"),
    Subcommand("why", "why_command", "explain the choice of an account, now or for an invocation"),
)
# Commands of the contract that this version does not have: said plainly, never taken for an agent's name.
RESERVED = ("repl", "resume")


def names() -> frozenset[str]:
    """Return every subcommand's name."""
    return frozenset(entry.name for entry in SUBCOMMANDS)


def load(name: str) -> _Module:
    """Import the module that serves a subcommand."""
    entry = next(entry for entry in SUBCOMMANDS if entry.name == name)
    return import_module(f"oulipoly_engine.cli.{entry.module}")
