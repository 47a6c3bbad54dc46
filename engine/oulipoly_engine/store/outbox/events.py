"""The outbox: events in their order, each kept until every reader has read it.

An event is published in the write transaction of what happened, so that there is neither without the other. A reader
that is killed between reading and `advance` reads the same events again: each comes at least once. Where nobody is
registered nothing is written; `Store.has_readers` is asked before anything of this is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from oulipoly_engine.core.outbox.topics import OutboxEvent, Topic
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.models.live import EventReaderRow, EventRow

MOST_EVENTS = 10_000  # that wait for a reader that does not come; it misses the oldest then
_PRUNE_EVERY = 256  # events


def publish(store: Store, topic: Topic, now: datetime, session_id: str, body: Mapping[str, Any]) -> None:
    """Write an event where somebody reads. Inside the write transaction of what happened.

    body: JSON's values, its texts without secrets.
    """
    if not store.has_readers():
        return
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode()  # half a character is none
    with store.write():
        event_id = _last_id(store) + 1
        at = round(now.timestamp() * 1000)
        store.insert(EventRow, id=event_id, topic=topic, at=at, session_id=session_id, body=text)
        if not event_id % _PRUNE_EVERY:
            store.run(EventRow.delete().where(EventRow.id <= event_id - MOST_EVENTS))


def register(store: Store, reader: str) -> None:
    """Have events written for a reader, from now on; one that is registered stays where it is."""
    row = EventReaderRow
    with store.write():
        values = {row.name: reader, row.event_id: _last_id(store)}
        store.run(row.insert(values).on_conflict(action="nothing"))


def unregister(store: Store, reader: str) -> None:
    """Have no events written for a reader any more, and remove those that no other one waits for."""
    row = EventReaderRow
    with store.write():
        store.run(row.delete().where(row.name == reader))
        _prune(store)


def list_readers(store: Store) -> tuple[str, ...]:
    """Return everybody for whom events are written."""
    return tuple(name for (name,) in store.rows(_select_readers()))


def is_registered(store: Store, reader: str) -> bool:
    """Return whether events are written for a reader."""
    return bool(store.rows(_find_reader(reader)))


def read_after(store: Store, reader: str, limit: int = 100) -> tuple[OutboxEvent, ...]:
    """Return the first events that a reader has not read, oldest first; none for one that is not registered."""
    return tuple(
        OutboxEvent(event_id, topic, at, session_id, json.loads(body))
        for event_id, topic, at, session_id, body in store.rows(_select_unread(reader, limit))
    )


def advance(store: Store, reader: str, event_id: int) -> None:
    """Take it that a reader has read all events up to this one; it never goes back."""
    row = EventReaderRow
    with store.write():
        store.run(row.update(event_id=event_id).where(row.name == reader, row.event_id < event_id))
        _prune(store)


def forget_session(store: Store, session_id: str) -> None:
    """Remove the events of a session that is removed."""
    with store.write():
        store.run(EventRow.delete().where(EventRow.session_id == session_id))


@compile_query
def _select_readers() -> Query:
    return EventReaderRow.select(EventReaderRow.name).order_by(EventReaderRow.name)


@compile_query
def _find_reader(reader: Parameter) -> Query:
    return EventReaderRow.select(EventReaderRow.event_id).where(EventReaderRow.name == reader)


@compile_query
def _select_unread(reader: Parameter, limit: Parameter) -> Query:
    row = EventRow
    place = EventReaderRow
    query = row.select(row.id, row.topic, row.at, row.session_id, row.body)
    query = query.join(place, on=(place.name == reader)).where(row.id > place.event_id)
    return query.order_by(row.id).limit(limit)


@compile_query
def _select_last_event() -> Query:
    return EventRow.select(fn.MAX(EventRow.id))


@compile_query
def _select_places() -> Query:
    return EventReaderRow.select(fn.MIN(EventReaderRow.event_id), fn.MAX(EventReaderRow.event_id))


def _last_id(store: Store) -> int:
    # Also of what was read and removed: an id that came again would be passed over.
    last = store.rows(_select_last_event())[0][0]
    place = store.rows(_select_places())[0][1]
    return max(last or 0, place or 0)


def _prune(store: Store) -> None:
    """Remove what every reader has read."""
    first = store.rows(_select_places())[0][0]
    store.run(EventRow.delete() if first is None else EventRow.delete().where(EventRow.id <= first))
