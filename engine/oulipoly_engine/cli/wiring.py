"""What several commands put together: configuration with its warnings shown, and the services that stand on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from oulipoly_engine.adapters.bundled import turn_call
from oulipoly_engine.cli.context import Context
from oulipoly_engine.config import load
from oulipoly_engine.config.problem import Loaded
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.runs.markers import InvocationResult
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade import diagnostics
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.service.quota.refresh import Refresher
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.service.archive.keeper import ArchiveKeeper
    from oulipoly_engine.service.sessions.locate import Locator
    from oulipoly_engine.service.sessions.move import Mover

T = TypeVar("T")

_SHOWN_WARNINGS = 5
_FOLLOW_UP_S = 0.3  # that a run may end later for the copies; what is left over, the next one takes


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
    from oulipoly_engine.service.archive.keeper import after_scan  # noqa: PLC0415 - 20 ms, only after a scan

    with suppress(RunnerError):
        keeper = _keeper(context, store)
        if keeper is not None:
            after_scan(keeper, budget_s)


def follow_up(context: Context, store: Store, fresh: Freshness | None, ended: InvocationResult) -> None:
    """Store and keep what a run has left in its account's transcripts; its answer and our lines are out already.

    Nothing that fails here, nor a signal, changes how the run ended.
    """
    account = ended.provider_name
    if fresh is None or account is None or account not in fresh.ingester.scripts:
        return
    with interruptible() as guard, suppress(RunnerError):
        guard.arm()
        fresh.catch_up(account)
        keeper = _keeper(context, store)
        if keeper is not None:
            from oulipoly_engine.service.archive.keeper import after_run  # noqa: PLC0415 - loaded with the keeper

            after_run(keeper, account, ended.provider_session_id, _FOLLOW_UP_S)
        guard.disarm()


def _keeper(context: Context, store: Store) -> ArchiveKeeper | None:
    """Return what fills the archive; None where config.toml says `archive = false`."""
    from oulipoly_engine.cli.sessions import access  # noqa: PLC0415 - 20 ms with the next, only after scans and runs
    from oulipoly_engine.service.archive.keeper import ArchiveKeeper  # noqa: PLC0415 - see above

    settings = load.load_settings(context.paths).value
    archive = access.archive(context, store) if settings.archive else None
    return None if archive is None else ArchiveKeeper(archive, settings.archive_limit_bytes)


def read_placed(context: Context, store: Store, accounts: Sequence[str]) -> None:
    """Store the turns of transcripts that we have just put into accounts' folders."""
    with suppress(RunnerError):
        scripts = load.load_sessions(context.paths).value
        fresh = ingester(context, store, scripts)
        bundled = [name for name in accounts if name in scripts and turn_call(scripts[name].turn_script, fresh.home)]
        fresh.ingest_accounts(bundled)


def mover(context: Context, store: Store, locator: Locator) -> Mover:
    """Return what moves sessions; what it is about to set aside is read first."""
    from oulipoly_engine.service.sessions.lease import Leases  # noqa: PLC0415 - only where a session may move
    from oulipoly_engine.service.sessions.move import Mover  # noqa: PLC0415 - as above

    leases = Leases(context.paths.data / "locks", context.clock)
    return Mover(store, locator, leases, context.clock, read=lambda account: read_placed(context, store, [account]))


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
