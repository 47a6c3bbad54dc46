"""What the session commands share: the state file that must be there already, and the accounts' storage scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.cli.context import Context
from oulipoly_engine.config.load import load_accounts, load_sessions
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import ConfigInvalid, RunnerError, SessionNotFound
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import Store, open_store

if TYPE_CHECKING:
    from oulipoly_engine.service.archive.archive import Archive


def store_with(context: Context, session_id: str) -> Store:
    """Open the state file, which a question about a session never creates.

    Raises SessionNotFound when there is none.
    """
    path = context.paths.state_db
    if not path.exists():
        message = f"no session has the id {session_id}: there is no state file {path} yet"
        raise SessionNotFound(message, input=session_id)
    return open_store(path)


def locator(context: Context) -> Locator:
    """Return what runs the storage scripts of the configured accounts.

    Raises RunnerError for a broken configuration: the contract has no code of its own for that (exit 1).
    """
    paths = context.paths
    try:
        accounts, scripts = load_accounts(paths).value, load_sessions(paths).value
    except ConfigInvalid as error:
        raise RunnerError(error.message) from error
    return Locator(accounts, scripts, paths.data / "sessions", paths.home, inherited_environment())


def tell_kept_copy(context: Context, store: Store, session: ResolvedSession, error: RunnerError) -> None:
    """Add to an error how a transcript comes back that its CLI has deleted, if the archive has it."""
    from oulipoly_engine.service.reading.source import deleted_copy  # noqa: PLC0415 - only where something is missing

    copy = deleted_copy(store, session)
    if copy is not None:
        error.message += (
            f"; its CLI has deleted it, and a copy is kept: `{context.program} session archive --restore "
            f"{session.session_id}` puts it back"
        )


def archive(context: Context, store: Store) -> Archive:
    """Return the kept copies of transcripts.

    Raises RunnerError for a broken configuration.
    """
    from oulipoly_engine.service.archive.archive import Archive  # noqa: PLC0415 - 10 ms, the contract's commands do without
    from oulipoly_engine.service.transcripts.files import homes  # noqa: PLC0415 - goes with it

    found = locator(context)
    known = {home.account: home for home in homes(found.accounts, found.scripts, context.paths.home)}
    return Archive(store, context.paths.data / "archive", known, context.clock)
