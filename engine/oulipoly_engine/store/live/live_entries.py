"""Entries of what was said in live sessions, made of their events until a transcript of the same session has them.

A host makes them in the transaction that keeps the events; whoever looks makes those that are missing. The session
keeps the number of the last event that was looked at: a killed process leaves none twice and none out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.entries import Stretch, entry_of, find_stretches
from oulipoly_engine.core.live.sessions import Branch, Past
from oulipoly_engine.core.transcripts.turn_script import EntryLine, hang_lines
from oulipoly_engine.records import Record, prepare, replace
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.orm import Query, fn
from oulipoly_engine.store.live import live_events, live_sessions, pasts
from oulipoly_engine.store.models.live import LiveEventRow, LiveSessionRow
from oulipoly_engine.store.sessions import chains, leaves
from oulipoly_engine.store.transcripts import entries, takeovers

_SAYING, _NAMING = ("item_ended",), ("session_opened", "native_id_changed")
_AT_ONCE = 500  # events: nearly always all there are since the last time


def concern(events: Iterable[ev.Numbered]) -> bool:
    """Tell whether events say something, or under which id the CLI has their session."""
    kinds = ev.ItemEnded | ev.SessionOpened | ev.NativeIdChanged
    return any(isinstance(numbered.event, kinds) for numbered in events)


def enter(store: Store, session_id: str) -> int:
    """Make entries of what was said in a live session since the last time, and return how many are new.

    What a transcript of the same session has by then is taken over by that. 0 where its CLI has told no id yet.
    """
    with store.write():
        rows = store.rows(_select_session(session_id))
        if not rows:
            return 0
        session = _Session(*rows[0])
        opening = _read_opening(session.opening)
        branches = opening.branches
        if session.native_id in {branch.native_id for branch in branches}:
            return 0  # what is said from there on belongs to a session whose id its CLI has not told yet
        stretches: Sequence[Stretch] = (Stretch(session.native_id),)
        kinds = (*_SAYING, *_NAMING)
        events, after = live_events.of_types(store, session_id, session.entered, kinds, _AT_ONCE)
        if not session.entered or after or not all(isinstance(each.event, ev.ItemEnded) for each in events):
            naming = chain.from_iterable(live_events.pages_of_types(store, session_id, _NAMING))
            stretches = find_stretches(naming, session.native_id, branches)
            _take_former_ids_along(store, session.account, stretches)
        owners = {each.native_id: _find_owner(store, session, each.native_id) for each in stretches}
        for each in stretches:
            if each.behind is not None:
                owners[each.native_id] = _find_owner(store, session, each.behind.native_id)
                chains.begin_part(store, owners[each.native_id], each.native_id, each.behind)
        ends: dict[str, str | None] = {}
        new = 0
        rest = live_events.pages_of_types(store, session_id, _SAYING, after) if after else ()
        for page in chain((events,), rest):
            for native_id, lines in _make_lines(session_id, stretches, page).items():
                new += _enter_lines(store, session, owners[native_id], lines, ends)
        for native_id in ends:
            new -= takeovers.take_over(
                store, {session.account, owners[native_id]}, native_id, live_events.restore_entries
            )
            leaves.move_to_end(store, owners[native_id], (native_id,))
        if ends and not opening.is_recorded:
            chains.claim(store, owners[session.native_id], session.native_id, session_id)
        past = opening.past
        if ends and past is not None and (past.entries or past.labels):
            pasts.write(store, owners[session.native_id], session.native_id, past, session.created_at)
            left = replace(past, entries=(), labels={})
            live_sessions.change_opening(store, session_id, from_text(session.updated_at), past=left)
        store.run(_note_entered(session_id))
    return max(0, new)


class _Session(Record):
    """What is asked of a live session."""

    account: str  # or its runtime, which has none
    is_runtime: bool
    native_id: str
    model: str
    created_at: str
    updated_at: str
    entered: int
    opening: str  # JSON

    @property
    def has_past(self) -> bool:
        """Tell whether what is said goes on behind entries that are stored."""
        return bool(self.entered) or _read_opening(self.opening).is_recorded


class _Opening(Record):
    """What is asked of an opening."""

    branches: tuple[Branch, ...] = ()
    is_recorded: bool = False
    past: Past | None = None


def _read_opening(opening: str) -> _Opening:
    kept: _Opening = msgspec.json.decode(opening, type=prepare(_Opening))
    return kept


@compile_query
def _select_session(session_id: Parameter) -> Query:
    row = LiveSessionRow
    account = fn.COALESCE(row.account, row.runtime_id)
    columns = row.native_id, row.model_name, row.created_at, row.updated_at, row.entered
    mine = (row.session_id == session_id) & (row.native_id != "")
    return row.select(account, row.account.is_null(), *columns, row.opening).where(mine)


@compile_query
def _note_entered(session_id: Parameter) -> Query:
    row = LiveSessionRow
    event = LiveEventRow
    last = event.select(fn.COALESCE(fn.MAX(event.seq), 0)).where(event.session_id == session_id)
    return row.update({row.entered: last}).where(row.session_id == session_id, row.entered < last)


def _find_owner(store: Store, session: _Session, native_id: str) -> str:
    """Return under which account a session lies: a runtime without one may use the home of an account."""
    return chains.find_holder(store, session.account, native_id) if session.is_runtime else session.account


def _take_former_ids_along(store: Store, account: str, stretches: Iterable[Stretch]) -> None:
    """Have what was entered under ids of processes before go along to the id under which a session goes on.

    Events name entries by the id under which they lie; several live sessions may have had one id.
    """
    for stretch in stretches:
        for former_id in stretch.former_ids:
            live_events.restore_entries(store, entries.list_live(store, account, former_id))
            entries.move_live(store, account, former_id, stretch.native_id)
            chains.change_native_id(store, account, former_id, stretch.native_id)


def _make_lines(
    session_id: str, stretches: Sequence[Stretch], events: Iterable[ev.Numbered]
) -> dict[str, list[EntryLine]]:
    """Return the entries of some events by the CLI's own ids of the session."""
    lines: dict[str, list[EntryLine]] = {}
    for numbered in events:
        native_id = next(each.native_id for each in reversed(stretches) if each.begin < numbered.seq)
        line = entry_of(session_id, native_id, numbered)
        if line is not None and native_id:
            lines.setdefault(native_id, []).append(line)
    return lines


def _enter_lines(
    store: Store, session: _Session, account: str, lines: Sequence[EntryLine], ends: dict[str, str | None]
) -> int:
    """Store entries of one stretch, each hung on the one before it. ends: the last ones so far, by native ids."""
    native_id = lines[0].session_id
    is_listed = False
    if native_id not in ends:
        has_past = session.has_past
        leaf = leaves.find_kept(store, account, native_id) if has_past else None
        is_listed = leaf is not None
        if has_past and not is_listed:
            leaf = leaves.find_last(store, account, native_id)
        ends[native_id] = leaf
    lines = hang_lines(lines, ends[native_id])
    ends[native_id] = lines[-1].entry_id
    new = entries.insert_new(store, account, lines, from_text(lines[-1].timestamp))
    if new < len(lines):
        entries.complete(store, account, lines)
    if new and not is_listed and chains.chain_of(store, account, native_id) is None:
        times = {"started_at": session.created_at, "last_used_at": session.updated_at}
        chains.insert(store, account, native_id, session.model, **times, reason="initial")
    return new
