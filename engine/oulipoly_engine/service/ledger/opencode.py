"""Read what opencode's databases have gained into batches for the ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.adapters.bundled import describe_failure
from oulipoly_engine.adapters.opencode.calls import database_of, read_changed
from oulipoly_engine.core.ledger.calls import Damage, Found
from oulipoly_engine.core.ledger.opencode import call_of
from oulipoly_engine.service.ledger.files import Source, escape_path
from oulipoly_engine.store.ledger.calls import Batch, Cursor, rows_of

_AGAIN_MS = 60_000  # of changes that are read again: one is dated before it can be seen


def read_database(source: Source, known: Mapping[str, Cursor], notes: list[str]) -> Batch | None:
    """Return what an account's database has gained; None where it has not changed, or cannot be read.

    notes: gets a sentence where it cannot. A cursor's `offset` is the time of the latest change that was read, in ms,
    its `state` what the write-ahead log was like.
    """
    path = database_of(source.root)
    name = os.path.abspath(path)  # noqa: PTH100 - the form of the other cursors
    before = known.get(name)
    try:
        now = _read_cursor(path)
        if before is not None and _is_of(before, now):
            return None
        is_same = before is not None and (before.device, before.inode) == (now.device, now.inode)
        since = before.offset - _AGAIN_MS if before is not None and is_same else 0
        found, damaged, last = Found(), [], 0 if before is None or not is_same else before.offset
        for number, (at, message) in enumerate(read_changed(path, since)):
            last = max(last, at)
            try:
                call = call_of(source.account, message)
            except (ValueError, RecursionError):
                damaged.append(
                    Damage(number, len(message.data), f"a message of session {message.session}: not a JSON object")
                )
                continue
            if call is not None:
                found.add(*call)
    except FileNotFoundError:  # no session yet
        return None
    except OSError as error:
        notes.append(f"{escape_path(name)}: {error.strerror or type(error).__name__}")
        return None
    except Exception as error:  # noqa: BLE001, RUF100 - the adapter's border: the other accounts' calls are counted
        notes.append(describe_failure(escape_path(name), error))
        return None
    places, calls = rows_of(found.calls, {})
    cursor = now._replace(offset=last)
    return Batch(calls, places, {name: cursor}, {name: damaged} if damaged else {})


def _read_cursor(path: Path) -> Cursor:
    status = path.stat()
    try:
        log = path.with_name(f"{path.name}-wal").stat()
        state = f"{log.st_size} {log.st_mtime_ns}"
    except FileNotFoundError:
        state = ""
    return Cursor(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, state=state)


def _is_of(before: Cursor, now: Cursor) -> bool:
    return before[:4] == now[:4] and before.state == now.state
