"""What the commands put together that go on with sessions or open interactive ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oulipoly_engine.cli import diagnostics
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.wiring import freshness, mover, told
from oulipoly_engine.config import load
from oulipoly_engine.core.accounts.accounts import Account, Model, Settings
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.interactive.interactive import Launcher
from oulipoly_engine.service.runs.resume import Resumer
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import Store


def resumer(context: Context, store: Store, accounts: Mapping[str, Account], settings: Settings) -> Resumer:
    """Return what finds sessions and settles how they go on."""
    paths = context.paths
    scripts = load.load_sessions(paths).value
    locator = Locator(accounts, scripts, paths.data / "sessions", paths.home, inherited_environment())
    return Resumer(
        store,
        accounts,
        lambda: _models(context),
        settings,
        mover(context, store, locator),
        context.clock,
        diagnostics.note,
        freshness(context, store, accounts, diagnostics.note),
        is_shown=diagnostics.is_terminal(),
    )


def launcher(context: Context, store: Store, accounts: Mapping[str, Account], settings: Settings) -> Launcher:
    """Return what starts interactive runs."""
    note: Callable[[str], None] = diagnostics.note
    return Launcher(
        store,
        accounts,
        settings,
        context.paths.results,
        context.clock,
        context.paths.home,
        note,
        diagnostics.is_terminal(),
        freshness(context, store, accounts, note),
    )


def _models(context: Context) -> Mapping[str, Model]:
    return told(load.load_models(context.paths, context.models_dir))
