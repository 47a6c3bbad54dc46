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
    Subcommand("account", "quota.account", "drain, disable or keep a reserve of an account; list them"),
    Subcommand("attach", "terminals", "show a terminal here; its program runs on when you leave"),
    Subcommand("config", "setup.config", "check, show or find the configuration"),
    Subcommand("demo", "setup.demo", "a throw-away world with made-up accounts, to try everything"),
    Subcommand("doctor", "setup.doctor", "check everything: what is wrong, what follows, what mends it"),
    Subcommand("forecast", "quota.forecast", "when each window runs dry at the present pace"),
    Subcommand("kill", "terminals", "end a terminal's program, or a CLI whose runner was killed"),
    Subcommand("migrate", "setup.migrate", "set the state file aside and start a fresh one (--rebuild)"),
    Subcommand("migrate-config", "setup.migrate", "move old model files' account settings into providers.toml"),
    Subcommand("migrate-db", "setup.migrate", "fill in chains and compaction marks of an older state file"),
    Subcommand("quota-check", "quota.quota_check", "read every account, show its windows and each pool's next pick"),
    Subcommand("repl", "runs.repl", "talk to a model's CLI in this terminal, or to a session's (--resume)"),
    Subcommand("resume", "runs.resume", "give a session an answer without a screen"),
    Subcommand("report", "quota.report", "tokens and API value by day, session, model, account, project, window"),
    Subcommand("session", "sessions.group", "locate, export, lease a conversation; probe the state file (for scripts)"),
    Subcommand("session-scan", "sessions.scan", "run the turn scripts of sessions.toml and count what is new"),
    Subcommand("status", "quota.status", "one line for tmux, a prompt or a bar, made by a template"),
    Subcommand("terminal", "terminals", "run any command in a terminal that outlives this one"),
    Subcommand("terminals", "terminals", "list the terminals that live"),
    Subcommand("trace", "runs.trace", "show an invocation and everything it started"),
    Subcommand("wait", "runs.wait", "wait for a run's end and print its result"),
    Subcommand("why", "runs.why", "explain the choice of an account, now or for an invocation"),
)


def names() -> frozenset[str]:
    """Return every subcommand's name."""
    return frozenset(entry.name for entry in SUBCOMMANDS)


def load(name: str) -> _Module:
    """Import the module that serves a subcommand."""
    entry = next(entry for entry in SUBCOMMANDS if entry.name == name)
    return import_module(f"oulipoly_engine.cli.{entry.module}")
