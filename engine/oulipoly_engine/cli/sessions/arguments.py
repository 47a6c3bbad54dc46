"""What the session commands for people share: plain errors, unique prefixes of ids, what is new read first."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli import diagnostics
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.progress import Progress
from oulipoly_engine.config import load
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import ConfigInvalid, RunnerError, StoreUnusable
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds
from oulipoly_engine.service.sessions.locate import Locator, find_typed
from oulipoly_engine.store.base.db import Store, open_store

if TYPE_CHECKING:
    from oulipoly_engine.service.transcripts.ingest import Ingester

Run = Callable[[Context, str, str, list[str]], int]

_PIPED_COLUMNS = 120
_BATCH = 2_000  # turns that an index step takes
_SCRIPTS_S = 0.2  # of a question's patience for foreign storage scripts; a scan has more


def for_people(run: Run) -> Run:
    """Make a session command tell its errors as plain text; with `--json` they stay one JSON line."""

    def told(context: Context, program: str, command: str, arguments: list[str]) -> int:
        try:
            return run(context, program, command, arguments)
        except RunnerError as error:
            if "--json" in arguments:
                raise
            return diagnostics.fail(error)

    return told


def open_existing(context: Context) -> Store | None:
    """Open the state file, None where there is none yet: a question never makes one."""
    return open_store(context.paths.state_db) if context.paths.state_db.exists() else None


def read_new(context: Context, store: Store) -> None:
    """Read what CLIs have written outside of us, for a moment; a broken configuration is told by `catalogue`."""
    from oulipoly_engine.service.transcripts.quick_ingest import Glance  # noqa: PLC0415 - 5 ms, not under --no-scan

    def scanner() -> Ingester:
        from oulipoly_engine.cli.wiring import ingester  # noqa: PLC0415 - 30 ms, only where something is new

        return ingester(context, store, scripts)

    paths = context.paths
    try:
        scripts = load.load_sessions(paths).value
        found = Glance(store, scripts, paths.home, paths.data / "sessions", scanner).look()
    except (ConfigInvalid, StoreUnusable):  # the state file may be read all the same
        return
    for problem in found.problems:
        diagnostics.note(f"Warning: {problem}")
    if found.left:
        names = ", ".join(found.left)
        diagnostics.note(f"not everything new was read ({names}): `{context.program} session-scan` reads the rest")


def catalogue(context: Context, store: Store) -> Catalogue:
    """Return the conversations. A broken configuration is told and left out: what is stored can be listed without."""
    paths = context.paths
    try:
        accounts, scripts = load.load_accounts(paths).value, load.load_sessions(paths).value
    except ConfigInvalid as error:
        diagnostics.note(f"Warning: {error.message}; the accounts' CLIs are guessed from their transcripts")
        return Catalogue(store, Kinds({}, {}))
    locator = Locator(accounts, scripts, paths.data / "sessions", paths.home, inherited_environment(), timeout_s=5.0)
    return Catalogue(store, Kinds(accounts, scripts), locator)


def refresh(known: Catalogue, budget_s: float | None = None, *, scripts_s: float = _SCRIPTS_S) -> int:
    """Count and describe what is new, with progress; return how many sessions are left undescribed."""
    left = known.refresh(budget_s=0.0, scripts_s=scripts_s)  # the first hundred: most calls find fewer
    if not left or (budget_s is not None and budget_s <= 0):
        return left
    with Progress("describing sessions", left) as progress:
        return known.refresh(budget_s, progress.step, scripts_s=0.0)


def index(store: Store, budget_s: float | None = None) -> int:
    """Index the turns that are new, with progress; return how many are left."""
    from oulipoly_engine.service.search import catch_up  # noqa: PLC0415 - 10 ms with the next, a list needs neither
    from oulipoly_engine.store.search import index as search_index  # noqa: PLC0415 - as above

    behind = search_index.state(store).behind
    if behind <= _BATCH:
        return catch_up(store, budget_s)
    with Progress(f"indexing {behind} turns: part", math.ceil(behind / _BATCH)) as progress:
        return catch_up(store, budget_s, progress.step)


def after_scan(context: Context, store: Store, budget_s: float) -> None:
    """Count, describe and index what a scan has found, as far as it goes within so long; a search does the rest."""
    try:
        refresh(catalogue(context, store), budget_s, scripts_s=budget_s)
        index(store, budget_s)
    except StoreUnusable as error:  # the scan itself is done and stored
        diagnostics.note(f"Warning: what was found is not indexed yet: {error.message}")


def query_of(context: Context, text: str) -> Query:
    """Read a query with days of the user's own zone. Raises UsageInvalid."""
    return parse(text, context.clock.now().astimezone(), lambda naive: naive.astimezone())


def find(store: Store, text: str, now: datetime) -> ResolvedSession:
    """Return what an id or the beginning of one means. Raises SessionNotFound and SessionAmbiguous."""
    return find_typed(store, text, now)


def columns() -> int:
    """Return the width to draw in: the terminal's, or a wide one where nobody looks."""
    try:
        return max(20, os.get_terminal_size(1).columns or _PIPED_COLUMNS)
    except OSError:
        return _PIPED_COLUMNS


def is_shown() -> bool:
    """Return whether stdout is a terminal."""
    return os.isatty(1)


def home_of(context: Context) -> str:
    """Return the home folder as text."""
    return str(Path(context.paths.home))


def with_negations(arguments: list[str]) -> list[str]:
    """Put a space before words such as `-draft`, and before all behind a `--`, so that none is taken for an option."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    before = [
        f" {word}" if len(word) > 1 and word[0] == "-" and word[1] != "-" and word != "-h" else word
        for word in arguments[:place]
    ]
    return [*before, *(f" {word}" for word in arguments[place + 1 :])]
