"""The table of subcommands: name, the module that serves it, and the line that `--help` shows. Nothing heavy here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from oulipoly_engine.cli.context import Context


OF_THE_APP = ("--linear", "--read-only", "--no-anim")  # options of the app, which takes nothing beside them


class Subcommand(NamedTuple):
    """One entry."""

    name: str
    module: str  # below oulipoly_engine.cli; has `run(context, name, arguments) -> int`
    summary: str


class _Module(Protocol):
    def run(self, context: Context, name: str, arguments: list[str]) -> int: ...


SUBCOMMANDS = (
    Subcommand("account", "account_command", "drain, disable or keep a reserve of an account; list them"),
    Subcommand("attach", "terminals_command", "show a terminal here; its program runs on when you leave"),
    Subcommand("config", "config_command", "check, show or find the configuration"),
    Subcommand("demo", "demo_command", "a throw-away world with made-up accounts, to try everything"),
    Subcommand("forecast", "forecast_command", "when each window runs dry at the present pace"),
    Subcommand("kill", "terminals_command", "end a terminal's program"),
    Subcommand("migrate", "migrate_command", "set the state file aside and start a fresh one (--rebuild)"),
    Subcommand("migrate-config", "migrate_command", "move old model files' account settings into providers.toml"),
    Subcommand("migrate-db", "migrate_command", "fill in chains and compaction marks of an older state file"),
    Subcommand("quota-check", "quota_command", "read every account, show its windows and each pool's next pick"),
    Subcommand("repl", "repl_command", "talk to a model's CLI in this terminal, or to a session's (--resume)"),
    Subcommand("resume", "resume_command", "give a session an answer without a screen"),
    Subcommand("report", "report_command", "tokens and API value by day, session, model, account, project, window"),
    Subcommand(
        "session", "session_command", "locate, export, lease a conversation; probe the state file (for scripts)"
    ),
    Subcommand("session-scan", "scan_command", "run the turn scripts of sessions.toml and count what is new"),
    Subcommand("status", "status_command", "one line for tmux, a prompt or a bar, made by a template"),
    Subcommand("terminal", "terminals_command", "run any command in a terminal that outlives this one"),
    Subcommand("terminals", "terminals_command", "list the terminals that live"),
    Subcommand("trace", "trace_command", "show an invocation and everything it started"),
    Subcommand("why", "why_command", "explain the choice of an account, now or for an invocation"),
)


def names() -> frozenset[str]:
    """Return every subcommand's name."""
    return frozenset(entry.name for entry in SUBCOMMANDS)


def load(name: str) -> _Module:
    """Import the module that serves a subcommand."""
    entry = next(entry for entry in SUBCOMMANDS if entry.name == name)
    return import_module(f"oulipoly_engine.cli.{entry.module}")
