"""The result files, `invocations/<uuid>.result`: what a wrapper that lost our stdout can still read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import Outcome, Status
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact


def write(folder: Path, uuid: str, line: str) -> None:
    """Write one result line to its file, whole or not at all. Raises OSError."""
    make_folder(folder)
    path = folder / f"{uuid}.result"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_private(temporary, f"{line}\n".encode())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_late(store: Store, folder: Path, uuid: str) -> None:
    """Keep the result file of a run whose row is final, in the name of one who was killed before it could."""
    line = None if (folder / f"{uuid}.result").exists() else find_line(store, uuid)
    if line is not None:
        with suppress(OSError):  # the row says it too
            write(folder, uuid, line)


def find_line(store: Store, uuid: str) -> str | None:
    """Return the result line of a run as its row tells it; None while it runs."""
    row = invocations.find(store, uuid)
    if row is None or row.finished_at is None:
        return None
    outcome = Outcome(
        bool(row.success),
        -1 if row.exit_code is None else row.exit_code,
        row.finished_at,
        row.error_category,
        row.terminal_reason,
    )
    from oulipoly_engine.store.runs.artifacts import find_returned_artifacts  # noqa: PLC0415 - 5 ms that no run needs

    returned = find_returned_artifacts(store, row.row_id)
    return line_of(store, uuid, row.account, row.session_id, outcome, returned)


def line_of(
    store: Store,
    uuid: str,
    account: str | None,
    session_id: str | None,
    outcome: Outcome,
    returned: Iterable[ReturnedArtifact] = (),
) -> str:
    """Return the result line of a run that ended so."""
    chain_id = None
    if account and session_id:
        from oulipoly_engine.store.sessions import chains  # noqa: PLC0415 - 10 ms, some CLIs name no session

        chain_id = chains.chain_of(store, account, session_id)
    return markers.result_line(make_result(uuid, account, session_id, chain_id, outcome, returned))


def make_result(
    uuid: str,
    account: str | None,
    session_id: str | None,
    chain_id: str | None,
    outcome: Outcome,
    returned: Iterable[ReturnedArtifact] = (),
) -> markers.InvocationResult:
    """Return the result of a run that ended so."""
    return markers.InvocationResult(
        id=uuid,
        status=Status.SUCCEEDED if outcome.success else Status.FAILED,
        success=outcome.success,
        exit_code=outcome.exit_code,
        error_category=outcome.error_category,
        terminal_reason=outcome.terminal_reason,
        finished_at=outcome.finished_at,
        provider_name=account,
        provider_session_id=session_id,
        chain_id=chain_id,
        returned_artifacts=tuple(one.shown(uuid) for one in returned),
    )
