"""Messages that wait for the turn before them: edited, moved and taken back until one is claimed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import states
from oulipoly_engine.core.live.sessions import QueuedMessage
from oulipoly_engine.core.text.redact import restore
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of, literal
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.base.rows import name_values
from oulipoly_engine.store.live import unsent_texts
from oulipoly_engine.store.models.live import LiveTurnRow, QueuedMessageRow

_FIELDS = tuple(field for field in QueuedMessageRow._meta.sorted_fields if field.name != "place")


@compile_query
def _select_ends(session_id: Parameter) -> Query:
    row = QueuedMessageRow
    return row.select(fn.MIN(row.place), fn.MAX(row.place)).where(
        row.session_id == session_id, literal(row.state == "queued")
    )


def append(store: Store, message: QueuedMessage, *, is_first: bool = False) -> None:
    """Put a message at the end of its session's queue, or at its head; its secrets stand beside the state file."""
    with store.write():
        ((first, last),) = store.rows(_select_ends(message.session_id))
        store.insert(
            QueuedMessageRow,
            message_id=message.message_id,
            session_id=message.session_id,
            place=(first or 0) - 1 if is_first else (last or 0) + 1,
            text=unsent_texts.keep(store, message.message_id, message.text),
            state=message.state,
            note=message.note,
            created_at=to_text(message.created_at),
        )


@compile_query
def _select_waiting(session_id: Parameter) -> Query:
    row = QueuedMessageRow
    query = row.select(*_FIELDS).where(row.session_id == session_id, literal(row.state == "queued"))
    return query.order_by(row.place)


def waiting(store: Store, session_id: str) -> tuple[QueuedMessage, ...]:
    """Return the messages that wait, the next one first."""
    with store.read():
        return tuple(map(_read, store.rows(_select_waiting(session_id))))


@compile_query
def _select_waiting_of(session_ids: Parameter) -> Query:
    row = QueuedMessageRow
    mine = row.session_id.in_(each_of(session_ids)) & (row.state == "queued")
    return row.select(*_FIELDS).where(mine).order_by(row.place)


def waiting_of(store: Store, session_ids: Collection[str]) -> dict[str, tuple[QueuedMessage, ...]]:
    """Return the messages that wait, the next one first, by their sessions."""
    found: dict[str, tuple[QueuedMessage, ...]] = {}
    with store.read():
        for values in store.rows(_select_waiting_of(session_ids)):
            message = _read(values)
            found[message.session_id] = (*found.get(message.session_id, ()), message)
    return found


@compile_query
def _update_state(state: Parameter, turn_id: Parameter, message_id: Parameter, allowed: Parameter) -> Query:
    row = QueuedMessageRow
    told = {row.state: state, row.turn_id: fn.COALESCE(turn_id, row.turn_id)}
    return row.update(told).where(row.message_id == message_id, row.state.in_(each_of(allowed)))


def change(store: Store, message_id: str, event: str, *, turn_id: str | None = None) -> bool:
    """Apply an event of `states.MESSAGE`. Returns whether it could come."""
    allowed = states.sources(states.MESSAGE, event)
    with store.write():
        is_done = store.run(_update_state(states.MESSAGE[allowed[0], event], turn_id, message_id, allowed)) == 1
        if is_done and event == "revoke":
            unsent_texts.drop(store, message_id)
    return is_done


def edit(store: Store, message_id: str, text: str) -> bool:
    """Change what a waiting message says. Returns whether it still waits.

    A secret that the text shows as redacted, as whoever changes it has read it, is what it was.
    """
    row = QueuedMessageRow
    mine = (row.message_id == message_id) & (row.state == "queued")
    with store.write():
        found = store.rows(row.select(row.text).where(mine))
        if not found:
            return False
        clean = str(found[0][0])
        written = restore(text, clean, unsent_texts.read(store, message_id, clean))
        store.run(row.update({row.text: unsent_texts.keep(store, message_id, written)}).where(mine))
    return True


def move(store: Store, session_id: str, message_id: str, place: int) -> bool:
    """Put a waiting message at a place of its queue, from 1. Returns whether it waits there."""
    row = QueuedMessageRow
    with store.write():
        order = [one.message_id for one in waiting(store, session_id)]
        if message_id not in order:
            return False
        order.remove(message_id)
        order.insert(max(0, place - 1), message_id)
        for number, each in enumerate(order, 1):
            store.run(row.update({row.place: number}).where(row.message_id == each))
    return True


def forget_claimed(store: Store, session_id: str) -> tuple[QueuedMessage, ...]:
    """Take back what was given to a turn whose process has ended, and return it: it is not known whether it arrived."""
    row = QueuedMessageRow
    mine = (row.session_id == session_id) & (row.state == "claimed")
    told = {row.state: "revoked", row.note: "its process ended while it was given to the turn"}
    with store.write():
        found = store.rows(row.select(*_FIELDS).where(mine).order_by(row.place))
        if found:
            store.run(row.update(told).where(mine))
        for values in found:
            unsent_texts.drop(store, _read(values).message_id)
    return tuple(map(_read, found))


def forget_unsent(store: Store) -> None:
    """Forget the secrets of messages that are not to be sent any more, which a killed process may have left."""
    message, turn = QueuedMessageRow, LiveTurnRow
    with store.write():
        waiting = store.rows(message.select(message.message_id).where(message.state.in_(("queued", "claimed"))))
        starting = store.rows(turn.select(turn.turn_id).where(turn.status == "starting"))
        unsent_texts.keep_only(store, (identity for (identity,) in (*waiting, *starting)))


@compile_query
def _select(message_id: Parameter) -> Query:
    return QueuedMessageRow.select(*_FIELDS).where(QueuedMessageRow.message_id == message_id)


def find(store: Store, message_id: str) -> QueuedMessage | None:
    """Return a message, whatever became of it."""
    with store.read():
        found = store.rows(_select(message_id))
    return _read(found[0]) if found else None


def _read(values: tuple[Any, ...]) -> QueuedMessage:
    return QueuedMessage(**name_values(_FIELDS, values))
