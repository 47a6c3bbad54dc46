"""What the rest of the engine asks of the configuration: checked core values, or an error that says what to do.

Warnings come with the values; errors are raised, the first one in full. Every call looks anew whether a file has
changed.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config import model_files, small_files
from oulipoly_engine.config.base.problem import Level, Loaded, settle, summary
from oulipoly_engine.core.accounts.accounts import Account, Agent, Model, SessionScripts, Settings
from oulipoly_engine.core.accounts.clis.adapters import TAKES_NO_REPEATS
from oulipoly_engine.errors import AgentFileInvalid, AgentUnknown, ModelUnknown
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace


def load_accounts(paths: Paths) -> Loaded[Mapping[str, Account]]:
    """Return the accounts of providers.toml by name; a missing file has none.

    Raises ConfigInvalid when any entry has an error.
    """
    return settle(small_files.read_accounts(paths))


def load_settings(paths: Paths) -> Loaded[Settings]:
    """Return config.toml's settings; a file that is missing, unreadable or wrong gives the defaults.

    What is wrong with it comes along as warnings, since no run stops for it.
    """
    loaded = small_files.read_settings(paths)
    return Loaded(loaded.value, tuple(replace(problem, level=Level.WARNING) for problem in loaded.problems))


def load_sessions(paths: Paths) -> Loaded[Mapping[str, SessionScripts]]:
    """Return the entries of sessions.toml by account; a missing file has none.

    Raises ConfigInvalid when any entry has an error.
    """
    return settle(small_files.read_sessions(paths))


def list_models(paths: Paths, models_dir: Path | None = None) -> tuple[str, ...]:
    """Return the names of the models, sorted."""
    return model_files.names(models_dir or paths.models)


def load_model(
    paths: Paths,
    name: str,
    models_dir: Path | None = None,
    *,
    accounts: Mapping[str, Account] | None = None,
    agent: str | None = None,
) -> Loaded[Model]:
    """Return one model; no other model's file is looked at.

    accounts: read already, for the rule that Codex takes no argument twice; None reads them if that rule applies.
    agent: the agent that names the model, for the message.
    Raises ModelUnknown, naming the nearest models and the folder; ConfigInvalid when its file has an error.
    """
    folder = models_dir or paths.models
    path = folder / f"{name}.toml"
    if not model_files.is_name(name) or not _exists(path):
        by = f" referenced by agent {agent!r}" if agent is not None else ""
        raise ModelUnknown(f"Unknown model {_short(name)!r}{by}: {_way_out(name, model_files.names(folder), folder)}")
    return _settle_model(paths, path, accounts)


def load_models(paths: Paths, models_dir: Path | None = None) -> Loaded[Mapping[str, Model]]:
    """Return every model by name, for questions about all pools at once.

    Raises ConfigInvalid when any file has an error.
    """
    read = {name: read_model(paths, name, models_dir) for name in list_models(paths, models_dir)}
    problems = tuple(problem for loaded in read.values() for problem in loaded.problems)
    return settle(Loaded({name: loaded.value for name, loaded in read.items() if loaded.value is not None}, problems))


def read_model(
    paths: Paths, name: str, models_dir: Path | None = None, accounts: Mapping[str, Account] | None = None
) -> Loaded[Model | None]:
    """Return a model and its problems, None when it has an error; for the commands that show everything."""
    path = (models_dir or paths.models) / f"{name}.toml"
    loaded = model_files.read(paths, path)
    if loaded.value is None or not any(member.account == TAKES_NO_REPEATS for member in loaded.value.members):
        return loaded
    known = small_files.read_accounts(paths).value if accounts is None else accounts
    faults = tuple(model_files.overlaps(loaded.value, known))
    if not faults:
        return loaded
    from oulipoly_engine.config.toml import toml_file  # noqa: PLC0415 - 10 ms, only a fault needs its line

    overlaps = toml_file.read(path).problems(faults)
    return Loaded(None, (*loaded.problems, *overlaps))


def list_agents(paths: Paths, agents_dir: Path | None = None) -> tuple[str, ...]:
    """Return the names of the agents, sorted."""
    from oulipoly_engine.config import agent_files  # noqa: PLC0415 - a model is enough for most runs

    return agent_files.names(agents_dir or paths.agents)


def load_agent(paths: Paths, name: str, agents_dir: Path | None = None) -> Loaded[Agent]:
    """Return one agent.

    Raises AgentUnknown, naming the nearest agents and the folder; AgentFileInvalid when its file has an error.
    """
    from oulipoly_engine.config import agent_files  # noqa: PLC0415 - as above

    folder = agents_dir or paths.agents
    path = folder / f"{name}.md"
    if not model_files.is_name(name) or not _exists(path):
        raise AgentUnknown(f"Unknown agent {_short(name)!r}: {_way_out(name, agent_files.names(folder), folder)}")
    return _require_agent(agent_files.read(path, paths), f"agent {name!r}")


def load_agent_file(path: Path, paths: Paths | None = None) -> Loaded[Agent]:
    """Return the agent in a file anywhere.

    paths: whose snapshot may have it; None: the file is read.
    Raises AgentFileInvalid when the file is missing or has an error.
    """
    from oulipoly_engine.config import agent_files  # noqa: PLC0415 - as above

    return _require_agent(agent_files.read(path, paths), f"agent file {path}")


def _exists(path: Path) -> bool:
    """Return whether there may be a file; one that cannot be looked at is left to reading, which says why."""
    try:
        path.stat()
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
    return True


def _short(name: str) -> str:
    """Cut a name for a message; a whole prompt may stand where a name was expected."""
    return name if len(name) <= 60 else f"{name[:57]}..."


def _settle_model(paths: Paths, path: Path, accounts: Mapping[str, Account] | None) -> Loaded[Model]:
    loaded = settle(read_model(paths, path.stem, path.parent, accounts))
    assert loaded.value is not None  # noqa: S101 - no value always comes with an error
    return Loaded(loaded.value, loaded.problems)


def _require_agent(loaded: Loaded[Agent | None], name: str) -> Loaded[Agent]:
    if loaded.value is None:
        raise AgentFileInvalid(f"{name}: {summary(loaded.errors)}")
    return Loaded(loaded.value, loaded.problems)


def _way_out(name: str, known: tuple[str, ...], folder: Path) -> str:
    from oulipoly_engine.core.text.nearest import nearest  # noqa: PLC0415 - only an error needs it

    if near := nearest(name, known, limit=3):
        return f"did you mean {' or '.join(near)}? (looked in {folder})"
    if not known:
        return f"{folder} holds none: add a file there"
    listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
    return f"{folder} holds {listed}"
