"""Whose the calls are that a moved session's copied transcript tells of: the account's that made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.ledger.calls import Place, place_id
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.ledger import PlaceRow
from oulipoly_engine.store.models.sessions import CopiedHistoryRow

Row = tuple[int, ...]  # of a call: its number, instant, place's number, and counts
_Key = tuple[str, str]  # account, session


class _Copy(NamedTuple):
    since_ms: int  # exclusive
    until_ms: int
    origin: str


def book_to_makers(store: Store, calls: Iterable[Row], add_place: Callable[[int, Place], None]) -> Iterable[Row]:
    """Return calls' rows with the place of the account that made each of them, in case a copy tells of it.

    Without that, whichever of two accounts' transcripts is read first would be charged. add_place: takes a place that
    may not be known yet, with its number. Runs inside the caller's write transaction, after the places of the calls are
    stored.
    """
    copies = _read_copies(store)
    places = _read_places(store, copies)
    if not places:
        return calls
    return (_book(row, places[row[2]], copies, add_place) if row[2] in places else row for row in calls)


def _book(row: Row, place: Place, copies: dict[_Key, list[_Copy]], add_place: Callable[[int, Place], None]) -> Row:
    maker = _find_maker(place.account, place.session, row[1], copies)
    if maker == place.account:
        return row
    made_at = place._replace(account=maker)
    number = place_id(made_at)
    add_place(number, made_at)
    return (row[0], row[1], number, *row[3:])


def _find_maker(account: str, session: str, at_ms: int, copies: dict[_Key, list[_Copy]]) -> str:
    """Follow a call back through its session's moves."""
    seen = {account}
    while True:
        found = (one.origin for one in copies.get((account, session), ()) if one.since_ms < at_ms <= one.until_ms)
        origin = next(found, None)
        if origin is None or origin in seen:
            return account
        seen.add(account := origin)


def _read_copies(store: Store) -> dict[_Key, list[_Copy]]:
    row = CopiedHistoryRow
    copies: dict[_Key, list[_Copy]] = {}
    rows = store.rows(
        row.select(row.account, row.session_id, row.since, row.copied_at, row.from_account).where(
            row.from_account.is_null(False)
        )
    )
    for account, session, since, until, origin in rows:
        copy = _Copy(-1 if since is None else _to_ms(since), _to_ms(until), origin)
        copies.setdefault((account, session), []).append(copy)
    return copies


def _read_places(store: Store, copies: dict[_Key, list[_Copy]]) -> dict[int, Place]:
    """Return the places of calls that copies may tell of, by number."""
    if not copies:
        return {}
    row = PlaceRow
    copied = CopiedHistoryRow.select(CopiedHistoryRow.session_id)
    rows = store.rows(
        row.select(row.id, row.account, row.cli, row.session, row.project, row.model, row.is_sidechain).where(
            row.session.in_(copied)
        )
    )
    return {
        number: Place(account, cli, session, project, model, bool(is_sidechain))
        for number, account, cli, session, project, model, is_sidechain in rows
        if (account, session) in copies
    }


def _to_ms(instant: str) -> int:
    return round(from_text(instant).timestamp() * 1000)
