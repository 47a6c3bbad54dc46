"""What several commands put together: configuration with its warnings shown, and the services that stand on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from oulipoly_engine.cli import diagnostics
from oulipoly_engine.cli.context import Context
from oulipoly_engine.config import load
from oulipoly_engine.config.problem import Loaded
from oulipoly_engine.core.accounts import Account, SessionScripts
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.freshness import Freshness
from oulipoly_engine.service.ingest import Ingester
from oulipoly_engine.service.refresh import Refresher
from oulipoly_engine.store.db import Store

T = TypeVar("T")

_SHOWN_WARNINGS = 5


def told(loaded: Loaded[T]) -> T:
    """Show the warnings that came with a value, and return it."""
    for problem in loaded.problems[:_SHOWN_WARNINGS]:
        diagnostics.note(f"Warning: {problem.text}")
    if len(loaded.problems) > _SHOWN_WARNINGS:
        diagnostics.note(f"Warning: {len(loaded.problems) - _SHOWN_WARNINGS} more: run `agents config check`")
    return loaded.value


def refresher(context: Context, store: Store, accounts: Mapping[str, Account]) -> Refresher:
    """Return what reads the accounts' quota."""
    return _refresher(context, store, accounts, told(load.load_sessions(context.paths)))


def freshness(
    context: Context, store: Store, accounts: Mapping[str, Account], note: Callable[[str], None]
) -> Freshness:
    """Return what reads quota and turns around a one-shot."""
    scripts = told(load.load_sessions(context.paths))
    return Freshness(store, _refresher(context, store, accounts, scripts), ingester(context, store, scripts), note)


def ingester(context: Context, store: Store, scripts: Mapping[str, SessionScripts]) -> Ingester:
    """Return what reads the accounts' turns."""
    return Ingester(
        store,
        scripts,
        context.clock,
        home=context.paths.home,
        environ=inherited_environment(),
        state_root=context.paths.data / "sessions",
        locks=context.paths.data / "turn-scan-locks",
    )


def keep_after_scan(context: Context, store: Store, budget_s: float = 2.0) -> None:
    """Keep copies of transcripts, unless config.toml says `archive = false`; nothing is refused for its failing."""
    from oulipoly_engine.cli import session_access  # noqa: PLC0415 - 20 ms with the next, only after a scan
    from oulipoly_engine.service.archive_keeper import ArchiveKeeper, after_scan  # noqa: PLC0415 - see above

    settings = load.load_settings(context.paths).value
    if settings.archive:
        with suppress(RunnerError):
            archive = session_access.archive(context, store)
            after_scan(ArchiveKeeper(archive, settings.archive_limit_bytes), budget_s)


def _refresher(
    context: Context, store: Store, accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts]
) -> Refresher:
    return Refresher(
        store,
        accounts,
        scripts,
        context.clock,
        home=context.paths.home,
        environ=inherited_environment(),
        locks=context.paths.data / "usage-refresh-locks",
    )
