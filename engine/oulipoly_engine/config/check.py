"""All problems of all configuration files at once, those between files included. Reads, changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from oulipoly_engine.config import agent_files, app_file, layers, load, packages_file, prices_file, small_files
from oulipoly_engine.config.base import mask
from oulipoly_engine.config.base.app_settings import AppSettings, ThemeFile
from oulipoly_engine.config.base.problem import Fault, Level, Loaded, Problem
from oulipoly_engine.config.model_files import is_name
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.accounts import Account, Agent, Model, SessionScripts, Settings
from oulipoly_engine.core.accounts.clis.table import read_env
from oulipoly_engine.core.live.launch.catalogue import derive_runtimes
from oulipoly_engine.core.live.runtimes import RuntimeEntry
from oulipoly_engine.core.packages.lock import FILE
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.paths import Paths

Which = Callable[[str], str | None]  # a command's path, None where it is not found or not executable
FindAppFaults = Callable[[AppSettings, Sequence[ThemeFile]], Iterable[tuple[str, Fault]]]  # by file below the folder


def check(
    paths: Paths,
    *,
    models_dir: Path | None = None,
    agents_dir: Path | None = None,
    which: Which = shutil.which,
    find_app_faults: FindAppFaults | None = None,
) -> tuple[Problem, ...]:
    """Return every problem, by file: providers, models, agents, sessions, settings, prices, the app's and its themes.

    find_app_faults: what the app knows of keys and themes; None: there is no app.
    """
    accounts = small_files.read_accounts(paths)
    names = load.list_models(paths, models_dir)
    models = {name: load.read_model(paths, name, models_dir, accounts.value) for name in names}
    folder = agents_dir or paths.agents
    agents = [agent_files.read(folder / f"{name}.md", paths) for name in agent_files.names(folder)]
    sessions = small_files.read_sessions(paths)
    settings = small_files.read_settings(paths)
    runtimes = small_files.read_runtimes(paths)
    known = _names_in(paths.providers)
    problems = (
        *accounts.problems,
        *_locate_faults(paths.providers, _account_faults(accounts.value, which), in_tables=True),
        *_odd_entries(models_dir or paths.models, ".toml", "model"),
        *_odd_entries(folder, ".md", "agent"),
        *(problem for loaded in models.values() for problem in _model_problems(loaded, known)),
        *(problem for loaded in agents for problem in _agent_problems(loaded, names)),
        *sessions.problems,
        *_locate_faults(paths.sessions, _session_faults(sessions.value, known), in_tables=True),
        *settings.problems,
        *locate_above(paths, paths.settings, _settings_faults(settings.value, known, names)),
        *runtimes.problems,
        *_locate_faults(paths.settings, _runtime_faults(accounts.value, runtimes.value, paths.home)),
        *prices_file.read_prices(paths).problems,
        *_app_problems(paths, find_app_faults),
        *_package_problems(paths),
    )
    return tuple(dict.fromkeys(problems))  # what is wrong with a layer comes with each file that it stands above


def find_wrong_option(
    paths: Paths, models_dir: Path | None = None, find_app_faults: FindAppFaults | None = None
) -> Problem | None:
    """Return the first `--set` that names an account, a model or a theme that is not there; None: there is none."""
    settings = small_files.read_settings(paths).value
    faults = _settings_faults(settings, _names_in(paths.providers), load.list_models(paths, models_dir))
    problems = (*locate_above(paths, paths.settings, faults), *_app_problems(paths, find_app_faults))
    return next((problem for problem in problems if str(problem.file).startswith(layers.OPTION)), None)


def locate_above(paths: Paths, path: Path, faults: Iterable[Fault]) -> tuple[Problem, ...]:
    """Give faults of values in force the place that says them: the file's, or that of the layer above it."""
    stated = {key: each.source for layer in layers.read_above(paths) for key, each in layer.values.items()}
    problems: list[Problem] = []
    for fault in faults:
        source = stated.get(str(fault.path[0])) if len(fault.path) == 1 else None
        if source is None:
            problems += toml_file.read(path).problems([fault])
            continue
        file, colon, line = source.rpartition(":")
        is_file = bool(colon) and line.isdecimal()
        place, number = (file, int(line)) if is_file else (source, None)
        problems.append(Problem(fault.level, Path(place), number, str(fault.path[0]), fault.message, fault.fix))
    return tuple(problems)


def _app_problems(paths: Paths, find_app_faults: FindAppFaults | None) -> Iterator[Problem]:
    settings, themes = app_file.read(paths), app_file.read_themes(paths)
    yield from settings.problems
    yield from themes.problems
    for name, fault in () if find_app_faults is None else find_app_faults(settings.value, themes.value):
        yield from locate_above(paths, paths.config / name, [fault])


def _package_problems(paths: Paths) -> Iterator[Problem]:
    path = paths.packages / FILE
    try:
        clashes = packages_file.load_lock(paths.packages).clashes()
    except ConfigInvalid as error:
        fix = "move it away, and install the packages anew"
        yield Problem(Level.ERROR, path, None, "", error.message, fix)
        return
    for kind, name, packages in clashes:
        message = f"{' and '.join(packages)} bring {kind} of one name, {name!r}, which stands for that of {packages[0]}"
        fix = f"use {packages[-1]}:{name}, or switch one off: `agents config disable {kind[:-1]} {packages[0]}:{name}`"
        yield Problem(Level.WARNING, path, None, f"{kind}.{name}", message, fix)


def _odd_entries(folder: Path, suffix: str, what: str) -> Iterator[Problem]:
    """Warn of what is named like a file of ours and is none, because a run will only say that the name is unknown."""
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    for entry in entries:
        if entry.suffix == suffix and not entry.is_file():
            kind = "a link to nothing" if entry.is_symlink() and not entry.exists() else "not a regular file"
            message = f"this is {kind}, so there is no {what} {entry.stem!r}"
            yield Problem(Level.WARNING, entry, None, "", message, "put the file in its place, or take the entry away")
        elif entry.suffix == suffix and not entry.name.startswith(".") and not is_name(entry.stem):
            message = f"there is no {what} {entry.stem!r}: the name holds a backslash, or bytes that are not UTF-8"
            yield Problem(Level.WARNING, entry, None, "", message, "give the file another name")


def _names_in(providers: Path) -> tuple[str, ...] | None:
    """Return all accounts of the file, those with errors too: a pool may name them. None: nobody knows them."""
    file = toml_file.read(providers)
    return None if file.failure is not None else tuple(file.data)


def _locate_faults(path: Path, faults: Iterator[Fault], *, in_tables: bool = False) -> tuple[Problem, ...]:
    found = tuple(faults)
    return toml_file.read(path).problems(found, in_tables=in_tables) if found else ()


def _account_faults(accounts: Mapping[str, Account], which: Which) -> Iterator[Fault]:
    for name, account in accounts.items():
        if account.command is None:
            message = "there is no `command`, so it can be pooled but not started"
            yield Fault((name, "command"), message, 'add `command = "claude"` or the like', Level.WARNING)
        else:
            yield from _command_faults(name, account.command, account.args, which)
        yield from _tool_filter_faults(name, account)


def _command_faults(name: str, command: str, args: Sequence[str], which: Which) -> Iterator[Fault]:
    if which(command) is None:
        yield Fault((name, "command"), *_not_found(command), Level.WARNING)
    elif PurePath(command).name == "env":
        position, _given = read_env(args)
        if position < len(args) and which(args[position]) is None:
            yield Fault((name, "args", position), *_not_found(args[position]), Level.WARNING)


def _not_found(command: str) -> tuple[str, str]:
    """Return message and fix for a command that cannot be started."""
    shown = mask.text(command)
    if " " in command and not Path(command).exists():
        return f"no program is called {shown!r}", "keep the program in `command` and put its arguments into `args`"
    if "/" in command and Path(command).exists():
        return f"{shown!r} is not an executable file", "correct the path, or `chmod +x` the file"
    return f"the program {shown!r} was not found", "install it, correct the name, or add its folder to PATH"


def _tool_filter_faults(name: str, account: Account) -> Iterator[Fault]:
    """Warn of a filter that hides MCP tools in an interactive Claude (seen with Claude Code 2.1.141 to 2.1.143)."""
    words = account.interactive_args or ()
    for position, word in enumerate(words):
        following = words[position + 1] if position + 1 < len(words) else ""
        if word.startswith("--tools=mcp__") or (word == "--tools" and following.startswith("mcp__")):
            message = "`--tools mcp__...` breaks interactive launches of Claude"
            fix = "use `--allowedTools mcp__...`, or no filter"
            yield Fault((name, "interactive_args", position), message, fix, Level.WARNING)


def _model_problems(loaded: Loaded[Model | None], known: Sequence[str] | None) -> Iterator[Problem]:
    yield from loaded.problems
    if loaded.value is not None and loaded.value.path is not None and known is not None:
        yield from _locate_faults(loaded.value.path, _member_faults(loaded.value, known))


def _member_faults(model: Model, known: Sequence[str]) -> Iterator[Fault]:
    for member in model.members:
        if member.account not in known:
            message = f"the account {member.account!r} is not in providers.toml"
            yield Fault(("providers", member.index, "name"), message, _rename(member.account, known, "add it there"))


def _agent_problems(loaded: Loaded[Agent | None], models: Sequence[str]) -> Iterator[Problem]:
    yield from loaded.problems
    agent = loaded.value
    if agent is None or agent.path is None or not agent.model or agent.model in models:
        return
    message = f"Unknown model {agent.model!r} referenced by agent {agent.name!r}"
    fix = _rename(agent.model, models, f"add models/{agent.model}.toml")
    line = agent_files.line_of(agent.path, "model")
    yield Problem(Level.ERROR, agent.path, line, "model", message, fix)


def _session_faults(sessions: Mapping[str, SessionScripts], known: Sequence[str] | None) -> Iterator[Fault]:
    for name in sessions:
        if known is not None and name not in known:
            message = f"the account {name!r} is not in providers.toml"
            yield Fault((name,), message, _rename(name, known, "add it there, or remove this entry"), Level.WARNING)


def _settings_faults(settings: Settings, known: Sequence[str] | None, models: Sequence[str]) -> Iterator[Fault]:
    account, model = settings.default_provider, settings.diagnostics_model
    for key in ("default_model", "compaction_model"):
        name = getattr(settings, key)
        if name is not None and name not in models:
            yield Fault((key,), f"there is no model {name!r}", _rename(name, models, "add the model"), Level.WARNING)
    if account is not None and known is not None and account not in known:
        message = f"the account {account!r} is not in providers.toml"
        yield Fault(("default_provider",), message, _rename(account, known, "add it there"))
    if model is not None and model not in models:
        message = f"there is no model {model!r}, so errors are classified by key words only"
        yield Fault(("diagnostics_model",), message, _rename(model, models, "add the model"), Level.WARNING)


def _runtime_faults(accounts: Mapping[str, Account], entries: Sequence[RuntimeEntry], home: Path) -> Iterator[Fault]:
    if not entries:
        return
    for problem in derive_runtimes(accounts, entries, home).problems:
        yield Fault(("runtimes", problem.key, *problem.path), problem.message, problem.fix)


def _rename(name: str, known: Sequence[str], otherwise: str) -> str:
    found = nearest(name, known)
    return f"did you mean {found[0]!r}? Otherwise {otherwise}" if found else otherwise
