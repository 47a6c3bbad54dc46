"""The values that a shell completes: names of models, agents and accounts, ids of sessions, runs and terminals.

A key waits for them: nothing is opened but what holds them, and what cannot be read has no values.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.paths import Paths

_MOST = 200  # ids of one kind

# ruff: noqa: PLC0415 - each kind imports what it needs: 5 to 20 ms


def values(
    paths: Paths, kind: str, begin: str, folders: tuple[Path | None, Path | None] = (None, None)
) -> list[tuple[str, str]]:
    """Return (value, what it is) of a kind, as far as they begin so.

    kind: "model", "agent", "account", "runtime", "session", "run" or "terminal"; of another kind there are none.
    folders: where models and agents lie, if not in the usual places.
    """
    try:
        return [(value, text) for value, text in _read(paths, kind, begin, folders) if value.startswith(begin)]
    except (OSError, RunnerError):
        return []


def _read(paths: Paths, kind: str, begin: str, folders: tuple[Path | None, Path | None]) -> Iterable[tuple[str, str]]:
    match kind:
        case "model":
            from oulipoly_engine.config import load

            return [(name, "model") for name in load.list_models(paths, folders[0])]
        case "agent":
            from oulipoly_engine.config import load

            return [(name, "agent") for name in load.list_agents(paths, folders[1])]
        case "account":
            from oulipoly_engine.config import small_files

            return [(name, account.command or "") for name, account in small_files.read_accounts(paths).value.items()]
        case "runtime":
            return _runtimes(paths)
        case "session":
            from oulipoly_engine.store.sessions import recent

            return recent.sessions(paths.state_db, begin, _MOST)
        case "run":
            from oulipoly_engine.store.sessions import recent

            return recent.runs(paths.state_db, begin, _MOST)
        case "terminal":
            return _terminals(paths)
    return ()


def _runtimes(paths: Paths) -> list[tuple[str, str]]:
    from oulipoly_engine.config import small_files
    from oulipoly_engine.facade.live.catalogue import read_catalogue

    found, _ = read_catalogue(paths, small_files.read_accounts(paths).value)
    return [(one.id, one.name) for one in found.runtimes]


def _terminals(paths: Paths) -> list[tuple[str, str]]:
    from oulipoly_engine.host.runtime_folder import HostFiles, read
    from oulipoly_engine.terminal.host.runtime_folder import Terminal

    found = [read(HostFiles(paths.runtime, file.stem), Terminal) for file in sorted(paths.runtime.glob("*.json"))]
    return [(one.id, one.label) for one in found if one is not None]
