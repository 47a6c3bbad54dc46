"""Entries by their place in the tree: by the beginning of an id, the last of a turn, and the way to one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from oulipoly_engine.core.sessions.tree_lines import find_ids, is_number
from oulipoly_engine.core.transcripts.entry_text import Kept, find_kept
from oulipoly_engine.core.transcripts.entry_tree import path_to
from oulipoly_engine.core.transcripts.turn_script import COMPACTION, LIVE_IDS
from oulipoly_engine.records import Record
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import each_of
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.models.transcripts import EntryRow
from oulipoly_engine.store.transcripts.entry_pages import Entry, by_row, links

_PAGE = 200  # entries read at once
_BEHIND = "\U0010ffff"  # sorts behind whatever an id goes on with


class EntryPlace(Record):
    """Where an entry lies."""

    account: str
    session_id: str  # the CLI's own
    entry_id: str
    turn_id: str | None = None  # ours, that it belongs to
    role: str = ""

    @property
    def is_live(self) -> bool:
        """Tell whether we have made it of what we heard, so that its CLI does not know it by its id."""
        return self.entry_id.startswith(LIVE_IDS)


@compile_query
def _last_of_turn(turn_id: Parameter) -> Query:
    row = EntryRow
    mine = (row.turn_id == turn_id) & (row.is_sidechain == 0)
    columns = row.provider_name, row.session_id, row.entry_id, row.turn_id, row.role
    return row.select(*columns).where(mine).order_by(row.timestamp.desc(), row.id.desc()).limit(1)


def find_last_of_turn(store: Store, turn_id: str) -> EntryPlace | None:
    """Return the last entry of a turn; None: nothing of it is stored."""
    rows = store.rows(_last_of_turn(turn_id))
    return EntryPlace(*rows[0]) if rows else None


@compile_query
def _sessions_of_turns(turn_ids: Parameter) -> Query:
    row = EntryRow
    return row.select(row.provider_name, row.session_id).distinct().where(row.turn_id.in_(each_of(turn_ids)))


def find_sessions_of_turns(store: Store, turn_ids: Collection[str]) -> set[tuple[str, str]]:
    """Return where entries of some turns lie, as accounts and the CLI's own ids of sessions."""
    return {(account, session_id) for account, session_id in store.rows(_sessions_of_turns([*turn_ids]))}


@compile_query
def _beginning_with(account: Parameter, session_id: Parameter, begin: Parameter, end: Parameter) -> Query:
    row = EntryRow
    mine = (row.provider_name == account) & (row.session_id == session_id) & (row.is_sidechain == 0)
    columns = row.provider_name, row.session_id, row.entry_id, row.turn_id, row.role
    return row.select(*columns).where(mine, row.entry_id >= begin, row.entry_id < end).order_by(row.entry_id).limit(2)


def find_beginning_with(store: Store, sessions: Iterable[tuple[str, str]], text: str) -> tuple[EntryPlace, ...]:
    """Return entries whose ids begin so, two a session at most, each once; one that is called just so alone.

    Else those that a tree shows under such a number. sessions: accounts and the CLI's own ids. What sub-agents have
    said is left out.
    """
    places = {
        row[2]: EntryPlace(*row)
        for account, session_id in sorted(sessions)
        for row in store.rows(_beginning_with(account, session_id, text, f"{text}{_BEHIND}"))
    }
    if text in places:
        return (places[text],)
    if not places and is_number(text):
        return tuple(_find_numbered(store, sessions, text))
    return tuple(places.values())


@compile_query
def _main_ids(account: Parameter, session_id: Parameter) -> Query:
    row = EntryRow
    mine = (row.provider_name == account) & (row.session_id == session_id) & (row.is_sidechain == 0)
    return row.select(row.entry_id).where(mine)


def _find_numbered(store: Store, sessions: Iterable[tuple[str, str]], text: str) -> Iterator[EntryPlace]:
    known: set[str] = set()
    for session in sorted(sessions):
        for entry_id in find_ids([entry_id for (entry_id,) in store.rows(_main_ids(*session))], text):
            if entry_id not in known:
                known.add(entry_id)
                yield from find_beginning_with(store, (session,), entry_id)


def read_context_back(store: Store, place: EntryPlace) -> Iterator[Entry]:
    """Yield what a CLI needs to go on behind an entry, the last first.

    Behind a compaction that tells what it keeps that is its summary, and those entries before it. One that keeps
    nothing of this path hides all that lies before it.
    """
    way = read_back(store, place)
    for entry in way:
        yield entry
        kept = find_kept(entry.body) if entry.kind == COMPACTION else None
        if kept is not None:
            yield from _choose_kept(way, kept)
            return


def _choose_kept(way: Iterable[Entry], kept: Kept) -> Iterator[Entry]:
    """Yield the entries that a compaction keeps. way: back from it."""
    if not kept.first:
        chosen = (each for each in way if each.entry_id in kept.ids or each.role == kept.role)
        yield from (each for each in chosen if each.kind != COMPACTION)
        return
    entries: list[Entry] = []
    for entry in way:
        entries.append(entry)
        if entry.entry_id == kept.first:
            yield from entries
            return


def read_back(store: Store, place: EntryPlace) -> Iterator[Entry]:
    """Yield the entries on the way to one, that one first."""
    rows = path_to(links(store, place.account, place.session_id), place.entry_id)
    for end in range(len(rows), 0, -_PAGE):
        yield from reversed(by_row(store, rows[max(0, end - _PAGE) : end]))
