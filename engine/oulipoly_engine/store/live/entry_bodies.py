"""Entries of live sessions by their keys: where the texts of events lie that name an entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import ModelSelect, Query, fn
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.sessions import SegmentRow
from oulipoly_engine.store.models.transcripts import EntryRow


class EntryKey(NamedTuple):
    """An entry of a live session; its account is not told, since that may get another name."""

    native_id: str  # under which the CLI has the session
    entry_id: str


def read_bodies(store: Store, session_id: str, keys: Collection[EntryKey]) -> dict[EntryKey, list[str]]:
    """Return the bodies of those of some entries of a live session that are there.

    One that lies on several accounts may have several, the first one that was stored first.
    """
    native_ids = {key.native_id for key in keys}
    rows = store.rows(_select_bodies(session_id, native_ids, {key.entry_id for key in keys})) if keys else ()
    bodies: dict[EntryKey, list[str]] = {}
    for native_id, entry_id, body in rows:
        bodies.setdefault(EntryKey(native_id, entry_id), []).append(body or "")
    return bodies


def list_bodies(store: Store, session_id: str, native_ids: Collection[str]) -> Iterator[tuple[EntryKey, str]]:
    """Yield all entries of a live session, and their bodies. native_ids: under which its CLI has had it."""
    for native_id, entry_id, body in store.rows(_select_all_bodies(session_id, native_ids)):
        yield EntryKey(native_id, entry_id), body or ""


def _of_session(session_id: Parameter, native_ids: Parameter) -> ModelSelect[EntryRow]:
    """Return the entries under a session's account, and under those that its transcript lies at."""
    row = EntryRow
    account = fn.COALESCE(LiveSessionRow.account, LiveSessionRow.runtime_id)
    own = LiveSessionRow.select(account).where(LiveSessionRow.session_id == session_id)
    others = SegmentRow.select(SegmentRow.provider_name).where(SegmentRow.session_id.in_(each_of(native_ids)))
    mine = row.provider_name.in_(own.union(others)) & row.session_id.in_(each_of(native_ids))
    return row.select(row.session_id, row.entry_id, row.body).where(mine)


_select_all_bodies = compile_query(_of_session)


@compile_query
def _select_bodies(session_id: Parameter, native_ids: Parameter, entry_ids: Parameter) -> Query:
    bodies = _of_session(session_id, native_ids).where(EntryRow.entry_id.in_(each_of(entry_ids)))
    return bodies.order_by(EntryRow.id)
