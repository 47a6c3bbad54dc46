"""What happened in live sessions, in order.

An item's texts may lie in its entry alone: its event names the entry then, and is read as if it held them. Whoever
removes such an entry calls `restore` first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

import msgspec

from oulipoly_engine.core.live.entries import event_of
from oulipoly_engine.core.live.events import AnyEvent, ItemEnded, Numbered, type_of
from oulipoly_engine.core.live.item_texts import complete_item, shorten_item
from oulipoly_engine.records import prepare, replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query, insertion
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.live.entry_bodies import EntryKey, read_bodies
from oulipoly_engine.store.models.live import LiveEventRow

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(prepare(AnyEvent))
_encoder = msgspec.json.Encoder()
_NEW_EVENT = insertion(
    LiveEventRow.session_id, LiveEventRow.seq, LiveEventRow.at, LiveEventRow.type, LiveEventRow.event
)
_NAMES_ENTRY = '{"entry":'  # begins the events that name the entry in which their texts are
_PAGE = 500


class _Shortened(msgspec.Struct):
    entry: tuple[str, str]
    check: int | None = None  # of the entry's body: it may have another one on another account


_entry_decoder = msgspec.json.Decoder(prepare(_Shortened))


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
        rows = store.rows(query.order_by(row.seq).limit(limit))
        bodies = _find_bodies(store, session_id, rows)
    return tuple(_read(each, bodies) for each in rows)


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
        bodies = _find_bodies(store, session_id, rows)
    events = []
    for row in rows:
        with suppress(msgspec.MsgspecError, TypeError):
            events.append(_read(row, bodies))
    return tuple(events), rows[-1][0] if len(rows) == limit else 0


def pages_of_types(store: Store, session_id: str, types: Sequence[str], seq: int = 0) -> Iterator[tuple[Numbered, ...]]:
    """Yield the events of some types after a number, oldest first, page by page; as `of_types`."""
    is_more = True
    while is_more:
        page, seq = of_types(store, session_id, seq, types, _PAGE)
        yield page
        is_more = seq > 0


def lines_after(store: Store, session_id: str, seq: int, limit: int) -> tuple[tuple[int, bytes], ...]:
    """Return the events after a number as (number, JSON of a `Numbered`), oldest first, most without decoding them."""
    row = LiveEventRow
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id, row.seq > seq)
    with store.read():
        rows = store.rows(query.order_by(row.seq).limit(limit))
        bodies = _find_bodies(store, session_id, rows)
    return tuple((each[0], _make_line(each, bodies)) for each in rows)


def before(store: Store, session_id: str, seq: int | None, limit: int) -> tuple[Numbered, ...]:
    """Return the last events before a number, or of all, oldest first."""
    row = LiveEventRow
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id)
    if seq is not None:
        query = query.where(row.seq < seq)
    with store.read():
        rows = store.rows(query.order_by(row.seq.desc()).limit(limit))
        bodies = _find_bodies(store, session_id, rows)
    return tuple(_read(each, bodies) for each in reversed(rows))


# Texts that entries hold ---------------------------------------------------------------------------------------------
def shorten(store: Store, session_id: str, entry_keys: Mapping[int, EntryKey]) -> None:
    """Leave out of events what their entries hold word for word.

    entry_keys: of items that have ended, by the numbers of their events.
    """
    shortened: list[tuple[str, str, int]] = []
    with store.write():
        bodies = read_bodies(store, session_id, {*entry_keys.values()})
        for seq, _, text in store.rows(_select_numbers(session_id, [*entry_keys])):
            key = entry_keys[seq]
            event = _decoder.decode(text)
            if not isinstance(event, ItemEnded) or text.startswith(_NAMES_ENTRY):
                continue
            for body in bodies.get(key, ()):
                item = shorten_item(event.item, body)
                if item is not None:
                    short = {"entry": key, "check": _check(body)} | _leave_out_empty(replace(event, item=item))
                    shortened.append((_encoder.encode(short).decode(), session_id, seq))
                    break
        store.execute_many(_set_event, shortened)


def restore_entries(store: Store, entry_ids: Iterable[str]) -> None:
    """Have the events of which some entries were made hold all of their texts again; as `restore`."""
    numbers: dict[str, list[int]] = {}
    for entry_id in entry_ids:
        session_id, number = event_of(entry_id)
        numbers.setdefault(session_id, []).append(number)
    for session_id, its_numbers in numbers.items():
        restore(store, session_id, its_numbers)


def restore(store: Store, session_id: str, numbers: Collection[int] | None = None) -> None:
    """Have the events of a session hold all of their texts again. Runs inside the caller's write transaction.

    numbers: of these events alone; None: of all.
    """
    row = LiveEventRow
    is_short = row.event.startswith(_NAMES_ENTRY)
    if numbers is not None:
        is_short &= row.seq.in_(each_of(numbers))
    query = row.select(row.seq, row.at, row.event).where(row.session_id == session_id, row.type == "item_ended")
    last = 0
    while rows := store.rows(query.where(is_short, row.seq > last).order_by(row.seq).limit(_PAGE)):
        last = rows[-1][0]
        bodies = _find_bodies(store, session_id, rows)
        whole_rows = (each for each in rows if bodies[each[0]] is not None)  # an entry that is gone may come back
        texts = [(_encoder.encode(_read(each, bodies).event).decode(), session_id, each[0]) for each in whole_rows]
        store.execute_many(_set_event, texts)


def restore_named(store: Store, native_id: str) -> None:
    """Have events that name an entry of a CLI's session hold all of their texts again; as `restore`."""
    row = LiveEventRow
    name = _encoder.encode([native_id]).decode().removesuffix("]")
    are_named = (row.type == "item_ended") & row.event.startswith(f"{_NAMES_ENTRY}{name},")
    for (session_id,) in store.rows(row.select(row.session_id).distinct().where(are_named)):
        restore(store, session_id)


def drop(store: Store, session_id: str, numbers: Iterable[int]) -> None:
    """Remove events; never the last one, by whose number the next are counted."""
    with store.write():
        last = last_number(store, session_id)
        store.execute_many(_drop, [(session_id, number) for number in numbers if number != last])


@compile_query
def _select_numbers(session_id: Parameter, numbers: Parameter) -> Query:
    row = LiveEventRow
    mine = (row.session_id == session_id) & row.seq.in_(each_of(numbers))
    return row.select(row.seq, row.at, row.event).where(mine).order_by(row.seq)


@compile_query
def _set_event(event: Parameter, session_id: Parameter, seq: Parameter) -> Query:
    row = LiveEventRow
    return row.update({row.event: event}).where(row.session_id == session_id, row.seq == seq)


@compile_query
def _drop(session_id: Parameter, seq: Parameter) -> Query:
    row = LiveEventRow
    return row.delete().where(row.session_id == session_id, row.seq == seq)


def _find_bodies(store: Store, session_id: str, rows: Iterable[tuple[int, str, str]]) -> dict[int, str | None]:
    """Return the bodies of the entries that events name, by the events' numbers; None for an entry that is gone."""
    names = {seq: _entry_decoder.decode(text) for seq, _, text in rows if text.startswith(_NAMES_ENTRY)}
    bodies = read_bodies(store, session_id, {EntryKey(*name.entry) for name in names.values()})
    return {seq: _choose(bodies.get(EntryKey(*name.entry), ()), name.check) for seq, name in names.items()}


def _choose(bodies: Iterable[str], check: int | None) -> str | None:
    return next((body for body in bodies if check in (None, _check(body))), None)


def _check(body: str) -> int:
    return crc32(body.encode("utf-8", "surrogatepass"))


def _leave_out_empty(event: ItemEnded) -> dict[str, Any]:
    """Return an event's fields without those at their defaults, of which the decoder needs none."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    fields["item"] = {name: value for name, value in fields["item"].items() if value not in ("", None, [], ())}
    return fields


def _read(values: tuple[int, str, str], bodies: Mapping[int, str | None]) -> Numbered:
    seq, at, text = values
    event = _decoder.decode(text)
    if seq in bodies and isinstance(event, ItemEnded):
        event = replace(event, item=complete_item(event.item, bodies[seq]))
    return Numbered(seq, at, event)


def _make_line(values: tuple[int, str, str], bodies: Mapping[int, str | None]) -> bytes:
    seq, at, text = values
    if seq in bodies:
        text = _encoder.encode(_read(values, bodies).event).decode()
    return b'{"seq":%d,"at":"%s","event":%s}' % (seq, at.encode(), text.encode())
