"""What happened in live sessions, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import msgspec

from oulipoly_engine.core.live.events import AnyEvent, Numbered, type_of
from oulipoly_engine.records import prepare
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.live import LiveEventRow

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(prepare(AnyEvent))
_encoder = msgspec.json.Encoder()
_NEW_EVENT = insertion(
    LiveEventRow.session_id, LiveEventRow.seq, LiveEventRow.at, LiveEventRow.type, LiveEventRow.event
)


def append(store: Store, session_id: str, events: Iterable[Numbered]) -> None:
    """Keep events."""
    rows = [(session_id, one.seq, one.at, type_of(one.event), _encoder.encode(one.event).decode()) for one in events]
    with store.write():
        store.execute_many(_NEW_EVENT, rows)


def last_number(store: Store, session_id: str) -> int:
    """Return the number of the last event that is kept; 0: there is none."""
    row = LiveEventRow
    with store.read():
        (found,) = store.rows(row.select(fn.MAX(row.seq)).where(row.session_id == session_id))
    return int(found[0] or 0)


def after(store: Store, session_id: str, seq: int, limit: int = 1000) -> tuple[Numbered, ...]:
    """Return the events after a number, oldest first."""
    row = LiveEventRow
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id, row.seq > seq)
    with store.read():
        return tuple(_read(each) for each in store.rows(query.order_by(row.seq).limit(limit)))


@compile_query
def _select_of_types(session_id: Parameter, seq: Parameter, types: Parameter, limit: Parameter) -> Query:
    row = LiveEventRow
    mine = (row.session_id == session_id) & (row.seq > seq) & row.type.in_(each_of(types))
    return row.select(row.seq, row.at, row.event).where(mine).order_by(row.seq).limit(limit)


def of_types(
    store: Store, session_id: str, seq: int, types: Sequence[str], limit: int
) -> tuple[tuple[Numbered, ...], int]:
    """Return the first events of some types after a number, and the number to go on behind; 0: there are no more.

    An event that cannot be read is left out.
    """
    with store.read():
        rows = store.rows(_select_of_types(session_id, seq, types, limit))
    events = []
    for row in rows:
        with suppress(msgspec.MsgspecError, TypeError):
            events.append(_read(row))
    return tuple(events), rows[-1][0] if len(rows) == limit else 0


def lines_after(store: Store, session_id: str, seq: int, limit: int) -> tuple[tuple[int, bytes], ...]:
    """Return the events after a number as (number, JSON of a `Numbered`), oldest first, without decoding them."""
    row = LiveEventRow
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id, row.seq > seq)
    with store.read():
        found = store.rows(query.order_by(row.seq).limit(limit))
    return tuple(
        (seq, b'{"seq":%d,"at":"%s","event":%s}' % (seq, at.encode(), text.encode())) for seq, at, text in found
    )


def before(store: Store, session_id: str, seq: int | None, limit: int) -> tuple[Numbered, ...]:
    """Return the last events before a number, or of all, oldest first."""
    row = LiveEventRow
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id)
    if seq is not None:
        query = query.where(row.seq < seq)
    with store.read():
        found = store.rows(query.order_by(row.seq.desc()).limit(limit))
    return tuple(_read(each) for each in reversed(found))


def _read(values: tuple[int, str, str]) -> Numbered:
    seq, at, event = values
    return Numbered(seq, at, _decoder.decode(event))
