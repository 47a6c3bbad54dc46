"""Interactive runs in terminals of their own: begun by whoever asks, recorded to their end by the terminal's host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.config import small_files
from oulipoly_engine.core.invocations import Outcome
from oulipoly_engine.core.markers import ParentRef
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service import terminals
from oulipoly_engine.service.ingest import Ingester, attach_session
from oulipoly_engine.service.interactive import Launcher
from oulipoly_engine.service.invoke import Chosen
from oulipoly_engine.store import invocations
from oulipoly_engine.store.db import Store, open_store
from oulipoly_engine.terminal.folder import Terminal
from oulipoly_engine.terminal.wire import Exited

_ENDED = f"{__name__}:ended"


def start(
    launcher: Launcher,
    paths: Paths,
    chosen: Chosen,
    folder: Path,
    size: tuple[int, int],
    parent: ParentRef | None = None,
) -> Terminal:
    """Start the chosen account's CLI in a terminal of its own and return that.

    size: columns and rows until somebody attaches. Raises RunnerError when nothing could be started; its row is final
    then.
    """
    prepared = launcher.prepare(chosen, folder, parent)
    recorded = terminals.Recorded(
        row_id=prepared.row_id,
        uuid=prepared.uuid,
        model=chosen.model_name,
        account=chosen.account,
        session_id=chosen.resumes,
        capture_method="none" if chosen.resumes is None else "resumed",
    )
    payload = {
        "state_db": str(paths.state_db),
        "folders": [str(paths.config), str(paths.data), str(paths.home)],
        "row": prepared.row_id,
        "uuid": prepared.uuid,
        "account": chosen.account,
        "session_id": chosen.resumes,
    }
    columns, rows = size
    launch = terminals.Launch(prepared.command, columns, rows, recorded, finish=_ENDED, finish_with=payload)
    try:
        return terminals.start(paths, launch)
    except RunnerError as error:
        outcome = Outcome(False, -1, launcher.clock.now(), "spawn_error", "spawn_error", error.message)
        invocations.end(launcher.store, prepared.row_id, outcome)
        raise


def ended(payload: Mapping[str, Any], exited: Exited) -> None:
    """Make the run's row final, and tie it to the session that it has made. Called in the host, at the child's end."""
    clock = SystemClock()
    store = open_store(Path(payload["state_db"]))
    try:
        session = payload["session_id"]
        outcome = Outcome(
            success=exited.code == 0,
            exit_code=exited.code,
            finished_at=clock.now(),
            terminal_reason=None if exited.signal is None else f"killed by signal {exited.signal}",
            session_id=session,
            capture_method="none" if session is None else "resumed",
        )
        invocations.end(store, int(payload["row"]), outcome)
        if session is None:
            _attach(store, payload, clock)
    finally:
        store.close()


def _attach(store: Store, payload: Mapping[str, Any], clock: Clock) -> None:
    config, data, home = map(Path, payload["folders"])
    paths = Paths(config=config, data=data, home=home)
    scripts = small_files.read_sessions(paths).value
    account = str(payload["account"])
    if account not in scripts:
        return
    ingester = Ingester(
        store,
        scripts,
        clock,
        home=home,
        environ=inherited_environment(),
        state_root=data / "sessions",
        locks=data / "turn-scan-locks",
    )
    ingester.ingest_accounts((account,))
    row = invocations.find(store, str(payload["uuid"]))
    if row is not None:
        attach_session(store, row)
