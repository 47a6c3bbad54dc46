"""Interactive runs in terminals of their own: begun by whoever asks, recorded to their end by the terminal's host.

The host knows `look`, `ended` and `after` by their names as strings, and calls them in its own process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.config import small_files
from oulipoly_engine.core.accounts.accounts import AcceptanceSpec
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.runs.markers import ParentRef
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.base.wiring import Wiring
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.records import asdict, replace
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.service.interactive.endings import Endings, Last, Ran
from oulipoly_engine.service.interactive.interactive import Launcher
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.service.runs.invoke import Chosen
from oulipoly_engine.service.sessions import open_sessions
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.protocol.messages import Exited

_ENDED = f"{__name__}:ended"
_LOOK = f"{__name__}:look"
_AFTER = f"{__name__}:after"
_KEEPING_S = 2.0  # for copies of what the run has left


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
    account = launcher.accounts[chosen.account]
    root = launcher.claude_root(account)
    payload = {
        "state_db": str(paths.state_db),
        "folders": [str(paths.config), str(paths.data), str(paths.home)],
        "cache": None if paths.cache is None else str(paths.cache),
        "results": str(launcher.paths.results),
        "row": prepared.row_id,
        "uuid": prepared.uuid,
        "account": chosen.account,
        "session_id": chosen.resumes,
        "acceptance": None if account.acceptance is None else asdict(account.acceptance),
        "marks": None if root is None else str(root),
        "seen": [],
    }
    columns, rows = size
    launch = terminals.Launch(
        prepared.command,
        columns,
        rows,
        recorded,
        finish=_ENDED,
        finish_with=payload,
        after=_AFTER,
        clock=launcher.clock,
    )
    if root is not None:
        launch = replace(launch, look=_LOOK)
    try:
        return terminals.start(paths, launch)
    except RunnerError as error:
        outcome = Outcome(False, -1, launcher.clock.now(), "spawn_error", "spawn_error", error.message)
        invocations.end(launcher.store, prepared.row_id, outcome)
        raise


def look(payload: Mapping[str, Any], pid: int) -> dict[str, Any]:
    """Return the sessions that the running CLI has had open, and the last. Called in the host, every few seconds."""
    seen = open_sessions.list_open(Path(payload["marks"]), pid, payload["seen"])
    return {"seen": list(seen), "open_session": seen[-1] if seen else None}


def ended(payload: Mapping[str, Any], exited: Exited, tail: bytes) -> None:
    """Record the run's end as an attended one's: its row, the session it has made, the result file.

    Called in the host, at the child's end. tail: the last of what it printed.
    """
    clock = SystemClock()
    store = open_store(Path(payload["state_db"]))
    spec = payload["acceptance"]
    ran = Ran(
        int(payload["row"]),
        str(payload["uuid"]),
        str(payload["account"]),
        payload["session_id"],
        None if spec is None else AcceptanceSpec(tuple(spec["accepted"]), tuple(spec["rejected"])),
    )
    endings = Endings(store, Path(payload["results"]), clock, _note)
    try:
        outcome = endings.end(ran, Last(exited.code, exited.signal, tail, exited.stopped_for))
        try:
            hints = open_sessions.hints(payload["seen"], tail)
            outcome = endings.attach(ran, outcome, _freshness(store, payload), hints)
        finally:  # whatever became of the transcripts: the run has ended, and who waits for its file is told
            endings.write_result(ran, outcome)
    finally:
        store.close()


def after(payload: Mapping[str, Any]) -> None:
    """Keep copies of the transcripts that the run has left, unless config.toml says `archive = false`.

    Called in the host, once the end is recorded and told.
    """
    from oulipoly_engine.service.archive.keeper import after_run  # noqa: PLC0415 - 30 ms, only once in the host

    paths = _paths(payload)
    settings = small_files.read_settings(paths).value
    if not settings.archive:
        return
    accounts, scripts = small_files.read_accounts(paths).value, small_files.read_sessions(paths).value
    wiring = Wiring(paths)
    store = open_store(Path(payload["state_db"]))
    try:
        row = invocations.find(store, str(payload["uuid"]))
        keeper = wiring.archive_keeper(wiring.archive(store, accounts, scripts), settings)
        after_run(keeper, str(payload["account"]), None if row is None else row.session_id, _KEEPING_S)
    finally:
        store.close()


def _paths(payload: Mapping[str, Any]) -> Paths:
    config, data, home = map(Path, payload["folders"])
    cache = payload.get("cache")  # none in those of an earlier version
    # What the run was told by variables and its folder holds for what is done behind it, too.
    above = from_environment().above
    return Paths(config=config, data=data, home=home, cache=None if cache is None else Path(cache), above=above)


def _freshness(store: Store, payload: Mapping[str, Any]) -> Freshness:
    """Return what reads the entries; it is asked for no quota."""
    paths = _paths(payload)
    return Wiring(paths).freshness(store, {}, small_files.read_sessions(paths).value, _note)


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")  # the host's log
