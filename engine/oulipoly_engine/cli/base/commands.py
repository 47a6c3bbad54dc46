"""How the command line calls commands, and the module that serves each. Nothing heavy here.

What a command is, `core/commands` says.

A name of two words is a noun and its verb; the noun has a row too, without a module where the table has all its verbs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.cli.base.context import Context


OF_THE_APP = ("--linear", "--read-only", "--no-anim")  # options of the app, which takes nothing beside them


class Subcommand(NamedTuple):
    """One row."""

    name: str  # a word, or a noun and its verb: "terminal list"
    module: str  # below oulipoly_engine.cli; has `run(context, name, arguments) -> int`; "": a noun
    section: str = ""  # the heading above it in `--help`
    older: tuple[str, ...] = ()  # older spellings, which scripts use: they work, and no list shows them
    keeps_off: bool = False  # touches no state of ours, or is the way out of one that cannot be opened
    verbs: str = ""  # of a noun: what `--help` says of it

    @property
    def summary(self) -> str:
        """Return the line that `--help` shows."""
        from oulipoly_engine.core.commands.table import find

        return self.verbs or find(self.name).summary


class _Module(Protocol):
    def run(self, context: Context, name: str, arguments: list[str]) -> int: ...


_WORK, _ACCOUNTS, _SET_UP, _SCRIPTS = "work", "accounts and quota", "set-up", "for scripts"
_LOGINS, _CONTROLS = "accounts", "what they may be used for"
_FIND, _GO_ON, _KEEP, _EDIT = "find and read", "go on and keep in order", "keep and carry", "edit"
_TALK = "talk live"
_BRANCHES = "what sessions have changed"
_OF_BRANCHES = ("changes", "diff", "commit", "merge", "apply", "promote")


def _verbs(words: str, module: str, section: str = "", *, keeps_off: bool = False) -> tuple[Subcommand, ...]:
    """Return the rows of verbs that one module serves. words: their noun, and behind it the verbs."""
    noun, *verbs = words.split()
    return tuple(Subcommand(f"{noun} {verb}", module, section, keeps_off=keeps_off) for verb in verbs)


SUBCOMMANDS = (  # in each section the most used first
    Subcommand("session", "", _WORK, verbs="list, search, show, move, export, bundle … sessions"),
    Subcommand("chat", "live.chat", _WORK),
    Subcommand("repl", "runs.repl", _WORK),
    Subcommand("resume", "runs.resume", _WORK),
    Subcommand("agent", "", _WORK, verbs="run, ps, prompt, chat, exec, stop … agents with tools of their own"),
    Subcommand("job", "", _WORK, verbs="run, list, await, cancel tools of agents in the background"),
    Subcommand("note", "", _WORK, verbs="list, get, set, remove, pin what an agent keeps"),
    Subcommand("token", "", _WORK, verbs="create, list, revoke what gives a program the tools of an agent"),
    Subcommand("worktree", "", _WORK, verbs="list, remove, restore, prune: the folders that sessions work in"),
    Subcommand("requests", "", _WORK, verbs="list, show, approve, deny, answer what live sessions ask"),
    Subcommand("turn", "", _WORK, verbs="resume: have a live session go on with a turn that was left"),
    Subcommand("recover", "live.recover", _WORK),
    Subcommand("terminal", "", _WORK, verbs="new, list, attach, kill: programs that outlive this terminal"),
    Subcommand("serve", "web.serve", _WORK),
    Subcommand("device", "", _WORK, verbs="pair, list, confirm, revoke the phones that may use the server"),
    Subcommand("grants", "", _WORK, verbs="list, revoke what you have allowed: devices, commands, sessions"),
    Subcommand("ext", "", _WORK, verbs="list, enable, disable extensions; grants: what they are allowed"),
    *(Subcommand(verb, "worktrees.changes", _BRANCHES) for verb in _OF_BRANCHES),
    Subcommand("image", "", _WORK, verbs="build, list, inspect, compare, export, import images of agents"),
    Subcommand("registry", "", _WORK, verbs="serve: a registry of images on this computer"),
    Subcommand("quota", "", _ACCOUNTS, verbs="show, check, forecast"),
    Subcommand("account", "", _ACCOUNTS, verbs="add, list, show, log in, rename, remove, drain … accounts"),
    Subcommand("runtime", "", _ACCOUNTS, verbs="list, show, refresh: the CLIs that live sessions are opened on"),
    Subcommand("why", "runs.why", _ACCOUNTS),
    Subcommand("report", "quota.report", _ACCOUNTS),
    Subcommand("status", "quota.status", _ACCOUNTS),
    Subcommand("setup", "", _SET_UP, verbs="run: a model sets things up; detect, sync, memory"),
    Subcommand("doctor", "setup.doctor", _SET_UP, keeps_off=True),
    Subcommand("config", "", _SET_UP, keeps_off=True, verbs="check, show, edit, get, set; write the first one"),
    Subcommand("pkg", "", _SET_UP, verbs="install, list, update, roll back packages of extensions, skills, prompts"),
    Subcommand("demo", "setup.demo", _SET_UP, keeps_off=True),
    Subcommand("completion", "completion.scripts", _SET_UP, keeps_off=True),
    Subcommand("telemetry", "", _SET_UP, verbs="show, clear what was counted here, where you have switched that on"),
    Subcommand("state", "", _SET_UP, verbs="fill in what an older state file lacks, or start afresh"),
    Subcommand("artifact", "", _SCRIPTS, verbs="put, get, list, diff, remove what agents keep and hand to each other"),
    Subcommand("trace", "runs.trace", _SCRIPTS),
    Subcommand("wait", "runs.wait", _SCRIPTS),
    #
    Subcommand("session list", "sessions.list", _FIND, older=("sessions",)),
    Subcommand("session search", "sessions.search", _FIND),
    Subcommand("session show", "sessions.show", _FIND),
    Subcommand("session tree", "sessions.branches", _FIND, older=("tree",)),
    Subcommand("session compare", "sessions.branches", _FIND),
    Subcommand("session scan", "sessions.scan", _FIND, older=("session-scan",)),
    *_verbs("session new send status follow steer interrupt queue", "live.session", _TALK),
    Subcommand("session fork", "live.session", _TALK, older=("fork",)),
    *_verbs("session compact review model close cancel log", "live.session", _TALK),
    *_verbs("session branch clear label", "sessions.branches", _GO_ON),
    Subcommand("session move", "sessions.move", _GO_ON),
    *_verbs("session name note pin unpin", "sessions.note", _GO_ON),
    *_verbs("session export import", "sessions.export", _KEEP),
    Subcommand("session delete", "sessions.delete", _KEEP, older=("delete",)),
    Subcommand("session undelete", "sessions.delete", _KEEP),
    Subcommand("session archive", "sessions.archive", _KEEP),
    *_verbs("session bundle unbundle", "sessions.bundle", _KEEP),
    *_verbs("session import-replace undo", "sessions.replace", _EDIT),
    *_verbs("session locate pause-handshake resume-handshake", "sessions.locations", _SCRIPTS),
    Subcommand("session schema-probe", "sessions.probe", _SCRIPTS, keeps_off=True),
    #
    *_verbs("requests list show approve deny answer cancel", "live.requests"),
    *_verbs("turn resume", "live.recover"),
    *_verbs("job run ls inspect await cancel", "agents.job"),
    *_verbs("agent link unlink links", "agents.together"),
    *_verbs("note ls get set rm pin unpin", "agents.together"),
    *_verbs("token create ls revoke", "agents.together"),
    *_verbs("agent run ps prompt sessions chat exec logs inspect start stop rm", "agents.agent"),
    *_verbs("worktree list remove restore prune allow", "worktrees.worktree"),
    *_verbs("device list pair link confirm revoke", "web.device"),
    *_verbs("grants list revoke", "web.grants"),
    *_verbs("ext list enable disable grants", "extensions.ext"),
    *_verbs("ext serve", "extensions.serve"),
    #
    Subcommand("terminal new", "terminals", older=("terminal",)),
    Subcommand("terminal list", "terminals", older=("terminals",)),
    Subcommand("terminal attach", "terminals", older=("attach",)),
    Subcommand("terminal kill", "terminals", older=("kill",)),
    #
    Subcommand("quota show", "quota.usage"),
    Subcommand("quota check", "quota.quota_check", older=("quota-check",)),
    Subcommand("quota forecast", "quota.forecast", older=("forecast",)),
    #
    Subcommand("account add", "setup.account_add", _LOGINS),
    Subcommand("account list", "quota.account", _LOGINS),
    *_verbs("account show login test rename remove undo", "setup.account", _LOGINS),
    *_verbs("account export import", "setup.account_backup", _LOGINS),
    *_verbs("account drain undrain disable enable reserve clear", "quota.account", _CONTROLS),
    #
    *_verbs("runtime list show refresh models login logout", "live.runtime"),
    #
    Subcommand("setup run", "setup.agent.run"),
    Subcommand("setup detect", "setup.detect"),
    Subcommand("setup sync", "setup.agent.sync"),
    Subcommand("setup history", "setup.agent.history"),
    Subcommand("setup memory", "setup.agent.memory"),
    #
    *_verbs("artifact put get list show diff label remove gc", "artifacts.artifact"),
    #
    *_verbs("image build ls inspect diff pull push tag rm sign verify export import", "images.image"),
    #
    *_verbs("registry serve", "images.registry"),
    #
    *_verbs("pkg install list info diff update rollback uninstall", "packages.pkg"),
    #
    *_verbs("config check show", "setup.config", keeps_off=True),
    *_verbs("config edit get set unset", "setup.config_edit", keeps_off=True),
    *_verbs("config enable disable list", "setup.config_lists", keeps_off=True),
    *_verbs("config path init schema trust", "setup.config", keeps_off=True),
    Subcommand("config migrate", "setup.migrate", older=("migrate-config",), keeps_off=True),
    #
    *_verbs("telemetry show clear", "runs.telemetry"),
    #
    Subcommand("state backfill", "setup.migrate", older=("migrate-db",)),
    Subcommand("state rebuild", "setup.migrate", older=("migrate",), keeps_off=True),
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
    """Return the command that a mistyped first word, a verb without its noun, a synonym or `help` may have meant."""
    # ruff: noqa: PLC0415 - only an error needs them
    from oulipoly_engine.core.commands.table import every
    from oulipoly_engine.core.text.nearest import nearest

    if word == "help":
        return "--help"
    ours = [entry.name for entry in SUBCOMMANDS]
    by_verb = (name for name in ours if name.endswith(f" {word}"))
    by_synonym = (command.name for command in every() if word in command.synonyms and command.name in ours)
    mistyped = nearest(word, [name for name in ours if " " not in name])
    return next(by_verb, None) or next(by_synonym, None) or next(iter(mistyped), None)


def load(entry: Subcommand) -> _Module:
    """Import the module that serves a command."""
    return import_module(f"oulipoly_engine.cli.{entry.module}")
