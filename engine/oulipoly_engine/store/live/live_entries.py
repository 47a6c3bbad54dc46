"""Entries of what was said in live sessions, made of their events where no transcript of the same session is read.

A host makes them in the transaction that keeps the events; whoever looks makes those that are missing. Which events
have become entries is told by the entries' own ids: a killed process leaves none twice and none out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.entries import Stretch, begin_of_ids, entry_of, find_stretches, number_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.live import live_events
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.transcripts import entries

_SAYING, _NAMING = ("item_ended",), ("session_opened", "native_id_changed")


def concern(events: Iterable[ev.Numbered]) -> bool:
    """Tell whether events say something, or under which id the CLI has their session."""
    kinds = ev.ItemEnded | ev.SessionOpened | ev.NativeIdChanged
    return any(isinstance(numbered.event, kinds) for numbered in events)


def enter(store: Store, session_id: str) -> int:
    """Make entries of what was said in a live session since its last one, and return how many are new.

    0 where a transcript of the same session is read, which has all of them, or where its CLI has told no id yet.
    """
    with store.write():
        rows = store.rows(_select_session(session_id))
        if not rows:
            return 0
        account, native_id, model, created_at, updated_at = rows[0]
        if entries.has_transcript(store, account, native_id):
            return 0
        ids = begin_of_ids(session_id)
        last_id = store.rows(_select_last_id(account, native_id, ids, f"{ids}:"))[0][0]  # `:` is the sign behind 9
        stretches: Sequence[Stretch] = (Stretch(native_id),)
        if last_id is None:
            stretches = find_stretches(
                chain.from_iterable(live_events.pages_of_types(store, session_id, _NAMING)), native_id
            )
            _leave_former_ids(store, session_id, account, stretches)
        after = 0 if last_id is None else number_of(last_id)
        transcript_ids = {
            each.native_id for each in stretches if entries.has_transcript(store, account, each.native_id)
        }
        new = 0
        for page in live_events.pages_of_types(store, session_id, _SAYING, after):
            lines = [line for line in _make_lines(session_id, stretches, page) if line.session_id not in transcript_ids]
            if lines:
                new += entries.insert_new(store, account, lines, from_text(lines[-1].timestamp))
        if new:
            times = {"started_at": created_at, "last_used_at": updated_at}
            for each in stretches:
                if each.native_id and chains.chain_of(store, account, each.native_id) is None:
                    chains.insert(store, account, each.native_id, model, **times, reason="initial")
    return new


def give_way(store: Store, account: str, native_ids: Collection[str]) -> None:
    """Remove the entries of live sessions and one-shots of which a transcript is read; as `entries.drop_live`."""
    for session_id in entries.list_live(store, account, native_ids):
        live_events.restore(store, session_id)
    entries.drop_live(store, account, native_ids)


@compile_query
def _select_session(session_id: Parameter) -> Query:
    row = LiveSessionRow
    account = fn.COALESCE(row.account, row.runtime_id)
    columns = account, row.native_id, row.model_name, row.created_at, row.updated_at
    return row.select(*columns).where(row.session_id == session_id, row.native_id != "")


@compile_query
def _select_last_id(account: Parameter, native_id: Parameter, begin: Parameter, end: Parameter) -> Query:
    row = EntryRow
    return row.select(fn.MAX(row.entry_id)).where(
        row.provider_name == account, row.session_id == native_id, row.entry_id > begin, row.entry_id < end
    )


def _leave_former_ids(store: Store, session_id: str, account: str, stretches: Iterable[Stretch]) -> None:
    """Have what was entered under ids of processes before go along to the id under which a session goes on."""
    live_events.restore(store, session_id)  # they are made anew of the events
    for stretch in stretches:
        entries.drop_live(store, account, stretch.former_ids)
        for former_id in stretch.former_ids:
            chains.change_native_id(store, account, former_id, stretch.native_id)


def _make_lines(session_id: str, stretches: Sequence[Stretch], events: Iterable[ev.Numbered]) -> Iterator[EntryLine]:
    for numbered in events:
        native_id = next(each.native_id for each in reversed(stretches) if each.begin < numbered.seq)
        line = entry_of(session_id, native_id, numbered)
        if line is not None and native_id:
            yield line
