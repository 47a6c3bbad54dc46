"""The table of commands: name, the module that serves it, and the line that `--help` shows. Nothing heavy here.

A name of two words is a noun and its verb; the noun has a row too, without a module where the table has all its verbs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.cli.base.context import Context


OF_THE_APP = ("--linear", "--read-only", "--no-anim")  # options of the app, which takes nothing beside them


ACCOUNTS, RECORDS = "accounts", "records"


class Subcommand(NamedTuple):
    """One row."""

    name: str  # a word, or a noun and its verb: "terminal list"
    module: str  # below oulipoly_engine.cli; has `run(context, name, arguments) -> int`; "": a noun
    summary: str
    section: str  # the heading above it in `--help`
    older: tuple[str, ...] = ()  # older spellings, which scripts use: they work, and no list shows them
    keeps_off: bool = False  # touches no state of ours, or is the way out of one that cannot be opened
    needs: str = ""  # ACCOUNTS: a configuration; RECORDS: that or a record; "": it has something to say without


class _Module(Protocol):
    def run(self, context: Context, name: str, arguments: list[str]) -> int: ...


_WORK, _ACCOUNTS, _SET_UP, _SCRIPTS = "work", "accounts and quota", "set-up", "for scripts"
_LOGINS, _CONTROLS = "accounts", "what they may be used for"
_FIND, _GO_ON, _KEEP, _EDIT = "find and read", "go on and keep in order", "keep and carry", "edit"
_TALK = "talk live"
_BRANCHES = "what sessions have changed"

SUBCOMMANDS = (  # in each section the most used first
    Subcommand("session", "", "list, search, show, move, export, bundle … sessions", _WORK),
    Subcommand(
        "repl", "runs.repl", "talk to a model's CLI in this terminal, or go on with a session", _WORK, needs=ACCOUNTS
    ),
    Subcommand("resume", "runs.resume", "send a prompt to a session, without a screen", _WORK, needs=ACCOUNTS),
    Subcommand("worktree", "", "list, remove, restore, prune: the folders that sessions work in", _WORK),
    Subcommand("requests", "", "list, show, approve, deny, answer what live sessions ask", _WORK),
    Subcommand("turn", "", "resume: have a live session go on with a turn that was left", _WORK),
    Subcommand("recover", "live.recover", "turns of live sessions that their process has left", _WORK),
    Subcommand("terminal", "", "new, list, attach, kill: programs that outlive this terminal", _WORK),
    Subcommand("serve", "web.serve", "serve sessions to scripts and to your phone", _WORK),
    Subcommand("device", "", "pair, list, confirm, revoke the phones that may use the server", _WORK),
    Subcommand("grants", "", "list, revoke what you have allowed: devices, commands, sessions", _WORK),
    Subcommand(
        "changes", "worktrees.changes", "what a session has changed; stage, discard, comment on lines", _BRANCHES
    ),
    Subcommand("diff", "worktrees.changes", "how the files of a session differ", _BRANCHES),
    Subcommand("commit", "worktrees.changes", "commit what a session has changed", _BRANCHES),
    Subcommand(
        "merge", "worktrees.changes", "merge a session's branch, or rebase it; conflicts are told first", _BRANCHES
    ),
    Subcommand("apply", "worktrees.changes", "stage a session's changes in the main checkout", _BRANCHES),
    Subcommand("promote", "worktrees.changes", "push a session's branch, for a pull request", _BRANCHES),
    Subcommand("quota", "", "show, check, forecast", _ACCOUNTS),
    Subcommand("account", "", "add, list, show, log in, rename, remove, drain … accounts", _ACCOUNTS),
    Subcommand("runtime", "", "list, show, refresh: the CLIs that live sessions are opened on", _ACCOUNTS),
    Subcommand("why", "runs.why", "explain the choice of an account, now or for a run", _ACCOUNTS, needs=RECORDS),
    Subcommand(
        "report",
        "quota.report",
        "tokens and API value by day, session, model, account, project",
        _ACCOUNTS,
        needs=RECORDS,
    ),
    Subcommand("status", "quota.status", "one line for tmux, a prompt or a bar", _ACCOUNTS),
    Subcommand("setup", "", "run: a model sets things up; detect, sync, memory", _SET_UP),
    Subcommand("doctor", "setup.doctor", "check everything: what is wrong, and what mends it", _SET_UP, keeps_off=True),
    Subcommand("config", "", "check, show, edit, get, set; write the first one", _SET_UP, keeps_off=True),
    Subcommand(
        "demo", "setup.demo", "a throw-away world with made-up accounts, to try it all", _SET_UP, keeps_off=True
    ),
    Subcommand(
        "completion", "completion.scripts", "print the completion for bash, zsh or fish", _SET_UP, keeps_off=True
    ),
    Subcommand("state", "", "fill in what an older state file lacks, or start afresh", _SET_UP),
    Subcommand("artifact", "", "put, get, list, diff, remove what agents keep and hand to each other", _SCRIPTS),
    Subcommand("trace", "runs.trace", "show a run and everything it started", _SCRIPTS),
    Subcommand("wait", "runs.wait", "wait for a run's end and print its result", _SCRIPTS),
    #
    Subcommand("session list", "sessions.list", "list the sessions of all accounts", _FIND, needs=RECORDS),
    Subcommand("session search", "sessions.search", "search what was said in all sessions", _FIND, needs=RECORDS),
    Subcommand("session show", "sessions.show", "read a session", _FIND),
    Subcommand(
        "session scan", "sessions.scan", "read what the CLIs have written", _FIND, ("session-scan",), needs=ACCOUNTS
    ),
    Subcommand("session new", "live.session", "begin a session with a model's CLI, through its own protocol", _TALK),
    Subcommand("session send", "live.session", "send it a message; with --wait print the answer", _TALK),
    Subcommand("session status", "live.session", "is it busy, does it ask something, what waits", _TALK),
    Subcommand("session follow", "live.session", "print what happens in it, as it happens", _TALK),
    Subcommand("session steer", "live.session", "give the running turn a message", _TALK),
    Subcommand("session interrupt", "live.session", "end the running turn", _TALK),
    Subcommand("session queue", "live.session", "list, edit, move, take back messages that wait", _TALK),
    Subcommand("session fork", "live.session", "begin another session with its past", _TALK),
    Subcommand("session compact", "live.session", "have the CLI shorten what it remembers", _TALK),
    Subcommand("session review", "live.session", "have changes reviewed", _TALK),
    Subcommand("session model", "live.session", "have later turns done by another model", _TALK),
    Subcommand("session close", "live.session", "end its process; a message starts it again", _TALK),
    Subcommand("session cancel", "live.session", "end its turn and its process by force", _TALK),
    Subcommand("session log", "live.session", "print what the CLI of a session with a worktree has written", _TALK),
    Subcommand("session move", "sessions.move", "move a session to another account", _GO_ON),
    Subcommand("session name", "sessions.note", "give a session a name", _GO_ON),
    Subcommand("session note", "sessions.note", "keep a note with a session", _GO_ON),
    Subcommand("session pin", "sessions.note", "keep a session at the top of the list", _GO_ON),
    Subcommand("session unpin", "sessions.note", "take a session's pin away", _GO_ON),
    Subcommand("session export", "sessions.export", "print a session as JSON lines, Markdown or HTML", _KEEP),
    Subcommand(
        "session archive", "sessions.archive", "keep copies before the CLIs delete transcripts", _KEEP, needs=RECORDS
    ),
    Subcommand("session bundle", "sessions.bundle", "pack a session into a file, for another machine", _KEEP),
    Subcommand("session unbundle", "sessions.bundle", "unpack such a file, so that the session resumes here", _KEEP),
    Subcommand("session import-replace", "sessions.replace", "replace a session by its edited JSON lines", _EDIT),
    Subcommand("session undo", "sessions.replace", "put a replaced session back as it was", _EDIT),
    Subcommand("session locate", "sessions.locations", "print where a session's transcript lies", _SCRIPTS),
    Subcommand("session pause-handshake", "sessions.locations", "take a session's lease: print a token", _SCRIPTS),
    Subcommand("session resume-handshake", "sessions.locations", "give a session's lease back", _SCRIPTS),
    Subcommand("session schema-probe", "sessions.probe", "describe the state file as JSON", _SCRIPTS, keeps_off=True),
    #
    Subcommand("requests list", "live.requests", "list what live sessions ask", ""),
    Subcommand("requests show", "live.requests", "what a request would allow", ""),
    Subcommand("requests approve", "live.requests", "allow it, once or for the session", ""),
    Subcommand("requests deny", "live.requests", "refuse it; the turn goes on", ""),
    Subcommand("requests answer", "live.requests", "answer its questions", ""),
    Subcommand("requests cancel", "live.requests", "refuse it and end the turn", ""),
    Subcommand("turn resume", "live.recover", "have the agent go on with a turn that was left", ""),
    #
    Subcommand("worktree list", "worktrees.worktree", "list them: branch, changes, merged, size", ""),
    Subcommand("worktree remove", "worktrees.worktree", "remove one; what is in it is kept", ""),
    Subcommand("worktree restore", "worktrees.worktree", "bring back one that was removed", ""),
    Subcommand("worktree prune", "worktrees.worktree", "remove those that are clean, merged and not in use", ""),
    Subcommand("worktree allow", "worktrees.worktree", "allow the set-up commands of a repository", ""),
    Subcommand("device list", "web.device", "list the devices that may use the server", ""),
    Subcommand("device pair", "web.device", "show a QR code that makes a phone one of them", ""),
    Subcommand("device link", "web.device", "make a link for somebody who may look and nothing more", ""),
    Subcommand("device confirm", "web.device", "let a device put code on this computer for a quarter of an hour", ""),
    Subcommand("device revoke", "web.device", "make a device worthless, at once", ""),
    Subcommand("grants list", "web.grants", "list what you have allowed, of every kind", ""),
    Subcommand("grants revoke", "web.grants", "withdraw one of them, at once", ""),
    #
    Subcommand("terminal new", "terminals", "run any command in a terminal of its own", "", ("terminal",)),
    Subcommand("terminal list", "terminals", "list the terminals that are running", "", ("terminals",)),
    Subcommand("terminal attach", "terminals", "show a terminal here; leaving it ends nothing", "", ("attach",)),
    Subcommand(
        "terminal kill", "terminals", "end a terminal's program, or a CLI whose runner was killed", "", ("kill",)
    ),
    #
    Subcommand("quota show", "quota.usage", "read every account now: used, limit, resets in", "", needs=ACCOUNTS),
    Subcommand(
        "quota check",
        "quota.quota_check",
        "read accounts; show windows, next picks, alerts",
        "",
        ("quota-check",),
        needs=ACCOUNTS,
    ),
    Subcommand(
        "quota forecast",
        "quota.forecast",
        "when each window runs out at the present pace",
        "",
        ("forecast",),
        needs=ACCOUNTS,
    ),
    #
    Subcommand("account add", "setup.account_add", "add an account: log in, read its quota, join pools", _LOGINS),
    Subcommand("account list", "quota.account", "list accounts and what holds for them", _LOGINS, needs=ACCOUNTS),
    Subcommand(
        "account show", "setup.account", "its CLI, its home, who is logged in, its pools", _LOGINS, needs=ACCOUNTS
    ),
    Subcommand("account login", "setup.account", "log in again", _LOGINS, needs=ACCOUNTS),
    Subcommand("account test", "setup.account", "send a prompt of one word", _LOGINS, needs=ACCOUNTS),
    Subcommand(
        "account rename", "setup.account", "change its name; its readings and sessions follow", _LOGINS, needs=ACCOUNTS
    ),
    Subcommand(
        "account remove", "setup.account", "take it out of the configuration and its pools", _LOGINS, needs=ACCOUNTS
    ),
    Subcommand("account undo", "setup.account", "take back the last of these changes", _LOGINS),
    Subcommand(
        "account export", "setup.account_backup", "back up accounts and pools, without secrets", _LOGINS, needs=ACCOUNTS
    ),
    Subcommand("account import", "setup.account_backup", "add what a backup has", _LOGINS),
    Subcommand("account drain", "quota.account", "give it no new work", _CONTROLS, needs=ACCOUNTS),
    Subcommand("account undrain", "quota.account", "give it work again", _CONTROLS, needs=ACCOUNTS),
    Subcommand(
        "account disable", "quota.account", "leave it out, and do not read its quota", _CONTROLS, needs=ACCOUNTS
    ),
    Subcommand("account enable", "quota.account", "take it in again", _CONTROLS, needs=ACCOUNTS),
    Subcommand("account reserve", "quota.account", "keep a part of its windows unused", _CONTROLS, needs=ACCOUNTS),
    Subcommand(
        "account clear", "quota.account", "take its exhausted mark and its pause away", _CONTROLS, needs=ACCOUNTS
    ),
    #
    Subcommand("runtime list", "live.runtime", "list runtimes, and how each stood when it was last asked", ""),
    Subcommand("runtime show", "live.runtime", "its status, its program, what it can do, what was noticed", ""),
    Subcommand("runtime refresh", "live.runtime", "start runtimes, and let each say who it is", ""),
    Subcommand("runtime models", "live.runtime", "list the models that a runtime offers", ""),
    Subcommand("runtime login", "live.runtime", "log in, by its CLI's own login", ""),
    Subcommand("runtime logout", "live.runtime", "log out, by its CLI's own logout", ""),
    #
    Subcommand("setup run", "setup.agent.run", "have a model set things up; you agree to each step", ""),
    Subcommand("setup detect", "setup.detect", "what is installed, and who is logged in", ""),
    Subcommand("setup sync", "setup.agent.sync", "copy skills and MCP servers from one CLI to others", ""),
    Subcommand("setup history", "setup.agent.history", "how set-ups by a model went", ""),
    Subcommand("setup memory", "setup.agent.memory", "what the set-up agent remembers, and its clearing", ""),
    #
    Subcommand("artifact put", "artifacts.artifact", "store a file, or what is piped in, as the next version", ""),
    Subcommand("artifact get", "artifacts.artifact", "print or save a version, as it is", ""),
    Subcommand("artifact list", "artifacts.artifact", "list versions: of a run, of a name, with a label", ""),
    Subcommand("artifact show", "artifacts.artifact", "what is known of a version, and how it begins", ""),
    Subcommand("artifact diff", "artifacts.artifact", "compare a version with the one before, or another", ""),
    Subcommand("artifact label", "artifacts.artifact", "give a version a label, or take it away", ""),
    Subcommand("artifact remove", "artifacts.artifact", "mark versions as removed", ""),
    Subcommand("artifact gc", "artifacts.artifact", "delete what was removed or has expired; set a limit", ""),
    #
    Subcommand("config check", "setup.config", "report every problem of every file", "", keeps_off=True),
    Subcommand("config show", "setup.config", "print all settings in force, secrets masked", "", keeps_off=True),
    Subcommand(
        "config edit", "setup.config_edit", "edit a file in your editor; it is checked first", "", keeps_off=True
    ),
    Subcommand("config get", "setup.config_edit", "print one setting", "", keeps_off=True),
    Subcommand("config set", "setup.config_edit", "change one setting; comments stay", "", keeps_off=True),
    Subcommand("config path", "setup.config", "print where the files lie", "", keeps_off=True),
    Subcommand("config init", "setup.config", "write a first configuration for your CLIs", "", keeps_off=True),
    Subcommand("config schema", "setup.config", "print the JSON Schema of a file, for editors", "", keeps_off=True),
    Subcommand(
        "config migrate",
        "setup.migrate",
        "bring an older configuration forward",
        "",
        ("migrate-config",),
        keeps_off=True,
    ),
    #
    Subcommand("state backfill", "setup.migrate", "fill in what an older state file lacks", "", ("migrate-db",)),
    Subcommand(
        "state rebuild", "setup.migrate", "set it aside as a backup, start afresh", "", ("migrate",), keeps_off=True
    ),
)


def names() -> frozenset[str]:
    """Return every word that begins a command, in its present and its older spellings."""
    return frozenset(name.partition(" ")[0] for entry in SUBCOMMANDS for name in (entry.name, *entry.older))


def verbs(noun: str) -> tuple[Subcommand, ...]:
    """Return the rows of a noun's verbs."""
    return tuple(entry for entry in SUBCOMMANDS if entry.name.startswith(f"{noun} "))


def find(words: Sequence[str]) -> tuple[Subcommand, list[str]]:
    """Return the row that words call for, and the arguments behind its name.

    words: one of `names` and what follows it. A noun's own row is returned where no verb of the table follows it.
    """
    first, second, is_option = words[0], " ".join(words[:2]), words[1:2] and words[1].startswith("-")
    for entry in SUBCOMMANDS:
        if second in (entry.name, *entry.older) and len(words) > 1:
            return entry, list(words[2:])
    rows = [entry for entry in SUBCOMMANDS if first == entry.name or first in entry.older]
    # `terminal -- CMD` is the older spelling of `terminal new -- CMD`, and `terminal --help` is asked of the noun
    wants_older = is_option and words[1] not in ("-h", "--help")
    rows.sort(key=lambda entry: (entry.name == first) == wants_older)
    return rows[0], list(words[1:])


def nearest_to(word: str) -> str | None:
    """Return the command that a mistyped first word, a verb without its noun, or `help` may have meant."""
    from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - only an error needs it

    if word == "help":
        return "--help"
    of_noun = next((entry.name for entry in SUBCOMMANDS if entry.name.endswith(f" {word}")), None)
    return of_noun or next(iter(nearest(word, [entry.name for entry in SUBCOMMANDS if " " not in entry.name])), None)


def load(entry: Subcommand) -> _Module:
    """Import the module that serves a command."""
    return import_module(f"oulipoly_engine.cli.{entry.module}")
