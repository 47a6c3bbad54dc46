"""What forks have of their origins and no CLI knows: entries of ours on the way to where they leave, and labels.

Of a fork that its CLI does not make by itself, or that has not begun yet, the whole way lies with its origin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live.sessions import Past, PastEntry, Turn
from oulipoly_engine.core.transcripts.entry_tree import (
    EntryColumns,
    EntryLink,
    choose_columns,
    find_parents,
    parent_ids,
    path_back,
    put_before,
)
from oulipoly_engine.core.transcripts.turn_script import CHANGES, EntryLine
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.models.live import LiveSessionRow
from oulipoly_engine.store.models.sessions import ChainRow, SegmentRow
from oulipoly_engine.store.models.transcripts import IS_LIVE, IS_OWN, EntryRow
from oulipoly_engine.store.sessions import chains, labels
from oulipoly_engine.store.sessions.forks import ForkedSession
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_columns import read_columns
from oulipoly_engine.store.transcripts.entry_pages import by_row, find_parts, links
from oulipoly_engine.store.transcripts.entry_paths import EntryPlace, find_last_of_turn


class Way(Record):
    """The way to where a fork leaves, as it lies with its origin."""

    session_id: str  # ours, of the fork
    origin_id: str  # ours, of the session that it is a fork of
    end: str  # the last entry
    columns: EntryColumns
    labels: Mapping[str, str]
    places: tuple[tuple[str, str], ...]  # where the entries lie: accounts, and ids of their CLI


def find_way(store: Store, identity: str, *, has_begun: bool) -> Way | None:
    """Return the way to where a fork leaves; None: it is no fork, its CLI has the way too, or the origin is gone.

    has_begun: something was said in it.
    """
    forks = live_sessions.find(store, identity)
    past = forks[0].opening.past if len(forks) == 1 else None
    if past is None or forks[0].forked_from is None or (has_begun and forks[0].opening.fork_of):
        return None
    end = past.entry_id
    origin = forks[0].forked_from
    chain_id, place = _find_chain(store, origin)
    before = find_way(store, origin, has_begun=place is not None)
    if place is None:
        return before and replace(before, session_id=forks[0].session_id)
    columns = read_columns(store, *place)
    if before is not None:
        columns = put_before(before.columns, before.end, columns)
    places = {entry_id: at for at, entry_id in enumerate(columns.ids)}
    if end not in places and past.turn_id:
        last = find_last_of_turn(store, past.turn_id)
        end = end if last is None else last.entry_id
    if end not in places:
        return None
    names = {**(before.labels if before else {}), **labels.of_chain(store, chain_id)}
    chosen = choose_columns(columns, path_back(places[end], find_parents(columns)))
    return Way(
        forks[0].session_id,
        chain_id,
        end,
        chosen,
        {entry_id: names[entry_id] for entry_id in names.keys() & {*chosen.ids}},
        (*(before.places if before else ()), place),
    )


def list_waiting(store: Store, session_id: str) -> tuple[ForkedSession, ...]:
    """Return the forks of a session in which nothing was said yet: no list of the CLIs' sessions has them."""
    row = LiveSessionRow
    is_listed = row.session_id.in_(ChainRow.select(ChainRow.chain_id))
    rows = store.rows(row.select(row.session_id).where(row.forked_from == session_id, ~is_listed))
    waiting = live_sessions.read_sessions(store, [fork_id for (fork_id,) in rows])
    return tuple(
        ForkedSession(fork.session_id, fork.account or fork.runtime_id, fork.session_id, past.entry_id)
        for fork in waiting
        if (past := fork.opening.past) is not None
    )


def _find_chain(store: Store, session_id: str) -> tuple[str, tuple[str, str] | None]:
    """Return a live session's id among all sessions, and account and id of its part that goes on; None: it has none."""
    row = SegmentRow
    live = live_sessions.find(store, session_id)
    native_ids = [each.native_id for each in live if each.native_id]
    mine = (row.chain_id == session_id) | row.session_id.in_(native_ids)
    rows = store.rows(
        row.select(row.chain_id, row.provider_name, row.session_id)
        .join(ChainRow, on=ChainRow.chain_id == row.chain_id)
        .where(mine, ChainRow.deleted_at.is_null())
        .order_by(row.chain_id != session_id, row.ended_at.is_null(is_null=False), row.started_at.desc(), row.id.desc())
        .limit(1)
    )
    return (rows[0][0], (rows[0][1], rows[0][2])) if rows else ("", None)


def read(store: Store, place: EntryPlace, *, is_end: bool, turn: Turn | None = None) -> Past:
    """Return what a fork behind an entry has of its origin.

    is_end: with the changes that nothing follows on yet. turn: that ends there.
    """
    turn_id = "" if turn is None else turn.turn_id
    chain_id = chains.chain_of(store, place.account, place.session_id)
    names = {} if chain_id is None else labels.of_chain(store, chain_id)
    has_own = any(_has_own(store, part.account, part.session_id) for part in find_parts(store, *_key(place)))
    if not names and not has_own:  # nearly always, and the way there need not be read
        return Past(place.entry_id, turn_id)
    way = links(store, *_key(place))
    parents = parent_ids(way)
    on_way = _find_way(way, parents, place.entry_id, is_end=is_end)
    rows = [link.row_id for link in way if link.is_own and link.entry_id in on_way]
    kinds = {link.entry_id: link.kind for link in way}
    own = []
    for entry in by_row(store, rows):
        parent = parents.get(entry.entry_id)
        while kinds.get(parent or "") in CHANGES:
            parent = parents.get(parent or "")
        own.append(PastEntry(entry.entry_id, entry.kind, entry.timestamp, parent, entry.body))
    on_way_names = {entry_id: name for entry_id, name in names.items() if entry_id in on_way}
    return Past(place.entry_id, turn_id, tuple(own), on_way_names)


def write(store: Store, account: str, native_id: str, past: Past, at: str) -> None:
    """Give a fork what it has of its origin, once its CLI has told its id. Runs inside the caller's transaction."""
    lines = [
        EntryLine(native_id, each.entry_id, each.at, each.kind, each.parent_id, body=each.body, other_kind=each.kind)
        for each in past.entries
    ]
    entries.insert_new(store, account, lines, from_text(at))
    chain_id = chains.chain_of(store, account, native_id)
    for entry_id, name in past.labels.items() if chain_id is not None else ():
        labels.put(store, chain_id or "", entry_id, name, from_text(at))


def _key(place: EntryPlace) -> tuple[str, str]:
    return place.account, place.session_id


def _has_own(store: Store, account: str, session_id: str) -> bool:
    row = EntryRow
    mine = (row.provider_name == account) & (row.session_id == session_id)
    return bool(store.rows(row.select(row.id).where(mine, IS_LIVE, IS_OWN).limit(1)))


def _find_way(way: Sequence[EntryLink], parents: dict[str, str], end: str, *, is_end: bool) -> set[str]:
    on_way: set[str] = set()
    step: str | None = end
    while step is not None and step not in on_way:
        on_way.add(step)
        step = parents.get(step)
    behind = {end}
    for link in way if is_end else ():
        if link.is_own and link.kind in CHANGES and parents.get(link.entry_id) in behind:
            behind.add(link.entry_id)
    return on_way | behind
