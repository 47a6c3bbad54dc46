"""What is read and kept beside what was asked for: entries after runs and moves, copies of transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.paths import expand_user
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.service.runs.run_text import list_files
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.core.runs.markers import InvocationResult
    from oulipoly_engine.service.archive.keeper import ArchiveKeeper
    from oulipoly_engine.service.runs.freshness import Freshness
    from oulipoly_engine.service.sessions.locate import Locator
    from oulipoly_engine.service.sessions.move import Mover

_FOLLOW_UP_S = 0.3  # that a run may end later for the copies; what is left over, the next one takes


def enter_heard(home: Home, store: Store, *, afresh: bool = False) -> int:
    """Make the entries that live sessions and one-shots have left to be made, behind the transcripts, which win.

    Returns how many are new. afresh: look at every live session.
    """
    from oulipoly_engine.service.transcripts.live_ingest import enter_live  # noqa: PLC0415 - only who looks at all

    return enter_runs(home, store) + enter_live(store, home.paths.data / "sessions", afresh=afresh)


def enter_runs(home: Home, store: Store) -> int:
    """Make the entries of one-shots as `enter_heard` does."""
    files = list_files(home.paths.results)
    if not files:
        return 0
    from oulipoly_engine.service.runs import run_entries  # noqa: PLC0415 - 10 ms, only where a run has left something

    return home.write_along(store, lambda: run_entries.enter_runs(store, files, home.now()), 0)


def mirror_sessions(home: Home, store: Store) -> None:
    """Write live sessions on in the session files that config.toml's `session_dir` asks for; a failure is told once."""
    folder = home.quiet_files.settings().session_dir
    if not folder:
        return
    from oulipoly_engine.service.reading.session_mirror import follow  # noqa: PLC0415 - only who wants such files

    try:
        follow(store, home.paths.home / expand_user(folder), home.quiet_files.scripts(), home.wiring.longest_line())
    except (RunnerError, OSError) as error:
        home.warn(f"Warning: the session files in {folder} are not up to date: {error}")


def keep_after_scan(home: Home, store: Store, budget_s: float = 2.0, *, rescues: bool = False) -> None:
    """Keep copies of transcripts, unless config.toml says `archive = false`, and remove what killed processes left.

    Nothing is refused for its failing. rescues: what a CLI deletes soon is kept however long that takes.
    """
    from oulipoly_engine.service.archive.keeper import after_scan  # noqa: PLC0415 - 20 ms, only after a scan
    from oulipoly_engine.service.leavings import remove_leavings  # noqa: PLC0415 - only after a scan

    with suppress(RunnerError):
        keeper = _keeper(home, store)
        if keeper is not None:
            after_scan(keeper, budget_s, rescues=rescues)
    mirror_sessions(home, store)
    remove_leavings(home.paths, home.paths.locks, home.now().timestamp())


def follow_up(home: Home, store: Store, fresh: Freshness, ended: InvocationResult) -> None:
    """Store and keep what a run has left in its account's transcripts; its answer and our lines are out already.

    Nothing that fails here, nor a signal, changes how the run ended.
    """
    account = ended.provider_name
    if account is None or account not in fresh.scripts:
        return
    with interruptible() as guard, suppress(RunnerError):
        guard.arm()
        fresh.catch_up(account)
        keeper = _keeper(home, store)
        if keeper is not None:
            from oulipoly_engine.service.archive.keeper import after_run  # noqa: PLC0415 - loaded with the keeper

            after_run(keeper, account, ended.provider_session_id, _FOLLOW_UP_S)
        guard.disarm()


def read_placed(home: Home, store: Store, accounts: Sequence[str]) -> None:
    """Store the entries of transcripts that we have just put into accounts' folders."""
    from oulipoly_engine.adapters.bundled import turn_call  # noqa: PLC0415 - only after a move

    with suppress(RunnerError):
        scripts = home.quiet_files.scripts()
        fresh = home.wiring.ingester(store, scripts, home.listeners)
        bundled = [name for name in accounts if name in scripts and turn_call(scripts[name].turn_script, fresh.home)]
        fresh.ingest_accounts(bundled)


def mover(home: Home, store: Store, locator: Locator) -> Mover:
    """Return what moves sessions; what it is about to set aside is read first, whoever reads that account."""

    def read(account: str) -> None:
        with suppress(RunnerError):
            home.wiring.ingester(store, home.quiet_files.scripts(), home.listeners).ingest_accounts([account])

    return home.wiring.mover(store, locator, read)


def _keeper(home: Home, store: Store) -> ArchiveKeeper | None:
    """Return what fills the archive; None where config.toml says `archive = false`."""
    files, wiring = home.quiet_files, home.wiring
    settings = files.settings()
    if not settings.archive:
        return None
    return wiring.archive_keeper(wiring.archive(store, files.accounts(), files.scripts()), settings)
