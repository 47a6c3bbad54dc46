"""What live sessions tell of the sessions that a list shows. Nothing of live sessions themselves is loaded for it."""

from __future__ import annotations

import json
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import SQL, Query, fn
from oulipoly_engine.store.models.live import LiveEventRow, LiveSessionRow, LiveTurnRow


class LiveOrigin(Record):
    """What the live session of a CLI's session tells of it; None: nothing."""

    workspace: str
    title: str | None
    cli_model: str | None
    forked_from: str | None  # the CLI's own id of the session that it is a fork of


@compile_query
def _select_origin(native_id: Parameter, account: Parameter) -> Query:
    row, source = LiveSessionRow, LiveSessionRow.alias()
    former = source.select(source.native_id).where(source.session_id == row.forked_from)
    mine = (row.native_id == native_id) & (fn.COALESCE(row.account, row.runtime_id) == account)
    columns = row.workspace, row.title, row.opening, former
    return row.select(*columns).where(mine).order_by(row.updated_at.desc()).limit(1)


def find_origin(store: Store, account: str, native_id: str) -> LiveOrigin | None:
    """Return what a live session tells of the session that its CLI has under an id; None: there is none."""
    rows = store.rows(_select_origin(native_id, account))
    if not rows:
        return None
    workspace, title, opening, forked_from = rows[0]
    return LiveOrigin(workspace, title or None, _read_model(opening), forked_from)


def _read_model(opening: str) -> str | None:
    """Return the model that a session was opened with; None where none was named, or the opening cannot be read."""
    try:
        model = json.loads(opening)["model"]
    except (ValueError, LookupError, TypeError):
        return None
    return model if isinstance(model, str) and model else None


@compile_query
def _select_changed(since: Parameter) -> Query:
    row, turn, event = LiveSessionRow, LiveTurnRow, LiveEventRow
    is_open = SQL("status IN ('starting', 'running')")  # as the partial index has it
    busy = turn.select(turn.session_id).where(is_open)
    last_at = event.select(event.at).where(event.session_id == row.session_id).order_by(event.seq.desc()).limit(1)
    is_changed = (row.updated_at >= since) | (row.session_id.in_(busy) & (last_at >= since))
    return row.select(row.session_id).where(row.native_id != "", is_changed)


def changed_since(store: Store, since: datetime) -> tuple[str, ...]:
    """Return the live sessions whose CLI has an id for them, and in which something has happened since an instant."""
    return tuple(session_id for (session_id,) in store.rows(_select_changed(to_text(since))))
